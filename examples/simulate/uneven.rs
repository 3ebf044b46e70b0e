//! What a comparison of medians does not show: who was done earlier with less, and the seeds in which ours did far worse than it usually does.

use crate::losses::Compared;
use crate::measure::{MAKESPAN, UNSERVED, WORTH_TELLING, median};
use crate::play::Results;
use crate::settings::{self, Setting};
use tower_egress::lab::sim::{Policy, Run};

/// Told is what took so many times as long.
pub(crate) const FAR: f64 = 1.5;
/// So many designs are named for each world, those that served most.
const NAMED: usize = 3;

/// A row for each world in which ours took far longer than the oracle, or than designs that served fewer jobs, or more.
pub(crate) fn makespans(compared: &[Compared], results: &Results, settings: &[Setting]) -> String {
    let mut rows: Vec<(f64, String)> = Vec::new();
    for setting in settings {
        let of = |policy| -> Option<(f64, f64)> {
            let runs = results.of(setting, policy);
            (!runs.is_empty()).then(|| (median(runs, MAKESPAN.of), median(runs, UNSERVED.of)))
        };
        let Some((ours, lost)) = of(Policy::Ours) else { continue };
        let oracle = of(Policy::Oracle);
        let beside = oracle.map_or(1.0, |oracle| ours / oracle.0.max(1.0));
        let far = far(compared, setting);
        if far.is_empty() && beside <= FAR {
            continue;
        }
        let told = |(seconds, lost): (f64, f64)| format!("{seconds:.0} s, {lost:.0}");
        let theirs = |row: &&Compared| format!("{} {}", row.theirs.name(), told((row.medians.1, row.lost.1)));
        let mut others: Vec<String> = far.iter().take(NAMED).map(theirs).collect();
        if far.len() > NAMED {
            others.push(format!("{} more that served less than these", far.len() - NAMED));
        }
        let Setting { world, exits } = setting;
        let (ours, oracle) = (told((ours, lost)), oracle.map_or_else(|| "-".to_owned(), told));
        let others = if others.is_empty() { "-".to_owned() } else { others.join("; ") };
        rows.push((-beside, format!("| {world} | {exits} | {ours} | {oracle} | {others} |\n")));
    }
    table(
        "| world | exits | ours, and jobs not served | the oracle | others |\n|---|---|---|---|---|\n",
        rows,
    )
}

/// Who did other work here and was done far earlier, those that served most first.
fn far<'a>(compared: &'a [Compared], setting: &Setting) -> Vec<&'a Compared> {
    let is_far = |row: &&Compared| row.is_unequal && row.medians.0 > FAR * row.medians.1;
    let here =
        |row: &&Compared| row.setting == *setting && row.what == MAKESPAN.what && !row.theirs.is_ours();
    let mut far: Vec<&Compared> = compared.iter().filter(here).filter(is_far).collect();
    far.sort_by(|a, b| a.lost.1.total_cmp(&b.lost.1));
    far
}

/// A row for each world in which one of ours took far longer than half of them, or served plainly less.
pub(crate) fn seeds(results: &Results, settings: &[Setting]) -> String {
    let mut rows = Vec::new();
    for setting in settings {
        let ours = results.of(setting, Policy::Ours);
        let (lost, time) = (median(ours, UNSERVED.of), median(ours, MAKESPAN.of));
        let is_far = |run: &Run| {
            let more = (UNSERVED.of)(run) - lost;
            more > WORTH_TELLING * run.jobs as f64 || run.makespan > FAR * time
        };
        let far: Vec<&Run> = ours.iter().map(|played| &played.run).filter(|run| is_far(run)).collect();
        let Some(worst) = far.iter().max_by(|a, b| worse(a, b)) else { continue };
        let best = best(results, setting, worst.seed);
        let Setting { world, exits } = setting;
        let row = format!(
            "| {world} | {exits} | {} of {} | {}: {} | {time:.0} s, {lost:.0} | {} |\n",
            far.len(),
            ours.len(),
            worst.seed,
            told(worst),
            best.map_or_else(|| "-".to_owned(), |(policy, run)| format!("{} {}", policy.name(), told(run))),
        );
        rows.push((-worst.makespan / time.max(1.0), row));
    }
    table(
        "| world | exits | seeds | the worst: ours, and jobs not served | its median | who served most there |\n\
         |---|---|---|---|---|---|\n",
        rows,
    )
}

fn worse(a: &Run, b: &Run) -> std::cmp::Ordering {
    (UNSERVED.of)(a).total_cmp(&(UNSERVED.of)(b)).then(a.makespan.total_cmp(&b.makespan))
}

/// Which other design did best with this seed.
fn best<'a>(results: &'a Results, setting: &Setting, seed: u64) -> Option<(Policy, &'a Run)> {
    let others = settings::policies().filter(|policy| !policy.is_ours() && !policy.is_reference());
    let run = |policy| {
        let run = results.of(setting, policy).iter().find(|played| played.run.seed == seed)?;
        Some((policy, &run.run))
    };
    others.filter_map(run).min_by(|a, b| worse(a.1, b.1))
}

fn told(run: &Run) -> String {
    format!("{:.0} s, {:.0}", run.makespan, (UNSERVED.of)(run))
}

/// The rows by what they are sorted by, the smallest first; a word where there are none.
fn table(head: &str, mut rows: Vec<(f64, String)>) -> String {
    if rows.is_empty() {
        return "None.\n".to_owned();
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut text = head.to_owned();
    rows.iter().for_each(|(_, row)| text.push_str(row));
    text
}
