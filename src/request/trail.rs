//! What earlier attempts of the same request leave to the next.

use super::Time;
use crate::exit::ExitId;
use crate::outcome::{FailureDomain, Outcome};

/// Most exits that one request keeps away from.
pub(crate) const MAX_AVOID: usize = 16;

/// Travels with a request from attempt to attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trail {
    /// How often the request was sent.
    pub(crate) sends: u32,
    /// Exits it should not use again.
    pub(crate) avoid: Vec<ExitId>,
    /// How many exits it has burned.
    pub(crate) burned: u8,
    /// When everything must be over; fixed by the first lease.
    pub(crate) deadline: Option<Time>,
}

impl Trail {
    pub(crate) fn avoid(&mut self, exit: ExitId) {
        if !self.avoid.contains(&exit) {
            if self.avoid.len() == MAX_AVOID {
                self.avoid.remove(0);
            }
            self.avoid.push(exit);
        }
    }

    /// Counts an attempt that is over. Only what another exit can cure makes the request keep away from this one.
    pub(crate) fn record(&mut self, exit: ExitId, outcome: &Outcome) {
        self.sends = self.sends.saturating_add(1);
        if matches!(outcome.domain(), FailureDomain::Exit | FailureDomain::Pair) {
            self.avoid(exit);
        }
        if matches!(outcome, Outcome::Blocked { .. }) {
            self.burned = self.burned.saturating_add(1);
        }
    }
}
