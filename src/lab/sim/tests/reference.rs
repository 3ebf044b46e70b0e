//! What nobody beats.

use super::*;

/// Small enough for each test run.
fn small(name: &str) -> Scenario {
    Scenario::named(name).unwrap().pool(40, 52).jobs(1_000)
}

#[test]
fn the_bound_is_that_of_the_limits_or_of_the_work() {
    let bound = |name: &str| Scenario::named(name).unwrap().bound().map(|bound| bound.makespan.round());
    // 20,000 less the full buckets at 0.5 a second of each of 200 exits; 60 a second less a full bucket.
    assert_eq!([bound("T"), bound("G")], [Some(190.0), Some(332.0)]);
    assert_eq!([bound("H"), bound("L")], [Some(71.0), Some(71.0)], "all workers at 0.907 s an attempt");
    assert_eq!(bound("P"), Some(59.0), "the same for three quarters, and for a third of the rest");
    // 6,000 in the first minute, with the buckets' 1,000; then three exits in five.
    assert_eq!(bound("S"), Some(277.0));
    // 30 in each window of a minute, and a fourth one for the last 2,000.
    assert_eq!(bound("T3"), Some(180.0));
    assert_eq!(bound("U"), None, "blocks come for a while only");
    assert_eq!(Scenario::open("S1").unwrap().bound(), None);
}

#[test]
fn the_oracle_asks_no_banned_exit_and_is_never_limited() {
    for name in Scenario::NAMES.iter().filter(|name| !["S", "Chance"].contains(*name)) {
        let run = run(&small(name), Policy::Oracle, 1);
        assert_eq!((run.while_banned, run.limited, run.bans), (0, 0, 0), "{name}");
    }
    // Nobody sees a shock coming: what is on its way then is lost.
    let shocked = run(&small("S").jobs(3_000), Policy::Oracle, 1);
    assert!((shocked.limited, shocked.bans) == (0, 0) && shocked.while_banned < 40, "{shocked:?}");
}

#[test]
fn the_oracle_is_never_worse_than_naive() {
    for name in Scenario::NAMES {
        for seed in 1..4 {
            let (oracle, naive) =
                (run(&small(name), Policy::Oracle, seed), run(&small(name), Policy::Naive, seed));
            assert!(oracle.done_clean >= naive.done_clean, "{name} {seed}");
            assert!(oracle.multiplier() <= 1.05 * naive.multiplier(), "{name} {seed}");
            if naive.lost() == 0.0 {
                assert!(oracle.makespan <= 1.15 * naive.makespan, "{name} {seed}");
            }
        }
    }
}

#[test]
fn the_oracle_gives_up_poison_at_once_and_nothing_else() {
    let run = run(&small("P"), Policy::Oracle, 1);
    assert_eq!((run.recall(), run.precision()), (1.0, 1.0));
    assert_eq!((run.done, run.failed), (run.jobs - run.poison, run.poison));
    assert_eq!(run.attempts, run.attempts_clean);
}

#[test]
fn the_oracle_waits_for_a_site_that_is_down_and_loses_nobody() {
    let run = run(&Scenario::open("S3").unwrap(), Policy::Oracle, 1);
    assert_eq!((run.wasted_down, run.lost()), (0, 0.0));
    assert!(run.recover.is_some_and(|seconds| seconds <= 1.0), "{:?}", run.recover);
}

#[test]
fn without_retries_each_job_is_sent_once_and_without_end_no_address_is_limited() {
    let single = run(&small("T"), Policy::NoRetry, 1);
    assert_eq!(single.attempts, single.jobs);
    let endless = run(&small("T"), Policy::Endless, 1);
    assert_eq!((endless.limited, endless.lost()), (0, 0.0));
}
