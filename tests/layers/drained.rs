//! The page of a refusal: read ahead where that saves its connection, and never for long.

use crate::support::*;
use http::{Request, Response};
use http_body_util::BodyExt;
use std::num::NonZeroU32;
use std::task::Poll;
use std::time::Duration;
use tower::{Layer, ServiceBuilder};
use tower_egress::outcome::Connection;
use tower_egress::request::Freshness;
use tower_egress::{
    ClassifyLayer, EgressBody, EgressLayer, Error, ExitAwareRetryLayer, LeaseLayer, LeaseRequest, Outcome,
    Scheduler, Served,
};

const URI: &str = "https://shop.example/p/42";

/// Sent once, by a stack that could send it again.
fn once() -> LeaseRequest {
    LeaseRequest::per_request().attempts(NonZeroU32::MIN)
}

async fn answer_of(scheduler: &Scheduler, step: Step) -> Result<Response<EgressBody<Page>>, Error> {
    let stack = EgressLayer::new(scheduler).layer(Script::new([step]));
    stack.oneshot(with(Request::get(URI), "", once())).await
}

#[tokio::test(start_paused = true)]
async fn a_small_refused_page_is_read_ahead_and_a_large_one_is_not() {
    let scheduler = scheduler(1);
    let small = page(403, [Part::Data("no"), Part::Yield, Part::Data("pe"), Part::Trailers]);
    let response = answer_of(&scheduler, small).await.unwrap();
    assert_eq!(scheduler.snapshot().in_flight, 0, "its connection is free already");
    assert_eq!(response.extensions().get::<Served>().unwrap().bytes(), 4);
    let whole = response.into_body().collect().await.unwrap();
    assert!(whole.trailers().is_some());
    assert_eq!(whole.to_bytes(), "nope");

    let other = crate::support::scheduler(1);
    let large = page(403, [Part::Data(LARGE), Part::Data(LARGE), Part::Data("end")]);
    let response = answer_of(&other, large).await.unwrap();
    assert_eq!(other.snapshot().in_flight, 1);
    assert_eq!(response.extensions().get::<Served>().unwrap().bytes(), 20 << 10);
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), (40 << 10) + 3);
}

/// How much of a refused page was read ahead, and how long that took.
async fn ahead(ask: LeaseRequest, step: Step) -> (u64, Duration) {
    let (scheduler, start) = (scheduler(2), now());
    let stack = EgressLayer::new(&scheduler).layer(Script::new([step]));
    let response = stack.oneshot(with(Request::get(URI), "", ask)).await.unwrap();
    assert_eq!(response.status(), 403);
    (response.extensions().get::<Served>().unwrap().bytes(), now() - start)
}

#[tokio::test(start_paused = true)]
async fn a_page_is_read_ahead_only_if_its_connection_will_be_used_again() {
    let slow = || page(403, [Part::Data("nope"), Part::Stall]);
    let read = (4, Duration::from_millis(100));
    let left = (0, Duration::ZERO);
    assert_eq!(ahead(once(), slow()).await, read);
    let over = |connection| Step::Over(connection, Box::new(slow()));
    assert_eq!(ahead(once(), over(Connection::kept())).await, read);
    assert_eq!(ahead(once(), over(Connection::kept().ending(true))).await, left, "the client says so");
    assert_eq!(ahead(once().freshness(Freshness::Fresh), slow()).await, left, "a connection of its own");
    let long = Step::Answer(403, &[], Page::of_at_least(200 << 10, [Part::Data("nope"), Part::Stall]));
    assert_eq!(ahead(once(), long).await, left, "it would not be read to its end");
}

#[tokio::test(start_paused = true)]
async fn without_a_retry_layer_a_refusal_is_its_readers_at_once() {
    let (scheduler, start) = (scheduler(1), now());
    let layers = ServiceBuilder::new().layer(LeaseLayer::new(&scheduler)).layer(ClassifyLayer::new());
    let stack = layers.service(Script::new([page(403, [Part::Data("nope"), Part::Stall])]));
    let response = stack.oneshot(get(URI)).await.unwrap();
    assert_eq!((response.extensions().get::<Served>().unwrap().bytes(), now() - start), (0, Duration::ZERO));
    assert_eq!(response.into_body().frame().await.unwrap().unwrap().into_data().unwrap(), "nope");
}

#[tokio::test(start_paused = true)]
async fn a_refused_page_that_stalls_keeps_its_answer_back_for_a_moment_only() {
    let scheduler = scheduler(1);
    let start = now();
    let response = answer_of(&scheduler, page(503, [Part::Data("one"), Part::Stall])).await.unwrap();
    assert_eq!(now() - start, Duration::from_millis(100));
    let mut body = response.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
    assert_eq!(scheduler.snapshot().in_flight, 1);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_takes_the_whole_budget_does_not_stop_the_clock() {
    let scheduler = scheduler(1);
    let mut refused = Box::pin(answer_of(&scheduler, page(403, [Part::Greedy])));
    assert!(poll_once(&mut refused).await.is_pending());
    tokio::time::advance(Duration::from_millis(101)).await;
    assert!(poll_once(&mut refused).await.is_ready());
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_page_is_being_read_survives_the_deadline() {
    let scheduler = scheduler(1);
    let ask = || with(Request::get(URI), "", once().deadline(Duration::from_secs(1)));
    let start = now();
    let slow = || page(503, [Part::Data("one"), Part::Stall]);
    let late = Step::After(Duration::from_millis(950), Box::new(slow()));
    let response = EgressLayer::new(&scheduler).layer(Script::new([late])).oneshot(ask()).await.unwrap();
    assert_eq!((response.status().as_u16(), now() - start), (503, Duration::from_millis(1_050)));

    // What is kept back for another reason is not waited for.
    let layers = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .layer(LeaseLayer::new(&scheduler))
        .layer_fn(Keep);
    let stack = layers.layer(ClassifyLayer::new()).service(Script::new([slow()]));
    let start = now();
    let error = stack.oneshot(ask()).await.unwrap_err();
    assert_eq!(now() - start, Duration::from_millis(1_100));
    assert!(matches!(error.outcome(), Some(Outcome::OriginError { .. })), "{error}");
}

/// Lets nothing through.
#[derive(Clone)]
struct Keep<S>(S);

impl<B, S: tower::Service<Request<B>>> tower::Service<Request<B>> for Keep<S>
where
    S::Future: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<S::Response, S::Error>>>>;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            let _kept = answer.await;
            std::future::pending().await
        })
    }
}
