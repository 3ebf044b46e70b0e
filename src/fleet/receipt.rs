//! The values that go in and out of the fleet.

use crate::error::UnusableCounts;
use crate::exit::{ExitId, Route};
use crate::outcome::Evidence;
use crate::pool::{Blocked, Reason, Receipt};
use crate::request::{LeaseRequest, Time};
use std::time::Duration;

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

#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) receipt: Receipt,
    pub(crate) route: Route,
    pub(crate) reason: Reason,
    /// This lease is the one trial of an exit or pair that had to rest.
    pub(crate) trial: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    NoUsableExit {
        retry_at: Time,
        counts: UnusableCounts,
        by: Blocked,
    },
    Moved {
        from: ExitId,
        to: Option<ExitId>,
        generation: u32,
    },
    FleetStopped,
    Misuse(&'static str),
    Busy {
        bound: &'static str,
        retry_at: Time,
    },
    /// As many leases are out as may be.
    Full {
        retry_at: Time,
    },
    /// The fleet is drained.
    Closed,
}

pub(crate) struct RetryAsk<'a> {
    pub(crate) receipt: Receipt,
    pub(crate) evidence: Evidence,
    pub(crate) ask: &'a LeaseRequest,
    pub(crate) repeatable: bool,
    pub(crate) replayable: bool,
    pub(crate) deadline: Time,
}
