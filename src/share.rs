//! The share of attempts that failed, and what is sure of it.

use crate::outcome::Multiplier;

/// One-sided 95 %.
const Z: f64 = 1.64;
/// Of two shares that are compared, each: together three standard deviations, since they are compared again and again.
const APART: f64 = 2.1;

/// Attempts that failed, of so many. The bounds are Wilson's (Probable Inference, 1927): they hold for few attempts too.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Share {
    pub(crate) failed: u32,
    pub(crate) of: u32,
}

impl Share {
    pub(crate) const fn count(&mut self, succeeded: bool) {
        self.of = self.of.saturating_add(1);
        self.failed = self.failed.saturating_add(!succeeded as u32);
    }

    /// What was counted so is not; it may have been in an earlier tick.
    pub(crate) const fn take_back(&mut self, succeeded: bool) {
        let known = if succeeded { self.of > self.failed } else { self.failed > 0 };
        if known {
            self.of -= 1;
            self.failed -= !succeeded as u32;
        }
    }

    /// 0 to 1; 0 of no attempt.
    pub(crate) fn value(self) -> f64 {
        f64::from(self.failed) / f64::from(self.of.max(1))
    }

    /// It is surely no smaller.
    pub(crate) fn least(self) -> f64 {
        self.bounds(Z).0
    }

    /// It is surely no greater; 1 of no attempt.
    pub(crate) fn most(self) -> f64 {
        self.bounds(Z).1
    }

    /// Surely it lies between them; 0 and 1 of no attempt.
    fn bounds(self, z: f64) -> (f64, f64) {
        if self.of == 0 {
            return (0.0, 1.0);
        }
        let (share, n, z2) = (self.value(), f64::from(self.of), z * z);
        let middle = share + z2 / (2.0 * n);
        let half = z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        (((middle - half) / (1.0 + z2 / n)).max(0.0), ((middle + half) / (1.0 + z2 / n)).min(1.0))
    }

    /// Both together.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self { failed: self.failed.saturating_add(other.failed), of: self.of.saturating_add(other.of) }
    }

    /// Fewer fail than of the other, surely.
    pub(crate) fn is_below(self, other: Self) -> bool {
        self.bounds(APART).1 < other.bounds(APART).0
    }

    /// The same by Newcombe's interval of a difference (Statistics in Medicine 17, 1998, method 10), which holds for a few
    /// attempts beside many too; three and a third standard deviations, since they are compared again and again.
    pub(crate) fn is_surely_below(self, other: Self) -> bool {
        const SURE: f64 = 3.3;
        if self.of == 0 || other.of == 0 {
            return false;
        }
        let above = self.bounds(SURE).1 - self.value();
        let below = other.value() - other.bounds(SURE).0;
        other.value() - self.value() > libm::sqrt(above * above + below * below)
    }

    pub(crate) fn multiplier(self) -> Option<Multiplier> {
        Multiplier::of(self.of.into(), (self.of - self.failed).into())
    }
}

/// The failed share of a multiplier: M = 1 / (1 - f).
pub(crate) fn of_multiplier(multiplier: f64) -> f64 {
    1.0 - 1.0 / multiplier
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many attempts of a tick show that a multiplier is above another.
    fn enough(multiplier: f64, above: f64) -> Option<u32> {
        let least = |n: f64| {
            let (share, z2) = (of_multiplier(multiplier), Z * Z);
            let half = Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
            (share + z2 / (2.0 * n) - half) / (1.0 + z2 / n)
        };
        (1..2_000).find(|n| least(f64::from(*n)) > of_multiplier(above))
    }

    #[test]
    fn b22_the_bound_asks_for_as_many_attempts_as_it_should() {
        assert_eq!([1.8, 2.0, 3.0, 1.5].map(|m| enough(m, 1.5)), [Some(49), Some(22), Some(6), None]);
    }

    #[test]
    fn the_governor_needs_as_many_attempts_as_it_should() {
        assert_eq!([1.4, 1.6, 2.0, 1.25].map(|m| enough(m, 1.25)), [Some(59), Some(15), Some(5), None]);
    }

    #[test]
    fn the_bound_is_that_of_the_tables() {
        for (failed, of, bound) in [(1, 1, 0.271), (1, 2, 0.121), (1, 10, 0.023), (50, 1_000, 0.040)] {
            let least = Share { failed, of }.least();
            assert!((least - bound).abs() < 0.001, "{failed} of {of}: {least}");
            let most = Share { failed: of - failed, of }.most();
            assert!((most - (1.0 - bound)).abs() < 0.001, "{failed} of {of} succeed: {most}");
        }
    }

    /// A look in a thousand at equal shares would be wrong by a normal bound alone, of twenty attempts beside many.
    #[test]
    fn a_few_attempts_are_surely_apart_from_many_only_if_they_are_far_apart() {
        let many = Share { failed: 67, of: 1_552 };
        assert!(!many.is_surely_below(Share { failed: 3, of: 20 }));
        assert!(many.is_surely_below(Share { failed: 7, of: 20 }));
        assert!(Share { failed: 0, of: 300 }.is_surely_below(Share { failed: 15, of: 200 }));
        assert!(!Share::default().is_surely_below(many) && !many.is_surely_below(Share::default()));
    }

    #[test]
    fn what_is_sure_lies_around_what_was_seen() {
        let seen = Share { failed: 15, of: 20 };
        assert!((seen.least() - 0.567).abs() < 0.01 && (seen.bounds(Z).1 - 0.873).abs() < 0.01, "{seen:?}");
        assert!(Share { failed: 8, of: 20 }.is_below(Share { failed: 150, of: 200 }));
        assert!(!Share { failed: 10, of: 20 }.is_below(Share { failed: 150, of: 200 }));
        assert_eq!(Share::default().bounds(Z), (0.0, 1.0));
        let mut none = Share { failed: 0, of: 1 };
        none.take_back(false);
        assert_eq!(none, Share { failed: 0, of: 1 }, "it was counted in another tick");
    }
}
