//! Plays the simulator's worlds, by this crate's rules and by what people use today.

use tower_egress::lab::sim::{Client, Policy, Run, Scenario, run, run_stack};

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let stack = args.iter().position(|arg| arg == "--stack").map(|at| args.remove(at)).is_some();
    let pool = args.first().map_or("200", String::as_str);
    let names: Vec<&str> = if args.len() > 1 {
        args[1..].iter().map(String::as_str).collect()
    } else {
        Scenario::NAMES.to_vec()
    };
    for name in names {
        let mut world = Scenario::named(name).or_else(|| Scenario::open(name)).expect("a known name");
        if !name.starts_with('S') || name.len() != 2 {
            world = match pool {
                "20" => world.pool(20, 32),
                "1000" => world.pool(1_000, 1_024),
                _ => world,
            };
        }
        if stack {
            layers(&world);
            continue;
        }
        for policy in Policy::ALL {
            let start = std::time::Instant::now();
            show(&run(&world, *policy, 1), start.elapsed().as_secs_f64());
        }
    }
}

/// The same worlds, met by real layers: this crate's and tower's.
fn layers(world: &Scenario) {
    for client in [Client::Egress, Client::Tower, Client::TowerJitter] {
        for seed in 1..=3 {
            let start = std::time::Instant::now();
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            let run = runtime.expect("a runtime").block_on(run_stack(world, client, seed));
            show(&run, start.elapsed().as_secs_f64());
        }
    }
}

fn show(run: &Run, seconds: f64) {
    println!(
        "{:6} {:12} eff {:.3} M {:.3} p99 {:7.1} makespan {:8.1} done {} failed {} parked {} bans {} banned-hits {} limited {} peak {} meta {:.2} poison {}/{}/{}  [{seconds:.1} s]",
        run.scenario,
        run.policy,
        run.efficiency(),
        run.multiplier(),
        run.p99,
        run.makespan,
        run.done,
        run.failed,
        run.parked,
        run.bans,
        run.while_banned,
        run.limited,
        run.peak,
        run.metastability,
        run.poison_found,
        run.called_poison,
        run.poison,
    );
}
