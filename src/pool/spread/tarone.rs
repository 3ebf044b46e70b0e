//! Whether all exits can share one block rate.
//!
//! Tarone's Z (Testing the goodness of fit of the binomial distribution, 1979) asks just that. It is about standard normal if
//! they do, also where most exits were asked but once or twice; there other tests raise false alarms, or see nothing. With n
//! attempts and x blocks of each exit, and the share p of all:
//! Z = (sum (x - n p)^2 / (p (1 - p)) - sum n) / sqrt(2 sum n (n - 1)).
//!
//! A low Z says "alike" only where it could have been high ([`Sums::would_show`]).

use super::figure::{ExitBlocks, SpreadVerdict};

/// With fewer attempts, a smaller share of blocks, or fewer exits that were asked twice, nothing is said.
const ATTEMPTS: u64 = 60;
const SHARE: f64 = 0.10;
const TWICE: u32 = 5;
/// Above: the blocks are on some exits (one in a thousand by chance). Below: no sign of it (one-sided 95 %).
const CONCENTRATED: f64 = 3.09;
const EVEN: f64 = 1.64;
/// That the pattern is refused is not said below this share.
const PATTERN_SHARE: f64 = 0.20;

/// The sums over exits that the figures are made of. Whole numbers, so that the order of the exits does not matter.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) exits: u32,
    twice: u32,
    pub(super) n: u64,
    pub(super) x: u64,
    nn: u64,
    nx: u64,
    xx: u64,
}

impl Sums {
    pub(super) fn of(exits: impl Iterator<Item = ExitBlocks>) -> Self {
        let counts = exits.map(|exit| (u64::from(exit.attempts), u64::from(exit.blocked)));
        counts.filter(|(n, _)| *n > 0).fold(Self::default(), Self::add)
    }

    pub(super) fn share(&self) -> f64 {
        if self.n == 0 { 0.0 } else { float(self.x) / float(self.n) }
    }

    pub(super) fn z(&self) -> Option<f64> {
        let p = self.share();
        if self.n < ATTEMPTS || p < SHARE || self.twice < TWICE {
            return None;
        }
        Some(self.score())
    }

    /// Z itself, however few there are.
    fn score(&self) -> f64 {
        let p = self.share();
        // Where all are blocked no exit differs from another.
        let differ = match self.x == self.n {
            true => 0.0,
            false => (float(self.xx) - 2.0 * p * float(self.nx) + p * p * float(self.nn)) / (p * (1.0 - p)),
        };
        (differ - float(self.n)) / (2.0 * float(self.nn - self.n)).sqrt()
    }

    fn add(self, (n, x): (u64, u64)) -> Self {
        Self {
            exits: self.exits + 1,
            twice: self.twice + u32::from(n >= 2),
            n: self.n + n,
            x: self.x + x,
            nn: self.nn + n * n,
            nx: self.nx + n * x,
            xx: self.xx + x * x,
        }
    }

    /// Whether Z would have been high if the blocks were all on some exits. Those rest after their first, so that each is asked
    /// once; then Z is p / (1 - p) sqrt(sum n (n - 1) / 2) on average, over the others, and less than [`EVEN`] once in a
    /// thousand if that is [`CONCENTRATED`] above it.
    fn would_show(&self) -> bool {
        let (p, pairs) = (self.share(), float(self.nn - self.n) / 2.0);
        (p / (1.0 - p)).min(1.0) * pairs.sqrt() >= EVEN + CONCENTRATED
    }

    pub(super) fn verdict(&self) -> SpreadVerdict {
        match self.z() {
            Some(z) if z > CONCENTRATED => SpreadVerdict::Pool,
            Some(z) if z < EVEN && self.share() >= PATTERN_SHARE && self.would_show() => {
                SpreadVerdict::Pattern
            }
            _ => SpreadVerdict::Unclear,
        }
    }
}

/// Z of whatever is counted as trials and hits. Not a number if nothing was tried twice.
pub(super) fn z_of(counts: impl Iterator<Item = (u64, u64)>) -> f64 {
    counts.fold(Sums::default(), Sums::add).score()
}

#[allow(clippy::cast_precision_loss, reason = "counts of a minute")]
const fn float(count: u64) -> f64 {
    count as f64
}
