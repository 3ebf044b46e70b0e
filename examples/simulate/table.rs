//! The table: a row for each design in each world.

use crate::measure::WORTH_TELLING;
use crate::play::{Played, Results};
use crate::settings::{self, Setting};
use std::fmt::Write as _;
use tower_egress::lab::sim::{Interval, Policy, Run, interval};

/// A column: its head, its figure, how many digits it has after the point, and whether its interval is told.
struct Column(&'static str, fn(&Run) -> Option<f64>, usize, bool);

/// One line for each column.
const COLUMNS: &[Column] = &[
    Column("efficiency", |run| Some(run.efficiency()), 3, true),
    Column("makespan s", |run| Some(run.makespan), 0, true),
    Column("done", |run| Some(run.done as f64), 0, false),
    Column("failed", |run| Some(run.failed as f64), 0, false),
    Column("parked", |run| Some(run.parked as f64), 0, false),
    Column("p50 s", |run| Some(run.p50), 1, false),
    Column("p99 s", |run| Some(run.p99), 1, false),
    Column("wait p99 s", |run| Some(run.wait_p99), 1, false),
    Column("bans", |run| Some(run.bans as f64), 0, false),
    Column("exit-s burned", |run| Some(run.exit_seconds_burned), 0, false),
    Column("banned hits", |run| Some(run.while_banned as f64), 0, false),
    Column("innocent", |run| run.innocent, 2, false),
    Column("per MB", |run| Some(run.per_megabyte()), 1, false),
    Column("peak", |run| (run.peak > 0).then_some(run.peak.into()), 0, false),
    Column("detect s", |run| run.detect, 0, false),
    Column("recover s", |run| run.recover, 0, false),
    Column("meta", |run| (run.metastability > 0.0).then_some(run.metastability), 2, false),
];

/// What the columns are, below a table on a terminal. The page tells it at more length.
const LEGEND: &str = "\
Medians over the seeds, and in brackets the interval of the median (95 %, bootstrap); - where there is no such figure.
efficiency     successes per attempt sent       per MB         successes per megabyte, up and down
makespan       until the last job was over      failed         jobs given up: who gives up is done early
parked         jobs put aside, to come back     p50, p99       from a job's beginning to its success
wait p99       of that, spent on no attempt     bans           spoken by the site
exit-s burned  exits times seconds of bans      banned hits    attempts on a banned exit
innocent       exits resting for nothing        peak           most attempts in a second of a trouble's first 15
detect         until a trouble was kept from    recover        from its end to nine tenths of the usual rate
meta           attempts per success after a trouble, over those before it
";

/// A figure of all runs that have it.
pub(crate) fn figure(runs: &[Played], of: fn(&Run) -> Option<f64>) -> Option<Interval> {
    let values: Vec<f64> = runs.iter().filter_map(|played| of(&played.run)).collect();
    (!values.is_empty()).then(|| interval(&values))
}

/// With its interval, if it is one.
pub(crate) fn show(interval: Interval, digits: usize) -> String {
    let Interval { median, low, high, .. } = interval;
    let plain = |value: f64| format!("{value:.digits$}");
    if plain(low) == plain(high) {
        return plain(median);
    }
    format!("{} ({}-{})", plain(median), plain(low), plain(high))
}

fn cell(runs: &[Played], Column(_, of, digits, with_interval): &Column) -> String {
    match figure(runs, *of) {
        None => "-".to_owned(),
        Some(interval) if *with_interval => show(interval, *digits),
        Some(Interval { median, .. }) => format!("{median:.digits$}"),
    }
}

/// World, design and figures of what of these was played in these settings.
fn rows(results: &Results, settings: &[Setting], policies: &[Policy]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for setting in settings {
        for policy in policies.iter().copied() {
            let runs = results.of(setting, policy);
            if !runs.is_empty() {
                let mut row =
                    vec![setting.world.clone(), setting.exits.to_string(), policy.name().to_owned()];
                row.extend(COLUMNS.iter().map(|column| cell(runs, column)));
                rows.push(row);
            }
        }
    }
    rows
}

fn heads() -> Vec<String> {
    let heads = ["world", "exits", "policy"].into_iter().chain(COLUMNS.iter().map(|column| column.0));
    heads.map(str::to_owned).collect()
}

/// For a terminal.
pub(crate) fn plain(results: &Results, settings: &[Setting]) -> String {
    let mut rows = rows(results, settings, &settings::policies().collect::<Vec<_>>());
    rows.insert(0, heads());
    let width = |at: usize| rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if at == 0 || at == 2 {
                write!(text, "{cell:<width$}  ")
            } else {
                write!(text, "{cell:>width$}  ")
            };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text + "\n" + LEGEND
}

/// Whether it is ours by other rules or without a part, and no figure shows it: all are within a hundredth of ours.
fn is_as_ours(results: &Results, setting: &Setting, policy: Policy) -> bool {
    let (ours, other) = (results.of(setting, Policy::Ours), results.of(setting, policy));
    let median = |runs: &[Played], of| figure(runs, of).map(|figure| figure.median);
    let alike = |Column(_, of, ..): &Column| match (median(ours, *of), median(other, *of)) {
        // Infinite ones are alike, too.
        (Some(ours), Some(other)) => ours == other || (ours - other).abs() <= WORTH_TELLING * ours.abs(),
        (ours, other) => ours == other,
    };
    let is_variant = policy.is_ours() && policy != Policy::Ours;
    is_variant && !ours.is_empty() && !other.is_empty() && COLUMNS.iter().all(alike)
}

/// For a page. What differs from ours in nothing has no row, and is named below.
pub(crate) fn markdown(results: &Results, settings: &[Setting]) -> String {
    let mut text = format!("| {} |\n|{}\n", heads().join(" | "), "---|".repeat(heads().len()));
    let mut left_out = Vec::new();
    for setting in settings {
        let (alike, told): (Vec<_>, Vec<_>) =
            settings::policies().partition(|policy| is_as_ours(results, setting, *policy));
        for row in rows(results, std::slice::from_ref(setting), &told) {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        if !alike.is_empty() {
            let names: Vec<&str> = alike.iter().map(|policy| policy.name()).collect();
            left_out.push(format!("{} ({})", setting.world, names.join(", ")));
        }
    }
    if !left_out.is_empty() {
        let _ =
            write!(text, "\nLeft out, since each figure is within 1 % of ours: {}.\n", left_out.join("; "));
    }
    text
}
