//! Why nobody may go, and when somebody may.

use super::choose::NoExit;
use super::exits::ExitIx;
use super::gate::State;
use super::view::View;
use crate::error::UnusableCounts;
use crate::exit::ExitId;
use std::time::Duration;

/// When to ask again while somebody else's trial is out: about as long as an answer takes.
const TRIAL: Duration = Duration::from_secs(1);

impl View<'_> {
    /// For all exits. Each is counted once, under the first reason that holds.
    pub(super) fn unusable(&self) -> NoExit {
        let pool = self.pool;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (down, dead) = (pool.down.len(), count(pool.dead.len()));
        let barred = |id: &&ExitId| {
            let at = pool.exits.binary_search_by_key(*id, |exit| exit.id());
            at.is_ok_and(|index| !pool.down.contains(index) && !self.record.benched.contains(index))
        };
        let mut counts = UnusableCounts::default();
        let left = count(pool.exits.len()).saturating_sub(down);
        counts.dead = dead;
        counts.avoided = count(self.ask.trail.refused.iter().filter(barred).count());
        let left = left.saturating_sub(counts.avoided);
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
        let (whose, state) = match (self.pool.exits[exit.index()].gate.state(), pair) {
            (State::Open, Some(pair)) => (&mut counts.cooling, pair),
            (state, _) => (&mut counts.dead, state),
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
