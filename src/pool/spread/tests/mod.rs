//! How often the verdicts are right, and that what is counted is bounded.

mod exits;
mod requests;
mod site;
mod subnets;

use super::counts::Counts;
use super::*;
use crate::draw::{below, mix, unit};
use crate::exit::ExitList;
use crate::outcome::BlockedBy;
use crate::pool::OriginIx;
use crate::pool::named::NamedIx;
use std::collections::HashSet;

const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };

fn ids(count: usize) -> Vec<ExitId> {
    let lines: Vec<String> =
        (0..count).map(|at| format!("gw{}.test:{}", at / 1_000, at % 1_000 + 1)).collect();
    ExitList::parse(&lines.join("\n")).unwrap().into_iter().map(|exit| exit.id()).collect()
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// Counts an attempt of which nothing else is known.
fn count(
    spreads: &mut Spreads,
    at: &mut Option<SpreadIx>,
    now: Time,
    exit: ExitId,
    outcome: &Outcome,
) -> Option<Diagnosis> {
    spreads.count(at, now, (&receipt(exit), 1), outcome, || None)
}

fn receipt(exit: ExitId) -> Receipt {
    let mut pairs = Slab::new(1);
    let origin = OriginIx(pairs.insert(()).unwrap());
    Receipt {
        id: LeaseId(0),
        exit,
        at: (ExitIx::at(0), origin),
        named: NamedIx::default(),
        binding: None,
        sent: at(0),
        turn: 0,
        gateway: None,
        charged: true,
        first: true,
        again: false,
        clean: false,
        blocked: LeaseId::NONE,
    }
}

struct Dice(u64);

impl Dice {
    fn unit(&mut self) -> f64 {
        self.0 = mix(self.0);
        unit(self.0)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 = mix(self.0);
        below(self.0, n)
    }
}

/// `attempts` within half a minute, of which each exit is blocked at its own rate; by turns, or where chance falls.
fn trial(
    exits: &[ExitId],
    attempts: usize,
    turns: bool,
    seed: u64,
    rate: impl Fn(usize) -> f64,
) -> BlockedSpread {
    let (mut dice, mut spread) = (Dice(mix(seed)), Counts::new(at(0)));
    for attempt in 0..attempts {
        let exit = if turns { attempt % exits.len() } else { dice.below(exits.len()) };
        spread.count(at(1), exits[exit], dice.unit() < rate(exit), || None);
    }
    spread.figure(at(1)).unwrap()
}

fn share(trials: u64, wanted: SpreadVerdict, trial: impl Fn(u64) -> BlockedSpread) -> f64 {
    let hits = (0..trials).filter(|seed| trial(*seed).verdict == wanted).count();
    hits as f64 / trials as f64
}

#[test]
fn a27_exits_that_are_blocked_alike_are_hardly_ever_called_a_bad_pool() {
    let ids = ids(200);
    for (count, attempts, turns, rate) in [
        (100, 300, true, 0.3),
        (20, 100, true, 0.1),
        (200, 120, false, 0.2),
        (50, 500, false, 0.15),
        (10, 60, true, 0.9),
    ] {
        let wrong =
            share(500, SpreadVerdict::Pool, |seed| trial(&ids[..count], attempts, turns, seed, |_| rate));
        assert!(wrong <= 0.01, "{count} exits, {attempts} attempts at {rate}: {wrong}");
    }
}

#[test]
fn a26_a27_blocks_on_a_fifth_of_the_exits_are_the_pools_and_the_worst_are_named() {
    let ids = ids(100);
    let bad = |exit| if exit % 5 == 0 { 0.8 } else { 0.0 };
    let right = share(300, SpreadVerdict::Pool, |seed| trial(&ids, 300, true, seed, bad));
    assert!(right >= 0.99, "{right}");
    for (count, attempts, least) in [(20, 60, 0.6), (20, 90, 0.9), (100, 100, 0.5), (100, 150, 0.9)] {
        let right = share(300, SpreadVerdict::Pool, |seed| trial(&ids[..count], attempts, false, seed, bad));
        assert!(right >= least, "{count}: {right}");
    }
    let bad: HashSet<_> = ids.iter().step_by(5).copied().collect();
    let figure = trial(&ids, 300, true, 1, |exit| if exit % 5 == 0 { 0.8 } else { 0.0 });
    assert!(
        figure.worst.len() == 3 && figure.worst.iter().all(|exit| bad.contains(&exit.exit)),
        "{figure:?}"
    );
    assert!(figure.worst.iter().all(|exit| (exit.attempts, exit.blocked) == (3, 3)), "{figure:?}");
}

#[test]
fn a27_exits_that_are_all_blocked_alike_are_the_patterns() {
    let ids = ids(100);
    let right = share(300, SpreadVerdict::Pattern, |seed| trial(&ids, 300, true, seed, |_| 0.3));
    assert!(right >= 0.9, "{right}");
    let all = trial(&ids, 300, true, 1, |_| 1.0);
    assert_eq!((all.verdict, all.share), (SpreadVerdict::Pattern, 1.0), "all of them");
}

/// Exits that were blocked rest: a bad one is asked once, the good ones go on.
#[test]
fn a27_bad_exits_that_rest_are_never_called_a_pattern() {
    let ids = ids(200);
    for (count, bad, attempts) in
        [(100, 30, 100), (100, 50, 150), (200, 60, 260), (40, 25, 70), (100, 20, 90)]
    {
        let wrong = share(500, SpreadVerdict::Pattern, |seed| {
            let (mut dice, mut spread) = (Dice(mix(seed)), Counts::new(at(0)));
            let mut resting = HashSet::new();
            for _ in 0..attempts {
                let exit = std::iter::repeat_with(|| dice.below(count))
                    .find(|exit| !resting.contains(exit))
                    .unwrap();
                let blocked = exit < bad;
                if blocked {
                    resting.insert(exit);
                }
                spread.count(at(1), ids[exit], blocked, || None);
            }
            spread.figure(at(1)).unwrap()
        });
        assert!(wrong <= 0.01, "{bad} of {count} exits bad, {attempts} attempts: {wrong}");
    }
}

/// Of one exit nobody knows what others would do; nor where hardly any other is asked.
#[test]
fn a27_what_one_exit_is_blocked_is_never_called_a_pattern() {
    let ids = ids(10);
    for seed in 0..50 {
        let alone = trial(&ids[..1], 400, true, seed, |_| 0.5);
        assert_eq!(alone.verdict, SpreadVerdict::Unclear, "{alone}");
        let (mut dice, mut spread) = (Dice(mix(seed)), Counts::new(at(0)));
        for _ in 0..400 {
            let exit = if dice.unit() < 0.95 { 0 } else { 1 + dice.below(9) };
            spread.count(at(1), ids[exit], exit == 0 && dice.unit() < 0.5, || None);
        }
        let most = spread.figure(at(1)).unwrap();
        assert_ne!(most.verdict, SpreadVerdict::Pattern, "{most}");
    }
}

#[test]
fn a27_too_few_numbers_say_nothing() {
    let ids = ids(100);
    for (count, attempts, rate) in [(10, 59, 0.5), (100, 300, 0.01)] {
        let figure = trial(&ids[..count], attempts, true, 3, |_| rate);
        assert_eq!((figure.z, figure.verdict), (None, SpreadVerdict::Unclear), "{count} {attempts} {rate}");
        let said = figure.to_string();
        assert!(said.ends_with("too few to say more") && !said.contains("pool"), "{said}");
    }
    // Of exits that were asked once each nobody knows whether they differ.
    let once = trial(&ids, 100, true, 3, |_| 0.5);
    assert_eq!(once.verdict, SpreadVerdict::Unclear, "{once}");
    assert!(Counts::new(at(0)).figure(at(0)).is_none());
    // Nor does saying nothing for long confirm anything.
    let mut spread = Counts::new(at(0));
    for second in 0..200 {
        spread.count(at(second), ids[0], true, || None);
        assert!(!spread.figure(at(second)).unwrap().confirmed);
    }
}

#[test]
fn a27_the_sentence_names_pool_or_pattern_after_two_looks_in_a_row() {
    let ids = ids(100);
    let fifth = |exit| if exit % 5 == 0 { 0.8 } else { 0.0 };
    for (all, rate, word) in [(true, 0.3, "pattern"), (false, 0.0, "pool")] {
        let (mut dice, mut spread) = (Dice(9), Counts::new(at(0)));
        let mut confirmed = Vec::new();
        for attempt in 0..600 {
            let now = at(attempt / 20);
            let exit = usize::try_from(attempt).unwrap() % 100;
            spread.count(now, ids[exit], dice.unit() < if all { rate } else { fifth(exit) }, || None);
            let figure = spread.figure(now).map(|figure| (figure.confirmed, figure.to_string()));
            let Some((sure, said)) = figure else { continue };
            assert_eq!(said.starts_with(word), sure, "{said}");
            assert!(sure || (!said.contains("pool") && !said.contains("pattern")), "{said}");
            confirmed.extend(sure.then_some(attempt / 20));
        }
        // 300 attempts are enough, and the second look after them is at 20 s.
        assert!((10..=20).contains(&confirmed[0]) && confirmed.len() > 150, "{confirmed:?}");
        let said = spread.figure(at(29)).unwrap().to_string();
        match all {
            true => assert!(
                said.contains("on 100 exits blocked, all alike: the requests, or their rate"),
                "{said}"
            ),
            false => assert!(said.contains("some of them more than others: "), "{said}"),
        }
    }
}

#[test]
fn a27_a_window_is_forgotten_after_a_minute() {
    let ids = ids(10);
    let mut spread = Counts::new(at(0));
    for exit in &ids {
        spread.count(at(29), *exit, true, || None);
    }
    let blocked = |spread: &Counts, now| spread.figure(at(now)).map(|figure| figure.blocked);
    assert_eq!(
        (blocked(&spread, 29), blocked(&spread, 59), blocked(&spread, 60)),
        (Some(10), Some(10), None)
    );
    spread.count(at(31), ids[0], true, || None);
    assert_eq!((blocked(&spread, 31), blocked(&spread, 60)), (Some(11), Some(1)));
    spread.count(at(150), ids[0], true, || None);
    assert_eq!((blocked(&spread, 150), spread.len()), (Some(1), 1));
}

#[test]
fn a27_a_late_amendment_moves_what_was_counted() {
    let ids = ids(2);
    let mut spread = Counts::new(at(0));
    let figure =
        |spread: &Counts, now| spread.figure(at(now)).map(|figure| (figure.attempts, figure.blocked));
    spread.count(at(1), ids[0], true, || None);
    spread.count(at(2), ids[0], false, || None);
    // 200, but no price on it; and the other way round, in a later window.
    spread.take_back(at(3), ids[0], false);
    spread.count(at(3), ids[0], true, || None);
    assert_eq!(figure(&spread, 3), Some((2, 2)));
    spread.take_back(at(31), ids[0], true);
    spread.count(at(31), ids[0], false, || None);
    assert_eq!(figure(&spread, 31), Some((2, 1)));
    // What is too old to be found takes nothing away.
    spread.take_back(at(31), ids[1], true);
    spread.take_back(at(95), ids[0], true);
    assert_eq!(figure(&spread, 95), None);
}

#[test]
fn a27_more_exits_than_are_counted_are_sampled_whatever_happened_to_them() {
    let ids = ids(20_000);
    let figure = {
        let mut spread = Counts::new(at(0));
        let mut dice = Dice(1);
        for turn in 0..60_000 {
            spread.count(at(1), ids[turn % ids.len()], dice.unit() < 0.3, || None);
            assert!(spread.len() <= 512);
        }
        spread.figure(at(1)).unwrap()
    };
    assert_eq!(figure.one_in, 64);
    assert!((200..400).contains(&figure.exits), "{figure:?}");
    assert!((figure.share - 0.3).abs() < 0.04 && figure.verdict == SpreadVerdict::Pattern, "{figure:?}");
    assert!(figure.to_string().contains("(one exit in 64 is counted)"), "{figure}");
}

#[test]
fn a27_only_origins_with_recent_blocks_are_counted_and_not_too_many() {
    let (ids, mut spreads) = (ids(1), Spreads::new(Some(knobs::Diagnosis::default())));
    let mut origins = vec![None; 300];
    count(&mut spreads, &mut origins[0], at(0), ids[0], &Outcome::Ok);
    assert!(origins[0].is_none(), "nothing is counted before the first block");
    for origin in &mut origins {
        count(&mut spreads, origin, at(1), ids[0], &BLOCKED);
    }
    assert_eq!(origins.iter().filter(|origin| origin.is_some()).count(), ORIGINS);
    // One more has a place as soon as another has been quiet for a minute.
    let mut last = origins[299];
    count(&mut spreads, &mut last, at(61), ids[0], &BLOCKED);
    assert!(last.is_none());
    count(&mut spreads, &mut last, at(62), ids[0], &BLOCKED);
    assert_eq!(spreads.figure(last, at(62)).map(|figure| figure.attempts), Some(1));
    assert_eq!(spreads.origins.len(), ORIGINS);
    // Quiet for a minute: forgotten at the next word.
    count(&mut spreads, &mut origins[255], at(62), ids[0], &Outcome::Ok);
    assert_eq!((origins[255], spreads.origins.len()), (None, ORIGINS - 1));
    // What is no answer of the origin is not counted.
    count(&mut spreads, &mut last, at(62), ids[0], &Outcome::TargetDenied);
    assert_eq!(spreads.figure(last, at(62)).map(|figure| figure.attempts), Some(1));
}
