//! What classes do to those who wait, and what a fleet expects of a site.

use super::*;
use crate::fleet::{Forecast, LimitedBy};
use std::time::Duration;

/// What a fleet expects of the site of that world after a minute, and why.
fn forecast(world: &str, exits: u32, seed: u64) -> Forecast {
    let workers = if exits < 200 { 32 } else { 256 * exits / 200 };
    let mut world = Scenario::named(world).unwrap().pool(exits, workers).jobs(100_000);
    world.horizon = Duration::from_secs(61);
    run(&world, Policy::Ours, seed).forecasts.pop().unwrap().1
}

#[test]
fn a_forecast_comes_near_what_a_site_serves() {
    // Of 20 exits a fleet still learns after a minute.
    let worlds =
        [("T", 20, 10.0, 0.2), ("T", 200, 100.0, 0.15), ("T", 1_000, 500.0, 0.15), ("G", 200, 60.0, 0.2)];
    for (world, exits, serves, near) in worlds {
        for seed in [1, 4] {
            let forecast = forecast(world, exits, seed);
            let told = forecast.per_second.unwrap();
            assert!((told / serves - 1.0).abs() <= near, "{world} with {exits} exits: {forecast}");
            assert!(matches!(forecast.limited_by, LimitedBy::Gap { .. }), "{forecast}");
        }
    }
    let forecast = forecast("A", 200, 1);
    assert!(matches!(forecast.limited_by, LimitedBy::Concurrency { .. }), "{forecast}");
}

#[test]
fn price_checks_of_a_class_do_not_wait_as_long_as_the_crawl() {
    let [with, without] = Scenario::PRICES.map(|world| {
        let mut world = Scenario::find(world).unwrap().jobs(12_000);
        world.horizon = Duration::from_secs(60);
        let run = run(&world, Policy::Ours, 1);
        (run.price_p50, run.price_p99, run.done)
    });
    // 0.8 s is what an answer takes; the slowest were limited, and sent again.
    assert!(with.0 < 1.0 && without.0 > 2.0, "{with:?}, and {without:?} without classes");
    assert!(with.1 < without.1 / 1.5, "{with:?}, and {without:?} without classes");
}
