//! What a broken-off attempt says.

use super::Scheduler;
use crate::exit::ExitList;
use crate::outcome::{Outcome, Phase};
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
