//! How many attempts succeed per second lately, as a decayed count. No timer: reports take in what was counted since.

use super::Pool;
use super::ix::OriginIx;
use crate::request::Time;
use std::f64::consts::LN_2;
use std::time::Duration;

/// What comes within this time is taken in together: a busy origin need not compute a power for every success.
const STEP: Duration = Duration::from_millis(250);

/// Successes that still count, each half as much after a half-life (in seconds).
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    recent: f64,
    /// How many of the counted successes are among them.
    taken: u64,
    at: Time,
}

impl Flow {
    pub(super) const STILL: Self = Self { recent: 0.0, taken: 0, at: Time::ZERO };

    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        now.since(self.at) >= STEP
    }

    /// Of `counted` successes in all, takes in those that are new: the last of them came now if `fresh`, the others just
    /// after the last time, for else they had been taken in when they came.
    #[cold]
    pub(super) fn take_in(&mut self, now: Time, counted: u64, fresh: bool, half_life: f64) {
        let last = if fresh { 1.0 } else { 0.0 };
        // Fewer than before, if some turned out otherwise.
        let new = counted as f64 - self.taken as f64;
        let left = decay(now.since(self.at), half_life);
        self.recent = ((self.recent + new - last) * left + last).max(0.0);
        (self.taken, self.at) = (counted, self.at.max(now));
    }

    /// Successes per second.
    pub(super) fn rate(&self, now: Time, half_life: f64) -> f64 {
        self.recent * decay(now.since(self.at), half_life) * LN_2 / half_life
    }
}

/// What is left of a count after that time.
pub(crate) fn decay(age: Duration, half_life: f64) -> f64 {
    libm::exp2(-age.as_secs_f64() / half_life)
}

/// How an origin lives.
pub(crate) struct Pulse {
    /// Successes per second there, lately.
    pub(crate) successes: f64,
    /// All that there have been.
    pub(crate) served: u64,
    pub(crate) in_flight: u32,
}

impl Pool {
    pub(crate) fn pulse(&mut self, now: Time, origin: OriginIx) -> Pulse {
        let half_life = self.half_life;
        let Some(record) = self.origins.get_mut(origin) else {
            return Pulse { successes: 0.0, served: 0, in_flight: 0 };
        };
        let served = record.counts.ok;
        record.flow.take_in(now, served, false, half_life);
        Pulse { successes: record.flow.rate(now, half_life), served, in_flight: record.room.in_flight }
    }

    /// Whether there is one origin alone.
    pub(crate) fn knows_one_origin(&self) -> bool {
        self.origins.len() <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_LIFE: f64 = 5.0;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Counts a success at each of these times as a report does, and tells the rate at `end`.
    fn rate(times: impl Iterator<Item = u64>, end: u64) -> f64 {
        let (mut flow, mut counted) = (Flow::STILL, 0);
        for time in times {
            counted += 1;
            if flow.is_due(at(time)) {
                flow.take_in(at(time), counted, true, HALF_LIFE);
            }
        }
        flow.take_in(at(end), counted, false, HALF_LIFE);
        flow.rate(at(end), HALF_LIFE)
    }

    #[test]
    fn an_even_flow_has_its_rate_dense_or_sparse() {
        for gap in [1, 10, 100, 400, 1_000] {
            let (told, real) =
                (rate((0..).map(|n| n * gap).take_while(|t| *t < 60_000), 60_000), 1e3 / gap as f64);
            assert!((told / real - 1.0).abs() < 0.08, "{real}/s is told as {told}/s");
        }
    }

    #[test]
    fn a_flow_that_stops_halves_with_each_half_life() {
        let stopped = |after: u64| rate((0..6_000).map(|n| n * 10), 60_000 + after);
        for (after, left) in [(5_000, 50.0), (10_000, 25.0), (60_000, 100.0 / 4_096.0)] {
            assert!((stopped(after) / left - 1.0).abs() < 0.05, "{} after {after} ms", stopped(after));
        }
    }

    #[test]
    fn what_turned_out_otherwise_is_taken_back() {
        let mut flow = Flow::STILL;
        flow.take_in(at(1_000), 10, true, HALF_LIFE);
        let before = flow.rate(at(1_001), HALF_LIFE);
        flow.take_in(at(1_001), 8, false, HALF_LIFE);
        assert!(before - flow.rate(at(1_001), HALF_LIFE) > 1.9 * LN_2 / HALF_LIFE);
        flow.take_in(at(1_001), 0, false, HALF_LIFE);
        assert!(flow.rate(at(1_001), HALF_LIFE) < 0.3);
    }
}
