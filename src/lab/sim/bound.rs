//! What nobody can do better: how long the work takes at least, and how many attempts.

use super::job::Load;
use super::scenario::Scenario;
use super::world::{Limit, Rules};

/// The least that a scenario's work can cost.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Bound {
    /// In seconds.
    pub makespan: f64,
    /// One for each job that can be served.
    pub attempts: f64,
}

/// So often a design without diagnosis asks for a poisonous page.
const BLIND: f64 = 8.0;

impl Scenario {
    /// The bound of a closed load at one site: the time that all workers need if no attempt fails, or the time in which the
    /// site's limits let so many through, whichever is longer. Of poisonous jobs, those count that eight attempts solve.
    /// `None` for an open load, and where blocks come for a while only.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        let (Load::Closed { workers }, [rules]) = (self.load, self.origins.as_slice()) else { return None };
        if rules.blocks.phase.is_some() {
            return None;
        }
        let solved = 1.0 - libm::pow(rules.blocks.poison, BLIND);
        let jobs = f64::from(self.jobs) * (1.0 - self.poison * (1.0 - solved));
        let work = jobs * self.latency.mean() / f64::from(workers);
        Some(Bound { makespan: work.max(self.admitted_by(rules, jobs)), attempts: jobs })
    }

    /// When the site has let so many through, if all is asked for at once.
    fn admitted_by(&self, rules: &Rules, jobs: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.horizon.as_secs_f64());
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.admits(rules, middle) >= jobs { high = middle } else { low = middle }
        }
        high
    }

    /// How many the site lets through until then.
    fn admits(&self, rules: &Rules, until: f64) -> f64 {
        let live = (0..self.exits).filter(|exit| self.exit_rules(*exit).dead_from.is_none());
        let each: f64 = match &rules.limit {
            None => f64::INFINITY,
            Some(Limit::Bucket(bucket)) => bucket.admits(open_time(rules, until)) * live.count() as f64,
            Some(Limit::Window(most, window)) => {
                let windows = (until / window.as_secs_f64()).floor() + 1.0;
                windows * f64::from(*most) * live.count() as f64
            }
            Some(Limit::Tiers(tiers)) => {
                let tier = |exit: u32| tiers.iter().find(|(below, _)| exit < *below);
                live.filter_map(tier).map(|(_, bucket)| bucket.admits(until)).sum()
            }
        };
        let fleet = rules.fleet.map_or(f64::INFINITY, |bucket| bucket.admits(until));
        let calm = rules.blocks.above.map_or(f64::INFINITY, |most| most * (until + 1.0));
        each.min(fleet).min(calm)
    }
}

/// What is left of the time, on average, with the exits that a shock bans.
fn open_time(rules: &Rules, until: f64) -> f64 {
    rules.shock.map_or(until, |shock| {
        let (from, to) = (shock.at.as_secs_f64(), (shock.at + shock.ban).as_secs_f64());
        until - shock.share * (until.min(to) - from).max(0.0)
    })
}
