//! What runs are compared by: figures of which less is better.

use crate::play::Played;
use tower_egress::lab::sim::Run;

/// A figure of which less is better.
pub(crate) struct Measure {
    pub(crate) what: &'static str,
    pub(crate) of: fn(&Run) -> f64,
    /// It says something only of runs that left as many jobs unserved: what is left undone takes no time.
    pub(crate) needs_equal_work: bool,
    /// After the point.
    pub(crate) digits: usize,
    /// What a difference is a share of, if it is not the smaller of the two: of what is counted, there may be none.
    pub(crate) whole: Option<fn(&Run) -> f64>,
}

impl Measure {
    const fn counted(what: &'static str, of: fn(&Run) -> f64, whole: fn(&Run) -> f64) -> Self {
        Self { what, of, needs_equal_work: false, digits: 0, whole: Some(whole) }
    }

    const fn timed(what: &'static str, of: fn(&Run) -> f64, digits: usize) -> Self {
        Self { what, of, needs_equal_work: true, digits, whole: None }
    }
}

pub(crate) const UNSERVED: Measure = Measure::counted("jobs not served", unserved, |run| run.jobs as f64);
pub(crate) const MAKESPAN: Measure = Measure::timed("makespan s", |run| run.makespan, 1);

/// One line for each.
pub(crate) const MEASURES: &[Measure] = &[
    UNSERVED,
    Measure {
        what: "attempts per success",
        of: Run::multiplier,
        needs_equal_work: false,
        digits: 3,
        whole: None,
    },
    MAKESPAN,
    Measure::timed("p99 s", |run| run.p99, 2),
    Measure::counted("bans", |run| run.bans as f64, |run| f64::from(run.exits)),
];

/// Of price checks, where some jobs are such.
pub(crate) const CHECKS: &[Measure] = &[
    Measure::timed("p50 s of the price checks", |run| run.price_p50, 2),
    Measure::timed("p99 s of the price checks", |run| run.price_p99, 2),
];

/// Differences below this share are told as none; so many jobs not served more or less, as a share of all, are as much work.
pub(crate) const WORTH_TELLING: f64 = 0.01;

fn unserved(run: &Run) -> f64 {
    run.jobs.saturating_sub(run.done) as f64
}

pub(crate) fn values(runs: &[Played], of: fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(|played| of(&played.run)).collect()
}

pub(crate) fn median(runs: &[Played], of: fn(&Run) -> f64) -> f64 {
    tower_egress::lab::sim::interval(&values(runs, of)).median
}

/// Whether these left as many jobs unserved as those, but for one in a hundred.
pub(crate) fn is_equal_work(some: &[Played], others: &[Played]) -> bool {
    let jobs = median(some, |run| run.jobs as f64);
    (median(some, unserved) - median(others, unserved)).abs() <= WORTH_TELLING * jobs
}
