//! One who waits, and its place among the others.

use super::Group;
use super::shares::Share;
use crate::pool::{LeaseId, Promise};
use crate::request::{LeaseRequest, Origin, Time};

/// Who goes before whom: in order of arrival, but for [classes](super::shares) at one origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(in crate::fleet) struct Rank {
    /// It counts as having come just before the one of that number; its own where there are no classes.
    pub(super) before: u64,
    pub(super) stamp: u64,
    pub(super) number: u64,
}

impl Rank {
    pub(super) const FIRST: Self = Self { before: 0, stamp: 0, number: 0 };
    pub(super) const LAST: Self = Self { before: u64::MAX, stamp: u64::MAX, number: u64::MAX };

    pub(super) const fn of(number: u64) -> Self {
        Self { before: number, stamp: 0, number }
    }

    /// What comes after it, if anybody.
    pub(super) const fn next(self) -> Self {
        Self { number: self.number + 1, ..self }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fleet) enum Turn {
    Queued,
    Called {
        until: Time,
    },
    /// It was called and did not come. It keeps its place, but is not called again before it comes by itself.
    PassedOver,
    /// It was asked to come and did not. When it does it has its old place.
    Missed,
}

pub(in crate::fleet) struct Waiter {
    /// What it asks for, and where; nothing if it waits for a state of the fleet.
    pub(in crate::fleet) want: Option<(LeaseRequest, Origin)>,
    pub(in crate::fleet) group: Group,
    /// Its number in order of arrival.
    pub(in crate::fleet) number: u64,
    pub(super) rank: Rank,
    /// Where it has its share, if there are classes.
    pub(super) share: Option<Share>,
    /// It was called for any exit that there is, and none is kept for it.
    pub(super) open: bool,
    /// When its patience ends.
    pub(in crate::fleet) until: Time,
    pub(in crate::fleet) turn: Turn,
    pub(in crate::fleet) promise: Option<Promise>,
    /// Who holds what it holds, and until when.
    pub(super) holder: Option<u64>,
    pub(in crate::fleet) held_until: Time,
    /// Until when it is to come, for it was asked to look after the time.
    pub(super) asked: Option<Time>,
    /// It is among those to be woken.
    pub(super) woken: bool,
}

impl Waiter {
    /// The name under which places of trials are kept for it. Those of leases are counted from the other end.
    pub(in crate::fleet) const fn name(&self) -> LeaseId {
        LeaseId(u64::MAX - self.number)
    }

    pub(in crate::fleet) const fn is_queued(&self) -> bool {
        matches!(self.turn, Turn::Queued)
    }
}
