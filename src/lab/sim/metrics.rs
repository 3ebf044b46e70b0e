//! What a run comes to.

use super::job::Job;
use super::world::{Answer, Attempt, Truth, World};
use crate::request::Time;
use std::time::Duration;

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
    /// From a job's beginning to its success.
    pub p50: f64,
    /// The same, of 99 in 100.
    pub p99: f64,
    /// The same, of all.
    pub slowest: f64,
    /// Bans that the sites have spoken.
    pub bans: u64,
    /// Attempts on a banned exit.
    pub while_banned: u64,
    /// Attempts that were limited.
    pub limited: u64,
    /// Attempts that were refused because a site was down.
    pub wasted_down: u64,
    /// Attempts that a gateway refused for having too much to do.
    pub overloaded: u64,
    /// Attempts that did not reach a gateway.
    pub unreached: u64,
    /// Logins that a gateway refused though they were right.
    pub strays: u64,
    /// Logins that a gateway refused, and rightly.
    pub logins_refused: u64,
    /// Of these, the ones that were sent when two such refusals were known.
    pub logins_after: u64,
    /// How often the policy has stopped a login.
    pub stops: u64,
    /// From the end of the trouble to nine tenths of the successes before it, over 5 s; 0 where there is none.
    pub recovery: f64,
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
    /// Attempts per success from 300 s after the trouble ended, over the same before it; 0 where there is no such time.
    pub metastability: f64,
    /// Of each origin: jobs that came, and that were served.
    pub by_origin: Vec<(u64, u64)>,
    /// How many decisions were made.
    pub decisions: u64,
    /// SHA-256 of all of them, in hexadecimal digits.
    pub log: String,
    /// Attempts that reached the sites, by second.
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
}

/// TLS and the like, each way.
const HANDSHAKE: u64 = 6_000;
/// After the trigger.
const WATCHED: Duration = Duration::from_secs(15);
const CALM: Duration = Duration::from_secs(300);

/// A run in the making.
pub(super) struct Metrics {
    pub(super) run: Run,
    trigger: Option<(Duration, Duration)>,
    waits: Vec<f64>,
    tenths: Vec<u32>,
    /// Attempts and successes before the trigger, and from when it is calm again.
    before: (u64, u64),
    after: (u64, u64),
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

impl Metrics {
    pub(super) fn new(run: Run, trigger: Option<(Duration, Duration)>, origins: usize) -> Self {
        let run = Run { by_origin: vec![(0, 0); origins], ..run };
        Self { run, trigger, waits: Vec::new(), tenths: Vec::new(), before: (0, 0), after: (0, 0) }
    }

    pub(super) fn came(&mut self, job: &Job) {
        self.run.jobs += 1;
        self.run.poison += u64::from(job.poison);
        self.run.by_origin[job.origin as usize].0 += 1;
    }

    fn phase(&mut self, now: Time) -> Option<&mut (u64, u64)> {
        let (from, to) = self.trigger?;
        let since = now.since(Time::ZERO);
        match since {
            _ if since < from => Some(&mut self.before),
            _ if since >= to + CALM => Some(&mut self.after),
            _ => None,
        }
    }

    pub(super) fn sent(&mut self, now: Time, job: &Job) {
        self.run.attempts += 1;
        self.run.attempts_clean += u64::from(!job.poison);
        if let Some(phase) = self.phase(now) {
            phase.0 += 1;
        }
    }

    /// An attempt is at the site.
    pub(super) fn arrived(&mut self, now: Time) {
        add(&mut self.run.attempts_at, second(now), 1);
        if let Some((from, _)) = self.trigger {
            let since = now.since(Time::ZERO);
            if from <= since && since < from + WATCHED {
                let tenth = usize::try_from((since - from).as_millis() / 100).unwrap_or(0);
                add(&mut self.tenths, tenth, 1);
            }
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
    }

    pub(super) fn done(&mut self, now: Time, since: Time, job: &Job, truth: Truth) {
        self.run.makespan = now.since(Time::ZERO).as_secs_f64();
        if truth != Truth::Served {
            self.run.wrong += 1;
            return;
        }
        self.run.done += 1;
        self.run.done_clean += u64::from(!job.poison);
        self.run.by_origin[job.origin as usize].1 += 1;
        self.waits.push(now.since(since).as_secs_f64());
        add(&mut self.run.served_at, second(now), 1);
        if let Some(phase) = self.phase(now) {
            phase.1 += 1;
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

    /// Compares 5 s with the 10 s before the trouble.
    fn recovery(&self) -> f64 {
        let Some((from, to)) = self.trigger else { return 0.0 };
        let (from, to) = (from.as_secs() as usize, to.as_secs() as usize);
        let served = |from: usize, to: usize| {
            let sum: u32 = (from..to).filter_map(|at| self.run.served_at.get(at)).sum();
            f64::from(sum) / (to - from).max(1) as f64
        };
        let before = served(from.saturating_sub(10), from);
        let last = self.run.served_at.len();
        let again = (to..last).find(|at| served(*at, at + 5) >= 0.9 * before);
        again.unwrap_or(last).saturating_sub(to) as f64
    }

    pub(super) fn end(mut self, world: &World) -> Run {
        for origin in &world.origins {
            self.run.bans += origin.tally.bans;
            self.run.while_banned += origin.tally.while_banned;
            self.run.wasted_down += origin.tally.refused_down;
        }
        for refused in world.refusals() {
            self.run.overloaded += refused.overloaded;
            self.run.unreached += refused.unreached;
            self.run.strays += refused.strays;
            self.run.logins_refused += refused.logins;
            self.run.logins_after += refused.logins_after;
        }
        self.run.recovery = self.recovery();
        self.waits.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (share * self.waits.len() as f64).ceil() as usize;
            self.waits.get(index.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        (self.run.p50, self.run.p99, self.run.slowest) = (at(0.5), at(0.99), at(1.0));
        self.run.peak_tenth = self.tenths.iter().copied().max().unwrap_or(0);
        self.run.peak = self.tenths.windows(10).map(|second| second.iter().sum()).max().unwrap_or(0);
        let per_success = |(attempts, successes): (u64, u64)| attempts as f64 / successes.max(1) as f64;
        if self.before.1 >= 100 && self.after.1 >= 100 {
            self.run.metastability = per_success(self.after) / per_success(self.before);
        }
        self.run
    }
}
