//! How often blocks are wrongly laid to exits, or to all of them alike, and how soon rightly: where exits rest after a block,
//! requests go again elsewhere, and rates change.

use super::site::{POOLS, Plan, Rule, runs, share_of, soon};
use super::*;

/// Blocked at any of these, an exit is as good as any other.
const ALIKE: [(&str, Rule); 6] = [
    ("noise", |_, _, _| 0.02),
    ("one in ten", |_, _, _| 0.1),
    ("one in three", |_, _, _| 0.35),
    ("bad minutes", |_, second, _| if second / 60 % 2 == 1 { 0.6 } else { 0.02 }),
    ("bad moments", |_, second, _| if second % 37 < 4 { 0.6 } else { 0.02 }),
    ("up and down", |_, second, _| {
        [0.0, 0.3, 0.6, 0.9, 0.6, 0.3][usize::try_from(second % 60 / 10).unwrap()]
    }),
];

const FIFTH: Rule = |exit, _, _| if exit % 5 == 0 { 0.8 } else { 0.02 };

fn plan((exits, rate): (usize, f64), rule: Rule) -> Plan {
    Plan { exits, rate, poison: 0.0, seconds: 300, rule }
}

#[test]
fn a27_exits_that_are_blocked_alike_are_hardly_ever_called_a_bad_pool_whatever_the_rate_does() {
    let ids = ids(1_000);
    for (name, rule) in ALIKE {
        for pool in POOLS {
            let wrong = share_of(&runs(plan(pool, rule), &ids, 10), |seen| seen.pool);
            assert!(wrong < 0.005, "{name}, {} exits: {wrong}", pool.0);
        }
    }
}

#[test]
fn a26_a27_a_fifth_of_the_exits_is_called_the_pool_soon_and_never_the_pattern() {
    let ids = ids(1_000);
    for (pool, half, most) in [(POOLS[1], 60, 90), (POOLS[2], 60, 90)] {
        let runs = runs(Plan { seconds: 120, ..plan(pool, FIFTH) }, &ids, 20);
        let (median, tenth) = soon(&runs, |seen| seen.pool);
        assert!(median <= half && tenth <= most, "{} exits: {median} s, {tenth} s", pool.0);
        assert!(share_of(&runs, |seen| seen.pattern) == 0.0, "{} exits", pool.0);
    }
}

/// From a second on all are blocked.
#[test]
fn a27_a_site_that_begins_to_block_all_exits_alike_is_said_to_do_so_soon() {
    let ids = ids(1_000);
    let rule: Rule = |_, second, _| if second >= 60 { 0.6 } else { 0.02 };
    for (pool, half, most) in [((20, 25.0), 100, 110), ((200, 200.0), 100, 110)] {
        let runs = runs(Plan { seconds: 160, ..plan(pool, rule) }, &ids, 10);
        let (median, tenth) = soon(&runs, |seen| seen.pattern);
        assert!(median >= 60 && median <= half && tenth <= most, "{} exits: {median} s, {tenth} s", pool.0);
    }
}
