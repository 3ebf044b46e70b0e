//! Failures by chance hold nothing, and an outage is seen as soon as before.

use super::*;
use crate::draw::{mix, unit};

/// A site that answers so many requests a second for so long, each of which fails with this share by chance. Says how often it was
/// held, and how many failed.
fn play(world: &mut World, per_second: u32, lasting: Duration, share: f64, seed: u64) -> (usize, u32) {
    let (mut held, mut failed) = (0, 0);
    let ends = world.now + lasting;
    for n in 0_u64.. {
        world.pass(secs(1) / per_second);
        if world.now >= ends {
            break;
        }
        let Ok(grant) = world.at("a.test", &once()) else { continue };
        let fails = unit(mix(mix(seed) ^ n)) < share;
        failed += u32::from(fails);
        world.finish(&grant, if fails { DOWN.into() } else { Evidence::of(Outcome::Ok) });
        held += told(world).iter().filter(|event| matches!(event, Event::OriginHeld { .. })).count();
    }
    (held, failed)
}

fn world(count: u16) -> World {
    World::new(Setup { knobs: Knobs { spacing: None, governor: None, ..Knobs::default() }, ..config(count) })
}

#[test]
fn one_in_twenty_that_fails_at_a_busy_site_holds_nothing() {
    for (per_second, share) in [(200, 0.05), (20, 0.05), (200, 0.01), (20, 0.2)] {
        let mut holds = 0;
        for seed in 0..3 {
            holds += play(&mut world(20), per_second, secs(12_000 / u64::from(per_second)), share, seed).0;
        }
        assert!(holds <= 1, "{holds} in 36,000 answers at {per_second}/s of which {share} fail");
    }
}

#[test]
fn a_site_that_fails_half_of_all_is_held_until_that_is_known() {
    for seed in 0..3 {
        let mut world = world(20);
        play(&mut world, 100, secs(60), 0.01, seed);
        let (held, _) = play(&mut world, 100, secs(60), 0.5, seed + 10);
        assert!(held <= 3, "{held} at first");
        let (held, _) = play(&mut world, 100, secs(120), 0.5, seed + 20);
        assert!(held <= 1, "{held} once it is known");
    }
}

#[test]
fn an_outage_of_a_busy_site_is_seen_after_a_handful_of_failures_however_often_it_failed_before() {
    for (per_second, before, most) in
        [(200, 0.0, 4), (12, 0.0, 3), (200, 0.05, 7), (20, 0.05, 6), (20, 0.2, 10)]
    {
        let mut world = world(20);
        play(&mut world, per_second, secs(60), before, 1);
        let (held, failed) = play(&mut world, per_second, secs(4), 1.0, 2);
        assert!(
            held == 1 && failed <= most,
            "{held} after {failed} failures at {per_second}/s, {before} before"
        );
    }
}

#[test]
fn a_small_site_is_held_by_three_of_three_also_after_a_short_outage() {
    let mut world = World::of(10);
    for _ in 0..20 {
        world.pass(secs(30)).once(&once(), Outcome::Ok);
    }
    tell(&mut world, &failures(&[0, 1, 2], Duration::ZERO));
    world.now = until(&mut world).expect("three of three");
    world.once(&once(), Outcome::Ok);
    world.pass(secs(60));
    for _ in 0..20 {
        world.pass(secs(30)).once(&once(), Outcome::Ok);
    }
    tell(&mut world, &failures(&[0, 1, 2, 3], Duration::ZERO));
    assert!(until(&mut world).is_some(), "four, since it was over when the first one tried");
}
