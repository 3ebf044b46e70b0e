//! What a run comes to.

mod run;
mod trouble;
mod verdicts;

pub use run::Run;
pub(super) use trouble::CALM;
pub use verdicts::Verdicts;

use super::job::Job;
use super::scenario::{Scenario, is_price};
use super::world::{Answer, Attempt, Truth, World};
use crate::fleet::Cause;
use crate::request::Time;
use std::time::Duration;
use trouble::Trouble;

/// TLS and the like, each way.
const HANDSHAKE: u64 = 6_000;
/// How often what a policy thinks is looked at.
const LOOK: Duration = Duration::from_secs(10);

/// The pairs of origin and exit that a policy lets rest, and what it says that the first site's blocks depend on.
type Look = (Vec<(u32, u32)>, Option<Cause>);

/// A run in the making.
pub(super) struct Metrics {
    pub(super) run: Run,
    trouble: Option<Trouble>,
    times: Vec<f64>,
    waits: Vec<f64>,
    prices: Vec<f64>,
    /// One job in so many is a price check, if some are.
    price: Option<u32>,
    looked: Option<Time>,
    /// Exits that rested when they were looked at, and those that need not.
    rested: (u64, u64),
}

fn second(now: Time) -> usize {
    usize::try_from(now.since(Time::ZERO).as_secs()).unwrap_or(usize::MAX)
}

fn add<T: Copy + Default + std::ops::AddAssign>(bins: &mut Vec<T>, at: usize, more: T) {
    if bins.len() <= at {
        bins.resize(at + 1, T::default());
    }
    bins[at] += more;
}

/// The value below which such a share of the sorted ones is.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let index = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(index.saturating_sub(1)).copied().unwrap_or(0.0)
}

impl Metrics {
    /// `policy`: by its name.
    pub(super) fn new(scenario: &Scenario, policy: &'static str, seed: u64) -> Self {
        let by_origin = vec![(0, 0); scenario.origins.len()];
        let (exits, name) = (scenario.exits, scenario.name);
        Self {
            run: Run { scenario: name, policy, seed, exits, by_origin, ..Run::default() },
            trouble: scenario.trigger.map(Trouble::new),
            times: Vec::new(),
            waits: Vec::new(),
            prices: Vec::new(),
            price: scenario.prices,
            looked: None,
            rested: (0, 0),
        }
    }

    pub(super) fn came(&mut self, job: &Job) {
        self.run.jobs += 1;
        self.run.poison += u64::from(job.poison);
        self.run.by_origin[job.origin as usize].0 += 1;
    }

    pub(super) fn sent(&mut self, now: Time, job: &Job) {
        self.run.attempts += 1;
        self.run.attempts_clean += u64::from(!job.poison);
        self.run.after_stop += u64::from(self.run.refused_login >= 2);
        if let Some(trouble) = &mut self.trouble {
            trouble.sent(now);
        }
    }

    /// An attempt is at the site.
    pub(super) fn arrived(&mut self, now: Time, attempt: &Attempt, truth: Truth) {
        add(&mut self.run.attempts_at, second(now), 1);
        if let Some(trouble) = &mut self.trouble {
            trouble.arrived(now, attempt.number == 0, truth != Truth::Served);
        }
    }

    pub(super) fn answered(&mut self, attempt: &Attempt, answer: &Answer) {
        let run = &mut self.run;
        let up = u64::from(attempt.job.up) + HANDSHAKE;
        let wasted = answer.truth != Truth::Served;
        let down = match answer.truth {
            Truth::Served => u64::from(attempt.job.down),
            Truth::Cut => u64::from(attempt.job.down) / 2,
            _ => 2_000,
        };
        run.bytes += up + down;
        run.bytes_wasted += if wasted { up + down } else { 0 };
        run.limited += u64::from(answer.truth == Truth::Limited);
        run.refused_login += u64::from(answer.truth == Truth::Login);
    }

    /// A job is over; `waited` is what it spent on no attempt.
    pub(super) fn done(&mut self, now: Time, since: Time, waited: Duration, job: &Job, truth: Truth) {
        self.run.makespan = now.since(Time::ZERO).as_secs_f64();
        if truth != Truth::Served {
            self.run.wrong += 1;
            return;
        }
        self.run.done += 1;
        self.run.done_clean += u64::from(!job.poison);
        self.run.by_origin[job.origin as usize].1 += 1;
        let took = now.since(since).as_secs_f64();
        self.times.push(took);
        self.prices.extend(is_price(self.price, job.id).then_some(took));
        self.waits.push(waited.as_secs_f64());
        add(&mut self.run.served_at, second(now), 1);
        if let Some(trouble) = &mut self.trouble {
            trouble.done(now);
        }
    }

    pub(super) fn gave_up(&mut self, now: Time, job: &Job, for_the_request: bool) {
        self.run.makespan = now.since(Time::ZERO).as_secs_f64();
        self.run.failed += 1;
        self.run.called_poison += u64::from(for_the_request);
        self.run.poison_found += u64::from(for_the_request && job.poison);
    }

    pub(super) fn bans(&mut self, now: Time, world: &World) {
        let bans = world.origins.iter().map(|origin| origin.tally.bans).sum();
        let at = second(now);
        let last = self.run.bans_at.last().copied().unwrap_or(0);
        if self.run.bans_at.len() <= at {
            self.run.bans_at.resize(at + 1, last);
        }
        self.run.bans_at[at] = bans;
    }

    /// Looks at what rests and at what is said of it, now and then.
    pub(super) fn look(&mut self, now: Time, world: &World, at: impl FnOnce(Time) -> Look) {
        if self.looked.is_some_and(|at| now.since(at) < LOOK) {
            return;
        }
        self.looked = Some(now);
        let (resting, cause) = at(now);
        self.run.verdicts.count(cause);
        for (origin, exit) in resting {
            self.rested.0 += 1;
            self.rested.1 += u64::from(world.would_serve(now, origin, exit));
        }
    }

    /// `lane`: how many retries a second are admitted at so many successes, if the rules say.
    pub(super) fn end(mut self, now: Time, world: &World, lane: impl FnOnce(f64) -> Option<f64>) -> Run {
        let run = &mut self.run;
        for origin in &world.origins {
            run.bans += origin.tally.bans;
            run.while_banned += origin.tally.while_banned;
            run.wasted_down += origin.tally.refused_down;
            run.exit_seconds_burned += origin.burned(now);
        }
        for refused in world.refusals() {
            run.overloaded += refused.overloaded;
            run.unreached += refused.unreached;
            run.strays += refused.strays;
            run.logins_refused += refused.logins;
            run.logins_after += refused.logins_after;
        }
        self.times.sort_by(f64::total_cmp);
        self.waits.sort_by(f64::total_cmp);
        self.prices.sort_by(f64::total_cmp);
        let at = |share| quantile(&self.times, share);
        (run.p50, run.p99, run.slowest) = (at(0.5), at(0.99), at(1.0));
        run.waits = (0..=100).map(|hundredth| quantile(&self.waits, f64::from(hundredth) / 100.0)).collect();
        (run.wait_p50, run.wait_p99) = (quantile(&self.waits, 0.5), quantile(&self.waits, 0.99));
        (run.price_p50, run.price_p99) = (quantile(&self.prices, 0.5), quantile(&self.prices, 0.99));
        run.innocent = (self.rested.0 > 0).then(|| self.rested.1 as f64 / self.rested.0 as f64);
        if let Some(trouble) = &self.trouble {
            trouble.tell(run);
            run.lane = lane(trouble.usual(run));
        }
        self.run
    }
}
