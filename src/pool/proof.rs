//! What the blocks of an origin have proven to be: bans, or noise. Each block of a pair that was good until then raises a
//! suspicion, and the trial after its rest settles it.

use crate::knobs::Suspicion;
use std::time::Duration;

/// Trials that were refused as well, and trials that passed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Proof {
    bans: f32,
    noise: f32,
}

impl Proof {
    pub(super) fn settle(&mut self, ban: bool, rules: &Suspicion) {
        *(if ban { &mut self.bans } else { &mut self.noise }) += 1.0;
        let scale = rules.most / (self.bans + self.noise);
        if scale < 1.0 {
            (self.bans, self.noise) = (self.bans * scale, self.noise * scale);
        }
    }

    /// The share of suspicions that were right; a half while nothing is known.
    pub(super) fn share(&self) -> f32 {
        (self.bans + 1.0) / (self.bans + self.noise + 2.0)
    }

    /// The rest that a suspicion costs: all of `first` while blocks prove to be bans at least every other time.
    pub(super) fn rest(&self, first: Duration, rules: &Suspicion) -> Duration {
        let share = (2.0 * self.share()).min(1.0);
        first.mul_f32(share * share).max(rules.least).min(first)
    }
}
