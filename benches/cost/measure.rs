//! Nanoseconds, instructions and allocations of a round.
//!
//! Instructions and allocations are counted by callgrind, of a child that runs n and then 2n rounds: the difference is the
//! work alone. Instructions are collected in the rounds only: what is made before them, TLS handshakes above all, differs
//! from run to run. With `--gate` nothing is timed, and the bounds on both decide the exit status.

use std::process::Command;
use std::time::Instant;

/// A case by name: its rounds, and its bounds on instructions and allocations a round, where it has them. The bounds lie
/// a little above what was measured: memcpy differs by processor.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) make: Box<dyn Fn() -> Round>,
    pub(crate) bounds: Option<Bounds>,
    /// Over how many rounds it is counted.
    pub(crate) rounds: u64,
    pub(crate) timed: bool,
    /// Counted for the gate, too. What takes minutes to make is not.
    pub(crate) gated: bool,
}

pub(crate) type Round = Box<dyn FnMut()>;

#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) instructions: u64,
    pub(crate) allocations: u64,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, make: impl Fn() -> Round + 'static) -> Self {
        Self {
            name: name.into(),
            make: Box::new(make),
            bounds: None,
            rounds: 10_000,
            timed: true,
            gated: true,
        }
    }

    pub(crate) fn within(mut self, instructions: u64, allocations: u64) -> Self {
        self.bounds = Some(Bounds { instructions, allocations });
        self
    }
}

/// What a round of a case costs.
pub(crate) struct Cost {
    pub(crate) instructions: u64,
    pub(crate) allocations: u64,
}

/// Cases that are asked for by one name.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) cases: fn() -> Vec<Case>,
    /// What is printed before, unless it is a gate.
    pub(crate) first: fn(),
    /// What must hold between the cases.
    pub(crate) holds: fn(&[Option<Cost>]) -> bool,
}

/// Prints a table; whether its cases keep their bounds, and what must hold between them does.
pub(crate) fn run(table: &Table, gate: bool) -> bool {
    println!("\n{}", table.name);
    if !gate {
        (table.first)();
    }
    let (costs, within) = rows(table, gate);
    let holds = (table.holds)(&costs);
    within && holds
}

/// Runs the rounds of one case, as callgrind's child.
pub(crate) fn repeat_case(table: &Table, case: usize, rounds: u64) {
    let mut round = ((table.cases)()[case].make)();
    repeat(&mut round, rounds);
}

/// Prints a row for each case. The costs, without those that nobody could count, and whether all were within their bounds.
fn rows(table: &Table, gate: bool) -> (Vec<Option<Cost>>, bool) {
    let cases = &(table.cases)();
    let times = (!gate).then(|| time(cases));
    println!("{:<46}{:>10}{:>14}{:>13}", "a round", "ns", "instructions", "allocations");
    let mut within = true;
    let costs = cases.iter().enumerate().map(|(at, case)| {
        if gate && !case.gated {
            return None;
        }
        let cost = counted(table.name, at, case.rounds);
        let ns = times.as_ref().and_then(|times| times[at]);
        let ns = ns.map_or_else(|| "-".into(), |ns| format!("{ns:.0}"));
        let of = |of: fn(&Cost) -> u64| {
            cost.as_ref().map_or_else(|| "no valgrind".into(), |cost| of(cost).to_string())
        };
        let (instructions, allocations) = (of(|cost| cost.instructions), of(|cost| cost.allocations));
        println!("{:<46}{ns:>10}{instructions:>14}{allocations:>13}", case.name);
        if let Some(Bounds { instructions, allocations }) = case.bounds {
            let keeps = |cost: &Cost| cost.instructions <= instructions && cost.allocations <= allocations;
            if !cost.as_ref().is_some_and(keeps) {
                println!("  over its bound of {instructions} instructions and {allocations} allocations");
                within = false;
            }
        }
        cost
    });
    let costs = costs.collect();
    (costs, within)
}

/// The median of some runs, in nanoseconds a round; `None` of what is not timed. The runs of all cases alternate, so that a
/// slow minute hurts all.
fn time(cases: &[Case]) -> Vec<Option<f64>> {
    const RUNS: usize = 9;
    const ROUNDS: u32 = 100_000;
    let mut rounds: Vec<_> = cases.iter().map(|case| case.timed.then(|| (case.make)())).collect();
    let mut runs: Vec<Vec<f64>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..RUNS {
        for (runs, round) in runs.iter_mut().zip(&mut rounds) {
            let Some(round) = round else { continue };
            #[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
            let start = Instant::now();
            (0..ROUNDS).for_each(|_| round());
            runs.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS));
        }
    }
    let median = |mut runs: Vec<f64>| {
        runs.sort_by(f64::total_cmp);
        runs.get(RUNS / 2).copied()
    };
    runs.into_iter().map(median).collect()
}

/// The rounds of callgrind's child, which collects nowhere else.
#[inline(never)]
fn repeat(round: &mut Round, rounds: u64) {
    (0..rounds).for_each(|_| round());
}

/// Of a round; `None` without valgrind.
fn counted(table: &'static str, case: usize, rounds: u64) -> Option<Cost> {
    let half = std::thread::spawn(move || callgrind(table, case, rounds));
    let (twice, once) = (callgrind(table, case, 2 * rounds), half.join().ok().flatten());
    let (twice, once) = (twice?, once?);
    // What is made once differs a little from run to run: hash tables have seeds.
    let each = |of: fn(&Cost) -> u64| (of(&twice).saturating_sub(of(&once)) + rounds / 2) / rounds;
    Some(Cost { instructions: each(|cost| cost.instructions), allocations: each(|cost| cost.allocations) })
}

/// What a child costs that runs so many rounds.
fn callgrind(table: &str, case: usize, rounds: u64) -> Option<Cost> {
    let profile = std::env::temp_dir()
        .join(format!("tower-egress-{}-{table}-{case}-{rounds}.callgrind", std::process::id()));
    let child = Command::new("valgrind")
        .args(["--tool=callgrind", "--compress-strings=no", "--toggle-collect=*measure::repeat"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(std::env::current_exe().ok()?)
        .args(["--rounds", table, &case.to_string(), &rounds.to_string()])
        .output();
    let text = std::fs::read_to_string(&profile).ok();
    let _ = std::fs::remove_file(profile);
    let (_, text) = (child.ok().filter(|child| child.status.success())?, text?);
    let total = |line: &str| line.strip_prefix("summary: ")?.trim().parse().ok();
    // Nothing collected is no measurement: the function would have another name.
    let instructions = text.lines().find_map(total).filter(|&instructions: &u64| instructions > 0)?;
    Some(Cost { instructions, allocations: allocations(&text) })
}

/// How often the profile's functions call for memory. Calls are counted everywhere, those before the rounds too.
fn allocations(profile: &str) -> u64 {
    const CALLED: [&str; 5] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];
    let mut asks = false;
    let mut calls = 0;
    for line in profile.lines() {
        if let Some(function) = line.strip_prefix("cfn=") {
            asks = CALLED.contains(&function);
        } else if let Some(count) = line.strip_prefix("calls=").filter(|_| asks) {
            calls += count.split(' ').next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    calls
}
