//! One run's figures.

use super::Verdicts;
use crate::fleet::Forecast;
use crate::request::Time;

/// What one policy made of one scenario with one seed. Times are in seconds of the world.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
#[non_exhaustive]
pub struct Run {
    /// The scenario's name.
    pub scenario: &'static str,
    /// The policy's name.
    pub policy: &'static str,
    /// The seed of the world's luck.
    pub seed: u64,
    /// How many exits there were.
    pub exits: u32,
    /// How many jobs came.
    pub jobs: u64,
    /// Jobs that were served.
    pub done: u64,
    /// Jobs that were taken for served and were not: a block page that nobody saw.
    pub wrong: u64,
    /// Jobs that were given up.
    pub failed: u64,
    /// Of these, those that were given up as refused for the request itself; and those of them that were.
    pub called_poison: u64,
    /// Of those, the ones that were poisonous.
    pub poison_found: u64,
    /// Poisonous jobs that came.
    pub poison: u64,
    /// Attempts that were sent.
    pub attempts: u64,
    /// Attempts of jobs that are not poisonous.
    pub attempts_clean: u64,
    /// Jobs that were served and not poisonous.
    pub done_clean: u64,
    /// When the last job was over.
    pub makespan: f64,
    /// From a job's beginning to its success, of half of them.
    pub p50: f64,
    /// The same, of 99 in 100.
    pub p99: f64,
    /// The same, of all.
    pub slowest: f64,
    /// The same of price checks, if there are some: of half of them.
    pub price_p50: f64,
    /// The same, of 99 in 100.
    pub price_p99: f64,
    /// Bans that the sites have spoken.
    pub bans: u64,
    /// Attempts on a banned exit.
    pub while_banned: u64,
    /// Exits times the seconds for which a site banned them.
    pub exit_seconds_burned: f64,
    /// Of the exits that the policy let rest, looked at every ten seconds, the share that the site would have served; `None`
    /// where the policy does not tell, or let none rest.
    pub innocent: Option<f64>,
    /// What the policy said that the first site's blocks depend on, as often as it was looked at.
    pub verdicts: Verdicts,
    /// Of a job's time from its beginning to its success, what it spent on no attempt: of half of them.
    pub wait_p50: f64,
    /// The same, of 99 in 100.
    pub wait_p99: f64,
    /// The same, of each hundredth of the jobs, from none to all.
    #[serde(skip)]
    pub waits: Vec<f64>,
    /// Attempts that were limited.
    pub limited: u64,
    /// Attempts that were refused because a site was down.
    pub wasted_down: u64,
    /// How often a job was put aside.
    pub parked: u64,
    /// Bytes of attempts that were not served, and of all.
    pub bytes_wasted: u64,
    /// Bytes of all attempts.
    pub bytes: u64,
    /// Most attempts in one second, in the 15 s after all were blocked at once.
    pub peak: u32,
    /// Most attempts in a tenth of a second there.
    pub peak_tenth: u32,
    /// Most first attempts in one second of the 30 s before that.
    pub peak_new: u32,
    /// Retries per second that the policy's own rules admit at the successes of these 30 s; `None` where it has no such rule.
    pub lane: Option<f64>,
    /// From the trouble's beginning until at most a tenth of the attempts of five seconds was refused; `None` if that was
    /// never so while it lasted.
    pub detect: Option<f64>,
    /// From the trouble's end until the successes of five seconds came at nine tenths of the rate of the 30 s before the
    /// trouble; `None` if that was never so.
    pub recover: Option<f64>,
    /// Attempts that were refused for the login.
    pub refused_login: u64,
    /// Attempts that were sent after the second of these was known.
    pub after_stop: u64,
    /// Attempts that a gateway refused for having too much to do.
    pub overloaded: u64,
    /// Attempts that did not reach a gateway.
    pub unreached: u64,
    /// Logins that a gateway refused though they were right.
    pub strays: u64,
    /// Logins that a gateway refused, and rightly.
    pub logins_refused: u64,
    /// Of these, the ones that were sent when two such refusals at this gateway were known.
    pub logins_after: u64,
    /// How often the policy has stopped a login.
    pub stops: u64,
    /// Attempts per success from 300 s after the trouble ended, over the same before it; 0 where there is no such time.
    pub metastability: f64,
    /// Of each origin: jobs that came, and that were served.
    pub by_origin: Vec<(u64, u64)>,
    /// How many decisions were made.
    pub decisions: u64,
    /// SHA-256 of all of them, in hexadecimal digits.
    pub log: String,
    /// What it expected of the first site, every 20 s.
    #[serde(skip)]
    pub(in crate::lab::sim) forecasts: Vec<(Time, Forecast)>,
    /// Attempts that reached a site, by second.
    #[serde(skip)]
    pub attempts_at: Vec<u32>,
    /// Successes, by second.
    #[serde(skip)]
    pub served_at: Vec<u32>,
    /// Bans so far, by second.
    #[serde(skip)]
    pub bans_at: Vec<u64>,
}

impl Run {
    /// Successes per attempt; 0 where nothing was sent.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        if self.attempts == 0 { 0.0 } else { self.done as f64 / self.attempts as f64 }
    }

    /// Attempts per success; at least the attempts where there was none.
    #[must_use]
    pub fn multiplier(&self) -> f64 {
        self.attempts as f64 / self.done.max(1) as f64
    }

    /// The same for jobs that are not poisonous.
    #[must_use]
    pub fn multiplier_clean(&self) -> f64 {
        self.attempts_clean as f64 / self.done_clean.max(1) as f64
    }

    /// Successes per megabyte of all attempts; 0 where nothing was sent.
    #[must_use]
    pub fn per_megabyte(&self) -> f64 {
        if self.bytes == 0 { 0.0 } else { self.done as f64 * 1e6 / self.bytes as f64 }
    }

    /// Share of the poisonous jobs that were given up as such, of those that were not served by luck.
    #[must_use]
    pub fn recall(&self) -> f64 {
        let served = self.done - self.done_clean;
        self.poison_found as f64 / self.poison.saturating_sub(served).max(1) as f64
    }

    /// Share of the jobs given up as poisonous that were; 1 where there were none.
    #[must_use]
    pub fn precision(&self) -> f64 {
        if self.called_poison == 0 { 1.0 } else { self.poison_found as f64 / self.called_poison as f64 }
    }

    /// Share of the jobs that were not served.
    #[must_use]
    pub fn lost(&self) -> f64 {
        1.0 - self.done as f64 / self.jobs.max(1) as f64
    }

    /// Share of an origin's jobs that were served; 1 where there were none.
    #[must_use]
    pub fn served(&self, origin: usize) -> f64 {
        match self.by_origin.get(origin) {
            Some((came, done)) if *came > 0 => *done as f64 / *came as f64,
            _ => 1.0,
        }
    }

    /// Jain's index of the shares that the origins were served: 1 if all alike, 1 / n if one alone.
    #[must_use]
    pub fn fairness(&self) -> f64 {
        let shares = || (0..self.by_origin.len()).map(|origin| self.served(origin));
        let (sum, squares) = (shares().sum::<f64>(), shares().map(|share| share * share).sum::<f64>());
        if squares == 0.0 { 1.0 } else { sum * sum / (squares * self.by_origin.len() as f64) }
    }

    /// Drops what is by second, which a table does not need.
    pub fn forget_series(&mut self) {
        self.attempts_at = Vec::new();
        self.served_at = Vec::new();
        self.bans_at = Vec::new();
        self.waits = Vec::new();
    }
}
