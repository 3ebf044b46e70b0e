//! The scheduler without tower.

use crate::support::*;
use std::time::Duration;
use tower_egress::outcome::{BlockedBy, Phase, Seen};
use tower_egress::scheduler::{Reason, Release};
use tower_egress::verdict::Why;
use tower_egress::{ExitList, LeaseError, LeaseRequest, Outcome, Scheduler};

fn ask() -> LeaseRequest {
    LeaseRequest::new("sku-42").origin("shop.example")
}

#[tokio::test(start_paused = true)]
async fn a_key_keeps_its_exit_until_it_is_burned() {
    let scheduler = scheduler(8);
    let first = scheduler.lease(&ask()).unwrap();
    assert_eq!((first.reason(), first.generation()), (Reason::Placed, Some(0)));
    first.report(Outcome::Ok);
    let exit = first.exit();
    drop(first);
    let second = scheduler.lease(&ask()).unwrap();
    assert_eq!((second.exit(), second.reason(), second.route().exit()), (exit, Reason::Bound, exit));
    second.report(Outcome::Blocked { by: BlockedBy::Exit });
    drop(second);
    let third = scheduler.lease(&ask()).unwrap();
    assert_ne!(third.exit(), exit);
    assert_eq!((third.reason(), third.generation()), (Reason::Moved { from: exit }, Some(1)));
}

#[tokio::test(start_paused = true)]
async fn a24_a_retry_carries_what_was_learned() {
    let scheduler = scheduler(16);
    let mut ask = LeaseRequest::per_request().origin("shop.example").repeatable(true);
    let mut exits = Vec::new();
    let why = loop {
        let lease = scheduler.lease(&ask).unwrap();
        exits.push(lease.exit());
        lease.report(Outcome::ProxyError { phase: Phase::Tunnel });
        match lease.retry(ask) {
            Err(why) => break why,
            Ok((delay, next)) => {
                assert_eq!(scheduler.snapshot().in_flight, 0);
                tokio::time::sleep(delay).await;
                ask = next;
            }
        }
    };
    assert_eq!((why, exits.len()), (Why::Exhausted, 4));
    exits.sort_unstable();
    exits.dedup();
    assert_eq!(exits.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_plain_request_is_not_repeatable_unless_it_says_so() {
    let scheduler = scheduler(4);
    let interrupted = Outcome::Interrupted { phase: Phase::Head };
    let lease = scheduler.lease(&ask()).unwrap();
    lease.report(interrupted);
    assert_eq!(lease.retry(ask()).unwrap_err(), Why::NotRepeatable);
    let lease = scheduler.lease(&ask()).unwrap();
    lease.report(tower_egress::outcome::Evidence::of(interrupted).seen(Seen::Never));
    assert!(lease.retry(ask()).is_ok());
    let lease = scheduler.lease(&ask()).unwrap();
    assert_eq!(lease.retry(ask()).unwrap_err(), Why::Unreported);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_runs_from_the_first_lease() {
    let scheduler = scheduler(4);
    let ask = ask().repeatable(true).deadline(Duration::from_secs(10));
    let lease = scheduler.lease(&ask).unwrap();
    lease.report(Outcome::ProxyError { phase: Phase::ExitTcp });
    let (_, next) = lease.retry(ask).unwrap();
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(scheduler.lease(&next).unwrap_err(), LeaseError::DeadlinePassed);
}

#[tokio::test(start_paused = true)]
async fn however_a_lease_ends_it_ends_once() {
    let scheduler = scheduler(4);
    let lease = || scheduler.lease(&ask()).unwrap();
    drop(lease());
    lease().release(Release::NotAttempted);
    let reported = lease();
    reported.report(Outcome::Ok);
    reported.report(Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY });
    reported.release(Release::Done);
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.leases), (0, 3));
    assert_eq!((snapshot.outcomes.ok, snapshot.outcomes.origin_error), (0, 1), "amended");
}

#[tokio::test(start_paused = true)]
async fn a_lease_dropped_after_long_is_weak_evidence() {
    let scheduler = scheduler(4);
    let lease = scheduler.lease(&ask()).unwrap();
    tokio::time::advance(Duration::from_secs(11)).await;
    drop(lease);
    assert_eq!(scheduler.snapshot().outcomes.interrupted, 1);
}

#[test]
fn misuse_is_named_and_needs_no_runtime() {
    let scheduler = scheduler(1);
    let error = scheduler.lease(&LeaseRequest::new("x")).unwrap_err();
    assert!(matches!(error, LeaseError::Misuse(why) if why.contains("LeaseRequest::origin")));
}

#[test]
fn what_cannot_be_built_is_said_when_it_is_built() {
    listen();
    let error = Scheduler::builder().build().unwrap_err();
    assert_eq!(
        (error.field(), error.cure()),
        ("exits", "add a list with Builder::exits, or Builder::gateway, or Builder::pool")
    );
    let list = |text| ExitList::parse(text).unwrap();
    let twice =
        Scheduler::builder().exits(list("a.example:1:u:hunter2")).exits(list("a.example:1:u:hunter3"));
    let error = twice.build().unwrap_err();
    assert!(error.to_string().contains("two passwords") && !error.to_string().contains("hunter"), "{error}");
    let same =
        Scheduler::builder().exits(list("a.example:1:u:pw")).exits(list("a.example:1:u:pw\nb.example:2"));
    assert_eq!(same.build().unwrap().snapshot().exits.total, 2);
}

#[test]
fn the_seed_decides() {
    listen();
    let exits = |seed| {
        let list: String = (1..=64).map(|i| format!("192.0.2.{i}:8080\n")).collect();
        let exits = ExitList::parse(&list).unwrap();
        let scheduler = Scheduler::builder().exits(exits).seed(seed).build().unwrap();
        let ask = LeaseRequest::per_request().origin("shop.example");
        (0..8).map(|_| scheduler.lease(&ask).unwrap().exit()).collect::<Vec<_>>()
    };
    assert_eq!(exits(1), exits(1));
    assert_ne!(exits(1), exits(2));
}
