//! Whatever is dropped, and whoever panics, no lease stays out.

use crate::support::*;
use http::Request;
use http_body_util::BodyExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};
use tower_egress::outcome::{Phase, Seen};
use tower_egress::{ClassifyLayer, EgressLayer, LeaseLayer, LeaseRequest};

const URI: &str = "https://shop.example/p/42";

/// Several attempts that wait in every place there is.
fn steps() -> Vec<Step> {
    let soon = |step| Step::After(Duration::from_millis(30), Box::new(step));
    vec![
        soon(page(403, [Part::Yield, Part::Data("no"), Part::Yield, Part::Data("pe"), Part::Stall])),
        soon(fail(Phase::ExitTcp, Seen::Never)),
        Step::Hang,
        soon(page(200, [Part::Data("one"), Part::Yield, Part::Data("two"), Part::Yield])),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_after_any_poll_leaves_nothing() {
    let mut polls = 0;
    loop {
        let scheduler = scheduler(16);
        let layer = EgressLayer::new(&scheduler).attempt_timeout(Duration::from_millis(400));
        let stack = layer.layer(Script::new(steps()));
        let mut whole = Box::pin(async move {
            let response = stack.oneshot(get(URI)).await.unwrap();
            response.into_body().collect().await.unwrap().to_bytes()
        });
        let mut done = None;
        for _ in 0..polls {
            if let std::task::Poll::Ready(bytes) = poll_once(&mut whole).await {
                done = Some(bytes);
                break;
            }
            assert!(scheduler.snapshot().in_flight <= 1);
            tokio::time::advance(Duration::from_millis(20)).await;
        }
        drop(whole);
        let snapshot = scheduler.snapshot();
        assert_eq!((snapshot.in_flight, snapshot.exits_in_use), (0, 0), "dropped after {polls} polls");
        if let Some(bytes) = done {
            assert_eq!((&bytes[..], snapshot.leases), (&b"onetwo"[..], 4));
            return;
        }
        polls += 1;
        assert!(polls < 2_000, "it never ends");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_while_it_waits_in_line_leaves_nothing() {
    for polls in 0.. {
        let scheduler = scheduler(1);
        let limited = tower_egress::Outcome::RateLimited { retry_after: None };
        scheduler.lease(&LeaseRequest::per_request().origin("shop.example")).unwrap().report(limited);
        let stack = EgressLayer::new(&scheduler).layer(Script::new([status(200), status(200)]));
        let mut first = Box::pin(stack.clone().oneshot(get(URI)));
        let mut second = Box::pin(stack.oneshot(get(URI)));
        let mut done = false;
        for _ in 0..polls {
            done |= poll_once(&mut first).await.is_ready();
            if done {
                break;
            }
            assert!(poll_once(&mut second).await.is_pending(), "nobody overtakes");
            tokio::time::advance(Duration::from_millis(30)).await;
        }
        drop(first);
        assert_eq!(
            second.await.unwrap().status(),
            200,
            "the other is served, after {polls} polls of the first"
        );
        let snapshot = scheduler.snapshot();
        assert_eq!((snapshot.waiting, snapshot.in_flight), (0, 0), "dropped after {polls} polls");
        if done {
            return;
        }
        assert!(polls < 200, "it never ends");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_goes_away_soon_blames_nobody() {
    let scheduler = scheduler(2);
    let mut stack = EgressLayer::new(&scheduler).layer(Script::new([Step::Hang, Step::Hang]));
    drop(ServiceExt::<Req>::ready(&mut stack).await.unwrap().call(get(URI)));
    assert_eq!(scheduler.snapshot().in_flight, 0, "not even polled");
    let mut answer = Box::pin(stack.oneshot(get(URI)));
    assert!(poll_once(&mut answer).await.is_pending());
    assert_eq!(scheduler.snapshot().in_flight, 1);
    drop(answer);
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.outcomes), (0, Default::default()));
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_takes_no_lease_along() {
    let scheduler = scheduler(1);
    let layers = [
        LeaseLayer::new(&scheduler).with(|_| panic!("the caller's")),
        LeaseLayer::new(&scheduler).with(|_| LeaseRequest::per_request()).origin(|_| panic!("the caller's")),
    ];
    for layer in layers {
        let mut stack =
            ServiceBuilder::new().layer(layer).layer(ClassifyLayer::new()).service(Script::default());
        let request = Request::get(URI).body(Page::default()).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| drop(stack.call(request)))).is_err());
        let snapshot = scheduler.snapshot();
        assert_eq!((snapshot.in_flight, snapshot.leases), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_panics_gives_its_lease_back() {
    let scheduler = scheduler(1);
    let panics = tower::service_fn(|_: Request<_>| {
        assert!(std::hint::black_box(false), "the client's");
        async { Ok::<_, ClientError>(http::Response::new(Page::default())) }
    });
    let mut stack = EgressLayer::new(&scheduler).layer(panics);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(stack.call(get(URI))))).is_err());
    assert_eq!(scheduler.snapshot().in_flight, 0);
    let response = EgressLayer::new(&scheduler).layer(Script::new([status(200)])).oneshot(get(URI)).await;
    assert_eq!(response.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_goes_away_late_counts_once_if_its_attempt_still_says_what_it_showed() {
    let scheduler = scheduler(2);
    let late = Step::After(Duration::from_secs(15), Box::new(status(200)));
    // A layer that lets the attempt run on by itself.
    let stack = ServiceBuilder::new()
        .layer(LeaseLayer::new(&scheduler))
        .map_future(|attempt| async { tokio::task::spawn_local(attempt).await.unwrap() })
        .layer(ClassifyLayer::new())
        .service(Script::new([late]));
    let local = tokio::task::LocalSet::new();
    local
        .run_until(async {
            let answer = stack.oneshot(get(URI));
            assert!(tokio::time::timeout(Duration::from_secs(12), answer).await.is_err());
            let outcomes = scheduler.snapshot().outcomes;
            assert_eq!((outcomes.interrupted, outcomes.total()), (1, 1), "it kept its caller waiting");
            tokio::time::sleep(Duration::from_secs(10)).await;
        })
        .await;
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.outcomes.ok, snapshot.outcomes.total(), snapshot.in_flight), (1, 1, 0));
}
