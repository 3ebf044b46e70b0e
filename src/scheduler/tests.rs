//! What a broken-off attempt says, and how long a retry waits.

use super::{Attempt, Scheduler};
use crate::exit::ExitList;
use crate::outcome::{Evidence, Outcome, Phase};
use crate::request::LeaseRequest;
use std::time::Duration;

fn scheduler() -> Scheduler {
    let exits = ExitList::parse("192.0.2.1:8080").unwrap();
    Scheduler::builder().exits(exits).seed(1).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_broken_off_soon_blames_nobody() {
    let scheduler = scheduler();
    for (age, blameless) in [(0, true), (9_999, true), (10_000, false), (60_000, false)] {
        let lease = scheduler.lease(&LeaseRequest::per_request().origin("shop.example")).unwrap();
        let (_hold, handle) = lease.share(None, true);
        handle.break_off();
        assert_eq!(handle.evidence(), None, "it was never begun");
        assert!(handle.start());
        tokio::time::advance(Duration::from_millis(age)).await;
        handle.break_off();
        let evidence = handle.evidence().unwrap();
        assert_eq!(evidence.outcome, Outcome::Interrupted { phase: Phase::Head });
        assert_eq!(evidence.blameless, blameless, "after {age} ms");
    }
}

/// A request that was sent once.
fn sent(scheduler: &Scheduler) -> Attempt {
    let mut ask = LeaseRequest::per_request().origin("shop.example");
    let attempt = Attempt::new(scheduler.clone(), true);
    scheduler.fix_deadline(&mut ask);
    attempt.asked(&ask);
    assert_eq!(attempt.wait_for_exit(Duration::ZERO), None, "the first lease is not waited for");
    let (_hold, handle) = scheduler.lease(&ask).unwrap().share(Some(attempt.clone()), true);
    handle.report(Evidence::of(Outcome::Interrupted { phase: Phase::Head }));
    attempt
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_the_same_exit_do_not_come_back_together() {
    let scheduler = scheduler();
    let wait = Duration::from_secs(8);
    let mut waits: Vec<_> = (0..4).map(|_| sent(&scheduler).wait_for_exit(wait).unwrap()).collect();
    waits.sort_unstable();
    assert!(waits[0] > wait && waits[3] < wait + Duration::from_millis(1_500), "{waits:?}");
    assert!(waits.windows(2).all(|two| two[1] - two[0] > Duration::from_millis(1)), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn patience_counts_from_the_first_refusal_and_nobody_spins() {
    let attempt = sent(&scheduler());
    let mut times = 0;
    let mut waited = Duration::ZERO;
    while let Some(wait) = attempt.wait_for_exit(Duration::ZERO) {
        assert!(wait >= Duration::from_millis(20), "{wait:?}");
        tokio::time::advance(wait).await;
        waited += wait;
        times += 1;
    }
    assert!(waited > Duration::from_secs(29) && waited <= Duration::from_secs(30), "{waited:?}");
    assert!(times < 300, "{times}");
    assert_eq!(attempt.waited(), waited);
}
