//! The values that go in and out of the fleet.

use crate::error::{HeldBy, UnusableCounts};
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
    /// Its origin admits nobody, or no more.
    OriginHeld {
        retry_at: Time,
        by: HeldBy,
    },
    /// Others wait for the same, at its origin or for an exit, and go first.
    Behind {
        retry_at: Time,
        at_origin: bool,
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

impl Refusal {
    /// Its name, when it may be over, and why no exit could serve.
    pub(crate) fn facts(&self) -> (&'static str, Option<Time>, UnusableCounts) {
        let none = UnusableCounts::default();
        match *self {
            Self::NoUsableExit { retry_at, counts, .. } => ("no_usable_exit", Some(retry_at), counts),
            Self::OriginHeld { retry_at, by: HeldBy::Failures } => {
                ("origin_held_by_failures", Some(retry_at), none)
            }
            Self::OriginHeld { retry_at, by: HeldBy::Limit } => {
                ("origin_held_by_limit", Some(retry_at), none)
            }
            Self::Behind { retry_at, .. } => ("behind", Some(retry_at), none),
            Self::Moved { .. } => ("moved", None, none),
            Self::FleetStopped => ("fleet_stopped", None, none),
            Self::Misuse(_) => ("misuse", None, none),
            Self::Busy { retry_at, .. } | Self::Full { retry_at } => ("busy", Some(retry_at), none),
            Self::Closed => ("closed", None, none),
        }
    }
}

pub(crate) struct RetryAsk<'a> {
    pub(crate) receipt: Receipt,
    pub(crate) evidence: Evidence,
    pub(crate) ask: &'a LeaseRequest,
    pub(crate) repeatable: bool,
    pub(crate) replayable: bool,
    pub(crate) deadline: Time,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::pool::Event;

    #[test]
    fn each_refusal_has_a_name_of_its_own_and_plain_words_for_it() {
        let (retry_at, counts) = (Time::ZERO, UnusableCounts::default());
        let from = Exit::parse("203.0.113.7:8080").unwrap().id();
        let refusals = [
            Refusal::NoUsableExit { retry_at, counts, by: Blocked::Anyone },
            Refusal::OriginHeld { retry_at, by: HeldBy::Failures },
            Refusal::OriginHeld { retry_at, by: HeldBy::Limit },
            Refusal::Behind { retry_at, at_origin: true },
            Refusal::Moved { from, to: None, generation: 1 },
            Refusal::FleetStopped,
            Refusal::Misuse("two retry layers"),
            Refusal::Full { retry_at },
            Refusal::Closed,
        ];
        let mut names = std::collections::HashSet::new();
        for refusal in refusals {
            let (why, ..) = refusal.facts();
            let origin = crate::request::Origin::new("shop.test");
            let event = Event::Refusal { key: "".into(), origin, why, retry_in: None, counts };
            let text = event.to_string();
            assert!(text.starts_with("a request may not go to shop.test: "), "{text}");
            assert!(names.insert(why) && text.ends_with(&format!(" ({why})")), "{text}");
        }
    }
}
