//! What is measured around a site's bad time, and of what a run costs.

use super::*;

#[test]
fn an_overload_that_ends_leaves_no_trace_on_who_keeps_to_the_limits() {
    for name in ["T", "S", "Esc", "Sub"] {
        let world = Scenario::named(name).unwrap().pool(20, 32).surge();
        let oracle = run(&world, Policy::Oracle, 1);
        assert!((0.99..1.01).contains(&oracle.metastability), "{name}: {}", oracle.metastability);
        assert_eq!(oracle.lost(), 0.0, "{name}");
        // 20 exits at a half each, and half of that: 5 a second, and 20 for a minute where the trouble is the surge.
        let (steady, surge) = if name == "S" { (840.0, 0.0) } else { (600.0, 180.0) };
        let expected = 5.0 * (steady + surge);
        assert!((oracle.jobs as f64 / expected - 1.0).abs() < 0.05, "{name}: {} of {expected}", oracle.jobs);
    }
    let naive = run(&Scenario::named("T").unwrap().pool(20, 32).surge(), Policy::Naive, 1);
    assert!(naive.metastability > 10.0, "bans feed on themselves: {}", naive.metastability);
}

#[test]
fn a_shock_costs_the_exits_it_bans_their_time_and_is_detected_by_who_sees_it() {
    let world = Scenario::named("S").unwrap().pool(200, 256).jobs(12_000);
    let oracle = run(&world, Policy::Oracle, 1);
    // 40 % of 200 exits from 60 s until the last job.
    let banned = oracle.exit_seconds_burned / (oracle.makespan - 60.0);
    assert!((65.0..95.0).contains(&banned), "{banned} exits");
    assert_eq!(oracle.detect, Some(0.0), "it sends nothing to them");
    assert!(oracle.peak <= 130, "100 a second, and no more after the shock: {}", oracle.peak);
    let naive = run(&world, Policy::Naive, 1);
    assert_eq!(naive.detect, None, "nor does it count that it is done");
    assert!(naive.peak > 250, "{}", naive.peak);
}

#[test]
fn a_login_that_dies_is_counted_from_the_second_refusal_on() {
    let world = Scenario::find("Login").unwrap().pool(200, 256);
    let (naive, oracle) = (run(&world, Policy::Naive, 1), run(&world, Policy::Oracle, 1));
    assert_eq!((oracle.refused_login, oracle.after_stop), (0, 0), "it sees what is dead");
    assert!(naive.after_stop > 1_000 && naive.refused_login > naive.after_stop, "{naive:?}");
    let stray = run(&Scenario::find("Stray10").unwrap().jobs(2_000), Policy::Naive, 1);
    let share = stray.refused_login as f64 / stray.attempts as f64;
    assert!((0.08..0.12).contains(&share), "{share}");
}

#[test]
fn shares_and_ratios_are_those_of_the_counts() {
    let run = Run { jobs: 4, done: 2, attempts: 8, bytes: 4_000_000, ..Run::default() };
    assert_eq!((run.efficiency(), run.multiplier(), run.per_megabyte(), run.lost()), (0.25, 4.0, 0.5, 0.5));
    let shared = |by_origin| Run { by_origin, ..Run::default() }.fairness();
    assert_eq!(shared(vec![(10, 5), (100, 50)]), 1.0, "each had half of what came");
    assert_eq!(shared(vec![(10, 10), (100, 0)]), 0.5, "one had all, the other nothing");
    assert_eq!(Run::default().precision(), 1.0, "nothing was called poison");
}
