//! The whole stack on real sockets: never direct, and no secret in anything that prints.

#![cfg(all(feature = "client", feature = "lab"))]
#![expect(clippy::disallowed_types, reason = "a test's log is no decision's lock")]

use http::{Request, StatusCode};
use http_body_util::BodyExt;
use std::fmt::Write as _;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tower::{Layer, ServiceExt};
use tower_egress::exit::Credential;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::{
    Body, ConfigError, EgressClient, EgressLayer, Error, ExitClient, ExitList, LeaseError, LeaseRequest,
    Next, Scheduler,
};

fn client(lab: &Lab, scheduler: &Scheduler) -> EgressClient {
    let exits = ExitClient::builder()
        .roots_pem(lab.ca_pem().as_bytes())
        .establish_timeout(Duration::from_millis(400));
    let stack = EgressLayer::new(scheduler)
        .default_lease(LeaseRequest::per_request().deadline(Duration::from_secs(2)).patience(Duration::ZERO))
        .attempt_timeout(Duration::from_millis(500))
        .body_idle_timeout(Duration::from_millis(300));
    EgressClient::of(stack.layer(exits.build().expect("the lab's roots")))
}

fn scheduler(lab: &Lab) -> Scheduler {
    Scheduler::builder().exits(lab.exits()).seed(7).build().expect("a lab has exits")
}

async fn get(client: &EgressClient, url: &str) -> Result<(StatusCode, String), Error> {
    let request = Request::get(url).body(Body::empty()).expect("a URL of the lab");
    let response = client.clone().oneshot(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

#[test]
fn an_empty_pool_is_refused_when_it_is_built() {
    let built: Result<Scheduler, ConfigError> = Scheduler::builder().build();
    assert!(built.expect_err("no way out").to_string().contains("exits are missing"));
    assert!(ExitList::parse("# nobody\n").is_err());
}

#[tokio::test]
async fn dead_and_benched_exits_open_no_connection_to_the_site() {
    let lab = Lab::builder().dead(3).start().await.expect("a lab");
    let scheduler = scheduler(&lab);
    let client = client(&lab, &scheduler);
    // By the address of its socket: whoever went direct would reach it.
    let url = lab.direct_url("/p");
    for _ in 0..6 {
        let error = get(&client, &url).await.expect_err("there is no way out");
        assert!(error.is_refusal() || error.outcome().is_some(), "{error}");
    }
    assert_eq!(scheduler.snapshot().exits.dead, 3);
    let refused = get(&client, &url).await.expect_err("all are dead");
    assert!(matches!(refused.refusal(), Some(LeaseError::NoUsableExit { .. })), "{refused}");
    assert!(matches!(refused.next(), Next::At(_)));
    assert_eq!((lab.origin().connections(), lab.origin().requests()), (0, 0));

    let lab = Lab::builder().refused(2).start().await.expect("a lab");
    let scheduler = self::scheduler(&lab);
    let client = self::client(&lab, &scheduler);
    for _ in 0..3 {
        let _ = get(&client, &lab.url("/p")).await;
    }
    let seen = lab.origin().requests();
    let refused = get(&client, &lab.url("/p")).await.expect_err("all rest");
    assert!(refused.to_string().contains("2 cooling"), "{refused}");
    assert_eq!(lab.origin().requests(), seen, "a rest is kept");
    assert!(lab.origin().peers().keys().all(|peer| lab.exit_at(*peer).is_some()));
}

#[tokio::test]
async fn the_sockets_exit_is_the_leases_exit() {
    let lab = Lab::builder().fine(5).start().await.expect("a lab");
    let scheduler = scheduler(&lab);
    let client = client(&lab, &scheduler);
    for page in 0..40 {
        let url = if page % 2 == 0 { lab.url("/p") } else { lab.tls_url("/p") };
        let request = Request::get(url).body(Body::empty()).expect("a URL");
        let response = client.clone().oneshot(request).await.expect("an exit works");
        let served = response.extensions().get::<tower_egress::Served>().expect("on every response").exit();
        response.into_body().collect().await.expect("a whole body");
        let peer = lab.origin().seen().last().expect("it was asked").peer();
        assert_eq!(lab.exit_at(peer).expect("an exit").exit().id(), served);
    }
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One listener for all tests of this program: tracing remembers per call site who listened first.
fn listen() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let writer = log.clone();
        let listener = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE);
        let listener = listener.with_writer(move || writer.clone()).finish();
        tracing::subscriber::set_global_default(listener).expect("the only listener");
        log
    })
}

/// Drives every failure there is, and reads all that prints.
#[tokio::test]
async fn c19_no_failure_prints_a_login() {
    let log = listen();
    let mut said = String::new();
    let login = || Credential::new("usersecret", "passsecret").expect("a login");
    let fine = || Behaviour::fine().login(login());
    let worlds = [
        fine(),
        Behaviour::dead().login(login()),
        fine().answer_connect(
            Reply::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED).body("usersecret:passsecret"),
        ),
        fine().answer_connect(Reply::new(StatusCode::SERVICE_UNAVAILABLE).body("usersecret:passsecret")),
        fine().answer_connect(Reply::hang()),
        fine().answer_connect(Reply::reset()),
        fine().answer_requests(Reply::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED).body("usersecret")),
        fine().answer_requests(Reply::hang()),
        fine().answer_requests(Reply::reset()),
        fine().cut_after(40),
    ];
    let mut failed = 0;
    for behaviour in worlds {
        let lab = Lab::builder().exit(behaviour).start().await.expect("a lab");
        let scheduler = scheduler(&lab);
        let mut client = client(&lab, &scheduler);
        for url in [lab.url("/p"), lab.tls_url("/p"), "https://usersecret:passsecret@other.test/".into()] {
            match get(&client, &url).await {
                Ok((status, _)) => write!(said, "{status}").expect("a string"),
                Err(error) => {
                    failed += 1;
                    let mut cause = Some(&error as &dyn std::error::Error);
                    while let Some(at) = cause {
                        write!(said, "{at} {at:?}").expect("a string");
                        cause = at.source();
                    }
                    write!(said, "{:?} {:?}", error.attempts(), error.refusal()).expect("a string");
                }
            }
        }
        let _ = client.ready().await;
        write!(said, "{client:?} {scheduler:?} {:?} {:?}", scheduler.snapshot(), lab.exits())
            .expect("a string");
        let lease = scheduler.lease(&LeaseRequest::new("k").origin("shop.test"));
        write!(said, "{lease:?}").expect("a string");
    }
    assert!(failed > 12, "the failures happen: {failed}");
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
    assert!(logged.contains("report") && logged.contains("exit="), "the log is read: {logged}");
    for secret in ["secret", "dXNlcnNlY3JldDpwYXNzc2VjcmV0"] {
        assert!(!said.contains(secret), "printed: {said}");
        assert!(!logged.contains(secret), "logged: {logged}");
    }
}

#[tokio::test]
async fn a_stack_with_towers_own_layers_is_boxed_too() {
    let lab = Lab::builder().fine(1).start().await.expect("a lab");
    lab.origin().page("/hangs", Reply::hang());
    let scheduler = scheduler(&lab);
    let inner = EgressLayer::new(&scheduler).layer(ExitClient::new());
    let stack = tower::ServiceBuilder::new().timeout(Duration::from_millis(300)).service(inner);
    let client = EgressClient::of(stack);
    let request = |path: &str| Request::get(lab.url(path));
    let ask = LeaseRequest::per_request;

    let served = request("/p").extension(ask()).body(Body::empty()).expect("a request");
    assert_eq!(client.send(served).await.expect("an exit works").status(), StatusCode::OK);

    let bare = request("/p").body(Body::empty()).expect("a request");
    let error = client.send(bare).await.expect_err("it names no lease");
    assert_eq!((error.refusal(), error.next()), (Some(&LeaseError::NoLeaseRequest), Next::Bug));

    let hangs = request("/hangs").extension(ask()).body(Body::empty()).expect("a request");
    let error = client.send(hangs).await.expect_err("it takes too long");
    let cause = std::error::Error::source(&error).expect("the timeout");
    assert!(cause.is::<tower::timeout::error::Elapsed>(), "{error}");
    assert_eq!((error.next(), error.outcome(), scheduler.snapshot().in_flight), (Next::Never, None, 0));
}
