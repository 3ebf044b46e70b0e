//! What the blocks of an origin have proven to be: bans, or noise. Each block of a pair that was good until then raises a
//! suspicion, and the trial after its rest settles it.

use crate::knobs::Suspicion;
use std::time::Duration;

/// What a trial has shown of the block before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    Noise,
    Ban,
    /// The trial passed, and was refused by its last word: it was said to be noise before.
    BanAfterAll,
}

/// Trials that were refused as well, and trials that passed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Proof {
    bans: f32,
    noise: f32,
}

impl Proof {
    pub(super) fn settle(&mut self, shown: Shown, rules: &Suspicion) {
        match shown {
            Shown::Noise => self.noise += 1.0,
            Shown::Ban => self.bans += 1.0,
            Shown::BanAfterAll => (self.bans, self.noise) = (self.bans + 1.0, (self.noise - 1.0).max(0.0)),
        }
        let scale = rules.most / (self.bans + self.noise);
        if scale < 1.0 {
            (self.bans, self.noise) = (self.bans * scale, self.noise * scale);
        }
    }

    /// The share of suspicions that were right; a half while nothing is known.
    fn share(&self) -> f32 {
        (self.bans + 1.0) / (self.bans + self.noise + 2.0)
    }

    /// The rest that a suspicion costs: all of `first` while blocks prove to be bans at least every other time.
    pub(super) fn rest(&self, first: Duration, rules: &Suspicion) -> Duration {
        let share = (2.0 * self.share()).min(1.0);
        first.mul_f32(share * share).max(rules.least).min(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(30);

    fn after(all: &[(Shown, u32)]) -> f32 {
        let mut proof = Proof::default();
        for (shown, times) in all {
            (0..*times).for_each(|_| proof.settle(*shown, &Suspicion::default()));
        }
        proof.rest(FIRST, &Suspicion::default()).as_secs_f32()
    }

    #[test]
    fn a_suspicion_rests_by_the_square_of_twice_the_share_that_proved_right() {
        use Shown::{Ban, BanAfterAll, Noise};
        for (all, rest) in [
            (&[] as &[_], 30.0),
            (&[(Ban, 1)], 30.0),
            (&[(Noise, 1)], 40.0 / 3.0),
            (&[(Noise, 2)], 7.5),
            (&[(Noise, 1), (Ban, 1)], 30.0),
            (&[(Noise, 3), (Ban, 1)], 40.0 / 3.0),
            (&[(Noise, 1), (BanAfterAll, 1)], 30.0),
            (&[(Noise, 1_000)], 1.0),
            (&[(Ban, 1_000)], 30.0),
        ] {
            assert!((after(all) - rest).abs() < 0.01, "{all:?}: {}", after(all));
        }
    }

    #[test]
    fn an_origin_that_changes_its_mind_is_believed_within_thirty_trials() {
        assert!(after(&[(Shown::Noise, 1_000), (Shown::Ban, 10)]) < 15.0);
        assert!(after(&[(Shown::Noise, 1_000), (Shown::Ban, 23)]) > 29.0);
        assert!(after(&[(Shown::Ban, 1_000), (Shown::Noise, 60)]) < 5.0);
    }

    #[test]
    fn no_rest_is_longer_than_the_first_however_short_that_is() {
        let first = Duration::from_millis(200);
        assert_eq!(Proof::default().rest(first, &Suspicion::default()), first);
    }
}
