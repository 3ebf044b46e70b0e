//! Around a site's bad time: what was asked for before it, what came after it, and when it was seen and got over.

use super::{Run, add};
use crate::request::Time;
use std::time::Duration;

/// After the beginning of the trouble.
const WATCHED: Duration = Duration::from_secs(15);
/// Before it.
const USUAL: Duration = Duration::from_secs(30);
/// After its end: what is not calm by then does not become so by itself.
pub(in crate::lab::sim) const CALM: Duration = Duration::from_secs(300);
/// Seconds over which rates are taken.
const OVER: usize = 5;

/// A trouble, and what was counted around it.
pub(super) struct Trouble {
    from: Duration,
    to: Duration,
    /// Attempts in each tenth of a second since it began, and first attempts since `USUAL` before.
    tenths: Vec<u32>,
    new_tenths: Vec<u32>,
    /// Attempts and successes before it, and from when it is calm again.
    before: (u64, u64),
    after: (u64, u64),
    /// Attempts that were not served, by second.
    refused_at: Vec<u32>,
}

fn tenth(since: Duration) -> usize {
    usize::try_from(since.as_millis() / 100).unwrap_or(usize::MAX)
}

/// The most in ten of them in a row.
fn peak(tenths: &[u32]) -> u32 {
    tenths.windows(10).map(|second| second.iter().sum()).max().unwrap_or(0)
}

/// Of the seconds from there on.
fn sum(bins: &[u32], from: usize, seconds: usize) -> f64 {
    bins.iter().skip(from).take(seconds).map(|bin| f64::from(*bin)).sum()
}

impl Trouble {
    pub(super) fn new((from, to): (Duration, Duration)) -> Self {
        Self {
            from,
            to,
            tenths: vec![0; tenth(WATCHED)],
            new_tenths: vec![0; tenth(USUAL)],
            before: (0, 0),
            after: (0, 0),
            refused_at: Vec::new(),
        }
    }

    fn phase(&mut self, now: Time) -> Option<&mut (u64, u64)> {
        match now.since(Time::ZERO) {
            since if since < self.from => Some(&mut self.before),
            since if since >= self.to + CALM => Some(&mut self.after),
            _ => None,
        }
    }

    pub(super) fn sent(&mut self, now: Time) {
        if let Some(phase) = self.phase(now) {
            phase.0 += 1;
        }
    }

    pub(super) fn done(&mut self, now: Time) {
        if let Some(phase) = self.phase(now) {
            phase.1 += 1;
        }
    }

    pub(super) fn arrived(&mut self, now: Time, first: bool, refused: bool) {
        let since = now.since(Time::ZERO);
        if let Some(bin) = since.checked_sub(self.from).and_then(|at| self.tenths.get_mut(tenth(at))) {
            *bin += 1;
        }
        let usual = since.checked_sub(self.from.saturating_sub(USUAL)).filter(|_| first && since < self.from);
        if let Some(bin) = usual.and_then(|at| self.new_tenths.get_mut(tenth(at))) {
            *bin += 1;
        }
        add(&mut self.refused_at, super::second(now), u32::from(refused));
    }

    /// Successes a second before the trouble.
    pub(super) fn usual(&self, run: &Run) -> f64 {
        let (from, seconds) = (self.from.as_secs() as usize, USUAL.as_secs() as usize);
        sum(&run.served_at, from.saturating_sub(seconds), seconds.min(from)) / seconds.min(from).max(1) as f64
    }

    pub(super) fn tell(&self, run: &mut Run) {
        run.peak_tenth = self.tenths.iter().copied().max().unwrap_or(0);
        (run.peak, run.peak_new) = (peak(&self.tenths), peak(&self.new_tenths));
        let per_success = |(attempts, successes): (u64, u64)| attempts as f64 / successes.max(1) as f64;
        if self.before.1 >= 100 && self.after.0 >= 100 {
            run.metastability = per_success(self.after) / per_success(self.before);
        }
        let (from, to) = (self.from.as_secs() as usize, self.to.as_secs() as usize);
        let seen = |at: &usize| sum(&self.refused_at, *at, OVER) <= 0.1 * sum(&run.attempts_at, *at, OVER);
        let after = |start: usize, at: usize| (at - start) as f64;
        // After the last attempt nothing is refused either.
        let last = run.attempts_at.len().saturating_sub(OVER);
        run.detect = (from..to.min(last)).find(seen).map(|at| after(from, at));
        let well = 0.9 * self.usual(run) * OVER as f64;
        let good = |at: &usize| well > 0.0 && sum(&run.served_at, *at, OVER) >= well;
        run.recover = (to..run.served_at.len()).find(good).map(|at| after(to, at));
    }
}
