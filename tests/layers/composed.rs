//! The three layers among those of tower and tower-http: what each order does, and that none of them loses a lease.

use crate::support::*;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use std::time::Duration;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt};
use tower_egress::outcome::{Phase, Seen};
use tower_egress::{
    ClassifyLayer, EgressBody, EgressLayer, Error, ExitAwareRetryLayer, LeaseLayer, LeaseRequest, Outcome,
    Scheduler, Served,
};

const URI: &str = "https://shop.example/p/42";

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Nothing is out and nobody waits.
fn is_idle(scheduler: &Scheduler) -> bool {
    let now = scheduler.snapshot();
    (now.in_flight, now.waiting) == (0, 0)
}

/// The egress error in a box, with its trail.
fn own(error: &BoxError) -> &Error {
    Error::of(&**error).expect("it is carried")
}

/// One request is limited and sleeps; how many seconds another one to another site takes meanwhile.
async fn meanwhile<S>(stack: S) -> u64
where
    S: Service<Req, Response = Response<EgressBody<Page>>, Error = Error> + Clone,
{
    let start = now();
    let mut first = Box::pin(stack.clone().oneshot(get(URI)));
    assert!(poll_once(&mut first).await.is_pending(), "it was limited, and sleeps");
    let second = async {
        let answer = stack.oneshot(get("https://other.example/")).await.unwrap();
        (answer.status(), (now() - start).as_secs())
    };
    let (first, (status, took)) = tokio::join!(first, second);
    assert_eq!((first.unwrap().status(), status), (StatusCode::OK, StatusCode::OK));
    took
}

#[tokio::test(start_paused = true)]
async fn a_limit_inside_frees_its_permit_while_a_retry_sleeps_and_one_outside_does_not() {
    let script = || Script::new([status(429), status(200), status(200)]);
    let scheduler = scheduler(8);
    let inside = ServiceBuilder::new().layer(EgressLayer::new(&scheduler)).concurrency_limit(1);
    assert_eq!(meanwhile(inside.service(script())).await, 0);
    let scheduler = crate::support::scheduler(8);
    let outside = ServiceBuilder::new().concurrency_limit(1).layer(EgressLayer::new(&scheduler));
    assert!(meanwhile(outside.service(script())).await >= 1, "it waits for the permit");
    assert!(is_idle(&scheduler));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_outside_ends_it_all_and_blames_nobody() {
    let scheduler = scheduler(2);
    let stack = ServiceBuilder::new()
        .timeout(secs(3))
        .layer(EgressLayer::new(&scheduler))
        .service(Script::new([Step::Hang]));
    let error = stack.oneshot(get(URI)).await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
    let now = scheduler.snapshot();
    assert!(is_idle(&scheduler) && now.exits.dead == 0 && now.outcomes.total() == 0);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_between_retry_and_lease_is_an_attempt_that_broke_off() {
    let scheduler = scheduler(4);
    let script = Script::new([Step::Hang, status(200)]);
    let stack = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .timeout(secs(3))
        .layer(LeaseLayer::new(&scheduler))
        .layer(ClassifyLayer::new())
        .service(script.clone());
    let response = stack.oneshot(get(URI)).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap();
    assert_eq!((response.status().as_u16(), served.attempts()), (200, 2));
    let exits = script.exits();
    assert_ne!(exits[0], exits[1]);
    drop(response);
    assert!(is_idle(&scheduler));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_between_classify_and_the_client_is_classified_and_goes_on() {
    let scheduler = scheduler(4);
    let stack = ServiceBuilder::new()
        .layer(EgressLayer::new(&scheduler))
        .timeout(secs(3))
        .service(Script::new([Step::Hang, status(200)]));
    let response = stack.oneshot(get(URI)).await.unwrap();
    let trail = response.extensions().get::<Served>().unwrap().trail();
    assert!(matches!(trail[0].outcome, Outcome::Interrupted { .. }), "{trail:?}");
    assert_eq!(trail.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn load_is_shed_outside_and_a_buffer_carries_refusals() {
    let scheduler = scheduler(1);
    let stack = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(1)
        .layer(EgressLayer::new(&scheduler))
        .service(Script::new([Step::After(secs(1), Box::new(status(200)))]));
    let mut first = Box::pin(stack.clone().oneshot(get(URI)));
    assert!(poll_once(&mut first).await.is_pending());
    let shed = stack.oneshot(get(URI)).await.unwrap_err();
    assert!(shed.is::<tower::load_shed::error::Overloaded>(), "{shed}");
    assert!(first.await.is_ok());

    let buffered = ServiceBuilder::new().buffer(4).layer(EgressLayer::new(&scheduler));
    let stack = buffered.service(SendScript(vec![]));
    let error = stack.oneshot(Request::get(URI).body(Full::<Bytes>::default()).unwrap()).await.unwrap_err();
    assert!(own(&error).is_refusal(), "the request names no lease: {error}");
}

/// A client that can go to another task: answers each request with the next status.
#[derive(Clone)]
struct SendScript(Vec<u16>);

impl<B> Service<Request<B>> for SendScript {
    type Response = Response<Full<Bytes>>;
    type Error = std::io::Error;
    type Future = std::future::Ready<Result<Response<Full<Bytes>>, std::io::Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), std::io::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        let mut answer = Response::new(Full::default());
        *answer.status_mut() = StatusCode::from_u16(self.0.first().copied().unwrap_or(200)).unwrap();
        std::future::ready(Ok(answer))
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_below_needs_a_buffer_and_paces_attempts() {
    let (scheduler, start) = (scheduler(8), now());
    let stack = ServiceBuilder::new()
        .layer(EgressLayer::new(&scheduler))
        .buffer(16)
        .rate_limit(1, secs(1))
        .service(SendScript(vec![200]));
    for _ in 0..4 {
        assert_eq!(stack.clone().oneshot(get(URI)).await.unwrap().status(), 200);
    }
    assert_eq!((now() - start).as_secs(), 3, "one a second");
}

#[tokio::test(start_paused = true)]
async fn the_whole_is_boxed_shared_and_steered() {
    fn shared<T: Send + Sync + Clone>(service: T) -> T {
        service
    }
    let (one, two) = (scheduler(1), scheduler(2));
    let boxed = |scheduler: &Scheduler| {
        let stack = EgressLayer::new(scheduler).layer(SendScript(vec![200]));
        shared(BoxCloneSyncService::new(stack))
    };
    let picker = |request: &Req, _: &[_]| usize::from(request.uri().host() == Some("two.example"));
    let mut steer = tower::steer::Steer::new([boxed(&one), boxed(&two)], picker);
    for host in ["one.example", "two.example", "two.example"] {
        let answer = steer.ready().await.unwrap().call(get(&format!("https://{host}/"))).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    assert_eq!((one.snapshot().leases, two.snapshot().leases), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn headers_and_ids_set_outside_are_the_same_at_each_attempt() {
    use tower_http::request_id::{MakeRequestId, RequestId, SetRequestIdLayer};
    use tower_http::set_header::SetRequestHeaderLayer;

    #[derive(Clone, Default)]
    struct Count(u32);

    impl MakeRequestId for Count {
        fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
            self.0 += 1;
            Some(RequestId::new(HeaderValue::from(self.0)))
        }
    }

    let scheduler = scheduler(8);
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counts = std::sync::Arc::clone(&seen);
    let client = tower::service_fn(move |request: Request<_>| {
        assert_eq!(
            (&request.headers()["x-request-id"], &request.headers()["user-agent"]),
            (&"1".parse().unwrap(), &"me".parse().unwrap())
        );
        let status = if counts.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2 { 403 } else { 200 };
        let _: tower_egress::retry::ReplayBody<Full<Bytes>> = request.into_body();
        async move {
            let mut answer = Response::new(Full::<Bytes>::default());
            *answer.status_mut() = StatusCode::from_u16(status).unwrap();
            Ok::<_, std::io::Error>(answer)
        }
    });
    let stack = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(Count::default()))
        .layer(SetRequestHeaderLayer::overriding(http::header::USER_AGENT, HeaderValue::from_static("me")))
        .layer(EgressLayer::new(&scheduler))
        .service(client);
    assert_eq!(stack.oneshot(get(URI)).await.unwrap().status(), 200);
    assert_eq!(seen.load(std::sync::atomic::Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn redirects_go_outside_and_each_hop_leases() {
    use tower_http::follow_redirect::FollowRedirectLayer;
    let (scheduler, script) = (
        scheduler(1),
        Script::new([answer(302, &[("location", "https://other.example/next")]), status(200)]),
    );
    // A hop to another site loses its extensions; the closure asks for all.
    let ask = |parts: &http::request::Parts| LeaseRequest::new(parts.uri.host().unwrap_or_default());
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::new())
        .layer(EgressLayer::new(&scheduler).with(ask))
        .service(script.clone());
    let request = Request::get(URI).body(Full::<Bytes>::default()).unwrap();
    let response = stack.oneshot(request).await.unwrap();
    assert_eq!((response.status().as_u16(), script.sent().len()), (200, 2));
    let sites: Vec<_> = scheduler.snapshot().origins.iter().map(|origin| origin.origin.to_string()).collect();
    assert_eq!(sites, ["other.example", "shop.example"]);
    assert_eq!(scheduler.snapshot().leases, 2);
}

#[tokio::test(start_paused = true)]
async fn a_trace_sees_each_request_outside_and_each_attempt_inside() {
    use std::sync::atomic::{AtomicU32, Ordering};
    use tower_http::trace::TraceLayer;
    static OUTSIDE: AtomicU32 = AtomicU32::new(0);
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    let scheduler = scheduler(8);
    #[derive(Clone)]
    struct Count(&'static AtomicU32);
    impl<B> tower_http::trace::OnRequest<B> for Count {
        fn on_request(&mut self, _: &Request<B>, _: &tracing::Span) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let traced = |count| TraceLayer::new_for_http().on_request(Count(count));
    let stack = ServiceBuilder::new()
        .layer(traced(&OUTSIDE))
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .layer(traced(&INSIDE))
        .layer(LeaseLayer::new(&scheduler))
        .layer(ClassifyLayer::new())
        .service(Script::new([fail(Phase::ExitTcp, Seen::Never), status(403), status(200)]));
    let response = stack.oneshot(get(URI)).await.unwrap();
    assert_eq!(response.extensions().get::<Served>().unwrap().attempts(), 3);
    response.into_body().collect().await.unwrap();
    assert_eq!((OUTSIDE.load(Ordering::SeqCst), INSIDE.load(Ordering::SeqCst)), (1, 3));
    assert!(is_idle(&scheduler));
}
