//! The scheduler article's rules (A12 to A18), and its defects C1 and C2 as they were and repaired.

use super::*;
use crate::lab::sim::contender::{Next, Why};
use std::collections::HashSet;

const WINDOWED: [Policy; 2] = [Policy::ArticleAWindowed, Policy::ArticleAWindowedRepaired];
const ALL: [Policy; 4] =
    [Policy::ArticleA, Policy::ArticleARepaired, Policy::ArticleAWindowed, Policy::ArticleAWindowedRepaired];

#[test]
fn a12_a_window_holds_its_exit_for_its_product_and_site() {
    for policy in WINDOWED {
        let mut hand = Hand::of(policy, &quiet(1_000));
        let (exit, next) = hand.ask(7, ok());
        assert_eq!(next, Next::Done);
        assert_eq!(hand.at(599.0).ask(1_007, ok()).0, exit, "the same product");
        assert_ne!(hand.ask(1_008, ok()).0, exit, "another one");
    }
}

#[test]
fn a15_tokens_agree_across_workers() {
    for policy in [Policy::ArticleA, Policy::ArticleAWindowed, Policy::ArticleAWindowedRepaired] {
        let [mut one, mut two] = [1, 2].map(|seed| Hand::seeded(policy, &quiet(1_000), seed));
        for id in 0..20 {
            assert_eq!(one.exit(id), two.exit(id));
        }
    }
}

#[test]
fn a17_who_is_blocked_or_limited_sleeps_twice_as_long_each_time_and_is_sent_four_times() {
    for evidence in [blocked(), limited(Some(60))] {
        for policy in ALL {
            let repaired = matches!(policy, Policy::ArticleARepaired | Policy::ArticleAWindowedRepaired);
            let (exits, waits, over) = Hand::of(policy, &quiet(1_000)).until_over(1, evidence);
            let expected = if repaired { &[1.0, 2.0, 4.0][..] } else { &[1.0, 2.0, 4.0, 8.0] };
            assert_eq!(waits, expected, "{}: the last one is C16", policy.name());
            assert_eq!((exits.len(), over), (4, Next::GiveUp(Why::Exhausted)));
        }
    }
}

#[test]
fn a17_twenty_seconds_are_the_most() {
    let (_, waits, _) = Hand::of(Policy::ArticleARepaired, &quiet(1_000).sends(8)).until_over(1, blocked());
    assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0]);
}

#[test]
fn a17_every_other_status_is_a_success() {
    for policy in ALL {
        assert_eq!(Hand::of(policy, &quiet(1_000)).ask(1, down()).1, Next::Done);
    }
}

#[test]
fn a18_who_does_not_get_through_sleeps_half_a_second_more_each_time() {
    let (_, waits, over) = Hand::of(Policy::ArticleARepaired, &quiet(1_000)).until_over(1, unreached());
    assert_eq!((waits, over), (vec![0.5, 1.0, 1.5], Next::GiveUp(Why::Exhausted)));
}

#[test]
fn c1_a_burned_key_gets_the_same_exit_again_as_written_and_another_one_repaired() {
    for (policy, evidence) in
        WINDOWED.into_iter().flat_map(|policy| [(policy, blocked()), (policy, unreached())])
    {
        let (exits, ..) = Hand::of(policy, &quiet(1_000)).until_over(1, evidence);
        let different: HashSet<_> = exits.iter().collect();
        let expected = if policy == Policy::ArticleAWindowed { 1 } else { 4 };
        assert_eq!(different.len(), expected, "{exits:?}");
    }
}

#[test]
fn c1_a_burn_raises_the_epoch_so_that_the_key_does_not_come_back_after_the_rest() {
    for (policy, same) in WINDOWED.into_iter().zip([true, false]) {
        let mut hand = Hand::of(policy, &quiet(1_000));
        let (exit, _) = hand.ask(1, blocked());
        assert_eq!(hand.at(301.0).exit(1_001) == exit, same, "{}", policy.name());
    }
}

#[test]
fn c1_the_end_of_a_window_changes_nothing_as_written() {
    let mut hand = Hand::of(Policy::ArticleAWindowed, &quiet(1_000));
    let (exit, _) = hand.ask(1, ok());
    assert_eq!(hand.at(601.0).exit(1_001), exit);
}

#[test]
fn c2_a_page_goes_through_one_exit_as_written_and_through_another_one_each_time_repaired() {
    let different = |policy| {
        let (exits, ..) = Hand::of(policy, &quiet(1_000)).until_over(1, limited(None));
        exits.iter().collect::<HashSet<_>>().len()
    };
    assert_eq!(different(Policy::ArticleA), 1);
    assert_eq!(different(Policy::ArticleARepaired), 4);
}

#[test]
fn a13_what_is_burned_is_nobodys_exit_there_for_300_s_and_somebody_elses_elsewhere() {
    let mut hand = Hand::of(Policy::ArticleARepaired, &quiet(3));
    let (burned, _) = hand.ask(0, blocked());
    let mut used = |seconds: f64, origin| {
        hand.at(seconds);
        (0..50).any(|id| sent(hand.begin_at_site(1_000 * origin + id + seconds as u32, origin)) == burned)
    };
    assert!(!used(299.0, 0));
    assert!(used(299.0, 1), "burned at one site only");
    assert!(used(301.0, 0));
}

#[test]
fn a21_what_is_dead_is_dead_at_every_site_repaired() {
    let mut hand = Hand::of(Policy::ArticleARepaired, &quiet(3));
    let (dead, _) = hand.ask(0, unreached());
    assert!((1..50).all(|id| sent(hand.begin_at_site(id, 1)) != dead));
}

#[test]
fn a14_a_late_success_clears_the_burn_and_not_the_cooldown() {
    let mut hand = Hand::of(Policy::ArticleAWindowedRepaired, &quiet(1_000));
    let (one, two) = (hand.exit(1), hand.exit(1_001));
    assert_eq!(one, two, "a lease that both hold");
    hand.answer(1, one, blocked());
    assert_eq!(hand.answer(1_001, two, ok()), Next::Done);
    assert_ne!(hand.exit(2_001), one, "C14");
}
