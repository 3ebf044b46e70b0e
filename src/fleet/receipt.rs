//! What a lease leaves in the caller's hands.

use crate::error::UnusableCounts;
use crate::exit::{ExitId, Route};
use crate::outcome::Evidence;
use crate::pool::{BindingIx, ExitIx, OriginIx, Reason, Slot};
use crate::request::{LeaseRequest, Time};
use std::time::Duration;

/// Names one lease, for ever.
pub(crate) type LeaseId = Slot;

/// The proof of a lease. Small and copied freely; a report that comes after the lease has ended goes by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receipt {
    pub(crate) id: LeaseId,
    pub(crate) exit: ExitId,
    pub(crate) at: (ExitIx, OriginIx),
    pub(crate) binding: Option<(BindingIx, u32)>,
    pub(crate) sent: Time,
    /// A block by this attempt is charged: the request has not burned its share of exits yet.
    pub(crate) charged: bool,
}

impl Receipt {
    /// The exit that was leased.
    #[must_use]
    pub const fn exit(&self) -> ExitId {
        self.exit
    }

    /// How often the exit of this key's binding had been replaced; `None` if nothing is held.
    #[must_use]
    pub fn generation(&self) -> Option<u32> {
        self.binding.map(|(_, generation)| generation)
    }
}

/// How a lease ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Release {
    /// It was reported.
    Done,
    /// The caller went away before there was an outcome. Blames nobody, unless it had waited for long.
    Dropped {
        /// How long after the lease was given.
        after: Duration,
    },
    /// Nothing was sent.
    NotAttempted,
}

#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) receipt: Receipt,
    pub(crate) route: Route,
    pub(crate) reason: Reason,
    /// This lease is the one trial of an exit or pair that had to rest.
    pub(crate) trial: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    NoUsableExit { retry_at: Time, counts: UnusableCounts },
    Busy { bound: &'static str, retry_at: Time },
}

pub(crate) struct RetryAsk<'a> {
    pub(crate) receipt: Receipt,
    pub(crate) evidence: Evidence,
    pub(crate) ask: &'a LeaseRequest,
    pub(crate) repeatable: bool,
    pub(crate) replayable: bool,
    pub(crate) deadline: Time,
}
