//! Whether blocks depend on the request: a request that was blocked elsewhere is blocked again, where others pass.
//!
//! Attempts through clean exits are counted by (sent again after a block | first) x (blocked | served), in strata of a second.
//! Mantel and Haenszel (Statistical aspects of the analysis of data from retrospective studies of disease, 1959) compare
//! within each stratum and add up: with a, b blocked and served of those sent again, c, d of the first, and n of all,
//! Z = (|sum (a - (a + b) (a + c) / n)| - 1/2) / sqrt(sum (a + b) (c + d) (a + c) (b + d) / (n^2 (n - 1))), and the odds ratio is
//! (sum a d / n) / (sum b c / n). Without strata, retries that happen in bad minutes look like bad requests.

use crate::knobs::Diagnosis;
use crate::request::Time;
use std::time::Duration;

/// A stratum ends after this time with [`LEAST`] attempts, and after [`LONGEST`] with fewer. It is short, because a rate that
/// changes within one makes the retries of its bad part look worse than the first tries of all of it.
const SPAN: Duration = Duration::from_secs(1);
const LEAST: u32 = 8;
const LONGEST: Duration = Duration::from_secs(5);

/// By whether it was blocked.
type Row<T> = [T; 2];

pub(super) struct Strata {
    /// The stratum that is counted: first tries, and what was sent again after a block.
    open: [Row<u32>; 2],
    since: Time,
    sums: Sums,
    /// When these were brought up to date.
    at: Time,
}

/// Over the strata that are over, less with age.
#[derive(Clone, Copy, Default)]
struct Sums {
    counts: [Row<f64>; 2],
    above: f64,
    variance: f64,
    odds: f64,
    against: f64,
}

impl Strata {
    pub(super) fn new(now: Time) -> Self {
        Self { open: [[0; 2]; 2], since: now, sums: Sums::default(), at: now }
    }

    /// An attempt through a clean exit.
    pub(super) fn count(&mut self, now: Time, knobs: &Diagnosis, again: bool, blocked: bool) {
        self.turn(now, knobs);
        self.open[usize::from(again)][usize::from(blocked)] += 1;
    }

    /// What was counted has turned out otherwise. If its stratum is over, it stays.
    pub(super) fn take_back(&mut self, again: bool, blocked: bool) {
        let count = &mut self.open[usize::from(again)][usize::from(blocked)];
        *count = count.saturating_sub(1);
    }

    /// Ends the stratum if it is time.
    fn turn(&mut self, now: Time, knobs: &Diagnosis) {
        let (age, n) = (now.since(self.since), self.open.as_flattened().iter().sum::<u32>());
        if age < SPAN || (n < LEAST && age < LONGEST) {
            return;
        }
        let kept = libm::exp2(-now.since(self.at).as_secs_f64() / knobs.half_life.as_secs_f64());
        self.sums.age(kept);
        self.sums.add(self.open.map(|row| row.map(f64::from)));
        (self.open, self.since, self.at) = ([[0; 2]; 2], now, now);
    }

    /// Whether blocks depend on the request.
    pub(super) fn depend(&mut self, now: Time, knobs: &Diagnosis) -> bool {
        self.turn(now, knobs);
        let Sums { counts: [_, [_, blocked_again]], odds, against, .. } = self.sums;
        blocked_again >= knobs.blocked_again && self.sums.z() > knobs.z && odds > knobs.odds * against
    }

    /// The share of the requests that are refused through whatever exit: of the first tries, those that are blocked, and blocked
    /// again.
    pub(super) fn share(&self) -> f64 {
        let [first, again] = self.sums.counts.map(|[served, blocked]| blocked / (served + blocked).max(1.0));
        first * again
    }
}

impl Sums {
    fn age(&mut self, kept: f64) {
        self.counts = self.counts.map(|row| row.map(|count| count * kept));
        for sum in [&mut self.above, &mut self.variance, &mut self.odds, &mut self.against] {
            *sum *= kept;
        }
    }

    fn add(&mut self, [[d, c], [b, a]]: [Row<f64>; 2]) {
        for (sum, count) in self.counts.as_flattened_mut().iter_mut().zip([d, c, b, a]) {
            *sum += count;
        }
        let n = a + b + c + d;
        if n < 2.0 {
            return;
        }
        self.above += a - (a + b) * (a + c) / n;
        self.variance += (a + b) * (c + d) * (a + c) * (b + d) / (n * n * (n - 1.0));
        self.odds += a * d / n;
        self.against += b * c / n;
    }

    fn z(&self) -> f64 {
        if self.variance > 0.0 { (self.above - 0.5).max(0.0) / self.variance.sqrt() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_two_strata_reckoned_by_hand() {
        let mut sums = Sums::default();
        // Blocked again 6 of 8, first 2 of 12; then 3 of 4, and 4 of 16.
        sums.add([[10.0, 2.0], [2.0, 6.0]]);
        sums.add([[12.0, 4.0], [1.0, 3.0]]);
        // 6 - 8 * 8 / 20 + 3 - 4 * 7 / 20; 8 * 12 * 8 * 12 / (400 * 19) + 4 * 16 * 7 * 13 / (400 * 19).
        assert!((sums.above - 4.4).abs() < 1e-9 && (sums.variance - 1.978_947_368).abs() < 1e-6);
        assert!((sums.z() - 3.9 / sums.variance.sqrt()).abs() < 1e-9);
        // (60 + 36) / 20 against (4 + 4) / 20.
        assert!((sums.odds - 4.8).abs() < 1e-9 && (sums.against - 0.4).abs() < 1e-9);
    }
}
