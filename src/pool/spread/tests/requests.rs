//! How often blocks are wrongly laid to requests, and how soon rightly.

use super::site::{Plan, Rule, Seen, Site};
use super::*;

const POISONED: Rule = |_, _, poison| if poison { 0.95 } else { 0.02 };

/// The pools, with requests per second.
const POOLS: [(usize, f64); 3] = [(20, 4.0), (200, 25.0), (1_000, 60.0)];

fn runs(plan: Plan, ids: &[ExitId], count: u64) -> Vec<Seen> {
    (0..count).map(|seed| Site::new(plan, ids, seed).run()).collect()
}

fn share_of(runs: &[Seen]) -> f64 {
    let sum = |count: fn(&Seen) -> u32| runs.iter().map(count).sum::<u32>();
    f64::from(sum(|seen| seen.request)) / f64::from(sum(|seen| seen.looks))
}

/// Six worlds, three pools, 30 runs of 60 looks each.
#[test]
fn a27_blocks_that_do_not_follow_requests_are_hardly_ever_laid_to_them() {
    let worlds: [(&str, Rule); 6] = [
        ("noise", |_, _, _| 0.02),
        ("one in ten", |_, _, _| 0.1),
        ("one in three", |_, _, _| 0.35),
        ("bad minutes", |_, second, _| if second / 60 % 2 == 1 { 0.6 } else { 0.02 }),
        ("bad moments", |_, second, _| if second % 37 < 4 { 0.6 } else { 0.02 }),
        ("a fifth of the exits", |exit, _, _| if exit % 5 == 0 { 0.8 } else { 0.02 }),
    ];
    let ids = exits(1_000);
    for (name, rule) in worlds {
        for (exits, rate) in POOLS {
            let plan = Plan { exits, rate, poison: 0.0, seconds: 300, rule };
            let wrong = share_of(&runs(plan, &ids, 30));
            assert!(wrong < 0.005, "{name}, {exits} exits: {wrong}");
        }
    }
}

/// Of 40 runs, when half of them and when nine in ten had the verdict at the latest; it is the 90 that should hold.
#[test]
fn a27_blocks_that_follow_requests_are_laid_to_them_soon() {
    let ids = exits(200);
    for (poison, pool, half, most) in [
        (0.05, POOLS[0], 40, 70),
        (0.25, POOLS[0], 60, 90),
        (0.60, POOLS[0], 120, 180),
        (0.05, POOLS[1], 20, 25),
        (0.25, POOLS[1], 20, 25),
        (0.60, POOLS[1], 40, 45),
    ] {
        let (exits, rate) = pool;
        let runs = runs(Plan { exits, rate, poison, seconds: 300, rule: POISONED }, &ids, 40);
        let mut first: Vec<_> = runs.iter().map(|seen| seen.first.unwrap_or(u64::MAX)).collect();
        first.sort_unstable();
        let (median, tenth) = (first[20], first[36]);
        assert!(median <= half && tenth <= most, "{poison} at {exits}: {median} s, {tenth} s");
    }
}
