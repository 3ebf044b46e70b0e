//! Whatever fails on the way to an exit: no request leaves without one. The site listens on loopback, where whoever went
//! direct would reach it, and knows each exit by its address.

use crate::shop::*;
use http::{Method, Request};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinSet;
use tower::{Layer, Service, ServiceExt};
use tower_egress::exit::{Exit, ExitList};
use tower_egress::lab::Lab;
use tower_egress::outcome::Phase;
use tower_egress::scheduler::Event;
use tower_egress::verdict::RetryRules;
use tower_egress::{
    Body, EgressClient, EgressLayer, Error, ExitClient, LeaseError, LeaseRequest, Next, Outcome, PerExit,
    Scheduler,
};

/// A list of exits, a client that finds no name, and rules that wait for little.
fn over(exits: ExitList) -> (Scheduler, EgressClient) {
    let scheduler =
        Scheduler::builder().exits(exits).seed(7).rules(RetryRules::negotiated()).build().unwrap();
    let nobody = |_| async { Err(std::io::ErrorKind::NotFound.into()) };
    let client = ExitClient::builder().resolver(nobody).build().unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).layer(client));
    (scheduler, client)
}

fn ask() -> LeaseRequest {
    LeaseRequest::per_request().deadline(secs(2)).patience(secs(0))
}

/// Twenty requests, five at a time; all fail, each by its deadline.
async fn all_fail(client: &EgressClient, url: &str) -> Vec<Error> {
    let started = now();
    let mut errors = Vec::new();
    for _ in 0..4 {
        let mut calls = JoinSet::new();
        for _ in 0..5 {
            calls.spawn(client.clone().oneshot(request(Method::GET, url, "", ask())));
        }
        errors.extend(
            calls
                .join_all()
                .await
                .into_iter()
                .map(|answer| answer.map(drop).expect_err("there is no way out")),
        );
    }
    assert!(now() - started < secs(4 * 2 + 2));
    errors
}

/// A port on which nobody listens.
fn closed() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn te_002_exits_that_cannot_be_reached_or_found_mean_no_connection() {
    let lab = Lab::builder().fine(1).start().await.unwrap();
    let specs = |host: &str, ports: [u16; 3]| {
        let schemes = ["http", "socks5h", "socks5"];
        let specs = schemes.iter().zip(ports).map(|(scheme, port)| format!("{scheme}://{host}:{port}\n"));
        ExitList::parse(&specs.collect::<String>()).unwrap()
    };
    let missing: [std::net::IpAddr; 2] = [[192, 0, 2, 7].into(), [192, 0, 2, 8].into()];
    for (exits, phase) in [
        (specs("127.0.0.1", [closed(), closed(), closed()]), Phase::ExitTcp),
        (specs("gone.test", [1, 2, 3]), Phase::ExitDns),
        (ExitList::from_iter(missing.map(Exit::local)), Phase::ExitTcp),
    ] {
        let (scheduler, client) = over(exits);
        for error in all_fail(&client, &lab.direct_url("/p")).await {
            let refused = matches!(error.refusal(), Some(LeaseError::NoUsableExit { .. }));
            let failed = error.outcome() == Some(Outcome::ProxyError { phase });
            assert!(refused || failed, "{phase}: {error:?}");
        }
        assert_eq!(scheduler.snapshot().in_flight, 0);
        assert_eq!((lab.origin().connections(), lab.origin().requests()), (0, 0), "{phase}");
    }
}

#[tokio::test]
async fn te_002_no_exit_that_may_serve_means_no_connection() {
    let lab = Lab::builder().fine(3).start().await.unwrap();
    let (scheduler, client) = client(&lab);
    for exit in &lab.exits() {
        assert!(scheduler.operator().quarantine(exit.id()));
    }
    for error in all_fail(&client, &lab.direct_url("/p")).await {
        assert!(matches!(error.refusal(), Some(LeaseError::NoUsableExit { .. })), "{error}");
    }
    drop(scheduler.operator().drain());
    for error in all_fail(&client, &lab.direct_url("/p")).await {
        assert_eq!(error.refusal(), Some(&LeaseError::Closed));
    }
    assert_eq!((lab.origin().connections(), lab.origin().requests()), (0, 0));
    assert!(Scheduler::builder().build().is_err(), "and no pool is empty from the start");
}

#[tokio::test]
async fn te_002_a_pool_that_is_taken_out_during_the_run_serves_nobody_after_that() {
    let lab = Lab::builder().fine(3).start().await.unwrap();
    let (scheduler, client) = client(&lab);
    let url = lab.direct_url("/p");
    for _ in 0..6 {
        read(client.clone().oneshot(request(Method::GET, &url, "", ask())).await.unwrap()).await;
    }
    for exit in &lab.exits() {
        assert!(scheduler.operator().quarantine(exit.id()));
    }
    let before = (lab.origin().requests(), lab.origin().connections());
    for error in all_fail(&client, &url).await {
        assert!(error.is_refusal(), "{error}");
    }
    assert_eq!((lab.origin().requests(), lab.origin().connections()), before);
    assert!(lab.origin().peers().keys().all(|peer| lab.exit_at(*peer).is_some()));
}

/// Whether a call panicked, and its error if it did not.
async fn caught(
    stack: impl Service<Request<Body>, Error = Error, Future: Send, Response: Send> + Send + 'static,
    url: &str,
) -> Option<Error> {
    let request = Request::get(url).body(Body::empty()).unwrap();
    match tokio::spawn(async move { stack.oneshot(request).await.err().expect("it names no exit") }).await {
        Ok(error) => Some(error),
        Err(thrown) => {
            assert!(thrown.is_panic());
            None
        }
    }
}

/// Chosen: an exit is picked by the scheduler alone. Where a caller's own code has a say before or during that, it may fail
/// and panic: what a request asks for, what its site is called, who looks names up, and who makes the client.
#[tokio::test]
async fn te_027_callers_code_that_fails_on_the_way_to_an_exit_sends_nothing_and_harms_nobody() {
    let lab = Lab::builder().fine(2).start().await.unwrap();
    let (scheduler, client) = client(&lab);
    let layer = || EgressLayer::new(&scheduler);
    let url = lab.direct_url("/p");
    let made = |fails: fn() -> Result<ExitClient, tower::BoxError>| PerExit::new(move |_| fails());
    for _ in 0..20 {
        let unasked = layer().with(|_| panic!("no request")).layer(ExitClient::new());
        assert!(caught(unasked, &url).await.is_none());
        let unnamed = layer().default_lease(ask()).origin(|_| panic!("no name")).layer(ExitClient::new());
        assert!(caught(unnamed, &url).await.is_none());
        let bare = caught(layer().layer(ExitClient::new()), &url).await.unwrap();
        assert_eq!((bare.refusal(), bare.next()), (Some(&LeaseError::NoLeaseRequest), Next::Bug));
        let unmade = layer().default_lease(ask()).layer(made(|| Err("no client".into())));
        let unmade = caught(unmade, &url).await.unwrap();
        assert_eq!((unmade.outcome(), unmade.attempts().len()), (Some(Outcome::Fatal), 1), "{unmade}");
        assert!(unmade.to_string().contains("no client"), "{unmade}");
        let thrown = layer().default_lease(ask()).layer(made(|| panic!("no client")));
        assert!(caught(thrown, &url).await.is_none());
        assert_eq!(scheduler.snapshot().in_flight, 0, "no panic takes a lease along");
    }
    assert_eq!((lab.origin().connections(), lab.origin().requests()), (0, 0));
    let (status, served) = read(client.oneshot(request(Method::GET, &url, "", ask())).await.unwrap()).await;
    assert_eq!((status, served.attempts()), (200, 1), "the pool serves others as before");
}

#[tokio::test]
async fn te_027_a_resolver_that_fails_or_panics_sends_nothing() {
    let lab = Lab::builder().fine(1).start().await.unwrap();
    let url = lab.direct_url("/p").replace("127.0.0.1", "shop.example");
    let own = || ExitList::from_iter([Exit::local([127, 0, 0, 5].into())]);
    let named = || ExitList::parse("http://proxy.test:1").unwrap();
    for (exits, outcome) in
        [(own(), Outcome::TargetUnreachable), (named(), Outcome::ProxyError { phase: Phase::ExitDns })]
    {
        let scheduler = Scheduler::builder().exits(exits).build().unwrap();
        let layer = EgressLayer::new(&scheduler).default_lease(ask());
        let fails = |_| async { Err(std::io::Error::other("no answer")) };
        let fails = ExitClient::builder().resolver(fails).build().unwrap();
        let error = caught(layer.layer(fails), &url).await.unwrap();
        assert_eq!(error.outcome(), Some(outcome), "{error}");
        let panics = |_| async { panic!("no answer") };
        let panics = ExitClient::builder().resolver(panics).build().unwrap();
        let thrown = caught(layer.clone().layer(panics), &url).await;
        assert!(thrown.is_none_or(|error| error.is_refusal()), "the exit may rest by now");
        assert_eq!(scheduler.snapshot().in_flight, 0);
    }
    assert_eq!((lab.origin().connections(), lab.origin().requests()), (0, 0));
}

/// Rules and observers see answers and events, and choose no exit; if they panic, the next call is served as before.
#[tokio::test]
async fn te_027_a_rule_or_an_observer_that_panics_opens_no_other_way() {
    let lab = Lab::builder().fine(2).start().await.unwrap();
    let scheduler = Scheduler::builder()
        .exits(lab.exits())
        .observe(|_, event| assert!(!matches!(event, Event::Report { .. }), "an observer's own"))
        .build()
        .unwrap();
    let url = lab.direct_url("/p");
    let layer = EgressLayer::new(&scheduler).default_lease(ask());
    let ruled = layer.clone().rule(|_: &tower_egress::classify::Answer<'_>| panic!("a rule's own"));
    for _ in 0..5 {
        let get = || Request::get(&*url).body(Body::empty()).unwrap();
        let call = tokio::spawn(ruled.layer(ExitClient::new()).oneshot(get()));
        assert!(call.await.is_err_and(|thrown| thrown.is_panic()));
        // Whether an observer's panic reaches the call or not, it is the call's alone.
        let call = AssertUnwindSafe(layer.layer(ExitClient::new()).oneshot(get()));
        drop(tokio::spawn(call.0).await);
        assert_eq!(scheduler.snapshot().in_flight, 0);
    }
    let peers = lab.origin().peers();
    assert!(!peers.is_empty() && peers.keys().all(|peer| lab.exit_at(*peer).is_some()), "{peers:?}");
}

#[tokio::test]
async fn te_027_an_exit_that_dies_during_the_run_is_the_end_of_it_and_said_once() {
    let lab = Lab::builder().fine(1).start().await.unwrap();
    let deaths = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&deaths);
    let scheduler = Scheduler::builder()
        .exits(lab.exits())
        .rules(RetryRules::negotiated())
        .observe(move |_, event| {
            let dead = matches!(event, Event::Rest { origin: None, .. });
            told.fetch_add(usize::from(dead), Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).layer(ExitClient::new()));
    let url = lab.direct_url("/p");
    let mut served = 0;
    for number in 0..30 {
        if number == 10 {
            lab.exit(0).kill();
        }
        match client.clone().oneshot(request(Method::GET, &url, "", ask())).await {
            Ok(answer) => {
                read(answer).await;
                served += 1;
            }
            Err(error) => assert!(error.is_refusal() || error.outcome().is_some(), "{error}"),
        }
    }
    assert_eq!((served, deaths.load(Ordering::Relaxed)), (10, 1));
    let peers = lab.origin().peers();
    assert_eq!(peers.keys().collect::<Vec<_>>(), [&lab.exit(0).source()]);
}
