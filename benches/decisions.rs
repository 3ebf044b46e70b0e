//! What a decision costs: nanoseconds, instructions and allocations. `benches/README.md` has the commands and the figures.
//!
//! Instructions are counted by callgrind, of a child that runs n and then 2n rounds: the difference is the work alone.
//! With `--gate` nothing is timed, and the bounds on instructions and allocations decide the exit status.

use governor::{Quota, RateLimiter};
use std::fmt::Write as _;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::process::{Command, ExitCode};
use std::time::Instant;
use tower_egress::{ExitList, LeaseRequest, Outcome, Scheduler};

const KEYS: usize = 1_000;

/// A case by name: its rounds, and its bounds on instructions and allocations a round, where it has them. The bounds lie
/// a little above what was measured: memcpy differs by processor.
struct Case {
    name: &'static str,
    make: fn() -> Box<dyn FnMut()>,
    bounds: Option<(u64, u64)>,
}

const CASES: [Case; 5] = [
    Case { name: "sticky hit + report(ok), 1k keys", make: sticky, bounds: Some((1_200, 0)) },
    Case { name: "pick + report(ok), 100 exits", make: || pick(100, 100), bounds: Some((1_480, 0)) },
    Case { name: "pick + report(ok), 10k exits", make: || pick(10_000, 10_000), bounds: Some((1_480, 0)) },
    Case {
        name: "pick + report(ok), 10k exits, 1 % usable",
        make: || pick(10_000, 100),
        bounds: Some((4_700, 0)),
    },
    Case { name: "peer: governor, keyed check, 1k keys", make: peer, bounds: None },
];

fn scheduler(exits: usize) -> Scheduler {
    let list = (0..exits).fold(String::new(), |mut list, at| {
        writeln!(list, "10.{}.{}.{}:8080", at >> 16 & 255, at >> 8 & 255, at & 255)
            .expect("a string takes it");
        list
    });
    Scheduler::builder().exits(ExitList::parse(&list).expect("a list")).seed(7).build().expect("exits")
}

fn sticky() -> Box<dyn FnMut()> {
    let scheduler = scheduler(100);
    let asks: Vec<_> =
        (0..KEYS).map(|key| LeaseRequest::new(format!("sku-{key:08}")).origin("shop.example")).collect();
    let mut at = 0;
    let mut round = move || {
        let lease = scheduler.lease(black_box(&asks[at])).expect("an exit is usable");
        lease.report(Outcome::Ok);
        at = (at + 1) % KEYS;
    };
    (0..KEYS).for_each(|_| round());
    Box::new(round)
}

/// Picks among `exits`, of which `usable` are not burned.
fn pick(exits: usize, usable: usize) -> Box<dyn FnMut()> {
    use tower_egress::outcome::BlockedBy;
    let scheduler = scheduler(exits);
    let ask = LeaseRequest::per_request().origin("shop.example");
    for _ in usable..exits {
        let lease = scheduler.lease(&ask).expect("an exit is usable");
        lease.report(Outcome::Blocked { by: BlockedBy::Exit });
    }
    let round = move || {
        let lease = scheduler.lease(black_box(&ask)).expect("an exit is usable");
        lease.report(Outcome::Ok);
    };
    (0..KEYS).for_each(|_| round());
    Box::new(round)
}

/// A well-kept keyed rate limiter, as a measure of what a keyed decision may cost.
fn peer() -> Box<dyn FnMut()> {
    let limiter = RateLimiter::keyed(Quota::per_second(NonZeroU32::MAX));
    let keys: Vec<_> = (0..KEYS).map(|key| format!("sku-{key:08}")).collect();
    let mut at = 0;
    let mut round = move || {
        let _ = black_box(limiter.check_key(black_box(&keys[at])));
        at = (at + 1) % KEYS;
    };
    (0..KEYS).for_each(|_| round());
    Box::new(round)
}

/// The median of some runs, in nanoseconds a round. The runs of all cases alternate, so that a slow minute hurts all.
fn time() -> [f64; CASES.len()] {
    const RUNS: usize = 9;
    const ROUNDS: u32 = 100_000;
    let mut rounds: Vec<_> = CASES.iter().map(|case| (case.make)()).collect();
    let mut runs: [Vec<f64>; CASES.len()] = Default::default();
    for _ in 0..RUNS {
        for (runs, round) in runs.iter_mut().zip(&mut rounds) {
            #[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
            let start = Instant::now();
            (0..ROUNDS).for_each(|_| round());
            runs.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS));
        }
    }
    runs.map(|mut runs| {
        runs.sort_by(f64::total_cmp);
        runs[RUNS / 2]
    })
}

fn allocations(case: &Case) -> u64 {
    const ROUNDS: u64 = 1_000;
    let mut round = (case.make)();
    let counted = allocation_counter::measure(|| (0..ROUNDS).for_each(|_| round()));
    counted.count_total.div_ceil(ROUNDS)
}

/// Instructions a round, by callgrind; `None` without valgrind.
fn instructions(case: usize) -> Option<u64> {
    const ROUNDS: u64 = 10_000;
    let collected = |rounds: u64| -> Option<u64> {
        let this = std::env::current_exe().ok()?;
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(this)
            .args(["--rounds", &case.to_string(), &rounds.to_string()])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stderr);
        text.lines().find_map(|line| line.split("Collected : ").nth(1)?.trim().parse().ok())
    };
    Some((collected(2 * ROUNDS)? - collected(ROUNDS)?) / ROUNDS)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, case, rounds] = &args[..] {
        if mode == "--rounds" {
            let case: usize = case.parse().expect("a case");
            let mut round = (CASES[case].make)();
            (0..rounds.parse::<u64>().expect("a number")).for_each(|_| round());
            return ExitCode::SUCCESS;
        }
    }
    let gate = args.iter().any(|arg| arg == "--gate");
    let times = (!gate).then(time);
    println!("{:<42}{:>10}{:>14}{:>13}", "a round", "ns", "instructions", "allocations");
    let mut broken = false;
    for (at, case) in CASES.iter().enumerate() {
        let (instructions, allocations) = (instructions(at), allocations(case));
        let ns = times.map_or_else(|| "-".into(), |times| format!("{:.0}", times[at]));
        let counted = instructions.map_or_else(|| "no valgrind".into(), |count| count.to_string());
        println!("{:<42}{ns:>10}{counted:>14}{allocations:>13}", case.name);
        let Some((most, allocated)) = case.bounds else { continue };
        let over = instructions.is_none_or(|count| count > most) || allocations > allocated;
        if gate && over {
            println!("  over its bound of {most} instructions and {allocated} allocations");
            broken = true;
        }
    }
    ExitCode::from(u8::from(broken))
}
