//! An origin that fails everybody is left alone, tried by one, and gone back to without a rush.

mod back;
mod canary;
mod chance;
mod hints;
mod plain;

use super::*;
use crate::error::HeldBy;
use crate::outcome::AuthReason;

const DOWN: Outcome = Outcome::OriginError { status: http::StatusCode::SERVICE_UNAVAILABLE };
const BAD_GATEWAY: Outcome = Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY };
const TICK: Duration = Duration::from_nanos(1);

fn once() -> LeaseRequest {
    LeaseRequest::per_request()
}

/// One attempt for each of these, by the number of its exit: how long after the one before, and what came of it.
fn tell(world: &mut World, attempts: &[(usize, Duration, Evidence)]) {
    let grants: Vec<_> = attempts.iter().map(|(exit, ..)| lease(world, *exit)).collect();
    for (grant, (_, after, evidence)) in grants.iter().zip(attempts) {
        world.pass(*after);
        world.finish(grant, *evidence);
    }
}

/// A lease through the exit of that number, of whoever holds it.
fn lease(world: &mut World, exit: usize) -> Grant {
    let id = exits(60)[exit].id();
    for key in 0..2_000 {
        let ask = LeaseRequest::new(format!("k{key}")).granularity(Granularity::Static);
        let Ok(grant) = world.at("a.test", &ask) else { continue };
        if grant.receipt.exit == id {
            return grant;
        }
        world.end(&grant);
    }
    panic!("nobody is placed there")
}

fn until(world: &mut World) -> Option<Time> {
    let name = Origin::new("a.test");
    match world.fleet.lease(world.now, &once(), &name) {
        Err(Refusal::OriginHeld { retry_at, by: HeldBy::Failures }) => Some(retry_at),
        Err(refusal) => panic!("{refusal:?}"),
        Ok(grant) => {
            world.end(&grant);
            None
        }
    }
}

fn failures(exits: &[usize], apart: Duration) -> Vec<(usize, Duration, Evidence)> {
    exits.iter().map(|exit| (*exit, apart, DOWN.into())).collect()
}

/// Held by three exits.
fn held_world() -> (World, Time) {
    // How the line goes back, and not how far apart it keeps the uses of an exit.
    let knobs = Knobs { spacing: None, ..Knobs::default() };
    let mut world = World::new(Setup { knobs, ..config(10) });
    tell(&mut world, &failures(&[0, 1, 2], Duration::ZERO));
    let until = until(&mut world).expect("it is held");
    (world, until)
}

fn told(world: &mut World) -> Vec<Event> {
    world.fleet.events().take().into_iter().map(|(_, event)| event).collect()
}

#[test]
fn three_exits_within_two_seconds_hold_it_for_five_and_two_do_not() {
    for (exits, apart, held) in [
        (&[0, 1][..], Duration::ZERO, false),
        (&[0, 1, 0, 1, 0, 1], Duration::ZERO, false),
        (&[0, 1, 2], Duration::ZERO, true),
        (&[0, 1, 2], secs(1), true),
        (&[0, 1, 2], secs(1) + TICK, false),
        (&[0, 0, 1, 1, 2], Duration::ZERO, true),
    ] {
        let mut world = World::of(10);
        tell(&mut world, &failures(exits, apart));
        let until = until(&mut world);
        assert_eq!(until.is_some(), held, "{exits:?} {apart:?}");
        if let Some(until) = until {
            let rest = until.since(world.now);
            assert!(rest >= secs(5) && rest <= Duration::from_millis(6_250), "{rest:?}");
            assert!(world.at("b.test", &once()).is_ok(), "another origin has nothing to do with it");
        }
    }
}

#[test]
fn any_other_answer_between_clears_it_and_what_is_no_answer_does_not() {
    let fatal = Evidence::of(Outcome::Fatal).seen(crate::outcome::Seen::Seen);
    for (between, held) in [
        (Evidence::of(Outcome::Ok), false),
        (fatal, false),
        (BLOCKED.into(), false),
        (limited(None).into(), false),
        (limited(Some(7)).into(), false),
        (REFUSED.into(), true),
        (Outcome::Interrupted { phase: Phase::Head }.into(), true),
        (BAD_GATEWAY.into(), true),
    ] {
        let mut world = World::of(10);
        let zero = Duration::ZERO;
        let attempts =
            [(0, zero, DOWN.into()), (1, zero, DOWN.into()), (3, zero, between), (2, zero, DOWN.into())];
        tell(&mut world, &attempts);
        assert_eq!(until(&mut world).is_some(), held, "{between:?}");
    }
}

#[test]
fn what_is_nobodys_fault_or_no_failure_of_the_origin_holds_nothing() {
    for evidence in [
        BLOCKED.into(),
        limited(None).into(),
        Outcome::Interrupted { phase: Phase::Head }.into(),
        Outcome::TargetFailed.into(),
        Outcome::OriginError { status: http::StatusCode::REQUEST_TIMEOUT }.into(),
        Evidence::of(DOWN).blameless(true),
    ] {
        let mut world = World::of(10);
        let attempts: Vec<_> = (0..4).map(|exit| (exit, Duration::ZERO, evidence)).collect();
        tell(&mut world, &attempts);
        assert_eq!(until(&mut world), None, "{evidence:?}");
    }
}

#[test]
fn what_was_in_flight_says_nothing_new() {
    let mut world = World::of(10);
    let late: Vec<_> = (3..9).map(|exit| lease(&mut world, exit)).collect();
    tell(&mut world, &failures(&[0, 1, 2], Duration::ZERO));
    let ends = until(&mut world).unwrap();
    world.finish(&late[0], DOWN);
    world.finish(&late[1], Outcome::Ok);
    assert_eq!(until(&mut world), Some(ends), "neither longer nor open");
    world.now = ends;
    let canary = world.lease(&once());
    world.finish(&late[2], DOWN);
    world.finish(&late[3], Outcome::Ok);
    assert!(world.at("a.test", &once()).is_err(), "the canary has not come back");
    world.finish(&canary, Outcome::Ok);
    assert_eq!(until(&mut world), None);
    world.finish(&late[4], DOWN);
    world.finish(&late[5], DOWN);
    tell(&mut world, &failures(&[0], Duration::ZERO));
    assert_eq!(until(&mut world), None, "old failures do not count when it is open");
    assert_eq!(told(&mut world).len(), 2);
}

#[test]
fn a_page_that_fails_alone_is_no_failure_of_the_site_but_all_who_come_back_are() {
    let send = |world: &mut World| {
        let mut ask = once();
        ask.trail.past_mut().sends = 1;
        for _ in 0..8 {
            if let Ok(grant) = world.at("a.test", &ask) {
                world.finish(&grant, DOWN);
            }
        }
        until(world)
    };
    let mut world = World::of(10);
    assert_eq!(send(&mut world), None, "it was sent before");
    let (mut world, ends) = held_world();
    world.now = ends;
    let canary = world.lease(&once());
    world.finish(&canary, Outcome::Ok);
    world.pass(secs(8));
    assert_eq!(send(&mut world), None, "they have come back");
    let (mut world, ends) = held_world();
    world.now = ends;
    let canary = world.lease(&once());
    world.finish(&canary, Outcome::Ok);
    world.pass(secs(7));
    assert!(send(&mut world).is_some(), "who waited had been sent before");
}

#[test]
fn a_pool_of_one_or_two_has_its_hold_and_one_bad_page_is_none() {
    for (count, told, held) in [
        (1, &[0, 0][..], false),
        (1, &[0, 0, 0], true),
        (2, &[0, 1, 0], false),
        (2, &[0, 0, 0, 0, 0], false),
        (2, &[0, 1, 0, 1], true),
        (3, &[0, 1, 0, 1, 0, 1], false),
    ] {
        let mut world = World::of(count);
        tell(&mut world, &failures(told, Duration::ZERO));
        assert_eq!(until(&mut world).is_some(), held, "{told:?} of {count}");
    }
    // Of three, one is out: there are two.
    let mut world = World::of(3);
    world.fleet.quarantine(exits(3)[2].id(), true);
    tell(&mut world, &failures(&[0, 1, 0, 1], Duration::ZERO));
    assert!(until(&mut world).is_some());
}

#[test]
fn what_it_cost_the_exits_in_heat_is_taken_back_and_no_rest_ends() {
    let mut world = World::of(10);
    // Cells are made by a refusal.
    for exit in 0..3 {
        let grant = lease(&mut world, exit);
        world.finish(&grant, BLOCKED);
    }
    world.pass(secs(600));
    let heat = |world: &World| -> f32 { world.snapshot().hottest.iter().map(|pair| pair.heat).sum() };
    let late: Vec<_> = (0..3).map(|exit| lease(&mut world, exit)).collect();
    let other = lease(&mut world, 4);
    let before = heat(&world);
    world.report(&late[0], DOWN);
    world.report(&late[1], DOWN);
    let rests = world.snapshot().origins[0].benched;
    world.finish(&other, DOWN);
    assert!(until(&mut world).is_some());
    world.report(&late[2], DOWN);
    let snapshot = world.snapshot();
    assert_eq!(snapshot.origins[0].benched, rests);
    assert!(snapshot.origins[0].held.is_some_and(|left| left >= secs(5)));
    let prior = snapshot.origins[0].heat;
    let cold = snapshot.hottest.iter().all(|pair| pair.heat <= prior + 1e-3);
    assert!(cold, "no pair is hotter than its origin: {before} {:?}", snapshot.hottest);
}

#[test]
fn a_retry_waits_for_the_end_of_the_hold_in_line_and_whose_patience_is_shorter_stops() {
    let mut world = World::of(10);
    let mine = lease(&mut world, 3);
    tell(&mut world, &failures(&[0, 1], Duration::ZERO));
    world.report(&mine, DOWN);
    let ends = until(&mut world).unwrap();
    let verdict = |world: &mut World, patience| {
        let mut ask = once().patience(patience);
        ask.trail.record(mine.receipt.exit, &DOWN.into(), true);
        let (receipt, deadline) = (mine.receipt, world.now + secs(120));
        let evidence = DOWN.into();
        let ask = RetryAsk { receipt, evidence, ask: &ask, repeatable: true, replayable: true, deadline };
        (world.fleet.retry(world.now, &ask), world.fleet.soonest(world.now, &ask))
    };
    assert!(matches!(verdict(&mut world, secs(30)), (Verdict::Retry { .. }, at) if at == ends));
    assert_eq!(verdict(&mut world, secs(1)), (Verdict::Stop(Why::OriginHeld), ends));
}

#[test]
fn a_site_without_a_hold_is_asked_on() {
    let mut setup = config(10);
    setup.knobs.hold = None;
    let mut world = World::new(setup);
    tell(&mut world, &failures(&[0, 1, 2, 3, 4], Duration::ZERO));
    assert_eq!(until(&mut world), None);
}

#[test]
fn the_gap_after_a_hold_goes_within_seconds_where_nobody_is_limited() {
    let mut world = World::of(10);
    tell(&mut world, &failures(&[0, 1, 2], Duration::ZERO));
    world.now = until(&mut world).expect("it is held");
    world.once(&once(), Outcome::Ok);
    let gap = |world: &World| world.snapshot().origins[0].gap;
    assert_eq!(gap(&world), Some(secs(2)));
    for _ in 0..7 {
        world.pass(secs(1));
        world.once(&once(), Outcome::Ok);
    }
    assert_eq!(gap(&world), None);
}

#[test]
fn one_failure_at_a_site_whose_exits_are_kept_apart_is_no_canarys() {
    let mut world = World::of(10);
    let grant = lease(&mut world, 0);
    let origin = grant.receipt.at.1;
    world.fleet.pool.space_for_test(origin, world.now + secs(1));
    world.finish(&grant, DOWN);
    assert_eq!(world.snapshot().origins[0].held, None);
}
