//! All designs alike.

use super::*;
use crate::knobs::Knobs;
use crate::lab::sim::contender::{Next, Why};
use crate::lab::sim::job::Load;
use std::collections::HashSet;
use std::time::Duration;

fn small(name: &str) -> Scenario {
    Scenario::named(name).unwrap().pool(20, 32).jobs(200)
}

/// S3 in two minutes: what comes is over before the horizon in any case.
fn open() -> Scenario {
    let mut world = Scenario::open("S3").unwrap();
    world.load = Load::Open { per_second: [12.0, 3.0], seconds: 120.0, surge: None };
    world.origins[0].down = Some((Duration::from_secs(30), Duration::from_secs(60)));
    world
}

#[test]
fn the_same_seed_makes_the_same_log_and_another_one_does_not() {
    for policy in Policy::every() {
        let first = run(&small("T"), policy, 1);
        assert_eq!(first, run(&small("T"), policy, 1), "{}", policy.name());
        assert_ne!(first.log, run(&small("T"), policy, 2).log, "{}", policy.name());
    }
}

#[test]
fn no_job_is_lost_and_none_is_over_twice() {
    for world in [small("T"), small("Soft"), small("P"), small("L"), open()] {
        for policy in Policy::every() {
            let run = run(&world, policy, 3);
            assert_eq!(run.done + run.wrong + run.failed, run.jobs, "{} in {}", policy.name(), world.name());
            assert!(run.attempts >= run.done + run.wrong, "{} in {}", policy.name(), world.name());
        }
    }
}

#[test]
fn each_design_has_a_name_and_is_found_by_it() {
    let names: HashSet<_> = Policy::every().map(Policy::name).collect();
    assert_eq!(names.len(), Policy::every().count());
    for policy in Policy::every() {
        assert_eq!(Policy::named(policy.name()), Some(policy));
    }
    assert_eq!(Policy::named("nobody"), None);
}

#[test]
fn each_part_of_the_fleet_can_be_switched_off_and_no_other_with_it() {
    let none = Part::ALL.iter().fold(Knobs::default(), |knobs, part| part.off(knobs));
    assert!(!format!("{none:?}").contains("Some("), "a part is missing in the list: {none:?}");
    for part in Part::ALL {
        let knobs = part.off(Knobs::default());
        assert_ne!(knobs, Knobs::default(), "{part:?}");
        for other in Part::ALL.iter().filter(|other| *other != part) {
            assert_ne!(other.off(knobs), knobs, "{other:?} went with {part:?}");
        }
    }
}

#[test]
fn a_scenario_sets_how_often_a_job_is_sent() {
    let world = Scenario::named("P").unwrap().jobs(100).sends(2);
    for policy in Policy::every().filter(|policy| !policy.name().starts_with("crawlee")) {
        let run = run(&world, policy, 1);
        assert!(run.attempts <= 200, "{}: {}", policy.name(), run.attempts);
    }
}

#[test]
fn a_job_whose_time_is_over_is_given_up() {
    let world = Scenario::named("Noise").unwrap().pool(20, 1).sends(u32::MAX);
    let peers = Policy::every().filter(|policy| !policy.name().starts_with("ours"));
    for policy in peers.filter(|policy| !matches!(policy, Policy::NoRetry | Policy::Crawlee4)) {
        let mut hand = Hand::of(policy, &world);
        let exit = hand.exit(1);
        let next = hand.at(120.0).answer(1, exit, limited(None));
        let last = if let Next::Wait(_) = next { hand.resume(1) } else { next };
        assert_eq!(last, Next::GiveUp(Why::Late), "{}", policy.name());
    }
}

#[test]
fn nobody_waits_longer_than_the_job_has() {
    let world = Scenario::named("Noise").unwrap().pool(20, 1);
    let mut hand = Hand::of(Policy::ArticleB, &world);
    let (_, next) = hand.ask(1, blocked());
    assert_eq!(next, Next::Wait(at(120.0)), "and not for five minutes");
    assert_eq!(hand.at(120.0).resume(1), Next::GiveUp(Why::Late));
}
