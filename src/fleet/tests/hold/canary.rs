//! The one request that tries an origin which is left alone.

use super::*;

#[test]
fn a_canary_that_is_refused_alike_lengthens_the_hold_to_13_seconds_soon_and_to_a_minute_late() {
    let (mut world, mut ends) = held_world();
    let began = world.now;
    let mut least = secs(10);
    for try_ in 2..42 {
        world.now = ends;
        let canary = world.lease(&once());
        assert!(canary.trial && world.at("a.test", &once()).is_err(), "one tries");
        world.finish(&canary, BAD_GATEWAY);
        ends = until(&mut world).expect("it is held again");
        let rest = ends.since(world.now);
        assert!(rest >= least && rest <= least.mul_f64(1.25), "{try_}: {rest:?}, and not {least:?}");
        least = secs(13).max(ends.since(began) / 16).min(secs(60));
    }
    assert_eq!(least, secs(60));
    world.now = ends;
    let canary = world.lease(&once());
    world.finish(&canary, Outcome::Ok);
    tell(&mut world, &failures(&[0, 1, 2], Duration::ZERO));
    let rest = until(&mut world).unwrap().since(world.now);
    assert!(rest <= Duration::from_millis(6_250), "it begins anew: {rest:?}");
    let held = told(&mut world).into_iter().filter_map(|event| match event {
        Event::OriginHeld { exits, status, .. } => Some((exits, status.unwrap())),
        _ => None,
    });
    let again = [(1, 502); 40];
    let all: Vec<_> = [(3, 503)].into_iter().chain(again).chain([(3, 503)]).collect();
    assert_eq!(held.collect::<Vec<_>>(), all);
}

#[test]
fn any_answer_of_the_canary_opens_it_and_silence_lets_another_try() {
    for (said, opens) in [
        (Evidence::of(Outcome::Ok), true),
        (BLOCKED.into(), true),
        (limited(None).into(), true),
        (limited(Some(9)).into(), true),
        (REFUSED.into(), false),
        (Outcome::AuthError { reason: AuthReason::Rejected }.into(), false),
        (Outcome::Interrupted { phase: Phase::Head }.into(), false),
    ] {
        let (mut world, ends) = held_world();
        world.now = ends;
        let canary = world.lease(&once());
        assert!(matches!(world.at("a.test", &once()), Err(Refusal::OriginHeld { .. })));
        world.finish(&canary, said);
        let next = world.lease(&once());
        assert_eq!(world.at("a.test", &once()).is_ok(), opens, "{said:?}");
        let released =
            told(&mut world).iter().filter(|event| matches!(event, Event::OriginReleased { .. })).count();
        assert_eq!(released, usize::from(opens), "{said:?}");
        world.end(&next);
    }
}

#[test]
fn a_canary_that_is_dropped_gives_its_place_back() {
    let (mut world, ends) = held_world();
    world.now = ends;
    for how in
        [Release::NotAttempted, Release::Dropped { after: Duration::ZERO }, Release::Dropped { after: SLOW }]
    {
        let canary = world.lease(&once());
        assert!(canary.trial && world.at("a.test", &once()).is_err());
        world.fleet.release(&canary.receipt, how, None);
    }
    assert!(world.lease(&once()).trial);
}

#[test]
fn a_person_may_let_one_try_before_the_time_and_it_begins_anew() {
    let (mut world, ends) = held_world();
    world.now = ends;
    let canary = world.lease(&once());
    world.finish(&canary, DOWN);
    assert!(until(&mut world).is_some_and(|until| until >= world.now + secs(10)));
    world.fleet.resume(world.now);
    let canary = world.lease(&once());
    assert!(canary.trial && world.at("a.test", &once()).is_err());
    let table = world.snapshot().to_string();
    assert!(table.contains("; left alone until one has tried it"), "{table}");
    world.finish(&canary, DOWN);
    let rest = until(&mut world).unwrap().since(world.now);
    assert!(rest >= secs(5) && rest <= Duration::from_millis(6_250), "{rest:?}");
    let table = world.snapshot().to_string();
    assert!(
        table.contains("; left alone for ") && table.contains("because a site failed everybody"),
        "{table}"
    );
}

#[test]
fn a_canary_that_hangs_lets_another_go_and_its_answer_counts_when_it_comes() {
    for (late, opens) in [(Evidence::of(Outcome::Ok), true), (DOWN.into(), false)] {
        let (mut world, ends) = held_world();
        world.now = ends;
        let first = world.lease(&once());
        world.pass(secs(5) - TICK);
        assert!(world.at("a.test", &once()).is_err(), "it has its place alone for a moment");
        world.pass(TICK);
        let second = world.lease(&once());
        assert!(second.trial && world.at("a.test", &once()).is_err(), "one more tries, and no third");
        // What the first does with its place is nothing to the second.
        world.report(&first, late);
        world.end(&first);
        assert_eq!(until(&mut world).is_none(), opens, "{late:?}");
        if !opens {
            let rest = until(&mut world).unwrap().since(world.now);
            assert!(rest >= secs(10) && rest <= Duration::from_millis(12_500), "once longer: {rest:?}");
            world.finish(&second, DOWN);
            assert_eq!(until(&mut world).unwrap().since(world.now), rest, "they were out at once: no longer");
        }
    }
}

#[test]
fn a_canary_that_is_served_opens_it_though_another_has_failed_meanwhile() {
    let (mut world, ends) = held_world();
    world.now = ends;
    let first = world.lease(&once());
    let second = world.pass(secs(5)).lease(&once());
    world.finish(&first, DOWN);
    assert!(until(&mut world).is_some());
    world.pass(secs(1)).finish(&second, Outcome::Ok);
    assert_eq!(until(&mut world), None);
    // A third that was out comes too late to say anything.
    let held = told(&mut world).into_iter().filter(|event| matches!(event, Event::OriginReleased { .. }));
    assert_eq!(held.count(), 1);
}

#[test]
fn a_canary_that_is_dropped_after_another_has_gone_leaves_that_one_its_place() {
    let (mut world, ends) = held_world();
    world.now = ends;
    let first = world.lease(&once());
    let _second = world.pass(secs(5)).lease(&once());
    world.fleet.release(&first.receipt, Release::Dropped { after: secs(5) }, None);
    assert!(world.at("a.test", &once()).is_err());
    assert!(world.pass(secs(5)).lease(&once()).trial);
}

#[test]
fn a_site_that_hangs_is_tried_by_one_every_five_seconds_and_by_nobody_else() {
    let (mut world, ends) = held_world();
    world.now = ends;
    let mut out = Vec::new();
    for _ in 0..600 {
        out.extend(world.at("a.test", &once()).ok());
        world.pass(Duration::from_millis(100));
    }
    assert_eq!(out.len(), 12, "of 600 who asked in a minute");
    out.iter().for_each(|grant| world.finish(grant, Outcome::Interrupted { phase: Phase::Head }));
    assert_eq!(world.snapshot().exits.dead, 0);
}
