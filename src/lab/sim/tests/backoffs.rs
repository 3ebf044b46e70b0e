//! The designs that wait by themselves and draw their exits by lot: naive loops, tower, reqwest-retry, AWS.

use super::*;
use crate::lab::sim::contender::{Next, Why};
use std::collections::HashSet;

#[test]
fn naive_is_sent_at_once_as_often_as_it_may() {
    for (policy, sends) in [(Policy::Naive, 8), (Policy::Naive4, 4), (Policy::NoRetry, 1)] {
        let (exits, waits, over) = Hand::of(policy, &quiet(1_000)).until_over(1, blocked());
        assert_eq!((exits.len(), waits.len(), over), (sends, 0, Next::GiveUp(Why::Exhausted)));
        assert!(exits.iter().collect::<HashSet<_>>().len() >= sends.min(7), "through any exit");
    }
    let mut hand = Hand::of(Policy::NaiveUnlimited, &quiet(20));
    let mut exit = hand.exit(1);
    for _ in 0..1_000 {
        exit = sent(hand.answer(1, exit, blocked()));
    }
    assert_eq!(hand.at(36_000.0).answer(1, exit, blocked()), Next::GiveUp(Why::Late));
}

#[test]
fn tower_draws_the_same_waits_for_everybody() {
    let waits = |policy, id| Hand::of(policy, &quiet(20)).until_over(id, blocked()).1;
    let first = waits(Policy::Tower, 1);
    assert_eq!(first, waits(Policy::Tower, 2), "in lockstep");
    assert_ne!(waits(Policy::TowerJitter, 1), waits(Policy::TowerJitter, 2));
    assert_eq!(first.len(), 7);
    for (n, wait) in (0..).zip(first) {
        let base = 0.05 * 2_f64.powi(n);
        within(wait, (base, base * 1.99));
    }
}

#[test]
fn tower_drops_what_is_left_of_whole_seconds() {
    // 1.6 s: the jitter of one whole second is none.
    let (_, waits, _) = Hand::of(Policy::TowerNoBudget, &quiet(20)).until_over(1, blocked());
    within(waits[5], (1.6, 1.6 + 0.6 * 0.99));
}

#[test]
fn towers_budget_hands_out_a_hundred_retries_and_then_one_for_five_successes() {
    let mut hand = Hand::of(Policy::Tower, &quiet(20));
    let retried = |next| matches!(next, Next::Wait(_));
    assert!((0..100).all(|id| retried(hand.ask(id, blocked()).1)));
    assert_eq!(hand.ask(100, blocked()).1, Next::GiveUp(Why::Exhausted));
    for id in 101..105 {
        hand.ask(id, ok());
    }
    assert!(!retried(hand.ask(105, blocked()).1), "four are not enough");
    hand.ask(106, ok());
    assert!(retried(hand.ask(107, blocked()).1));
    assert!(!retried(hand.ask(108, blocked()).1));
    hand.at(9.0);
    assert!(!retried(hand.ask(109, blocked()).1), "what was taken is taken for ten seconds");
    hand.at(12.0);
    assert!((200..300).all(|id| retried(hand.ask(id, blocked()).1)), "and is there again");
    assert!((0..100).all(|id| retried(Hand::of(Policy::TowerNoBudget, &quiet(20)).ask(id, blocked()).1)));
}

#[test]
fn reqwest_retry_goes_by_status() {
    let mut hand = Hand::of(Policy::ReqwestRetry, &quiet(20));
    assert_eq!(hand.ask(1, blocked()).1, Next::GiveUp(Why::Fatal), "403 is final");
    for (id, evidence) in (2..).zip([limited(Some(60)), down(), unreached()]) {
        let (_, next) = hand.ask(id, evidence);
        within(hand.wait(next), (0.0, 1.0));
    }
    let pages = Scenario::named("Soft").unwrap();
    assert_eq!(Hand::of(Policy::ReqwestRetry, &pages).ask(1, blocked()).1, Next::Done, "a page is a page");
    let (_, next) = Hand::of(Policy::ReqwestRetryCommon, &pages).ask(1, blocked());
    assert!(matches!(next, Next::Wait(_)));
}

#[test]
fn reqwest_retry_waits_any_part_of_a_second_doubled_three_times() {
    let mut most = [0.0_f64; 3];
    for id in 0..200 {
        let (exits, waits, _) = Hand::of(Policy::ReqwestRetryCommon, &quiet(20)).until_over(id, blocked());
        assert_eq!((exits.len(), waits.len()), (4, 3));
        (0..3).for_each(|n| most[n] = most[n].max(waits[n]));
    }
    for (most, longest) in most.into_iter().zip([1.0, 2.0, 4.0]) {
        within(most, (0.9 * longest, longest));
    }
}

#[test]
fn aws_spends_five_of_five_hundred_tokens_a_retry_and_gets_them_back() {
    let mut hand = Hand::of(Policy::AwsStandard, &quiet(20));
    let retried = |next| matches!(next, Next::Wait(_));
    assert!((0..100).all(|id| retried(hand.ask(id, blocked()).1)));
    assert_eq!(hand.ask(100, blocked()).1, Next::GiveUp(Why::Exhausted));
    assert_eq!(hand.answer(0, 0, ok()), Next::Done);
    assert!(retried(hand.ask(101, blocked()).1), "the retry that went well has paid");
    assert!((102..106).all(|id| hand.ask(id, ok()).1 == Next::Done));
    assert!(!retried(hand.ask(106, blocked()).1), "four first tries have not");
    hand.ask(107, ok());
    assert!(retried(hand.ask(108, blocked()).1));
    let mut hand = Hand::of(Policy::AwsStandard, &quiet(20));
    assert!((0..50).all(|id| retried(hand.ask(id, unreached()).1)));
    assert!(!retried(hand.ask(50, unreached()).1), "ten where it took its time");
}

#[test]
fn aws_tries_three_times_within_one_and_two_seconds() {
    let (exits, waits, over) = Hand::of(Policy::AwsStandard, &quiet(20)).until_over(1, blocked());
    assert_eq!((exits.len(), over), (3, Next::GiveUp(Why::Exhausted)));
    within(waits[0], (0.0, 1.0));
    within(waits[1], (0.0, 2.0));
}

#[test]
fn aws_slows_down_to_seven_tenths_when_it_is_throttled() {
    let mut hand = Hand::of(Policy::Aws, &quiet(20));
    for id in 0..100 {
        hand.at(f64::from(id) / 10.0).ask(id, ok());
    }
    hand.at(10.0).ask(100, limited(None));
    // What has come together in a second may go at once, and then seven a second.
    for second in [10.0, 11.0, 12.0] {
        hand.at(second);
        let first = 1_000 * second as u32;
        let sent = (first..).take_while(|id| matches!(hand.begin(*id), Next::Send(_))).count();
        within(sent as f64, (6.0, 8.0));
    }
}

#[test]
fn aws_never_stops() {
    let mut hand = Hand::of(Policy::Aws, &quiet(20));
    for id in 0..50 {
        let next = hand.begin(id);
        if let Next::Send(exit) = next {
            hand.answer(id, exit, limited(None));
        } else {
            within(hand.wait(next), (0.0, 2.0));
        }
    }
}
