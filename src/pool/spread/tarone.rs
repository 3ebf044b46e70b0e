//! Whether hits fall on some of several groups more than on others.
//!
//! Tarone's Z (Testing the goodness of fit of the binomial distribution, 1979) asks just that. It is about standard normal if
//! all groups share one rate, also where most of them have but one or two trials; there other tests raise false alarms, or see
//! nothing. With n trials and x hits of each group, and the share p of all:
//! Z = (sum (x - n p)^2 / (p (1 - p)) - sum n) / sqrt(2 sum n (n - 1)).

/// The sums over groups that Z is made of. Whole numbers, so that the order of the groups does not matter.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: u64,
    x: u64,
    nn: u64,
    nx: u64,
    xx: u64,
}

impl Sums {
    const fn add(self, (n, x): (u64, u64)) -> Self {
        Self { n: self.n + n, x: self.x + x, nn: self.nn + n * n, nx: self.nx + n * x, xx: self.xx + x * x }
    }

    fn score(&self) -> f64 {
        // Where all are hits no group differs from another.
        let p = float(self.x) / float(self.n.max(1));
        let differ = match self.x == self.n {
            true => 0.0,
            false => (float(self.xx) - 2.0 * p * float(self.nx) + p * p * float(self.nn)) / (p * (1.0 - p)),
        };
        (differ - float(self.n)) / (2.0 * float(self.nn - self.n)).sqrt()
    }
}

/// Z of groups with so many trials and hits. Not a number if no group was tried twice.
pub(super) fn z_of(counts: impl Iterator<Item = (u64, u64)>) -> f64 {
    counts.fold(Sums::default(), Sums::add).score()
}

#[allow(clippy::cast_precision_loss, reason = "counts of a minute")]
const fn float(count: u64) -> f64 {
    count as f64
}
