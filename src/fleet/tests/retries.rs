//! What a request does next.

use super::*;
use crate::verdict::{Switch, Why};

pub(super) fn verdict(world: &mut World, grant: &Grant, ask: &LeaseRequest, outcome: Outcome) -> Verdict {
    let mut ask = ask.clone();
    ask.trail.record(grant.receipt.exit, &outcome.into(), grant.receipt.charged);
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
fn b19_c17_c24_a_blocked_request_goes_on_at_once_through_another_exit() {
    let mut world = World::of(2);
    let ask = LeaseRequest::per_request();
    let grant = world.once(&ask, BLOCKED);
    let Verdict::Retry { delay, switch: Switch::Exit } = verdict(&mut world, &grant, &ask, BLOCKED) else {
        panic!("another exit is free")
    };
    assert!(delay < Duration::from_millis(250), "{delay:?}");
}

#[test]
fn c17_with_no_other_exit_it_waits_in_line_within_its_patience() {
    let mut world = World::of(1);
    let ask = LeaseRequest::per_request();
    let minute = limited(Some(60));
    let grant = world.once(&ask, minute);
    assert_eq!(
        verdict(&mut world, &grant, &ask, minute),
        Verdict::Stop(Why::NoUsableExit),
        "30 s is its patience"
    );
    let patient = ask.clone().patience(secs(80));
    let Verdict::Retry { delay, .. } = verdict(&mut world, &grant, &patient, minute) else {
        panic!("it can wait")
    };
    assert!(delay <= Duration::from_millis(1_500), "then it stands in line: {delay:?}");
    let hurried = patient.deadline(secs(20));
    assert_eq!(verdict(&mut world, &grant, &hurried, minute), Verdict::Stop(Why::NoUsableExit));
}

#[test]
fn the_only_living_exit_serves_its_own_retries() {
    let mut world = World::of(2);
    world.fleet.pool.kill_for_test(exits(2)[0].id(), world.now);
    let ask = LeaseRequest::per_request();
    let grant = world.once(&ask, REFUSED);
    assert!(matches!(verdict(&mut world, &grant, &ask, REFUSED), Verdict::Retry { .. }));
}

#[test]
fn a_pool_of_one_serves_its_own_retries() {
    let mut world = World::of(1);
    let mut ask = LeaseRequest::per_request();
    let grant = world.once(&ask, REFUSED);
    assert!(matches!(verdict(&mut world, &grant, &ask, REFUSED), Verdict::Retry { .. }));
    ask.trail.record(grant.receipt.exit, &REFUSED.into(), true);
    assert_eq!(world.lease(&ask).receipt.exit, grant.receipt.exit);
}

#[test]
fn the_next_attempt_avoids_the_exit_that_failed_and_keeps_it_held() {
    let mut world = World::of(5);
    let mut ask = LeaseRequest::new("k");
    let held = world.once(&ask, REFUSED).receipt.exit;
    ask.trail.record(held, &REFUSED.into(), true);
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

#[test]
fn a_lost_identity_stops_and_is_not_waited_for() {
    let mut world = World::of(3);
    let ask = LeaseRequest::identity("account").deadline(Duration::MAX).patience(Duration::MAX);
    let grant = world.once(&ask, BLOCKED);
    assert_eq!(verdict(&mut world, &grant, &ask, BLOCKED), Verdict::Stop(Why::ExitLost));
}

#[test]
fn who_finds_out_that_the_last_login_is_wrong_is_told_so() {
    let exits = vec![Exit::parse("http://user:pw@gw.test:1").unwrap()];
    let mut world = World::new(Setup { exits, ..config(1) });
    let ask = LeaseRequest::per_request().origin("a.test");
    let refused = Outcome::AuthError { reason: crate::outcome::AuthReason::Rejected };
    for stops in [false, true] {
        let grant = world.lease(&ask);
        world.finish(&grant, refused);
        let verdict = verdict(&mut world, &grant, &ask, refused);
        assert_eq!(matches!(verdict, Verdict::Stop(Why::FleetStopped)), stops, "{verdict:?}");
        world.pass(secs(1));
    }
    assert_eq!(world.at("a.test", &ask).unwrap_err(), Refusal::FleetStopped);
}
