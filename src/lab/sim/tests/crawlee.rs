//! Crawlee's identities, and the clock of its fourth version.

use super::*;
use crate::lab::sim::contender::{Next, Why};
use std::time::Duration;

/// One site, which Crawlee's workers wait for together.
fn site(exits: u32) -> Scenario {
    let mut world = quiet(exits);
    world.origins.truncate(1);
    world
}

/// With its thousand identities made.
fn filled(policy: Policy, exits: u32) -> Hand {
    let mut hand = Hand::of(policy, &site(exits));
    for id in 0..1_000 {
        assert_eq!(hand.exit(id), id % exits, "round robin to new identities");
    }
    for id in 0..1_000 {
        hand.answer(id, id % exits, ok());
    }
    hand
}

#[test]
fn a_block_retires_the_identity_for_good() {
    for evidence in [blocked(), limited(None)] {
        let mut hand = Hand::of(Policy::Crawlee3, &site(1_000));
        for id in 0..1_000 {
            hand.exit(id);
        }
        hand.answer(7, 7, evidence);
        assert!((2_000..7_000).all(|id| hand.ask(id, ok()).0 != 7));
    }
}

#[test]
fn an_identity_has_fifty_uses() {
    let mut hand = filled(Policy::Crawlee3, 2_000);
    let mut uses = vec![1; 1_000];
    for id in 1_000..50_000 {
        let (exit, _) = hand.ask(id, ok());
        if let Some(uses) = uses.get_mut(exit as usize) {
            *uses += 1;
        }
    }
    assert_eq!(uses.into_iter().max(), Some(50));
}

#[test]
fn an_identity_lives_for_3000_s() {
    let mut hand = filled(Policy::Crawlee3, 2_000);
    assert!(hand.at(2_999.0).ask(5_000, ok()).0 < 1_000);
    assert_eq!(hand.at(3_000.0).ask(5_001, ok()).0, 1_000, "a new one with the next exit");
}

#[test]
fn three_errors_retire_and_a_success_makes_up_for_half_of_one() {
    // Whether exit 7 is still somebody's, after these answers to the identity that has it.
    let left = |answers: &[bool]| {
        let mut hand = Hand::of(Policy::Crawlee3, &site(2_000).sends(1_000_000));
        for id in 0..1_000 {
            hand.exit(id);
        }
        for (nth, good) in (0..).zip(answers) {
            // The job that has it is answered; draws until another job has it.
            let id = if nth == 0 {
                7
            } else {
                10_000 * nth + (0..9_999).find(|id| hand.exit(10_000 * nth + id) == 7)?
            };
            hand.answer(id, 7, if *good { ok() } else { down() });
        }
        (1_000_000..1_010_000).find(|id| hand.exit(*id) == 7)
    };
    assert!(left(&[false, false]).is_some());
    assert!(left(&[false, false, false]).is_none());
    assert!(left(&[false, true, true, false, false]).is_some());
}

#[test]
fn blocks_rotate_ten_times_and_errors_retry_three_times() {
    let sends = |policy, evidence| Hand::of(policy, &site(20)).until_over(1, evidence).0.len();
    assert_eq!(
        [blocked(), limited(None), unreached()].map(|at| sends(Policy::Crawlee3Rotations, at)),
        [11; 3]
    );
    assert_eq!(sends(Policy::Crawlee3Rotations, down()), 4);
    assert_eq!([blocked(), limited(None), down()].map(|at| sends(Policy::Crawlee3, at)), [4; 3]);
    assert_eq!(sends(Policy::Crawlee4, blocked()), 11);
}

#[test]
fn the_first_429_of_a_burst_stops_the_site_for_everybody() {
    let mut hand = Hand::of(Policy::Crawlee4, &site(20));
    for id in 0..3 {
        hand.exit(id);
    }
    assert_eq!(hand.answer(0, 0, limited(None)), Next::Wait(at(2.0)));
    assert_eq!(hand.at(1.0).answer(1, 1, limited(None)), Next::Wait(at(2.0)), "the same burst");
    assert_eq!(hand.begin(5), Next::Wait(at(2.0)));
    sent(hand.at(2.0).resume(0));
    assert_eq!(hand.answer(0, 0, limited(None)), Next::Wait(at(6.0)), "the next one doubles");
    sent(hand.at(6.0).resume(0));
    assert_eq!(hand.answer(0, 0, limited(Some(7))), Next::Wait(at(13.0)), "as told");
    sent(hand.at(13.0).resume(0));
    assert_eq!(hand.answer(0, 0, limited(Some(90))), Next::Wait(at(73.0)), "to a minute");
    sent(hand.at(133.0).resume(0));
    assert_eq!(hand.answer(0, 0, limited(None)), Next::Wait(at(135.0)), "calm for as long: from the start");
}

#[test]
fn another_site_goes_on_and_the_worker_with_it() {
    let mut hand = Hand::of(Policy::Crawlee4, &quiet(20));
    assert_eq!(hand.ask(0, limited(Some(30))).1, Next::Park(at(30.0)));
    sent(hand.begin_at_site(1, 1));
    assert_eq!(hand.begin(2), Next::Park(at(30.0)));
}

#[test]
fn a_429_is_free_until_the_site_stalls() {
    let mut hand = Hand::of(Policy::Crawlee4, &site(20));
    let (exits, waits, over) = hand.until_over(0, limited(None));
    assert_eq!(over, Next::GiveUp(Why::Fatal));
    assert!(exits.len() > 12, "and not after four: {}", exits.len());
    within(waits.iter().sum(), (900.0, 960.0));
    assert_eq!(hand.begin(1), Next::GiveUp(Why::Fatal), "the crawl is over");
}

#[test]
fn a_429_retires_nobody() {
    let mut hand = filled(Policy::Crawlee4, 1_000);
    let exit = hand.exit(2_000);
    hand.answer(2_000, exit, limited(Some(1)));
    hand.at(1.0);
    assert!((3_000..20_000).any(|id| hand.ask(id, ok()).0 == exit));
}

#[test]
fn crawlee_is_quick_in_a_world_that_blocks_all() {
    let world = Scenario::named("T").unwrap().jobs(2_000);
    let run = run(&world, Policy::Crawlee3Rotations, 1);
    assert!(run.makespan < Duration::from_secs(120).as_secs_f64() && run.failed > 0);
}
