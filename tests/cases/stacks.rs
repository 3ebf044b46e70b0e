//! The three layers among tower's own and a caller's.

use crate::shop::*;
use http::{Method, Request, StatusCode};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::JoinSet;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};
use tower_egress::lab::{Lab, Reply};
use tower_egress::outcome::{BlockedBy, RetryAfter};
use tower_egress::verdict::RetryRules;
use tower_egress::{
    Body, ClassifyLayer, EgressLayer, Error, ExitAwareRetryLayer, LeaseError, LeaseLayer, LeaseRequest, Next,
    Outcome, Served,
};

/// Panics where it is called without having been ready, and every clone must become ready itself.
#[derive(Debug)]
struct Strict<S> {
    inner: S,
    ready: bool,
}

impl<S: Clone> Clone for Strict<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), ready: false }
    }
}

impl<S, R> Service<R> for Strict<S>
where
    S: Service<R>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let ready = self.inner.poll_ready(cx);
        self.ready = matches!(ready, Poll::Ready(Ok(())));
        ready
    }

    fn call(&mut self, request: R) -> S::Future {
        assert!(std::mem::take(&mut self.ready), "called without having been ready");
        self.inner.call(request)
    }
}

fn strict<S>(inner: S) -> Strict<S> {
    Strict { inner, ready: false }
}

fn page(shop: &Shop, path: &str) -> Request<Body> {
    request(Method::GET, &shop.world.tls_url(path), "", LeaseRequest::per_request())
}

/// Three refusals, then the page.
fn stubborn() -> Shop {
    let shop = Shop::of(Lab::builder().fine(8));
    let busy = || Reply::new(StatusCode::SERVICE_UNAVAILABLE);
    shop.world.origin().respond(move |seen| if seen.number() % 4 < 3 { busy() } else { Reply::page("in") });
    shop
}

#[tokio::test(start_paused = true)]
async fn te_042_the_service_that_was_ready_is_the_one_that_is_called() {
    let shop = stubborn();
    let (retry, lease) = (ExitAwareRetryLayer::new(&shop.scheduler), LeaseLayer::new(&shop.scheduler));
    let stack = ServiceBuilder::new()
        .layer_fn(strict)
        .layer(retry)
        .layer_fn(strict)
        .concurrency_limit(1)
        .layer_fn(strict)
        .layer(lease)
        .layer_fn(strict)
        .layer(ClassifyLayer::new())
        .layer_fn(strict)
        .concurrency_limit(1)
        .layer_fn(strict)
        .service(shop.world.clone());
    for _ in 0..5 {
        let (status, served) = read(stack.clone().oneshot(page(&shop, "/p")).await.unwrap()).await;
        assert_eq!((status, served.attempts()), (200, 4));
    }
    assert_eq!(shop.seen().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn te_042_a_buffer_around_the_stack_or_inside_it_changes_nothing() {
    let shop = stubborn();
    let (retry, lease) = (ExitAwareRetryLayer::new(&shop.scheduler), LeaseLayer::new(&shop.scheduler));
    let stack = ServiceBuilder::new()
        .buffer(4)
        .layer(retry)
        .layer(lease)
        .layer_fn(strict)
        .buffer(4)
        .layer(ClassifyLayer::new())
        .layer_fn(strict)
        .service(shop.world.clone());
    for _ in 0..5 {
        let (status, served) = read(stack.clone().oneshot(page(&shop, "/p")).await.unwrap()).await;
        assert_eq!((status, served.attempts()), (200, 4));
    }
}

#[tokio::test(start_paused = true)]
async fn te_032_of_two_retry_layers_one_counts() {
    let shop = Shop::of(Lab::builder().fine(8));
    shop.world.origin().respond(|_| Reply::new(StatusCode::TOO_MANY_REQUESTS));
    let retry = ExitAwareRetryLayer::new(&shop.scheduler);
    let stack = ServiceBuilder::new()
        .layer(retry.clone())
        .layer(retry)
        .layer(LeaseLayer::new(&shop.scheduler))
        .layer(ClassifyLayer::new())
        .service(shop.world.clone());
    heard();
    for calls in 1..=2 {
        let ask = LeaseRequest::per_request().attempts(3.try_into().unwrap());
        let request = request(Method::GET, &shop.world.tls_url("/p"), "", ask);
        let (status, served) = read(stack.clone().oneshot(request).await.unwrap()).await;
        assert_eq!((status, served.attempts(), shop.seen().len()), (429, 3, 3 * calls));
    }
    assert_eq!(heard().matches("inside another does not retry").count(), 1, "said once");
}

#[tokio::test(start_paused = true)]
async fn te_035_a_key_that_changes_below_the_lease_changes_nothing() {
    // Chosen: nobody is told of it. The lease is taken where the layer stands; what comes below is no part of the choice.
    let shop = Shop::of(Lab::builder().fine(10));
    let rename = tower::util::MapRequestLayer::new(|mut request: Request<_>| {
        request.extensions_mut().insert(LeaseRequest::new("another"));
        request
    });
    let stack = ServiceBuilder::new()
        .layer(LeaseLayer::new(&shop.scheduler))
        .layer(rename)
        .layer(ClassifyLayer::new())
        .service(shop.world.clone());
    let lease = |key: &str| {
        let ask = LeaseRequest::new(key.to_owned()).origin("shop.test");
        shop.place(shop.scheduler.lease(&ask).unwrap().exit())
    };
    let mut expected = Vec::new();
    for number in 0..100 {
        let key = format!("sku-{}", number % 10);
        expected.push(lease(&key));
        let request = request(Method::GET, &shop.world.tls_url("/p"), "", LeaseRequest::new(key));
        read(stack.clone().oneshot(request).await.unwrap()).await;
    }
    assert_eq!(shop.seen(), expected);
    assert!(expected.iter().any(|exit| *exit != lease("another")));
}

#[tokio::test(start_paused = true)]
async fn te_076_a_call_that_sleeps_holds_nothing() {
    let shop = Shop::of(Lab::builder().fine(2));
    shop.world.origin().page("/broken", Reply::new(StatusCode::SERVICE_UNAVAILABLE));
    let stack = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&shop.scheduler))
        .concurrency_limit(4)
        .layer(LeaseLayer::new(&shop.scheduler))
        .layer(ClassifyLayer::new())
        .service(shop.world.clone());
    let mut asleep = JoinSet::new();
    let start = now();
    // Other pages are served between, so that it is not the site that is broken, and left alone as a whole.
    for sent in 0..4 {
        asleep.spawn(stack.clone().oneshot(page(&shop, "/broken")));
        while shop.seen().len() == 2 * sent {
            tokio::task::yield_now().await;
        }
        assert_eq!(read(stack.clone().oneshot(page(&shop, "/p")).await.unwrap()).await.0, 200);
    }
    let snapshot = shop.scheduler.snapshot();
    assert_eq!((asleep.len(), snapshot.in_flight, snapshot.exits_in_use), (4, 0, 0));
    for _ in 0..4 {
        assert_eq!(read(stack.clone().oneshot(page(&shop, "/p")).await.unwrap()).await.0, 200);
    }
    assert!(now() - start < millis(100), "{:?}", now() - start);
    assert!(asleep.join_all().await.iter().all(Result::is_ok));
}

/// A client that must not be called.
#[derive(Clone)]
struct Never;

impl<R> Service<R> for Never {
    type Response = http::Response<Body>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: R) -> Self::Future {
        panic!("called without a lease")
    }
}

/// Every exit is told to stay away from the site.
fn bench(shop: &Shop, rest: Duration) {
    let hint = Some(RetryAfter::new(rest));
    while let Ok(lease) = shop.scheduler.lease(&LeaseRequest::per_request().origin("shop.test")) {
        lease.report(Outcome::RateLimited { retry_after: hint });
    }
}

#[tokio::test(start_paused = true)]
async fn te_110_who_was_ready_is_not_sent_without_a_lease() {
    // The lease is asked for in `call`, so nothing is reserved while a service is ready, and no task is kept for it. A pool
    // cannot be closed yet; one of which nothing is left is the same to a request.
    let shop = Shop::of(Lab::builder().fine(3));
    let stack = EgressLayer::new(&shop.scheduler).layer(Never);
    let mut ready = Vec::new();
    for _ in 0..10 {
        let mut service = stack.clone();
        ServiceExt::<Request<Body>>::ready(&mut service).await.unwrap();
        ready.push(service);
    }
    assert_eq!(shop.scheduler.snapshot().leases, 0);
    bench(&shop, secs(60));
    for mut service in ready {
        let error: Error = service.call(page(&shop, "/p")).await.err().unwrap();
        assert!(matches!(error.refusal(), Some(LeaseError::NoUsableExit { .. })), "{error}");
    }
    assert_eq!(shop.scheduler.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn te_131_an_empty_pool_is_reported_by_the_call_and_heals() {
    let shop = Shop::of(Lab::builder().fine(2));
    bench(&shop, secs(60));
    let buffered = ServiceBuilder::new().buffer::<Request<Body>>(4).service(shop.stack.clone());
    let mut service = shop.stack.clone();
    for _ in 0..3 {
        let ready = ServiceExt::<Request<Body>>::ready(&mut service).await.expect("always ready");
        let error = ready.call(page(&shop, "/p")).await.err().unwrap();
        assert!(error.is_refusal() && matches!(error.next(), Next::At(_)), "{error}");
        let error = buffered.clone().oneshot(page(&shop, "/p")).await.err().unwrap();
        assert!(Error::of(&*error).unwrap().is_refusal(), "{error}");
    }
    assert_eq!(shop.seen().len(), 0);
    tokio::time::advance(secs(75)).await;
    let ready = ServiceExt::<Request<Body>>::ready(&mut service).await.unwrap();
    assert_eq!(read(ready.call(page(&shop, "/p")).await.unwrap()).await.0, 200);
    assert_eq!(read(buffered.oneshot(page(&shop, "/p")).await.unwrap()).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn te_113_a_page_that_is_refused_to_the_last_says_so() {
    // Chosen: a status of refusal says it, a page with 200 does not, since one that only mentions a captcha is no block. Who
    // can tell says it later.
    let shop = Shop::with(Lab::builder().fine(5), 7, RetryRules::default().max_attempts(3));
    shop.world.origin().page("/p", Reply::page("are you a robot?").status(StatusCode::FORBIDDEN));
    let (status, served) = shop.fetch(LeaseRequest::per_request()).await.unwrap();
    assert_eq!((status, served.attempts(), shop.seen().len()), (403, 3, 3));
    let blocked = Outcome::Blocked { by: BlockedBy::Unknown };
    assert_eq!((served.outcome(), shop.place(served.exit())), (blocked, shop.seen()[2]));

    let shop = Shop::of(Lab::builder().fine(5));
    shop.world.origin().page("/p", Reply::page("are you a robot?"));
    let (_, served): (_, Served) = shop.fetch(LeaseRequest::per_request()).await.unwrap();
    assert_eq!(served.outcome(), Outcome::Ok);
    served.report(blocked);
    assert_eq!(shop.scheduler.snapshot().outcomes.blocked, 1);
    assert_eq!(shop.scheduler.snapshot().origins[0].benched, 1, "and the exit rests");
}
