//! What a request does next.

use super::*;
use crate::verdict::{Switch, Why};

fn verdict(world: &mut World, grant: &Grant, ask: &LeaseRequest, outcome: Outcome) -> Verdict {
    let mut ask = ask.clone();
    ask.trail.record(grant.receipt.exit, &outcome);
    let question = RetryAsk {
        receipt: grant.receipt,
        evidence: outcome.into(),
        ask: &ask,
        repeatable: true,
        replayable: true,
        deadline: world.now + ask.deadline,
    };
    world.fleet.retry(world.now, &question)
}

#[test]
fn a_blocked_request_goes_on_at_once_through_another_exit() {
    let mut world = World::of(2);
    let ask = LeaseRequest::per_request();
    let grant = world.once(&ask, BLOCKED);
    let Verdict::Retry { delay, switch: Switch::Exit } = verdict(&mut world, &grant, &ask, BLOCKED) else {
        panic!("another exit is free")
    };
    assert!(delay < Duration::from_millis(250), "{delay:?}");
}

#[test]
fn with_no_other_exit_it_waits_for_the_first_one_or_stops_at_the_deadline() {
    let mut world = World::of(1);
    let ask = LeaseRequest::per_request();
    let grant = world.once(&ask, BLOCKED);
    let Verdict::Retry { delay, .. } = verdict(&mut world, &grant, &ask, BLOCKED) else {
        panic!("30 s are affordable")
    };
    assert!(delay >= secs(30), "{delay:?}");
    let hurried = ask.deadline(secs(20));
    assert_eq!(verdict(&mut world, &grant, &hurried, BLOCKED), Verdict::Stop(Why::NoUsableExit));
}

#[test]
fn a_pool_of_one_serves_its_own_retries() {
    let mut world = World::of(1);
    let mut ask = LeaseRequest::per_request();
    let grant = world.once(&ask, REFUSED);
    assert!(matches!(verdict(&mut world, &grant, &ask, REFUSED), Verdict::Retry { .. }));
    ask.trail.record(grant.receipt.exit, &REFUSED);
    assert_eq!(world.lease(&ask).receipt.exit, grant.receipt.exit);
}

#[test]
fn the_next_attempt_avoids_the_exit_that_failed_and_keeps_it_held() {
    let mut world = World::of(5);
    let mut ask = LeaseRequest::new("k");
    let held = world.once(&ask, REFUSED).receipt.exit;
    ask.trail.record(held, &REFUSED);
    let next = world.once(&ask, Outcome::Ok);
    assert_eq!(next.reason, Reason::Borrowed { from: held });
    assert_eq!(world.once(&LeaseRequest::new("k"), Outcome::Ok).receipt.exit, held);
}

#[test]
fn to_ask_who_is_next_changes_no_choice() {
    let (mut asked, mut quiet) = (World::of(20), World::of(20));
    let ask = LeaseRequest::per_request();
    for _ in 0..50 {
        let grant = asked.once(&ask, Outcome::Ok);
        verdict(&mut asked, &grant, &ask, REFUSED);
        assert_eq!(grant.receipt.exit, quiet.once(&ask, Outcome::Ok).receipt.exit);
    }
}
