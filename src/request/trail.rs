//! What earlier attempts of the same request leave to the next.

use super::Time;
use crate::exit::ExitId;
use crate::outcome::{Evidence, FailureDomain, Outcome, Seen};
use std::fmt;
use std::sync::Arc;

/// Most exits that one request keeps away from.
const MAX_AVOID: usize = 16;

/// Travels with a request from attempt to attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trail {
    /// How often the request was sent.
    pub(crate) sends: u32,
    /// How many of these met a rate limit.
    pub(crate) limited: u32,
    /// Exits it has used in vain: another one is better, if there is one.
    pub(crate) avoid: Vec<ExitId>,
    /// Exits that were refused for this request and not charged for it: none of them again.
    pub(crate) refused: Vec<ExitId>,
    /// How many exits it has burned.
    pub(crate) burned: u8,
    /// How many clean exits it was blocked on, and the number of the last such lease.
    pub(crate) clean_blocks: u8,
    pub(crate) clean_block: Option<u64>,
    /// When everything must be over; fixed by the first lease.
    pub(crate) deadline: Option<Time>,
    /// The turn that its next attempt has among all retries.
    pub(crate) turn: Option<Kept>,
}

/// Something that goes back to its owner when the last clone is dropped, unless it was [taken](Taken::take).
#[derive(Clone)]
pub(crate) struct Kept(Arc<dyn Taken>);

pub(crate) trait Taken: Send + Sync {
    /// It is used now, and goes back no more.
    fn take(&self);
}

impl Kept {
    pub(crate) fn new(kept: impl Taken + 'static) -> Self {
        Self(Arc::new(kept))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Kept {}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

impl Trail {
    /// The attempt that the turn is for begins.
    pub(crate) fn take_turn(&self) {
        if let Some(turn) = &self.turn {
            turn.0.take();
        }
    }

    /// Counts an attempt that is over. Only what another exit can cure makes the request keep away from this one.
    pub(crate) fn record(&mut self, exit: ExitId, evidence: &Evidence, charged: bool) {
        self.sends = self.sends.saturating_add(1);
        let limited = matches!(evidence.outcome, Outcome::RateLimited { .. });
        self.limited = self.limited.saturating_add(u32::from(limited));
        // A gateway status in the absolute form may be the exit's own word.
        let doubtful = matches!(evidence.outcome, Outcome::OriginError { .. }) && evidence.seen != Seen::Seen;
        let other = match evidence.outcome.domain() {
            FailureDomain::Exit | FailureDomain::Pair | FailureDomain::Credential => true,
            FailureDomain::Target | FailureDomain::ProviderTarget => true,
            _ => doubtful,
        };
        if other {
            note(&mut self.avoid, exit);
        }
        if matches!(evidence.outcome, Outcome::Blocked { .. }) {
            self.burned = self.burned.saturating_add(1);
            if !charged {
                note(&mut self.refused, exit);
            }
        }
    }

    /// The exit that was blocked served others: if that is laid to the request, it goes through none of them again.
    pub(crate) fn record_clean_block(&mut self, exit: ExitId, lease: u64) {
        (self.clean_blocks, self.clean_block) = (self.clean_blocks.saturating_add(1), Some(lease));
        note(&mut self.refused, exit);
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.avoid.is_empty() && self.refused.is_empty()
    }
}

fn note(list: &mut Vec<ExitId>, exit: ExitId) {
    if !list.contains(&exit) {
        if list.len() == MAX_AVOID {
            list.remove(0);
        }
        list.push(exit);
    }
}
