//! A clock that stands still, jumps, comes near its end, or is read by two threads in the wrong order.

use super::*;
use crate::outcome::{AuthReason, GatewayScope};

fn once() -> LeaseRequest {
    LeaseRequest::per_request()
}

pub(super) fn overloaded() -> Outcome {
    Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway }
}

fn refused_at(world: &mut World) -> Time {
    match world.at("a.test", &held()) {
        Err(Refusal::NoUsableExit { retry_at, .. }) => retry_at,
        other => panic!("it rests: {other:?}"),
    }
}

/// Each way to make the held exit of two rest.
fn rests() -> Vec<World> {
    let quota = Outcome::AuthError { reason: AuthReason::Quota };
    let ways: [&[Outcome]; 5] =
        [&[BLOCKED], &[limited(Some(7))], &[REFUSED, REFUSED, REFUSED], &[overloaded()], &[quota]];
    let rest = |outcomes: &[Outcome]| {
        let mut world = World::of(2);
        for outcome in outcomes {
            world.once(&held(), *outcome);
        }
        world
    };
    ways.into_iter().map(rest).collect()
}

#[test]
fn a_rest_is_over_at_its_nanosecond_and_not_before() {
    for mut world in rests() {
        let until = refused_at(&mut world);
        world.now = Time::from_nanos(until.as_nanos() - 1);
        assert_eq!(refused_at(&mut world), until, "the time that is told stays");
        world.now = until;
        let trial = world.lease(&held());
        assert!(trial.trial);
        world.finish(&trial, Evidence::of(Outcome::Ok).login_accepted(true));
        world.pass(Duration::from_nanos(1));
        assert!(!world.once(&held(), Outcome::Ok).trial);
    }
}

#[test]
fn a_jump_ends_every_rest_and_begins_none() {
    for jump in [secs(3_600), secs(86_400), secs(40 * 365 * 86_400)] {
        for mut world in rests() {
            world.pass(jump);
            let trial = world.lease(&held());
            assert!(trial.trial, "{jump:?}");
            assert!(world.at("a.test", &held()).is_err(), "one at a time, also after {jump:?}");
            world.finish(&trial, Evidence::of(Outcome::Ok).login_accepted(true));
            assert!(!world.lease(&held()).trial, "{jump:?}");
        }
    }
}

#[test]
fn where_the_clock_stands_still_all_is_decided_and_nothing_wedges() {
    let mut world = World::of(3);
    let outcomes =
        [BLOCKED, Outcome::Ok, limited(None), REFUSED, Outcome::Interrupted { phase: Phase::Body }];
    let mut given = 0;
    for turn in 0..1_000 {
        let origin = ["a.test", "b.test"][turn % 2];
        match world.at(origin, &once()) {
            Ok(grant) => world.finish(&grant, outcomes[turn % outcomes.len()]),
            Err(Refusal::NoUsableExit { retry_at, .. }) => {
                assert!(retry_at > world.now, "nothing comes back while the clock stands still");
                continue;
            }
            Err(other) => panic!("{other:?}"),
        }
        given += 1;
    }
    assert!((3..1_000).contains(&given), "{given}");
    world.pass(secs(3_600));
    assert!(world.at("a.test", &once()).is_ok() && world.at("b.test", &once()).is_ok());
}

#[test]
fn near_the_end_of_time_sums_saturate_and_nothing_rests_beyond_it() {
    let end = Time::MAX;
    for outcome in [BLOCKED, limited(Some(3_600)), REFUSED, overloaded(), Outcome::Ok] {
        let mut world = World::of(1);
        world.now = Time::from_nanos(end.as_nanos() - 5_000_000_000);
        let ask = once().deadline(Duration::MAX).patience(Duration::MAX);
        let name = Origin::new("a.test");
        (0..3).for_each(|_| {
            if let Ok(grant) = world.at("a.test", &ask) {
                world.finish(&grant, outcome);
            }
        });
        let until = world.now + Duration::MAX;
        let waits = match world.fleet.lease_or_wait(world.now, &ask, &name, until) {
            Turn::Wait { ticket } => Some(ticket),
            Turn::Granted(grant) => {
                world.end(&grant);
                None
            }
            Turn::Refused(refusal) => panic!("{refusal:?}"),
        };
        world.now = end;
        world.fleet.serve(world.now);
        match waits.map(|ticket| world.fleet.claim(end, ticket)) {
            Some(Turn::Granted(grant)) => world.finish(&grant, Outcome::Ok),
            Some(other) => panic!("{outcome}: {other:?}"),
            None => {}
        }
        let grant = world.at("a.test", &ask).unwrap();
        world.finish(&grant, Outcome::Ok);
        let snapshot = world.snapshot();
        assert_eq!((snapshot.in_flight, snapshot.waiting), (0, 0), "{outcome}");
        assert!(snapshot.origins[0].heat.is_finite());
    }
}

#[test]
fn a_window_is_left_once_however_far_the_clock_jumps() {
    let windowed = LeaseRequest::new("k").windowed(secs(600));
    let mut world = World::of(8);
    world.once(&windowed, Outcome::Ok);
    for jump in [secs(599), secs(86_400), secs(365 * 86_400), Duration::from_nanos(u64::MAX / 2)] {
        world.pass(jump);
        let first = world.once(&windowed, Outcome::Ok);
        let again = world.once(&windowed, Outcome::Ok);
        assert_eq!(again.receipt.exit, first.receipt.exit, "one exit a window, after {jump:?}");
        assert_eq!(again.reason, Reason::Bound);
        assert_eq!(again.receipt.generation(), Some(0), "no exit was lost");
    }
    let life = held();
    let own = world.once(&life, Outcome::Ok).receipt.exit;
    world.now = Time::from_nanos(u64::MAX - 1);
    assert_eq!(world.once(&life, Outcome::Ok).receipt.exit, own, "for life is for life");
}

#[test]
fn one_verb_runs_a_bounded_number_of_the_timers_of_a_week() {
    let mut world = World::unheld(1_000);
    for _ in 0..1_000 {
        let grant = world.at("a.test", &once()).unwrap();
        world.finish(&grant, limited(Some(100)));
    }
    let benched = |world: &World| world.snapshot().origins[0].benched;
    // The last exit is paced, and rests like all others.
    assert_eq!(benched(&world), 1_000);
    world.pass(secs(7 * 86_400));
    assert!(world.fleet.pool.tick(world.now), "there are more");
    assert_eq!(benched(&world), 1_000 - 64);
    let rest = (0..100).take_while(|_| world.fleet.pool.tick(world.now)).count();
    assert!((14..17).contains(&rest) && benched(&world) == 0, "{rest}");
}

/// The shell reads the clock under the lock, but for how long a dropped lease was out: what that is taken for may be dated
/// a moment before the verb that went before.
#[test]
fn a_word_that_is_dated_before_the_last_verb_shuts_and_opens_as_any_other() {
    let mut world = World::of(2);
    world.once(&held(), Outcome::Ok);
    for _ in 0..6 {
        let slow = world.lease(&held());
        world.pass(secs(11));
        let other = world.lease(&once());
        world.finish(&other, Outcome::Ok);
        let after = world.now.since(slow.receipt.sent) - Duration::from_micros(50);
        world.fleet.release(&slow.receipt, Release::Dropped { after }, None);
        world.fleet.pool.check();
    }
    assert_eq!(world.snapshot().exits.dead, 1, "six halves make three faults");
    let until = refused_at(&mut world);
    assert!(until > world.now && until.since(world.now) <= Duration::from_millis(5_500));
    world.now = until;
    assert!(world.once(&held(), Outcome::Ok).trial);
    assert_eq!((world.snapshot().exits.dead, world.snapshot().in_flight), (0, 0));
}

#[test]
fn verbs_whose_times_come_in_the_wrong_order_wedge_nothing() {
    let back = Duration::from_millis(3);
    for mut world in rests() {
        let until = refused_at(&mut world);
        // One thread sees the rest over; another one had read its clock before.
        world.now = until;
        let trial = world.lease(&held());
        world.now = Time::from_nanos(until.as_nanos() - u64::try_from(back.as_nanos()).unwrap());
        assert!(world.at("a.test", &held()).is_err(), "one trial at a time");
        world.report(&trial, Evidence::of(Outcome::Ok).login_accepted(true));
        world.end(&trial);
        world.fleet.pool.check();
        let open = world.lease(&held());
        assert!(!open.trial, "it has passed");
        world.finish(&open, BLOCKED);
        let again = refused_at(&mut world);
        assert!(again >= world.now + secs(10), "not shortened by what the clock went back");
        world.now = again + secs(60);
        assert!(world.lease(&held()).trial);
    }
}
