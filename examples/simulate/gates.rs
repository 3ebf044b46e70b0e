//! What must be true of ours, over many seeds.

use crate::play::Results;
use crate::settings::Setting;
use std::fmt::Write as _;
use tower_egress::lab::sim::{Bound, Interval, Policy, Run, Verdicts, interval};

/// Ours with one seed, and what it is compared with.
struct Case<'a> {
    ours: &'a Run,
    naive: &'a Run,
    oracle: &'a Run,
    bound: Option<Bound>,
}

#[derive(Clone, Copy)]
enum Must {
    AtMost(f64),
    AtLeast(f64),
}

/// Which figure of all seeds must.
#[derive(Clone, Copy)]
enum Over {
    Median,
    /// The end of the median's interval that is the worse one.
    Sure,
    /// Each of them.
    Worst,
}

/// A gate: what it is about, where, its figure, what it must be, over which of the seeds.
struct Gate(&'static str, &'static [&'static str], u32, fn(&Case<'_>) -> Option<f64>, Must, Over);

/// As a makespan over that of who lost as many, but for one job in 200: who loses jobs is done early, and that is no merit.
fn makespan(ours: &Run, lost: f64, theirs: f64) -> Option<f64> {
    Some(if ours.lost() > lost + 0.005 { f64::INFINITY } else { ours.makespan / theirs })
}

fn over_oracle(case: &Case<'_>) -> Option<f64> {
    makespan(case.ours, case.oracle.lost(), case.oracle.makespan)
}

fn over_naive(case: &Case<'_>) -> Option<f64> {
    makespan(case.ours, case.naive.lost(), case.naive.makespan)
}

fn over_bound(case: &Case<'_>) -> Option<f64> {
    makespan(case.ours, 0.0, case.bound?.makespan)
}

fn index(case: &Case<'_>) -> Option<f64> {
    (case.ours.metastability > 0.0).then_some(case.ours.metastability)
}

/// The busiest second after the shock, over the busiest of new work before it with the retries that the lane lets through.
fn peak(case: &Case<'_>) -> Option<f64> {
    Some(f64::from(case.ours.peak) / (f64::from(case.ours.peak_new) + case.ours.lane.unwrap_or(0.0)))
}

/// The share of looks at which ours said that blocks depend on this.
fn said(case: &Case<'_>, what: fn(&Verdicts) -> u64) -> Option<f64> {
    let said = &case.ours.verdicts;
    (said.looks() > 0).then(|| what(said) as f64 / said.looks() as f64)
}

const LIMITS: &[&str] = &["T", "S", "Sub", "Esc"];
/// Where no job is refused for itself, and where no exit is worse than another.
const INNOCENT: &[&str] = &["T", "S", "H", "U", "G", "A", "Noise"];
const ALIKE: &[&str] = &["T", "U", "G", "A", "Noise"];
const SURGES: &[&str] = &["T-surge", "S-surge", "Esc-surge", "Sub-surge"];
/// Where a login ends, and where a right one is refused now and then.
const DYING: &[&str] = &["Login", "Key", "Key2", "Quota"];
const STRAYS: &[&str] = &["Stray5", "Stray10", "Stray"];

use Must::{AtLeast, AtMost};
use Over::{Median, Sure, Worst};

/// One line for each.
#[rustfmt::skip]
const GATES: &[Gate] = &[
    Gate("attempts per success, over the oracle's", LIMITS, 200, |c| Some(c.ours.multiplier() / c.oracle.multiplier()), AtMost(1.15), Median),
    Gate("makespan, over the oracle's", LIMITS, 200, over_oracle, AtMost(1.4), Median),
    Gate("bans, over naive's", LIMITS, 200, |c| Some(c.ours.bans as f64 / c.naive.bans.max(1) as f64), AtMost(0.02), Median),
    Gate("makespan, over the bound", &["G"], 200, over_bound, AtMost(1.05), Median),
    Gate("makespan, over naive's", &["H", "L"], 200, over_naive, AtMost(1.2), Median),
    Gate("attempts per success without poison", &["P"], 200, |c| Some(c.ours.multiplier_clean()), AtMost(1.1), Median),
    Gate("poison found", &["P"], 200, |c| Some(c.ours.recall()), AtLeast(0.95), Median),
    Gate("called poison that is", &["P"], 200, |c| Some(c.ours.precision()), AtLeast(0.99), Median),
    Gate("makespan, over naive's", &["U"], 200, over_naive, AtMost(3.0), Median),
    Gate("efficiency", &["T"], 20, |c| Some(c.ours.efficiency()), AtLeast(0.8), Median),
    Gate("jobs lost", &["T"], 20, |c| Some((c.ours.jobs.max(c.oracle.jobs) - c.ours.done) as f64), AtMost(0.0), Worst),
    Gate("makespan, over the oracle's", &["Mix"], 20, over_oracle, AtMost(1.5), Worst),
    Gate("makespan, over naive's", &["Noise"], 20, over_naive, AtMost(1.3), Median),
    Gate("makespan, over naive's", &["Chance"], 20, over_naive, AtMost(1.35), Median),
    Gate("makespan, over naive's", &["Chance"], 200, over_naive, AtMost(1.35), Median),
    Gate("attempts per success", &["S1", "S2"], 50, |c| Some(c.ours.multiplier()), AtMost(1.015), Sure),
    Gate("attempts per success", &["S3"], 50, |c| Some(c.ours.multiplier()), AtMost(1.05), Median),
    Gate("share of jobs lost", &["S3"], 50, |c| Some(c.ours.lost()), AtMost(0.02), Median),
    Gate("share served at the site that is well", &["S3"], 50, |c| Some(c.ours.served(1)), AtLeast(1.0), Worst),
    Gate("attempts wasted on the site that is down", &["S3"], 50, |c| Some(c.ours.wasted_down as f64), AtMost(20.0), Median),
    Gate("seconds to recover", &["S3"], 50, |c| c.ours.recover, AtMost(5.0), Median),
    Gate("busiest second after the shock, over new work and lane", &["S"], 200, peak, AtMost(1.0), Median),
    Gate("attempts after the second refused login", DYING, 200, |c| Some(c.ours.logins_after as f64), AtMost(2.0), Worst),
    Gate("logins stopped for stray refusals", STRAYS, 200, |c| Some(c.ours.stops as f64), AtMost(0.0), Worst),
    Gate("share of jobs lost to stray refusals", STRAYS, 200, |c| Some(c.ours.lost()), AtMost(0.001), Worst),
    Gate("looks that lay blocks to requests", INNOCENT, 200, |c| said(c, |said| said.request), AtMost(0.005), Worst),
    Gate("looks that lay blocks to exits", ALIKE, 200, |c| said(c, |said| said.pool), AtMost(0.005), Worst),
    Gate("looks that lay blocks to requests", &["P"], 200, |c| said(c, |said| said.request), AtLeast(0.5), Median),
    Gate("looks that lay blocks to exits", &["H", "S"], 200, |c| said(c, |said| said.pool), AtLeast(0.5), Median),
    Gate("metastability index", SURGES, 200, index, AtMost(1.1), Sure),
    Gate("metastability index", SURGES, 20, index, AtMost(1.1), Sure),
];

/// What the gates compare.
pub(crate) const POLICIES: &[Policy] = &[Policy::Ours, Policy::Naive, Policy::Oracle];

pub(crate) fn settings() -> Vec<Setting> {
    let each = |gate: &Gate| gate.1.iter().map(|world| Setting::new(world, gate.2)).collect::<Vec<_>>();
    GATES.iter().flat_map(each).collect()
}

/// How one gate went in one world.
pub(crate) struct Judged {
    pub(crate) setting: Setting,
    pub(crate) what: &'static str,
    pub(crate) figure: Option<Interval>,
    pub(crate) must: String,
    pub(crate) passed: bool,
    /// How to play the worst seed again, if it was missed.
    pub(crate) again: Option<String>,
}

impl Must {
    /// How far from what must be; 0 or less is well.
    fn miss(self, value: f64) -> f64 {
        match self {
            AtMost(most) => value - most,
            AtLeast(least) => least - value,
        }
    }

    fn is_met(self, over: Over, values: &[f64]) -> bool {
        let Interval { median, low, high, .. } = interval(values);
        let misses = values.iter().map(|value| self.miss(*value));
        let worst = match over {
            Median => self.miss(median),
            Sure => self.miss(low).max(self.miss(high)),
            Worst => misses.fold(f64::NEG_INFINITY, f64::max),
        };
        worst <= 1e-9
    }

    fn show(self, over: Over) -> String {
        let of = match over {
            Median => "",
            Sure => ", all of the interval",
            Worst => ", each",
        };
        match self {
            AtMost(most) => format!("at most {most}{of}"),
            AtLeast(least) => format!("at least {least}{of}"),
        }
    }
}

fn judge(results: &Results, gate: &Gate, world: &str) -> Judged {
    let Gate(what, _, exits, figure, must, over) = *gate;
    let setting = Setting::new(world, exits);
    let of = |policy| results.of(&setting, policy).iter().map(|played| &played.run);
    let bound = setting.scenario().bound();
    let each = of(Policy::Ours).zip(of(Policy::Naive)).zip(of(Policy::Oracle));
    let cases: Vec<_> = each.map(|((ours, naive), oracle)| Case { ours, naive, oracle, bound }).collect();
    let values: Vec<(u64, f64)> =
        cases.iter().filter_map(|case| Some((case.ours.seed, figure(case)?))).collect();
    let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    // What some seed has no figure for is not met.
    let passed = !plain.is_empty() && plain.len() == cases.len() && must.is_met(over, &plain);
    let missing = cases.iter().find(|case| figure(case).is_none()).map(|case| case.ours.seed);
    let by_miss = |a: &&(u64, f64), b: &&(u64, f64)| must.miss(a.1).total_cmp(&must.miss(b.1));
    let worst = missing.or_else(|| values.iter().max_by(by_miss).map(|(seed, _)| *seed));
    Judged {
        figure: (!plain.is_empty()).then(|| interval(&plain)),
        must: must.show(over),
        again: worst.filter(|_| !passed).map(|seed| again(&setting, seed)),
        setting,
        what,
        passed,
    }
}

/// The line that plays it again.
pub(crate) fn again(setting: &Setting, seed: u64) -> String {
    let Setting { world, exits } = setting;
    let pool =
        if world.len() == 2 && world.starts_with('S') { String::new() } else { format!(" --pool {exits}") };
    format!(
        "cargo run --release --features lab --example simulate -- --worlds {world}{pool} --first-seed {seed} --seeds 1 \
         --policies ours,naive,oracle"
    )
}

/// Those of the worlds that were played by all whom a gate compares.
pub(crate) fn all(results: &Results) -> Vec<Judged> {
    let is_played = |gate: &Gate, world: &str| {
        let setting = Setting::new(world, gate.2);
        POLICIES.iter().all(|policy| !results.of(&setting, *policy).is_empty())
    };
    let each = |gate: &Gate| -> Vec<Judged> {
        let played = gate.1.iter().filter(|world| is_played(gate, world));
        played.map(|world| judge(results, gate, world)).collect()
    };
    GATES.iter().flat_map(each).collect()
}

impl Judged {
    fn shown(&self) -> String {
        self.figure.map_or_else(|| "not measured".to_owned(), |figure| crate::table::show(figure, 3))
    }

    const fn verdict(&self) -> &'static str {
        if self.passed { "pass" } else { "miss" }
    }
}

/// For a terminal; what is missed with the line that plays it again.
pub(crate) fn plain(judged: &[Judged]) -> String {
    let mut text = String::new();
    for gate in judged {
        let verdict = gate.verdict();
        let _ = writeln!(text, "{verdict}  {}, {}: {}; {}", gate.setting, gate.what, gate.shown(), gate.must);
        if let Some(again) = &gate.again {
            let _ = writeln!(text, "      {again}");
        }
    }
    let passed = judged.iter().filter(|gate| gate.passed).count();
    let _ = writeln!(text, "{passed} of {} gates passed", judged.len());
    text
}

/// For a page: a row for each gate, with all of its worlds.
pub(crate) fn markdown(judged: &[Judged]) -> String {
    let mut text = String::from("| gate | must be | exits | figure | |\n|---|---|---|---|---|\n");
    let same =
        |a: &Judged, b: &Judged| (a.what, &a.must, a.setting.exits) == (b.what, &b.must, b.setting.exits);
    for gate in judged.chunk_by(same) {
        let Judged { what, must, setting: Setting { exits, .. }, .. } = &gate[0];
        let shown: Vec<String> =
            gate.iter().map(|judged| format!("{} {}", judged.setting.world, judged.shown())).collect();
        let missed: Vec<&str> =
            gate.iter().filter(|judged| !judged.passed).map(|judged| judged.setting.world.as_str()).collect();
        let verdict =
            if missed.is_empty() { "pass".to_owned() } else { format!("**miss**: {}", missed.join(", ")) };
        let _ = writeln!(text, "| {what} | {must} | {exits} | {} | {verdict} |", shown.join("<br>"));
    }
    text
}
