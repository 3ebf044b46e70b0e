//! What a lease leaves in the caller's hands.

use super::ix::{BindingIx, ExitIx, OriginIx, ParentIx};
use super::named::NamedIx;
use crate::exit::ExitId;
use crate::outcome::{Evidence, Outcome};
use crate::request::{Time, Trail};

/// Names one lease, for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LeaseId(pub(crate) u64);

impl LeaseId {
    /// No lease: there are never as many. A receipt is copied with each lease, and an option would be twice as long.
    pub(crate) const NONE: Self = Self(u64::MAX);
}

/// What an attempt has cost so far. Later words on it cost no more than the worst of them.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Cost {
    /// Faults of its exit.
    pub(crate) faults: f32,
    /// A refusal of its login, or a failure to reach its gateway.
    pub(crate) shared: bool,
    /// A block that is laid to the request, and so costs its exit nothing.
    pub(crate) spared: bool,
}

/// A report that was taken, and when: what a later word on the same attempt amends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Taken {
    pub(crate) evidence: Evidence,
    pub(crate) at: Time,
    pub(crate) cost: Cost,
}

/// The proof of a lease. Small and copied freely; a report that comes after the lease has ended goes by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receipt {
    pub(crate) id: LeaseId,
    pub(crate) exit: ExitId,
    pub(crate) at: (ExitIx, OriginIx),
    pub(crate) named: NamedIx,
    pub(crate) binding: Option<(BindingIx, u32)>,
    pub(crate) sent: Time,
    /// How many leases had the login of its exit before, itself included; 0 if nobody counts them.
    pub(crate) turn: u64,
    /// The gateway that it counts as out at.
    pub(crate) gateway: Option<ParentIx>,
    /// A block by this attempt is charged: the request has not burned its share of exits yet.
    pub(crate) charged: bool,
    /// The request had not been sent before.
    pub(crate) first: bool,
    /// The request had been blocked before.
    pub(crate) again: bool,
    /// The exit had served the origin lately, and not blocked since. Known only where somebody was blocked lately.
    pub(crate) clean: bool,
    /// The request's last lease that was blocked on a clean exit, or [`LeaseId::NONE`].
    pub(crate) blocked: LeaseId,
}

impl Receipt {
    /// The exit that was leased.
    #[must_use]
    pub const fn exit(&self) -> ExitId {
        self.exit
    }

    /// Leaves what the attempt has shown to the next of its request.
    pub(crate) fn record(&self, trail: &mut Trail, evidence: &Evidence) {
        trail.record(self.exit, evidence, self.charged);
        if self.clean && matches!(evidence.outcome, Outcome::Blocked { .. }) {
            trail.record_clean_block(self.exit, self.id.0);
        }
    }

    /// How often the exit of this key's binding had been replaced; `None` if nothing is held.
    #[must_use]
    pub fn generation(&self) -> Option<u32> {
        self.binding.map(|(_, generation)| generation)
    }
}
