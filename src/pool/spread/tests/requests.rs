//! How often blocks are wrongly laid to requests, and how soon rightly.

use super::site::{POOLS, Plan, Rule, runs, share_of, soon};
use super::*;

const POISONED: Rule = |_, _, poison| if poison { 0.95 } else { 0.02 };

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
    let ids = ids(1_000);
    for (name, rule) in worlds {
        for (exits, rate) in POOLS {
            let plan = Plan { exits, rate, poison: 0.0, seconds: 300, rule };
            let wrong = share_of(&runs(plan, &ids, 30), |seen| seen.request);
            assert!(wrong < 0.005, "{name}, {exits} exits: {wrong}");
        }
    }
}

/// Of 40 runs, when half of them and when nine in ten had the verdict at the latest; it is the 90 that should hold.
#[test]
fn a27_blocks_that_follow_requests_are_laid_to_them_soon() {
    let ids = ids(200);
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
        let (median, tenth) = soon(&runs, |seen| seen.request);
        assert!(median <= half && tenth <= most, "{poison} at {exits}: {median} s, {tenth} s");
    }
}
