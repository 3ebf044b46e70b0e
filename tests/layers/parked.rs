//! More retries than the lane has turns for: nobody is failed without a word, and who is parked is told when.

use crate::support::*;
use std::time::Duration;
use tokio::time::Instant;
use tower::Layer;
use tower_egress::outcome::{Phase, Seen};
use tower_egress::verdict::Why;
use tower_egress::{EgressLayer, LeaseRequest, Next, Outcome, Scheduler, Served};

const URI: &str = "https://shop.example/p/42";
/// Said to one request: a site that says of itself that it is down is left alone as a whole.
const FAILED: Outcome = Outcome::OriginError { status: http::StatusCode::REQUEST_TIMEOUT };

/// Takes all turns there are for the next half minute.
fn fill(scheduler: &Scheduler) -> Duration {
    let ask = || LeaseRequest::per_request().origin("shop.example").repeatable(true);
    for _ in 0..1_000 {
        let lease = scheduler.lease(&ask()).unwrap();
        lease.report(FAILED);
        match lease.retry(ask()) {
            Ok((delay, _)) => assert!(delay <= Duration::from_secs(30), "{delay:?}"),
            Err(Why::Parked { retry_in }) => return retry_in,
            Err(why) => panic!("{why}"),
        }
    }
    panic!("the lane has no end")
}

#[tokio::test(start_paused = true)]
async fn a_plain_caller_is_told_how_long() {
    let scheduler = scheduler(8);
    let retry_in = fill(&scheduler);
    assert!(retry_in > Duration::from_secs(30) && retry_in < Duration::from_secs(32), "{retry_in:?}");
    assert_eq!(scheduler.snapshot().parked, 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_back_as_it_is_and_says_when() {
    let (scheduler, script) = (scheduler(8), Script::new([status(503), status(503), status(200)]));
    fill(&scheduler);
    let start = now();
    let stack = EgressLayer::new(&scheduler).layer(script.clone());
    let response = stack.clone().oneshot(get(URI)).await.unwrap();
    assert_eq!((response.status().as_u16(), now() - start), (503, Duration::ZERO), "nobody is held up");
    let served = response.extensions().get::<Served>().unwrap();
    assert!(matches!(served.why(), Some(Why::Parked { .. })), "{:?}", served.why());
    let retry_at = Instant::from_std(served.retry_at().unwrap());
    assert!(retry_at > start + Duration::from_secs(30), "{:?}", retry_at - start);
    // At that time there is a turn: what fails once more is sent again.
    tokio::time::sleep_until(retry_at).await;
    let response = stack.oneshot(get(URI)).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap();
    assert_eq!((response.status().as_u16(), served.attempts()), (200, 2));
    assert_eq!((served.why(), served.retry_at()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn an_error_is_the_real_one_and_its_next_step_is_that_time() {
    let (scheduler, script) = (scheduler(8), Script::new([fail(Phase::Head, Seen::Unknown)]));
    fill(&scheduler);
    let start = now();
    let error = EgressLayer::new(&scheduler).layer(script).oneshot(get(URI)).await.unwrap_err();
    assert!(matches!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head })), "{error}");
    let Some(Why::Parked { retry_in }) = error.why() else { panic!("{error}") };
    assert_eq!(error.next(), Next::At((start + retry_in).into_std()));
    assert_eq!(error.retry_after(), Some(retry_in));
    assert!(error.to_string().ends_with("; not sent again: too many retries are before it"), "{error}");
    assert!(!error.is_refusal() && now() == start);
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_of_all_sends_says_why_and_when_too() {
    let (scheduler, script) =
        (scheduler(8), Script::new([status(403), status(403), status(403), status(403)]));
    let response = EgressLayer::new(&scheduler).layer(script).oneshot(get(URI)).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap();
    assert_eq!((served.attempts(), served.why()), (4, Some(Why::Exhausted)));
    assert!(served.retry_at().is_some());
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_while_it_waits_for_its_turn_leaves_nothing_but_the_turn() {
    let (scheduler, script) = (scheduler(8), Script::new([status(503), status(200)]));
    let mut answer = Box::pin(EgressLayer::new(&scheduler).layer(script).oneshot(get(URI)));
    assert!(poll_once(&mut answer).await.is_pending());
    drop(answer);
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.waiting, snapshot.parked), (0, 0, 0));
}
