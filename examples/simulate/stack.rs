//! Ours through its layers, beside the engine.

use crate::settings::Setting;
use std::ops::Range;
use tower_egress::lab::sim::{Client, Policy, Run, Scenario, run, run_stack};

/// Whether both decided alike everywhere.
pub(crate) fn is_same(settings: &[Setting], seeds: Range<u64>) -> bool {
    println!("world    exits  seed  by      success/attempt  makespan    done  failed  log");
    let mut same = true;
    for setting in settings {
        let world = setting.scenario();
        for seed in seeds.clone() {
            let (engine, layers) = (run(&world, Policy::Ours, seed), layers(&world, seed));
            show("engine", &engine);
            show("layers", &layers);
            same &= engine.log == layers.log;
        }
    }
    println!("{}", if same { "the same decisions" } else { "not the same decisions" });
    same
}

fn layers(world: &Scenario, seed: u64) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime needs nothing").block_on(run_stack(world, Client::Egress, seed))
}

fn show(by: &str, run: &Run) {
    let (name, exits, seed, efficiency) = (run.scenario, run.exits, run.seed, run.efficiency());
    let (makespan, done, failed, log) = (run.makespan, run.done, run.failed, &run.log[..12]);
    println!(
        "{name:8} {exits:5} {seed:5}  {by:6} {efficiency:16.3} {makespan:9.1} {done:7} {failed:7}  {log}"
    );
}
