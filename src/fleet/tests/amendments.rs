//! A later word on an attempt takes the earlier one back, whole and once.

use super::*;
use crate::outcome::AuthReason;

#[test]
fn what_is_taken_back_weighs_as_it_was_counted_and_not_as_it_was_sent() {
    let mut world = World::of(1);
    let grant = world.lease(&LeaseRequest::per_request());
    // The head takes a minute; the body breaks at once.
    world.pass(secs(60)).report(&grant, Outcome::Ok);
    world.report(&grant, Outcome::Interrupted { phase: Phase::Body });
    let heat = world.snapshot().origins[0].heat;
    assert!((heat - 0.05).abs() < 1e-6, "as if nothing were known: {heat}");
}

#[test]
fn a_pair_takes_nothing_back_that_it_has_not_counted() {
    let mut world = World::of(2);
    let grant = world.lease(&held());
    world.report(&grant, Outcome::Ok);
    world.pass(secs(1));
    world.once(&held(), limited(None));
    world.pass(secs(2));
    world.once(&held(), Outcome::Ok);
    let before = world.snapshot().hottest[0].heat;
    world.report(&grant, Outcome::Interrupted { phase: Phase::Body });
    let after = world.snapshot().hottest[0].heat;
    // The prior alone has changed, by one good answer in eleven.
    assert!((after - before).abs() < 0.02, "{before}, then {after}");
}

#[test]
fn an_attempt_passes_one_trial_however_often_it_is_said() {
    let mut world = World::of(2);
    // A suspicion, and two strikes.
    for _ in 0..3 {
        world.once(&held(), BLOCKED);
        world.pass(secs(150));
    }
    let trial = world.lease(&held());
    (0..3).for_each(|_| world.report(&trial, Outcome::Ok));
    world.end(&trial);
    for _ in 0..2 {
        let trial = world.once(&held(), Outcome::Ok);
        assert!(trial.trial, "three trials in a row must pass");
    }
    assert!(!world.lease(&held()).trial);
}

#[test]
fn what_was_not_taken_is_not_taken_back() {
    let mut world = World::of(1);
    let grant = world.lease(&LeaseRequest::per_request());
    world.report(&grant, BLOCKED);
    world.report(&grant, Outcome::Interrupted { phase: Phase::Body });
    world.report(&grant, Outcome::Ok);
    let outcomes = world.snapshot().outcomes;
    assert_eq!((outcomes.ok, outcomes.total()), (1, 1), "{outcomes:?}");
}

#[test]
fn one_attempt_is_one_fault_however_often_it_is_said() {
    let broken = Outcome::ProxyError { phase: Phase::Tunnel };
    for said in [[broken; 6], [broken, Outcome::Ok, broken, Outcome::Ok, broken, broken], [REFUSED; 6]] {
        let mut world = World::of(2);
        let grant = world.lease(&LeaseRequest::per_request());
        said.iter().for_each(|outcome| world.report(&grant, *outcome));
        world.end(&grant);
        assert_eq!(world.snapshot().exits.dead, 0, "{said:?}");
    }
}

#[test]
fn one_attempt_refuses_one_login_however_often_it_is_said() {
    let mut world = World::of(1);
    let refused = Outcome::AuthError { reason: AuthReason::Rejected };
    let grant = world.lease(&LeaseRequest::per_request());
    (0..9).for_each(|_| world.report(&grant, refused));
    world.end(&grant);
    assert!(world.at("a.test", &LeaseRequest::per_request()).is_ok(), "it is doubted, and not stopped");

    let mut world = World::of(1);
    let accepted = world.lease(&LeaseRequest::per_request());
    world.finish(&accepted, Evidence::of(Outcome::Ok).login_accepted(true));
    let grant = world.pass(secs(1)).lease(&LeaseRequest::per_request());
    (0..9).for_each(|_| world.report(&grant, refused));
    world.end(&grant);
    assert!(!world.lease(&LeaseRequest::per_request()).trial, "one stray refusal doubts nothing");
}

/// As of a page that only its reader knows for one.
#[test]
fn a_block_that_is_told_after_a_success_costs_as_much_as_one_that_is_told_at_once() {
    let last = |late: bool| {
        let mut world = World::of(2);
        let exit = world.lease(&held()).receipt.exit;
        let start = world.now;
        for _ in 0..8 {
            let here = || world.pass(Duration::from_millis(100)).at("a.test", &held()).ok();
            let grant =
                std::iter::repeat_with(here).flatten().find(|grant| grant.receipt.exit == exit).unwrap();
            if late {
                world.report(&grant, Outcome::Ok);
            }
            world.finish(&grant, BLOCKED);
        }
        world.now.since(start).as_secs()
    };
    let (late, soon) = (last(true), last(false));
    assert!(late * 10 >= soon * 9, "{late} s for {soon}");
}
