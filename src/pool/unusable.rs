//! Why nobody may go, and when somebody may.

use super::choose::NoExit;
use super::exits::ExitIx;
use super::gate::State;
use super::view::View;
use crate::error::UnusableCounts;
use std::time::Duration;

/// When to ask again while somebody else's trial is out: about as long as an answer takes.
const TRIAL: Duration = Duration::from_secs(1);

impl View<'_> {
    /// For all exits. Each is counted once, under the first reason that holds.
    pub(super) fn unusable(&self) -> NoExit {
        let pool = self.pool;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (down, dead) = (pool.down.len(), count(pool.dead.len()));
        let mut counts = UnusableCounts::default();
        let left = count(pool.exits.len()).saturating_sub(down);
        counts.dead = dead;
        counts.avoided = left.min(count(self.ask.trail.refused.len()));
        let left = left - counts.avoided;
        let benched = left.min(self.record.benched.len());
        counts.reserved = left - benched;
        counts.cooling = benched.min(count(self.record.resting.len()));
        counts.on_trial = (down - dead) + (benched - counts.cooling);
        let rests = [pool.dead.first(), self.record.resting.first()];
        let soonest = rests.into_iter().flatten().map(|(until, _)| *until).min();
        let trial = (counts.on_trial > 0 || soonest.is_none()).then(|| self.now + TRIAL);
        let retry_at = [soonest, trial].into_iter().flatten().min().unwrap_or(self.now);
        NoExit::Unusable { retry_at: retry_at.max(self.now), counts }
    }

    /// For the one exit that the request must have.
    pub(super) fn waits_for(&self, exit: ExitIx) -> NoExit {
        let mut counts = UnusableCounts::default();
        let pair = self.pool.pairs.at(exit, self.origin).map(|pair| pair.gate.state());
        let (whose, state) = match (self.pool.exits.get(exit).map(|record| record.gate.state()), pair) {
            (Some(State::Open) | None, Some(pair)) => (&mut counts.cooling, pair),
            (state, _) => (&mut counts.dead, state.unwrap_or(State::Open)),
        };
        let retry_at = match state {
            State::Resting { until } => {
                *whose = 1;
                until
            }
            State::Trial { .. } => {
                counts.on_trial = 1;
                self.now + TRIAL
            }
            State::Open => {
                counts.reserved = u32::from(self.reserved(exit));
                self.now + TRIAL
            }
        };
        NoExit::Unusable { retry_at: retry_at.max(self.now), counts }
    }
}
