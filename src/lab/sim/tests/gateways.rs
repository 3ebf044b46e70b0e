//! That gateways and exits are what they say, and what ours makes of them.

use super::*;

#[test]
fn a_login_that_dies_is_stopped_after_what_is_under_way_and_a_few() {
    let world = Scenario::find("Key").unwrap().jobs(12_000);
    for seed in 1..=3 {
        let run = run(&world, Policy::Ours, seed);
        assert_eq!((run.failed, run.stops, run.done), (0, 1, 12_000));
        assert!((1..=60).contains(&run.logins_refused) && run.logins_after <= 2, "{run:?}");
    }
}

#[test]
fn strays_of_a_right_login_stop_nobody() {
    for name in ["Stray5", "Stray10"] {
        let world = Scenario::find(name).unwrap().jobs(5_000);
        // In the last one strays are refused at the start before anything is accepted, and so is the one that tries it.
        for seed in (1..=4).chain([1005]) {
            let run = run(&world, Policy::Ours, seed);
            assert!(run.stops == 0 && run.strays > 200, "{run:?}");
        }
    }
}

#[test]
fn a_gateway_that_is_full_gives_what_it_has_to_give() {
    let world = Scenario::find("Full").unwrap().jobs(8_000);
    let run = run(&world, Policy::Ours, 1);
    // Tunnels take 0.4535 s on average, and it opens 40 at once.
    let bound = 8_000.0 * 0.4535 / 40.0;
    assert!(run.failed == 0 && run.makespan < 1.25 * bound && run.multiplier() < 1.12, "{run:?}");
}

#[test]
fn who_sees_the_truth_asks_no_gateway_in_vain_that_is_down_or_refuses_the_login() {
    for name in ["Out", "Key2", "Quota"] {
        let run = run(&Scenario::find(name).unwrap(), Policy::Oracle, 1);
        assert_eq!((run.unreached, run.logins_refused, run.done), (0, 0, 40_000), "{name}");
    }
}
