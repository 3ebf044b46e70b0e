//! Refusals of a gateway with nothing served between them: an outage, or the first of a burst, since a refusal is back long before
//! a page is.

use crate::knobs::Throttle;
use crate::request::Time;

/// Attempts that a gateway refused one after the other.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Series {
    refused: u32,
    began: Time,
    /// Those that were out when it began, and may be served still.
    older: u32,
}

impl Series {
    pub(super) const fn is_on(&self) -> bool {
        self.refused > 0
    }

    pub(super) fn note(&mut self, now: Time, sent: Time, out: u32, refused: bool) {
        if !refused {
            *self = Self::default();
            return;
        }
        if self.refused == 0 {
            // The one that is refused is out still.
            (self.began, self.older) = (now, out.saturating_sub(1));
        } else if sent < self.began {
            self.older = self.older.saturating_sub(1);
        }
        self.refused += 1;
    }

    /// Nobody is served: of those that were out before, none either. (Who leaves without a word is not waited for.)
    pub(super) fn is_outage(&self, rules: &Throttle, out: u32) -> bool {
        self.refused >= rules.outage && (self.older == 0 || self.refused / 4 >= out)
    }
}
