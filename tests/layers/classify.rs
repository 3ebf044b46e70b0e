//! Outcomes, bodies, and when the lease ends.

use crate::support::*;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt;
use std::task::Poll;
use std::time::Duration;
use tower::{Layer, ServiceBuilder};
use tower_egress::classify::Classify;
use tower_egress::lease::Leased;
use tower_egress::outcome::{BlockedBy, Phase};
use tower_egress::{
    ClassifyLayer, EgressBody, Error, LeaseLayer, LeaseRequest, Next, Outcome, Scheduler, Served,
};

const URI: &str = "https://shop.example/p/42";

fn stack(scheduler: &Scheduler, step: Step) -> Leased<Classify<Script>> {
    let layers = ServiceBuilder::new().layer(LeaseLayer::new(scheduler)).layer(ClassifyLayer::new());
    layers.service(Script::new([step]))
}

async fn answer_of(scheduler: &Scheduler, step: Step) -> Result<Response<EgressBody<Page>>, Error> {
    stack(scheduler, step).oneshot(get(URI)).await
}

#[tokio::test(start_paused = true)]
async fn the_lease_ends_with_the_last_frame_even_if_nobody_asks_again() {
    let scheduler = scheduler(1);
    let step = page(200, [Part::Data("one"), Part::Yield, Part::Data("two"), Part::Trailers]);
    let response = answer_of(&scheduler, step).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap().clone();
    let mut body = response.into_body();
    for (in_flight, bytes) in [(1, 3), (1, 6), (0, 6)] {
        body.frame().await.unwrap().unwrap();
        assert_eq!((scheduler.snapshot().in_flight, served.bytes()), (in_flight, bytes));
    }
    assert!(body.is_end_stream());
    assert!(body.frame().await.is_none());
    drop(body);
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.outcomes.ok, snapshot.leases), (0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_body_holds_nothing() {
    let scheduler = scheduler(1);
    let response = answer_of(&scheduler, page(204, [])).await.unwrap();
    assert_eq!(scheduler.snapshot().in_flight, 0);
    assert!(response.body().is_end_stream());
}

#[tokio::test(start_paused = true)]
async fn a_body_dropped_early_blames_nobody() {
    let scheduler = scheduler(1);
    let response = answer_of(&scheduler, page(200, [Part::Data("one"), Part::Stall])).await.unwrap();
    let mut body = response.into_body();
    body.frame().await.unwrap().unwrap();
    drop(body);
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.outcomes.ok, snapshot.outcomes.interrupted), (0, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_lease_can_end_at_the_head() {
    let scheduler = scheduler(1);
    let layers = ServiceBuilder::new()
        .layer(LeaseLayer::new(&scheduler).release_at_head())
        .layer(ClassifyLayer::new());
    let stack = layers.service(Script::new([page(200, [Part::Data("one"), Part::Error])]));
    let response = stack.oneshot(get(URI)).await.unwrap();
    assert_eq!(scheduler.snapshot().in_flight, 0);
    response.into_body().collect().await.unwrap_err();
    let snapshot = scheduler.snapshot();
    assert_eq!(
        (snapshot.in_flight, snapshot.outcomes.interrupted),
        (0, 1),
        "late evidence counts all the same"
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_takes_the_success_back() {
    let scheduler = scheduler(1);
    let response = answer_of(&scheduler, page(200, [Part::Data("one"), Part::Error])).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap().clone();
    assert_eq!(scheduler.snapshot().outcomes.ok, 1);
    let mut body = response.into_body();
    body.frame().await.unwrap().unwrap();
    let error = body.frame().await.unwrap().unwrap_err();
    let broken = Outcome::Interrupted { phase: Phase::Body };
    assert_eq!(
        (error.outcome(), error.exit(), error.next()),
        (Some(broken), Some(served.exit()), Next::Never)
    );
    assert_eq!(served.outcome(), broken);
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.outcomes.ok, snapshot.outcomes.interrupted), (0, 0, 1));
    assert!(body.frame().await.is_none(), "an error is the end");
    drop(body);
    assert_eq!(scheduler.snapshot().outcomes.interrupted, 1, "once");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_ends_with_an_error() {
    let scheduler = scheduler(1);
    let step = page(200, [Part::Yield, Part::Data("one"), Part::Stall]);
    let layers = ServiceBuilder::new()
        .layer(LeaseLayer::new(&scheduler))
        .layer(ClassifyLayer::new().body_idle_timeout(Duration::from_secs(5)));
    let response = layers.service(Script::new([step])).oneshot(get(URI)).await.unwrap();
    let mut body = response.into_body();
    body.frame().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await; // nobody reads: no time is counted
    let start = now();
    let error = body.frame().await.unwrap().unwrap_err();
    assert_eq!(now() - start, Duration::from_secs(5));
    assert!(error.to_string().contains("answer body timed out"), "{error}");
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.outcomes.ok, snapshot.outcomes.interrupted), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_not_taken_back_by_its_broken_page() {
    for parts in [vec![Part::Data("one"), Part::Error], vec![Part::Data(LARGE), Part::Error]] {
        let scheduler = scheduler(1);
        let response = answer_of(&scheduler, page(403, parts)).await.unwrap();
        let served = response.extensions().get::<Served>().unwrap().clone();
        response.into_body().collect().await.unwrap_err();
        assert_eq!(served.outcome(), Outcome::Blocked { by: BlockedBy::Unknown });
        let snapshot = scheduler.snapshot();
        assert_eq!((snapshot.in_flight, snapshot.outcomes.blocked, snapshot.outcomes.interrupted), (0, 1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_can_be_judged_later() {
    let scheduler = scheduler(2);
    let response = answer_of(&scheduler, page(200, [Part::Data("no price")])).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap().clone();
    assert_eq!(served.attempts(), 1);
    assert_eq!(served.waited(), Duration::ZERO);
    response.into_body().collect().await.unwrap();
    assert_eq!(scheduler.snapshot().in_flight, 0);
    let blocked = Outcome::Blocked { by: BlockedBy::Exit };
    served.report(blocked);
    assert_eq!(served.outcome(), blocked);
    assert_eq!((served.trail()[0].outcome, served.trail()[0].bytes), (blocked, 8));
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.outcomes.ok, snapshot.outcomes.blocked), (0, 1));
    assert!(snapshot.hottest[0].cooling > Duration::ZERO, "the pair is charged late, but it is charged");
}

#[tokio::test(start_paused = true)]
async fn a_date_is_read_against_the_answers_own() {
    let headers =
        &[("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")];
    let response = answer_of(&scheduler(1), answer(429, headers)).await.unwrap();
    let outcome = response.extensions().get::<Served>().unwrap().outcome();
    let Outcome::RateLimited { retry_after: Some(hint) } = outcome else { panic!("{outcome:?}") };
    assert_eq!(hint.wait(), Duration::from_secs(30));
}

#[test]
fn an_empty_body_is_the_default() {
    fn unpin<T: Unpin + Default + std::fmt::Debug>() -> T {
        T::default()
    }
    assert!(unpin::<EgressBody<Page>>().is_end_stream());
    let _ = ClassifyLayer::default().layer(());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_the_whole_budget_does_not_stop_the_clock() {
    let scheduler = scheduler(1);
    let ask = LeaseRequest::per_request().deadline(Duration::from_secs(20));
    for (limit, says) in [(5, "answer head timed out"), (600, "deadline")] {
        let layers = ServiceBuilder::new()
            .layer(LeaseLayer::new(&scheduler))
            .layer(ClassifyLayer::new().attempt_timeout(Duration::from_secs(limit)));
        let request = with(Request::get(URI), "", ask.clone());
        let mut answer = Box::pin(layers.service(Script::new([Step::Greedy])).oneshot(request));
        assert!(poll_once(&mut answer).await.is_pending());
        tokio::time::advance(Duration::from_secs(21)).await;
        let Poll::Ready(Err(error)) = poll_once(&mut answer).await else { panic!("{says}: it is time") };
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_takes_the_whole_budget_does_not_stop_the_clock() {
    let scheduler = scheduler(1);
    let response = answer_of(&scheduler, page(200, [Part::Data("one"), Part::Greedy])).await.unwrap();
    let mut body = response.into_body();
    body.frame().await.unwrap().unwrap();
    assert!(poll_once(&mut body.frame()).await.is_pending());
    tokio::time::advance(Duration::from_secs(31)).await;
    let Poll::Ready(Some(Err(error))) = poll_once(&mut body.frame()).await else { panic!("it is time") };
    assert!(error.to_string().contains("answer body timed out"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn with_leases_that_end_at_the_head_an_exit_that_cuts_every_body_dies() {
    let dead_after = async |parts: &dyn Fn(usize) -> Vec<Part>| {
        let scheduler = scheduler(1);
        let layers = ServiceBuilder::new()
            .layer(LeaseLayer::new(&scheduler).release_at_head())
            .layer(ClassifyLayer::new());
        for at in 1..=12 {
            let ask = LeaseRequest::per_request().patience(Duration::ZERO);
            let Ok(response) = layers
                .clone()
                .service(Script::new([page(200, parts(at))]))
                .oneshot(with(Request::get(URI), "", ask))
                .await
            else {
                return Some(at - 1);
            };
            let _ = response.into_body().collect().await;
        }
        None
    };
    // The site works: its first page comes whole.
    let then_cut = |at| if at == 1 { vec![Part::Data("one")] } else { vec![Part::Data("one"), Part::Error] };
    assert_eq!(dead_after(&then_cut).await, Some(7));
    let now_and_then_whole =
        |at| if at % 4 == 0 { vec![Part::Data("one")] } else { vec![Part::Data("one"), Part::Error] };
    assert_eq!(dead_after(&now_and_then_whole).await, None);
    let without_a_body = |at| if at % 4 == 0 { vec![] } else { vec![Part::Data("one"), Part::Error] };
    assert_eq!(dead_after(&without_a_body).await, None);
}
