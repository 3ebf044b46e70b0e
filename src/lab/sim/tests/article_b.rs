//! The retry article's rules (B9 to B16), and its defects C24 and C25 as they were and repaired.

use super::*;
use crate::lab::sim::contender::{Next, Why};
use std::collections::HashSet;

fn both() -> [Hand; 2] {
    [Policy::ArticleB, Policy::ArticleBRepaired].map(|policy| Hand::of(policy, &quiet(1_000)))
}

/// 2^n + 30 h, and up to half of it more.
fn heated(n: i32, heat: f64) -> (f64, f64) {
    let base = 2_f64.powi(n) + 30.0 * heat;
    (base - 1e-6, base * 1.5)
}

#[test]
fn b9_heat_is_the_share_of_blocks_in_the_last_120_s() {
    let mut hand = Hand::of(Policy::ArticleB, &quiet(1_000));
    for nth in 0..3 {
        assert_eq!(hand.ask(1 + 1_000 * nth, ok()).1, Next::Done);
    }
    let (_, next) = hand.at(119.0).ask(4_001, limited(None));
    within(hand.wait(next), heated(0, 0.25));
    let (_, next) = hand.at(240.0).ask(5_001, limited(None));
    within(hand.wait(next), heated(0, 1.0));
}

#[test]
fn b8_a_ring_holds_64_events() {
    let mut hand = Hand::of(Policy::ArticleB, &quiet(1_000));
    for nth in 0..128 {
        hand.ask(1 + 1_000 * nth, if nth < 64 { limited(None) } else { ok() });
    }
    let (_, next) = hand.ask(500_001, limited(None));
    within(hand.wait(next), heated(0, 1.0 / 64.0));
}

#[test]
fn b9_a_connection_that_fails_dilutes_heat() {
    let mut hand = Hand::of(Policy::ArticleB, &quiet(1_000));
    for nth in 0..9 {
        hand.ask(1 + 1_000 * nth, unreached());
    }
    let (_, next) = hand.ask(500_001, limited(None));
    within(hand.wait(next), heated(0, 0.1));
}

#[test]
fn b10_a_job_is_sent_five_times() {
    for mut hand in both() {
        let (exits, _, over) = hand.until_over(1, limited(None));
        assert_eq!((exits.len(), over), (5, Next::GiveUp(Why::Exhausted)), "C30");
    }
}

#[test]
fn b11_anything_else_ends_it() {
    for mut hand in both() {
        assert_eq!(hand.ask(1, ok()).1, Next::Done);
        assert_eq!(hand.ask(2, down()).1, Next::GiveUp(Why::Fatal), "C31");
    }
}

#[test]
fn b12_and_c25_one_429_on_a_cold_exit_is_a_certainty_as_written_and_a_hint_repaired() {
    for (hand, heat) in both().iter_mut().zip([1.0, 0.24]) {
        let (_, waits, _) = hand.until_over(1, limited(None));
        for (n, wait) in (0..).zip(waits) {
            within(wait, heated(n, heat));
        }
    }
}

#[test]
fn b12_jitter_differs_from_job_to_job() {
    let mut hand = Hand::of(Policy::ArticleB, &quiet(1_000));
    let waits: HashSet<u64> = (0..50)
        .map(|id| {
            let (_, next) = hand.ask(id, limited(None));
            hand.wait(next).to_bits()
        })
        .collect();
    assert_eq!(waits.len(), 50);
}

#[test]
fn b13_and_c24_who_is_blocked_sleeps_for_five_minutes_as_written_and_goes_on_repaired() {
    let [mut written, mut repaired] = both();
    let (_, waits, _) = written.until_over(1, blocked());
    waits.iter().for_each(|wait| within(*wait, (300.0, 360.0)));
    let (_, waits, _) = repaired.until_over(1, blocked());
    for (n, wait) in (0..).zip(waits) {
        within(wait, heated(n, 0.05));
    }
}

#[test]
fn b14_an_exit_that_is_not_reached_costs_little() {
    for mut hand in both() {
        let (_, waits, _) = hand.until_over(1, unreached());
        for (n, wait) in (0..).zip(waits) {
            within(wait, (0.5 * f64::from(n + 1), 0.5 * f64::from(n + 1) + 1.0));
        }
    }
}

#[test]
fn b16_each_retry_has_an_exit_of_its_own() {
    for evidence in [limited(None), blocked(), unreached()] {
        for mut hand in both() {
            let (exits, ..) = hand.until_over(1, evidence);
            assert_eq!(exits.iter().collect::<HashSet<_>>().len(), 5, "{exits:?}");
        }
    }
}

#[test]
fn c27_the_next_caller_goes_through_the_burned_exit_as_written_and_not_repaired() {
    let [mut written, mut repaired] = both();
    let (burned, _) = written.ask(1, blocked());
    assert_eq!(written.at(1.0).exit(1_001), burned);
    let (burned, _) = repaired.ask(1, blocked());
    assert_ne!(repaired.at(299.0).exit(1_001), burned);
    assert_eq!(repaired.at(361.0).exit(2_001), burned);
}

#[test]
fn c24_the_pair_rests_and_no_other_one_does() {
    let mut hand = Hand::of(Policy::ArticleBRepaired, &quiet(2));
    let (burned, _) = hand.ask(1, blocked());
    assert!((2..40).all(|id| hand.exit(id) != burned));
    assert!((40..80).any(|id| sent(hand.begin_at_site(id, 1)) == burned));
}
