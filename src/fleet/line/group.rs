//! What somebody waits for.

use crate::pool::{Blocked, ExitIx, OriginIx};
use crate::request::{Granularity, LeaseRequest};
use std::time::Duration;

/// Waiters of one group wait for the same: if the first of them cannot go, none can.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Group {
    /// Where they want to go; nowhere if they wait for the fleet itself.
    pub(super) at: Option<OriginIx>,
    pub(in crate::fleet) of: Of,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Of {
    /// Any exit, for one request.
    AnyOnce,
    /// Any exit, to hold it for so long.
    AnyFor(Duration),
    /// The exit that it holds.
    Own(ExitIx),
    /// Somebody with wants of its own.
    Alone(u64),
    /// Fewer leases out.
    Room,
    /// That something may go at all.
    Running,
    /// That no lease is out.
    Idle,
}

impl Group {
    pub(crate) const ROOM: Self = Self { at: None, of: Of::Room };
    pub(crate) const RUNNING: Self = Self { at: None, of: Of::Running };
    pub(crate) const IDLE: Self = Self { at: None, of: Of::Idle };

    /// Those who wait for any exit that suits, as this request does; `number` is its own.
    pub(crate) fn of(ask: &LeaseRequest, origin: OriginIx, number: u64) -> Self {
        let alone = ask.exclusive || ask.accepted.is_some() || !ask.trail.refused.is_empty();
        let of = match ask.granularity {
            _ if alone => Of::Alone(number),
            Granularity::PerRequest => Of::AnyOnce,
            Granularity::Windowed { .. } | Granularity::Static => Of::AnyFor(ask.granularity.window().0),
        };
        Self { at: Some(origin), of }
    }

    pub(crate) fn blocked(by: Blocked, ask: &LeaseRequest, origin: OriginIx, number: u64) -> Self {
        match by {
            Blocked::Held(exit) => Self { at: Some(origin), of: Of::Own(exit) },
            Blocked::Anyone | Blocked::ForGood => Self::of(ask, origin, number),
        }
    }

    /// Where they want to go.
    pub(crate) const fn origin(self) -> Option<OriginIx> {
        self.at
    }
}
