//! Whose lease, for which site; and readiness.

use crate::support::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use std::task::Poll;
use tower::limit::ConcurrencyLimit;
use tower::{Layer, Service, ServiceBuilder};
use tower_egress::request::Origin;
use tower_egress::retry::ReplayBody;
use tower_egress::{
    ClassifyLayer, EgressLayer, Error, ExitAwareRetryLayer, LeaseError, LeaseLayer, LeaseRequest, Next,
    Scheduler,
};

fn bare(uri: &str) -> Req {
    Request::get(uri).body(Full::default()).unwrap()
}

async fn origin_of(layer: LeaseLayer, scheduler: &Scheduler, request: Req) -> Result<String, Error> {
    let stack = ServiceBuilder::new().layer(layer).layer(ClassifyLayer::new());
    stack.service(Script::new([status(200)])).oneshot(request).await?;
    Ok(scheduler.snapshot().origins[0].origin.to_string())
}

#[tokio::test(start_paused = true)]
async fn a07_the_origin_is_the_requests_else_the_closures_else_the_uris() {
    let own = || LeaseRequest::per_request().origin("own");
    let map = |_: &http::Uri| Origin::new("mapped");
    let cases = [
        (false, LeaseRequest::per_request(), "a.shop.example:8443"),
        (true, LeaseRequest::per_request(), "mapped"),
        (true, own(), "own"),
        (false, own(), "own"),
    ];
    for (mapped, ask, expected) in cases {
        let scheduler = scheduler(1);
        let layer = LeaseLayer::new(&scheduler);
        let layer = if mapped { layer.origin(map) } else { layer };
        let request = with(Request::get("https://A.shop.example:8443/p"), "", ask);
        assert_eq!(origin_of(layer, &scheduler, request).await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_lease_request_is_the_requests_else_the_closures_else_the_default() {
    let layer = |scheduler: &Scheduler| {
        LeaseLayer::new(scheduler).default_lease(LeaseRequest::per_request().origin("default"))
    };
    let scheduler = scheduler(1);
    assert_eq!(
        origin_of(layer(&scheduler), &scheduler, bare("https://a.example/")).await.unwrap(),
        "default"
    );
    for (request, expected) in [
        (bare("https://a.example/closure"), "/closure"),
        (with(Request::get("https://a.example/"), "", LeaseRequest::per_request().origin("own")), "own"),
    ] {
        let scheduler = crate::support::scheduler(1);
        let layer = layer(&scheduler).with(|parts| LeaseRequest::per_request().origin(parts.uri.path()));
        assert_eq!(origin_of(layer, &scheduler, request).await.unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_lease_request_is_refused_with_the_cure() {
    let scheduler = scheduler(1);
    let error =
        EgressLayer::new(&scheduler).layer(Script::default()).oneshot(bare("https://a.example/")).await;
    let error = error.unwrap_err();
    assert_eq!((error.refusal(), error.next()), (Some(&LeaseError::NoLeaseRequest), Next::Bug));
    assert!(error.to_string().contains("LeaseLayer::default_lease"), "{error}");
    assert!(error.attempts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_uri_without_a_host_is_refused() {
    let scheduler = scheduler(1);
    let error =
        EgressLayer::new(&scheduler).layer(Script::default()).oneshot(get("/p/42")).await.unwrap_err();
    assert!(
        matches!(error.refusal(), Some(LeaseError::Misuse(why)) if why.contains("absolute URIs")),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn c37_an_empty_pool_sends_nothing() {
    let scheduler = scheduler(1);
    let script = Script::new([status(403)]);
    let stack = EgressLayer::new(&scheduler).layer(script.clone());
    let ask = LeaseRequest::per_request().patience(std::time::Duration::ZERO);
    let request = || with(Request::post("https://a.example/"), "a=1", ask.clone());
    assert_eq!(stack.clone().oneshot(request()).await.unwrap().status(), 403);
    let error = stack.oneshot(request()).await.unwrap_err();
    let Some(LeaseError::NoUsableExit { counts, .. }) = error.refusal() else { panic!("{error:?}") };
    assert_eq!(counts.cooling, 1);
    assert!(matches!(error.next(), Next::At(at) if at > now().into_std()));
    assert_eq!(script.sent().len(), 1);
}

type Mock = tower_test::mock::Mock<Request<ReplayBody<Full<Bytes>>>, Response<Full<Bytes>>>;

#[tokio::test(start_paused = true)]
async fn only_a_ready_service_is_called() {
    let (mock, mut client): (Mock, _) = tower_test::mock::pair();
    let scheduler = scheduler(1);
    let mut stack = EgressLayer::new(&scheduler).layer(mock);
    client.allow(0);
    assert!(!is_ready(&mut stack).await);
    client.allow(1);
    assert!(is_ready(&mut stack).await);
    // A clone of a ready service is not ready; the mock panics if it is called all the same.
    let _bystander = stack.clone();
    let mut answer = Box::pin(stack.call(get("https://shop.example/")));
    assert!(poll_once(&mut answer).await.is_pending());
    assert!(!is_ready(&mut stack).await, "its one permit is spent");
    let (request, respond) = client.next_request().await.unwrap();
    assert_eq!(request.uri(), "https://shop.example/");
    respond.send_response(Response::new(Full::default()));
    assert_eq!(answer.await.unwrap().status(), 200);
}

async fn is_ready<S: Service<Req, Error = Error>>(stack: &mut S) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(matches!(stack.poll_ready(cx), Poll::Ready(Ok(()))))).await
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_gives_its_permit_back() {
    let scheduler = scheduler(1);
    let limited = ConcurrencyLimit::new(Script::default(), 1);
    let layers = ServiceBuilder::new().layer(LeaseLayer::new(&scheduler)).layer(ClassifyLayer::new());
    let mut one = layers.service(limited);
    let mut two = one.clone();
    assert!(is_ready(&mut one).await);
    assert!(!is_ready(&mut two).await);
    one.call(bare("https://a.example/")).await.unwrap_err();
    assert!(is_ready(&mut two).await, "although `one` is still there");
}

#[tokio::test(start_paused = true)]
async fn a_wait_between_attempts_holds_no_permit() {
    let scheduler = scheduler(4);
    let script = Script::new([status(429), status(200), status(200)]);
    let stack = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .layer(LeaseLayer::new(&scheduler))
        .layer(ClassifyLayer::new())
        .service(ConcurrencyLimit::new(script, 1));
    let mut asleep = Box::pin(stack.clone().oneshot(get("https://a.example/")));
    assert!(poll_once(&mut asleep).await.is_pending());
    let mut other = Box::pin(stack.oneshot(get("https://b.example/")));
    assert!(poll_once(&mut other).await.is_ready());
    assert_eq!(asleep.await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_fails_to_become_ready_is_an_error_without_an_exit() {
    let (mock, mut client): (Mock, _) = tower_test::mock::pair();
    let mut stack = EgressLayer::new(&scheduler(1)).layer(mock);
    client.send_error("broken for ever");
    let error = std::future::poll_fn(|cx| Service::<Req>::poll_ready(&mut stack, cx)).await.unwrap_err();
    assert_eq!((error.exit(), error.is_refusal()), (None, false));
    assert!(error.to_string().contains("broken for ever"), "{error}");
}
