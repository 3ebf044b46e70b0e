//! The designs that keep a list of bad exits: scrapy-rotating-proxies, Envoy, reqwest-rotate, stygian-proxy.

use super::*;
use crate::lab::sim::contender::{Next, Why};
use std::collections::HashSet;
use std::time::Duration;

/// The exits of the next hundred jobs, each of which is served.
fn next(hand: &mut Hand, from: u32) -> HashSet<u32> {
    (from..from + 100).map(|id| hand.ask(id, ok()).0).collect()
}

#[test]
fn scrapy_buries_an_exit_for_one_bad_answer_whatever_it_was() {
    for evidence in [blocked(), limited(None), down(), unreached()] {
        let mut hand = Hand::of(Policy::Scrapy, &quiet(3));
        let exit = hand.exit(0);
        assert_ne!(sent(hand.answer(0, exit, evidence)), exit, "another one, at once");
        assert_eq!(next(&mut hand, 1).len(), 2);
        assert!(!next(&mut hand, 101).contains(&exit));
        assert!(next(hand.at(305.0), 201).contains(&exit), "300 s at most, and 5 to the next look");
    }
}

#[test]
fn scrapy_digs_all_up_when_all_are_dead() {
    let mut hand = Hand::of(Policy::Scrapy, &quiet(3));
    let (exits, waits, over) = hand.until_over(0, blocked());
    assert_eq!((exits.len(), waits.len(), over), (6, 0, Next::GiveUp(Why::Exhausted)));
    assert_eq!(exits[..3].iter().collect::<HashSet<_>>().len(), 3, "each one once");
    assert_eq!(exits[3..].iter().collect::<HashSet<_>>().len(), 3, "and once more");
}

#[test]
fn scrapy_buries_for_longer_each_time_and_a_success_resets() {
    // How long it takes until an exit is back after so many deaths in a row, at most, over many draws.
    let longest = |deaths: u32, good: bool| {
        let back = |seed| {
            let mut hand = Hand::seeded(Policy::Scrapy, &quiet(2), seed);
            hand.exit(0);
            for _ in 0..deaths {
                hand.answer(0, 0, blocked());
            }
            if good {
                hand.exit(1);
                hand.answer(1, 0, ok());
                hand.answer(0, 0, blocked());
            }
            // The other one stays alive.
            (1..=800).find(|tick| next(hand.at(f64::from(*tick) * 5.0), tick * 1_000).contains(&0))
        };
        (0..24).map(|seed| back(seed).unwrap() * 5).max().unwrap()
    };
    within(longest(1, false).into(), (240.0, 305.0));
    within(longest(3, false).into(), (900.0, 1_205.0));
    within(longest(6, false).into(), (2_800.0, 3_605.0));
    within(longest(3, true).into(), (240.0, 305.0));
}

#[test]
fn scrapy_takes_all_logins_at_a_gateway_for_one() {
    let world = Scenario::open("S2").unwrap();
    assert_eq!((world.same_address(3), world.same_address(49)), (49, 49));
    assert_eq!(Scenario::open("S1").unwrap().same_address(3), 3);
    let mut hand = Hand::of(Policy::Scrapy, &world);
    hand.exit(0);
    hand.answer(0, 3, blocked());
    let used: HashSet<u32> = (0..20)
        .flat_map(|round| (0..100).map(|id| hand.exit(1_000 + 100 * round + id)).collect::<Vec<_>>())
        .collect();
    assert!(used.contains(&3) && !used.contains(&49), "the last of them was marked");
}

/// As many failures in a row of one host.
fn fail(hand: &mut Hand, host: u32, times: u32) {
    for nth in 0..times {
        let id = 100_000 + 100 * host + nth;
        hand.exit(id);
        hand.answer(id, host, blocked());
    }
}

#[test]
fn envoy_ejects_after_five_failures_in_a_row_for_thirty_seconds_and_longer_each_time() {
    let mut hand = Hand::of(Policy::Envoy10, &quiet(20));
    fail(&mut hand, 4, 4);
    hand.exit(1);
    hand.answer(1, 4, ok());
    fail(&mut hand, 4, 4);
    assert!(next(&mut hand, 100).contains(&4), "a success between them");
    hand.exit(2);
    fail(&mut hand, 4, 5);
    assert!(!next(hand.at(29.0), 200).contains(&4));
    assert!(next(hand.at(30.0), 300).contains(&4));
    fail(&mut hand, 4, 5);
    assert!(!next(hand.at(89.0), 400).contains(&4), "twice as long");
    assert!(next(hand.at(90.0), 500).contains(&4));
    // Two healthy sweeps have forgotten both.
    hand.at(110.0);
    fail(&mut hand, 4, 5);
    assert!(!next(hand.at(139.0), 600).contains(&4));
    assert!(next(hand.at(140.0), 700).contains(&4));
}

#[test]
fn envoy_ejects_a_tenth_at_most_or_all_and_uses_all_where_more_than_half_are_gone() {
    let left = |policy, failing: u32| {
        let mut hand = Hand::of(policy, &quiet(20));
        (0..failing).for_each(|host| fail(&mut hand, host, 5));
        next(&mut hand, 100).len()
    };
    assert_eq!(left(Policy::Envoy10, 1), 19);
    assert_eq!(left(Policy::Envoy10, 9), 18);
    assert_eq!(left(Policy::Envoy100, 9), 11);
    assert_eq!(left(Policy::Envoy100, 10), 10);
    assert_eq!(left(Policy::Envoy100, 11), 20, "panic");
}

#[test]
fn envoy_retries_elsewhere_and_three_or_a_fifth_of_what_is_under_way() {
    let mut hand = Hand::of(Policy::Envoy10, &quiet(3));
    let (exits, waits, _) = hand.until_over(0, blocked());
    assert_eq!(exits[..3].iter().collect::<HashSet<_>>().len(), 3, "hosts that were not used");
    assert_eq!(exits.len(), 4);
    waits.iter().zip([0.025, 0.05, 0.1]).for_each(|(wait, most)| within(*wait, (0.0, most)));
    let retried = |active: u32| {
        let mut hand = Hand::of(Policy::Envoy100, &quiet(100));
        for id in 0..active {
            hand.exit(id);
        }
        (0..active).filter(|id| matches!(hand.answer(*id, *id, down()), Next::Wait(_))).count()
    };
    assert_eq!(retried(10), 3);
    assert_eq!(retried(100), 16, "a fifth of those that are left: 20 of 100, down to 16 of 84");
}

#[test]
fn reqwest_rotate_goes_round_and_leaves_out_what_does_not_answer() {
    let mut hand = Hand::of(Policy::ReqwestRotate, &quiet(4));
    assert_eq!([0, 1, 2, 3, 4].map(|id| hand.exit(id)), [0, 1, 2, 3, 0]);
    assert_eq!(sent(hand.answer(1, 1, unreached())), 2, "at once, as the next one is up");
    assert!(!next(hand.at(59.0), 100).contains(&1));
    assert!(next(hand.at(60.0), 200).contains(&1));
    hand.answer(2, 2, unreached());
    hand.answer(3, 2, ok());
    assert!(next(&mut hand, 300).contains(&2), "any answer clears that");
}

#[test]
fn reqwest_rotate_takes_the_first_that_is_back_when_all_are_off() {
    let mut hand = Hand::of(Policy::ReqwestRotate, &quiet(3));
    for (second, exit) in [(1.0, 2), (2.0, 0), (3.0, 1)] {
        hand.at(second).exit(exit);
        hand.answer(exit, exit, unreached());
    }
    assert_eq!([10, 11].map(|id| hand.exit(id)), [2, 2]);
}

#[test]
fn reqwest_rotate_hands_back_what_is_not_its_own() {
    let mut hand = Hand::of(Policy::ReqwestRotate, &quiet(4));
    assert_eq!(hand.ask(0, blocked()).1, Next::GiveUp(Why::Fatal));
    assert_eq!(hand.ask(1, limited(Some(31))).1, Next::GiveUp(Why::Fatal));
    assert_eq!(hand.ask(2, limited(Some(30))).1, Next::Wait(at(30.0)));
    let (exits, waits, _) = hand.until_over(3, down());
    assert_eq!(exits.len(), 4);
    waits.iter().zip([0.2, 0.4, 0.8]).for_each(|(wait, most)| within(*wait, (0.0, most)));
}

#[test]
fn a_breaker_counts_failures_that_successes_do_not_undo() {
    let mut hand = Hand::of(Policy::Stygian, &quiet(2));
    for nth in 0..5 {
        hand.exit(nth);
        hand.answer(nth, 1, blocked());
        hand.exit(100 + nth);
        hand.answer(100 + nth, 1, if nth < 4 { ok() } else { blocked() });
    }
    assert_eq!(next(&mut hand, 200), HashSet::from([0]));
    assert!(next(hand.at(30.0), 300).contains(&1), "anybody may try after 30 s");
    for nth in 0..4 {
        hand.exit(400 + nth);
        hand.answer(400 + nth, 1, blocked());
    }
    assert!(next(&mut hand, 500).contains(&1), "a success there has reset it");
}

#[test]
fn a_breaker_that_fails_its_trial_is_open_again() {
    let mut hand = Hand::of(Policy::Stygian, &quiet(2));
    hand.exit(0);
    for _ in 0..5 {
        hand.answer(0, 1, blocked());
    }
    let id = (1..4).find(|id| hand.at(30.0).exit(*id) == 1).unwrap();
    hand.answer(id, 1, blocked());
    assert_eq!(next(hand.at(59.0), 100), HashSet::from([0]));
    assert!(next(hand.at(60.0), 200).contains(&1));
}

#[test]
fn with_all_breakers_open_it_is_an_error_at_once() {
    let mut hand = Hand::of(Policy::Stygian, &quiet(1).sends(u32::MAX));
    let (exits, waits, over) = hand.until_over(0, down());
    assert_eq!((exits.len(), waits.len(), over), (5, 0, Next::GiveUp(Why::Exhausted)));
    assert_eq!(hand.at(29.0).begin(1), Next::GiveUp(Why::Exhausted));
    sent(hand.at(29.0 + Duration::from_secs(1).as_secs_f64()).begin(1));
}
