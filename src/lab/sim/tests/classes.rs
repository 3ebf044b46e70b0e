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
    // Of 20 exits, and of 1,000, a fleet still learns after a minute.
    let worlds =
        [("T", 20, 10.0, 0.2), ("T", 200, 100.0, 0.15), ("T", 1_000, 500.0, 0.25), ("G", 200, 60.0, 0.2)];
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
    for seed in [1, 2] {
        let [with, without] = Scenario::PRICES.map(|world| {
            let mut world = Scenario::find(world).unwrap().jobs(12_000);
            world.horizon = Duration::from_secs(60);
            run(&world, Policy::Ours, seed)
        });
        // 0.8 s is what an answer takes. The slowest were limited and sent again, where classes say nothing.
        let (fast, slow) = (with.price_p50, without.price_p50);
        assert!(fast < 1.0 && slow > 1.3, "{fast} s, and {slow} s without classes");
        let (done, before) = (with.done as f64, without.done as f64);
        assert!(done > 0.98 * before, "no work is lost: {done} of {before}");
    }
}
