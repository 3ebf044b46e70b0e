//! What earlier attempts of the same request leave to the next.

use super::Time;
use crate::exit::ExitId;
use crate::outcome::{Evidence, FailureDomain, Outcome, Seen};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Most exits that one request keeps away from.
const MAX_AVOID: usize = 16;

/// Travels with a request from attempt to attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trail {
    /// When everything must be over; fixed by the first lease.
    pub(crate) deadline: Option<Time>,
    /// The turn that its next attempt has among all retries.
    pub(crate) turn: Option<Kept>,
    /// Behind a pointer: most requests are sent once, and a lease request is moved and cloned with each. Read through `Deref`.
    pub(crate) past: Option<Arc<Past>>,
}

/// What the attempts so far have shown. Of a request that was not sent yet, nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
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
}

static NOTHING: Past = Past {
    sends: 0,
    limited: 0,
    avoid: Vec::new(),
    refused: Vec::new(),
    burned: 0,
    clean_blocks: 0,
    clean_block: None,
};

impl Deref for Trail {
    type Target = Past;

    #[inline]
    fn deref(&self) -> &Past {
        self.past.as_deref().unwrap_or(&NOTHING)
    }
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
        let past = self.past_mut();
        past.sends = past.sends.saturating_add(1);
        let limited = matches!(evidence.outcome, Outcome::RateLimited { .. });
        past.limited = past.limited.saturating_add(u32::from(limited));
        // A gateway status in the absolute form may be the exit's own word.
        let doubtful = matches!(evidence.outcome, Outcome::OriginError { .. }) && evidence.seen != Seen::Seen;
        let other = match evidence.outcome.domain() {
            FailureDomain::Exit | FailureDomain::Pair | FailureDomain::Credential => true,
            FailureDomain::Target | FailureDomain::ProviderTarget => true,
            _ => doubtful,
        };
        if other {
            note(&mut past.avoid, exit);
        }
        if matches!(evidence.outcome, Outcome::Blocked { .. }) {
            past.burned = past.burned.saturating_add(1);
            if !charged {
                note(&mut past.refused, exit);
            }
        }
    }

    /// The exit that was blocked served others: if that is laid to the request, it goes through none of them again.
    pub(crate) fn record_clean_block(&mut self, exit: ExitId, lease: u64) {
        let past = self.past_mut();
        (past.clean_blocks, past.clean_block) = (past.clean_blocks.saturating_add(1), Some(lease));
        note(&mut past.refused, exit);
    }

    pub(crate) fn past_mut(&mut self) -> &mut Past {
        Arc::make_mut(self.past.get_or_insert_default())
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.past.as_ref().is_none_or(|past| past.avoid.is_empty() && past.refused.is_empty())
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
