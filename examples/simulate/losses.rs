//! Ours against each of the others, seed by seed, and above all where it loses.

use crate::play::{Played, Results};
use crate::settings::{self, Setting};
use std::fmt::Write as _;
use tower_egress::lab::sim::{Paired, Policy, Run, holm, paired};

/// A figure of which less is better, whether it says anything only if as many jobs were done, and its digits after the point.
struct Measure(&'static str, fn(&Run) -> f64, bool, usize);

/// One line for each.
const MEASURES: &[Measure] = &[
    Measure("jobs not served", |run| run.jobs.saturating_sub(run.done) as f64, false, 0),
    Measure("attempts per success", Run::multiplier, false, 3),
    Measure("makespan s", |run| run.makespan, true, 1),
    Measure("p99 s", |run| run.p99, true, 2),
    Measure("bans", |run| run.bans as f64, false, 0),
];

/// Differences below this share of theirs are told as none.
const WORTH_TELLING: f64 = 0.01;
/// A difference is sure below this, after Holm over all settings.
const SURE: f64 = 0.05;

pub(crate) struct Compared {
    setting: Setting,
    theirs: Policy,
    what: &'static str,
    digits: usize,
    /// Medians: ours, theirs.
    medians: (f64, f64),
    paired: Paired,
    /// After Holm over the settings.
    p: f64,
    /// How many jobs each did not serve.
    lost: (f64, f64),
    /// It compares who did different amounts of work.
    is_unequal: bool,
}

fn values(runs: &[Played], of: fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(|played| of(&played.run)).collect()
}

fn median(values: &[f64]) -> f64 {
    tower_egress::lab::sim::interval(values).median
}

/// One measure against one other policy, in all settings in which both were played.
fn against(results: &Results, settings: &[Setting], theirs: Policy, measure: &Measure) -> Vec<Compared> {
    let Measure(what, of, needs_equal_work, digits) = *measure;
    let mut compared: Vec<Compared> = Vec::new();
    for setting in settings {
        let (ours, others) = (results.of(setting, Policy::Ours), results.of(setting, theirs));
        if ours.is_empty() || others.is_empty() {
            continue;
        }
        let (mine, other) = (values(ours, of), values(others, of));
        let jobs = median(&values(ours, |run| run.jobs as f64));
        let lost = (median(&values(ours, MEASURES[0].1)), median(&values(others, MEASURES[0].1)));
        let paired = paired(&mine, &other);
        compared.push(Compared {
            setting: setting.clone(),
            theirs,
            what,
            digits,
            medians: (median(&mine), median(&other)),
            p: paired.p,
            paired,
            lost,
            is_unequal: needs_equal_work && (lost.0 - lost.1).abs() > WORTH_TELLING * jobs,
        });
    }
    let adjusted = holm(&compared.iter().map(|compared| compared.p).collect::<Vec<_>>());
    for (compared, p) in compared.iter_mut().zip(adjusted) {
        compared.p = p;
    }
    compared
}

/// Ours against all others but the lines of reference.
pub(crate) fn all(results: &Results, settings: &[Setting]) -> Vec<Compared> {
    let others = settings::policies().filter(|policy| *policy != Policy::Ours && !policy.is_reference());
    let each = |theirs: Policy| -> Vec<Compared> {
        MEASURES.iter().flat_map(|measure| against(results, settings, theirs, measure)).collect()
    };
    others.flat_map(each).collect()
}

impl Compared {
    fn differs(&self) -> bool {
        let far = self.paired.difference.median.abs() > WORTH_TELLING * self.medians.1.abs();
        far && !self.is_unequal
    }

    fn is_loss(&self) -> bool {
        self.differs() && self.paired.difference.median > 0.0
    }

    fn is_sure(&self) -> bool {
        self.p < SURE
    }
}

/// A row for each figure of which ours has more than somebody else; or than itself by other rules, or without a part.
pub(crate) fn markdown(compared: &[Compared], than_itself: bool) -> String {
    let mut text = String::from(
        "| world | exits | against | | ours | theirs | difference | p | not served, ours and theirs |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for lost in compared.iter().filter(|row| row.is_loss() && row.theirs.is_ours() == than_itself) {
        let Setting { world, exits } = &lost.setting;
        let digits = lost.digits;
        let _ = writeln!(
            text,
            "| {world} | {exits} | {} | {} | {:.digits$} | {:.digits$} | {} | {:.3} | {:.0}, {:.0} |",
            lost.theirs.name(),
            lost.what,
            lost.medians.0,
            lost.medians.1,
            crate::table::show(lost.paired.difference, digits),
            lost.p,
            lost.lost.0,
            lost.lost.1,
        );
    }
    text
}

/// How often ours is better, worse, or neither.
pub(crate) fn score(compared: &[Compared]) -> String {
    let mut text = String::from(
        "| against | | better, surely | better | as good | worse | worse, surely | unequal work |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for theirs in settings::policies() {
        for Measure(what, ..) in MEASURES {
            let rows: Vec<&Compared> =
                compared.iter().filter(|row| row.theirs == theirs && row.what == *what).collect();
            if rows.is_empty() {
                continue;
            }
            let count = |is: &dyn Fn(&Compared) -> bool| rows.iter().filter(|row| is(row)).count();
            let better = |row: &Compared| row.differs() && !row.is_loss();
            let _ = writeln!(
                text,
                "| {} | {what} | {} | {} | {} | {} | {} | {} |",
                theirs.name(),
                count(&|row| better(row) && row.is_sure()),
                count(&|row| better(row) && !row.is_sure()),
                count(&|row| !row.differs() && !row.is_unequal),
                count(&|row| row.is_loss() && !row.is_sure()),
                count(&|row| row.is_loss() && row.is_sure()),
                count(&|row| row.is_unequal),
            );
        }
    }
    text
}
