//! That a world is what it says, and the same for everybody.

use super::*;

#[test]
fn the_same_seed_makes_the_same_log_and_another_one_does_not() {
    let world = Scenario::named("T").unwrap().pool(20, 32).jobs(300);
    for policy in Policy::ALL {
        let first = run(&world, *policy, 1);
        assert_eq!(first, run(&world, *policy, 1));
        assert_ne!(first.log, run(&world, *policy, 2).log);
    }
}

#[test]
fn a_login_that_dies_is_stopped_after_what_is_under_way_and_a_few() {
    let world = Scenario::behind("Key").unwrap().jobs(12_000);
    for seed in 1..=3 {
        let run = run(&world, Policy::Ours, seed);
        assert_eq!((run.failed, run.stops, run.done), (0, 1, 12_000));
        assert!((1..=60).contains(&run.logins_refused) && run.logins_after <= 12, "{run:?}");
    }
}

#[test]
fn strays_of_a_right_login_stop_nobody() {
    for name in ["Stray5", "Stray10"] {
        let world = Scenario::behind(name).unwrap().jobs(5_000);
        for seed in 1..=5 {
            let run = run(&world, Policy::Ours, seed);
            assert!(run.stops == 0 && run.strays > 200, "{run:?}");
        }
    }
}

#[test]
fn a_gateway_that_is_full_gives_what_it_has_to_give() {
    let world = Scenario::behind("Full").unwrap().jobs(8_000);
    let run = run(&world, Policy::Ours, 1);
    // Tunnels take 0.4535 s on average, and it opens 40 at once.
    let bound = 8_000.0 * 0.4535 / 40.0;
    assert!(run.failed == 0 && run.makespan < 1.25 * bound && run.multiplier() < 1.12, "{run:?}");
}
