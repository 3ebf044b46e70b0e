//! What a pool of one exit does: it is paced, never benched. Each test is a row of the table in the README.

use super::*;
use crate::outcome::{AuthReason, GatewayScope};
use crate::request::OnLoss;

fn once() -> LeaseRequest {
    LeaseRequest::per_request()
}

/// How long the exit rests after each of several uses in a row that end alike; each is made as soon as it may be.
fn rests(world: &mut World, outcome: Outcome, uses: usize) -> Vec<f64> {
    let mut rests = Vec::new();
    for _ in 0..uses {
        world.once(&once(), outcome);
        let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &once()) else {
            panic!("it rests")
        };
        rests.push(retry_at.since(world.now).as_secs_f64());
        world.now = retry_at;
    }
    rests
}

fn near(rests: &[f64], expected: &[f64]) {
    assert_eq!(rests.len(), expected.len());
    for (rest, least) in rests.iter().zip(expected) {
        assert!((0.98 * least..=1.25 * least).contains(rest), "{rests:?} for {expected:?}");
    }
}

#[test]
fn a_403_paces_it_at_an_eighth_of_its_rest() {
    near(&rests(&mut World::of(1), BLOCKED, 4), &[1.25, 2.5, 5.0, 10.0]);
    // It stays within an hour's eighth, whatever happens.
    assert!(rests(&mut World::of(1), BLOCKED, 60).iter().all(|rest| *rest <= 450.0 * 1.25));
    let article = Setup { rules: RetryRules::article(), ..config(1) };
    near(&rests(&mut World::new(article), BLOCKED, 2), &[37.5, 37.5]);
}

#[test]
fn a_429_paces_it_at_its_hint_and_at_a_second_without_one() {
    near(&rests(&mut World::of(1), limited(Some(60)), 2), &[60.0, 60.0]);
    near(&rests(&mut World::of(1), limited(None), 3), &[1.0, 1.0, 1.0]);
}

#[test]
fn one_success_ends_the_pace() {
    let mut world = World::of(1);
    rests(&mut world, BLOCKED, 3);
    assert!(world.once(&once(), Outcome::Ok).trial);
    assert!(!world.lease(&once()).trial && !world.lease(&once()).trial, "as many at once as come");
}

#[test]
fn one_at_a_time_tries_it() {
    let mut world = World::of(1);
    rests(&mut world, BLOCKED, 1);
    let trial = world.lease(&once());
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &once()) else {
        panic!("one at a time")
    };
    assert!(trial.trial && counts.on_trial == 1);
}

#[test]
fn who_holds_it_keeps_it() {
    for on_loss in [OnLoss::Move, OnLoss::Wait, OnLoss::Fail] {
        let mut world = World::of(1);
        let ask = LeaseRequest::new("k").on_loss(on_loss);
        world.once(&ask, BLOCKED);
        world.pass(secs(5));
        let again = world.lease(&ask);
        assert_eq!((again.reason, again.receipt.generation()), (Reason::Bound, Some(0)), "{on_loss:?}");
    }
}

#[test]
fn a_dead_one_is_tried_again_after_an_eighth_of_its_rest() {
    let mut world = World::of(1);
    (0..2).for_each(|_| drop(world.once(&once(), REFUSED)));
    let rests = rests(&mut world, REFUSED, 6);
    near(&rests, &[1.0, 1.125, 2.25, 4.5, 9.0, 18.0]);
}

#[test]
fn a_wrong_password_stops_it_as_any_other() {
    let mut world = World::of(1);
    let refused = Outcome::AuthError { reason: AuthReason::Rejected };
    world.once(&once(), refused);
    assert!(world.once(&once(), refused).trial);
    assert!(matches!(world.at("a.test", &once()), Err(Refusal::FleetStopped)));
}

#[test]
fn an_overloaded_gateway_is_left_alone_as_any_other() {
    let mut world = World::of(1);
    let busy = Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway };
    near(&rests(&mut world, busy, 3), &[0.25, 0.5, 1.0]);
}

#[test]
fn each_refusal_of_one_request_is_paced() {
    let mut world = World::of(1);
    let (mut ask, mut rests) = (once(), Vec::new());
    for _ in 0..4 {
        let grant = world.lease(&ask);
        world.finish(&grant, BLOCKED);
        ask.trail.record(grant.receipt.exit, &Evidence::of(BLOCKED), grant.receipt.charged);
        let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &once()) else {
            panic!("paced")
        };
        rests.push(retry_at.since(world.now).as_secs_f64());
        world.now = retry_at;
    }
    near(&rests, &[1.25, 2.5, 5.0, 10.0]);
}

#[test]
fn the_last_usable_exit_of_many_is_paced_too_and_the_others_rest() {
    let mut world = World::of(5);
    let mut waits = Vec::new();
    for _ in 0..5 {
        world.once(&once(), BLOCKED);
        if let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &once()) {
            waits.push(retry_at.since(world.now).as_secs_f64());
        }
    }
    near(&waits, &[1.25]);
    world.pass(secs(5));
    assert!(world.lease(&once()).trial);
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &once()) else {
        panic!("the others rest")
    };
    assert_eq!((counts.cooling, counts.on_trial), (4, 1));
}

#[test]
fn an_exit_elsewhere_does_not_count_but_a_gateways_slot_does() {
    let gateway = Gateway::parse("http://u-{session}:p@gw.test:9000").unwrap();
    let mut world = World::new(Setup { gateways: vec![gateway], ..config(1) });
    let listed = exits(1)[0].id();
    let grant = world.through("a.test", listed);
    world.finish(&grant, BLOCKED);
    world.pass(secs(9));
    for _ in 0..2_000 {
        assert_ne!(world.once(&once(), Outcome::Ok).receipt.exit, listed, "it rests: there are others");
    }
}
