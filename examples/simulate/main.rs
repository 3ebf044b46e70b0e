//! Plays the simulator's worlds, by this crate's rules and by what people use today.

use tower_egress::lab::sim::{Policy, Scenario, run};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let pool = args.first().map_or("200", String::as_str);
    let names: Vec<&str> = if args.len() > 1 {
        args[1..].iter().map(String::as_str).collect()
    } else {
        Scenario::NAMES.to_vec()
    };
    for name in names {
        let mut world = Scenario::named(name)
            .or_else(|| Scenario::open(name))
            .or_else(|| Scenario::behind(name))
            .or_else(|| Scenario::through(name))
            .expect("a known name");
        if !name.starts_with('S') || name.len() != 2 {
            world = match pool {
                "20" => world.pool(20, 32),
                "1000" => world.pool(1_000, 1_024),
                _ => world,
            };
        }
        let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1);
        for (policy, seed) in
            Policy::ALL.iter().flat_map(|policy| (1..=seeds).map(move |seed| (policy, seed)))
        {
            let start = std::time::Instant::now();
            let run = run(&world, *policy, seed);
            println!(
                "{name:6} {:6} eff {:.3} M {:.3} p99 {:7.1} makespan {:8.1} done {} failed {} parked {} bans {} banned-hits {} limited {} peak {} meta {:.2} poison {}/{}/{} 503 {} unreached {} strays {} 407 {} after {} stops {} recovery {}  [{:.1} s]",
                policy.name(),
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
                run.overloaded,
                run.unreached,
                run.strays,
                run.logins_refused,
                run.logins_after,
                run.stops,
                run.recovery,
                start.elapsed().as_secs_f64()
            );
        }
    }
}
