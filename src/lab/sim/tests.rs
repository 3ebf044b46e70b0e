//! That a world is what it says, and the same for everybody.

use super::*;
use crate::fleet::{Forecast, LimitedBy};
use crate::request::Time;

#[test]
fn the_same_seed_makes_the_same_log_and_another_one_does_not() {
    let world = Scenario::named("T").unwrap().pool(20, 32).jobs(300);
    for policy in Policy::ALL {
        let first = run(&world, *policy, 1);
        assert_eq!(first, run(&world, *policy, 1));
        assert_ne!(first.log, run(&world, *policy, 2).log);
    }
}

/// What a fleet expects of the site of that world after one, two and three minutes, and why.
fn forecasts(world: &str, exits: u32, seed: u64) -> Vec<Forecast> {
    let world =
        Scenario::named(world).unwrap().pool(exits, 256 * exits.max(200) / 200).jobs(100 * exits.max(200));
    let told = run(&world, Policy::Ours, seed).forecasts;
    let told = told.into_iter().filter(|(at, _)| [60, 120, 180].contains(&at.since(Time::ZERO).as_secs()));
    told.map(|(_, forecast)| forecast).collect()
}

#[test]
#[ignore]
fn show() {
    for (world, exits) in [("T", 20), ("T", 200), ("T", 1_000), ("G", 200), ("A", 200)] {
        for seed in [1, 2, 3] {
            for forecast in forecasts(world, exits, seed) {
                println!(
                    "{world} {exits} {seed}: {forecast}; {:.1} {:?}",
                    forecast.served, forecast.limited_by
                );
            }
        }
    }
}
