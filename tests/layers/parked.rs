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

/// Takes all turns there are for the next half minute: those who have them, and what the one after them is told.
fn fill(scheduler: &Scheduler) -> (Vec<LeaseRequest>, Duration) {
    let ask = || LeaseRequest::per_request().origin("shop.example").repeatable(true);
    let mut kept = Vec::new();
    for _ in 0..1_000 {
        let lease = scheduler.lease(&ask()).unwrap();
        lease.report(FAILED);
        match lease.retry(ask()) {
            Ok((delay, again)) => {
                assert!(delay <= Duration::from_secs(30), "{delay:?}");
                kept.push(again);
            }
            Err(Why::Parked { retry_in }) => return (kept, retry_in),
            Err(why) => panic!("{why}"),
        }
    }
    panic!("the lane has no end")
}

#[tokio::test(start_paused = true)]
async fn a_plain_caller_is_told_how_long() {
    let scheduler = scheduler(8);
    let (_kept, retry_in) = fill(&scheduler);
    assert!(retry_in > Duration::from_secs(30) && retry_in < Duration::from_secs(32), "{retry_in:?}");
    assert_eq!(scheduler.snapshot().parked, 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_back_as_it_is_and_says_when() {
    let (scheduler, script) = (scheduler(8), Script::new([status(503), status(503), status(200)]));
    let _kept = fill(&scheduler);
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
    let _kept = fill(&scheduler);
    let start = now();
    let error = EgressLayer::new(&scheduler).layer(script).oneshot(get(URI)).await.unwrap_err();
    assert!(matches!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head })), "{error}");
    let Some(Why::Parked { retry_in }) = error.why() else { panic!("{error}") };
    assert_eq!(error.next(), Next::At((start + retry_in).into_std()));
    assert_eq!(error.retry_after(), Some(retry_in));
    let seconds = retry_in.as_secs_f64();
    let told = format!(
        "; not sent again: too many retries are before it; put it aside and send it anew in {seconds:.1} s"
    );
    assert!(error.to_string().ends_with(&told), "{error}");
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
async fn who_goes_away_while_it_waits_for_its_turn_leaves_nothing_and_gives_the_turn_to_the_next() {
    let scheduler = scheduler(8);
    let stack = EgressLayer::new(&scheduler);
    let mut waits = Vec::new();
    let (mut parked, mut gone) = (0, 0);
    while parked == 0 {
        let steps = [fail(Phase::Head, Seen::Unknown), status(200)];
        let mut answer = Box::pin(stack.layer(Script::new(steps)).oneshot(get(URI)));
        if poll_once(&mut answer).await.is_pending() {
            waits.push(answer);
        } else {
            parked += 1;
        }
    }
    assert!((25..=35).contains(&waits.len()), "two turns each: {}", waits.len());
    // Half of them go away, and as many others have their turns.
    while waits.len() > 15 {
        drop(waits.pop());
        gone += 1;
    }
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.waiting, snapshot.parked), (0, 0, 1));
    for _ in 0..gone {
        let steps = [fail(Phase::Head, Seen::Unknown), status(200)];
        let mut answer = Box::pin(stack.layer(Script::new(steps)).oneshot(get(URI)));
        assert!(poll_once(&mut answer).await.is_pending());
        waits.push(answer);
    }
    assert_eq!(scheduler.snapshot().parked, 1);
}

#[tokio::test(start_paused = true)]
async fn a_plain_callers_request_that_is_dropped_gives_its_turn_back_and_one_that_is_leased_does_not() {
    let scheduler = scheduler(8);
    let (mut kept, _) = fill(&scheduler);
    let clones = kept.clone();
    drop(kept.split_off(30));
    assert_eq!(fill(&scheduler).0.len(), 0, "a clone is the same request");
    drop(clones);
    let (again, _) = fill(&scheduler);
    assert!((30..=34).contains(&again.len()), "{}", again.len());
    // Their turns come, and then they are nobody's.
    tokio::time::sleep(Duration::from_secs(30)).await;
    for ask in kept.iter().chain(&again) {
        scheduler.lease(ask).unwrap().report(Outcome::Ok);
    }
    drop((kept, again));
    let (fresh, _) = fill(&scheduler);
    assert!((60..=70).contains(&fresh.len()), "{}", fresh.len());
}
