//! A refusal of the fleet, as its caller gets it.

use super::Scheduler;
use crate::error::LeaseError;
use crate::fleet::Refusal;
use crate::request::{Origin, Time};
use std::time::Instant;

impl Scheduler {
    #[cold]
    pub(super) fn refused(&self, refusal: Refusal, origin: &Origin) -> LeaseError {
        let at = |time| -> Instant { self.instant(time).into_std() };
        let now = self.now();
        let busy = |bound, retry_at: Time| LeaseError::Busy {
            bound,
            retry_at: at(retry_at),
            retry_in: retry_at.since(now),
        };
        match refusal {
            Refusal::NoUsableExit { retry_at, counts, .. } => LeaseError::NoUsableExit {
                origin: origin.to_kept(),
                retry_at: at(retry_at),
                retry_in: retry_at.since(now),
                counts,
            },
            Refusal::OriginHeld { retry_at, by } => LeaseError::OriginHeld {
                origin: origin.to_kept(),
                retry_at: at(retry_at),
                retry_in: retry_at.since(now),
                why: by,
            },
            Refusal::Behind { retry_at, .. } => LeaseError::Behind {
                origin: origin.to_kept(),
                retry_at: at(retry_at),
                retry_in: retry_at.since(now),
            },
            Refusal::FleetStopped => LeaseError::FleetStopped,
            Refusal::Closed => LeaseError::Closed,
            Refusal::Misuse(what) => LeaseError::Misuse(what),
            Refusal::Moved { from, to, generation } => LeaseError::Moved { from, to, generation },
            Refusal::Full { retry_at } => busy("as many leases are out as Bounds::leases allows", retry_at),
            Refusal::Busy { bound, retry_at } => busy(bound, retry_at),
        }
    }
}
