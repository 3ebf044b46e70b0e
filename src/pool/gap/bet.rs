//! Each lengthening is a bet that a longer gap is a cure. What nothing cures is let go.
//!
//! A limit on each exit's rate serves the same of fewer attempts, so at the stake, the gap it must have by what was limited
//! before and a quarter more, it limits nobody. Chance limits as many as ever there. Whoever has allowance saved up looks like
//! chance for a while; so what is seen at the stake is no verdict, but the base of a second step, the proof.

use crate::knobs::Spacing;
use crate::request::Time;
use crate::share::Share;

/// What was limited before the gap became longer, and how long it was then, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bet {
    pub(super) since: Time,
    pub(super) gap: f32,
    pub(super) share: Share,
    /// The share was counted in peace at that gap, and what is seen at the stake is the verdict.
    pub(super) proof: bool,
}

/// What has come of a bet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Came {
    Nothing,
    /// Surely fewer are limited.
    Cured,
    /// Surely more are: what was saved up is used up only now.
    Worse,
}

impl Bet {
    pub(super) const fn new(since: Time, gap: f32, share: Share) -> Self {
        Self { since, gap, share, proof: false }
    }

    /// From here; its time goes on.
    pub(super) const fn anew(self, gap: f32, share: Share) -> Self {
        Self { gap, share, proof: false, ..self }
    }

    /// What began a bet was seen because it was many: of few attempts that is no base for a cure.
    pub(super) fn came(&self, limited: Share, rules: &Spacing) -> Came {
        if self.share.of >= rules.enough && limited.is_surely_below(self.share) {
            Came::Cured
        } else if self.share.is_surely_below(limited) {
            Came::Worse
        } else {
            Came::Nothing
        }
    }

    /// The gap at which a limit of each exit's rate would limit nobody any more.
    #[allow(clippy::cast_possible_truncation, reason = "a factor of a few")]
    pub(super) fn stake(&self, rules: &Spacing) -> f32 {
        let served = (1.0 - self.share.value()).max(0.01) as f32;
        let times = (rules.margin / served).clamp(rules.stake_least, rules.stake_most);
        (self.gap * times).min(rules.longest)
    }

    pub(super) fn is_at_stake(&self, seconds: f32, rules: &Spacing) -> bool {
        /// For what is lost in rounding.
        const NEARLY: f32 = 0.999;
        seconds >= self.stake(rules) * NEARLY
    }
}

/// Until when 429s are taken as usual, and how many are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excuse {
    until: Time,
    share: Share,
}

impl Excuse {
    pub(super) fn of(now: Time, bet: &Bet, limited: Share, rules: &Spacing) -> Self {
        let length = now.since(bet.since).saturating_mul(rules.excused_times);
        Self { until: now + length.min(rules.excused_most), share: limited.and(bet.share) }
    }

    pub(super) fn is_over(&self, now: Time) -> bool {
        now >= self.until
    }

    /// Whether surely more are limited than usual.
    pub(super) fn is_exceeded(&self, limited: Share) -> bool {
        self.share.is_surely_below(limited)
    }
}
