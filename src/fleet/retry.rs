//! Whether a request is sent again: the facts of the fleet, the verdict on them, and its turn.

use super::lane::TurnAsk;
use super::{Booking, Fleet, RetryAsk};
use crate::draw::{Stream, draw};
use crate::error::HeldBy;
use crate::pool::{Blocked, NoExit};
use crate::request::{LeaseRequest, Time};
use crate::verdict::{Facts, Verdict, Why};
use std::num::NonZeroU32;
use std::time::Duration;

impl Fleet {
    /// When the first exit may serve the request, now or later.
    pub(crate) fn soonest(&mut self, now: Time, ask: &RetryAsk<'_>) -> Time {
        let (_, origin) = ask.receipt.at;
        match self.choose(now, ask.ask, origin) {
            Err(NoExit::Unusable { by: Blocked::ForGood, .. }) => now,
            Err(NoExit::Unusable { retry_at, .. } | NoExit::Held { retry_at, .. }) => retry_at.max(now),
            _ => now,
        }
    }

    /// As [`retry_at_turn`](Self::retry_at_turn), for who is sure to come.
    #[cfg(any(test, feature = "lab"))]
    pub(crate) fn retry(&mut self, now: Time, ask: &RetryAsk<'_>) -> Verdict {
        self.retry_at_turn(now, ask).0
    }

    /// `ask.trail` already counts this attempt. With the turn that is reserved, if one had to be.
    pub(crate) fn retry_at_turn(&mut self, now: Time, ask: &RetryAsk<'_>) -> (Verdict, Option<Booking>) {
        self.pool.tick(now);
        let (_, origin) = ask.receipt.at;
        let next = self.choose(now, ask.ask, origin);
        let instead = match next {
            Err(NoExit::Stopped) => Why::FleetStopped,
            Err(NoExit::Moved { .. }) => Why::ExitLost,
            Err(NoExit::Held { .. }) => Why::OriginHeld,
            _ => Why::NoUsableExit,
        };
        let facts = Facts {
            evidence: ask.evidence,
            heat_left: self.pool.heat(now, ask.receipt.at.0, origin),
            prior: self.pool.prior(now, origin),
            heat_next: next.as_ref().ok().map(|choice| self.pool.heat_of(now, choice, origin)),
            request_blocked: ask.ask.trail.clean_blocks > 0
                && self.pool.blocks_request(now, origin, ask.ask.trail.clean_blocks),
            soonest: match next {
                // Who asks may be one of those who fill it.
                Ok(_) | Err(NoExit::Held { by: HeldBy::Limit, .. }) => Duration::ZERO,
                Err(NoExit::Unusable { by: Blocked::ForGood, .. }) => Duration::MAX,
                Err(NoExit::Unusable { retry_at, .. } | NoExit::Held { retry_at, .. }) => retry_at.since(now),
                Err(NoExit::Moved { .. } | NoExit::Unheld | NoExit::Unfit | NoExit::Stopped) => Duration::MAX,
            },
            max_sends: self.most_sends(ask.ask),
            sends: ask.ask.trail.sends,
            repeatable: ask.repeatable,
            replayable: ask.replayable,
            patience: ask.ask.patience,
            left: ask.deadline.since(now),
            draw: draw(self.pool.seed(), Stream::Retry, ask.receipt.exit.as_u64(), self.retries),
        };
        self.retries += 1;
        match self.rules.verdict(&facts) {
            Verdict::Stop(Why::NoUsableExit) => (Verdict::Stop(instead), None),
            Verdict::Retry { delay, switch } => {
                let Facts { evidence, left, draw, .. } = facts;
                match self.turn(now, &TurnAsk { origin, evidence, delay, left, draw }) {
                    Ok((delay, booking)) => (Verdict::Retry { delay, switch }, booking),
                    // No sooner than an exit may go, either.
                    Err(turn) => (Verdict::Stop(Why::Parked { retry_in: turn.max(facts.soonest) }), None),
                }
            }
            stop => (stop, None),
        }
    }

    /// How often a request may be sent.
    fn most_sends(&self, ask: &LeaseRequest) -> u32 {
        let most = ask.max_sends.map_or_else(|| self.rules.max_sends(), NonZeroU32::get);
        let free = self.knobs.lane.is_some_and(|lane| !lane.limited_sends_count);
        if free { most.saturating_add(ask.trail.limited) } else { most }
    }
}
