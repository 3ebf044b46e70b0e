//! That a change of decisions is seen: the hash of each log stands in `golden.tsv`, and CONTRIBUTING.md has the command that
//! writes it anew.

use super::*;
use std::fmt::Write as _;

const GOLDEN: &str = include_str!("golden.tsv");

/// World, policy, seed, hash.
fn played() -> String {
    let mut lines = String::new();
    for name in Scenario::CORE {
        let scenario = Scenario::named(name).unwrap().pool(20, 26).jobs(400);
        for policy in [Policy::Ours, Policy::Naive, Policy::Oracle] {
            for seed in 1..=3 {
                let run = run(&scenario, policy, seed);
                let _ = writeln!(lines, "{name}\t{}\t{seed}\t{}", run.policy, run.log);
            }
        }
    }
    lines
}

#[test]
fn decisions_are_those_of_the_log_in_the_repository() {
    let now = played();
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lab/sim/tests/golden.tsv");
        return std::fs::write(path, now).unwrap();
    }
    let changed = || now.lines().zip(GOLDEN.lines()).filter(|(now, then)| now != then);
    let names: Vec<&str> = changed().map(|(now, _)| now.rsplit_once('\t').unwrap().0).collect();
    assert!(
        now.lines().count() == GOLDEN.lines().count() && names.is_empty(),
        "decided otherwise: {names:#?}"
    );
}
