//! What somebody waits for.

use crate::pool::{ExitIx, OriginIx, Stake, hash_of};
use crate::request::{Affinity, Granularity, LeaseRequest, OnLoss};
use std::time::Duration;

/// Waiters of one group wait for the same: if the first of them cannot go, none can.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Group {
    /// Where they want to go; nowhere if they wait for the fleet itself.
    pub(super) at: Option<OriginIx>,
    /// What they want of an exit, as a number.
    pub(super) filter: u64,
    pub(in crate::fleet) of: Of,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Of {
    /// Any exit, for one request.
    Any,
    /// An exit to hold for so long, in turn or not.
    New(Duration, bool),
    /// The exit that it holds. When that is lost, some are told and others wait on; alone it is usable where others are not.
    Own { exit: ExitIx, fails: bool, alone: bool },
    /// The exit that it holds alone, or any.
    OwnOrAny(ExitIx),
    /// Somebody with wants of its own.
    Alone(u64),
    /// That its origin admits somebody, or one more: whatever the exit.
    Origin,
    /// Fewer leases out.
    Room,
    /// That something may go at all.
    Running,
    /// That no lease is out.
    Idle,
}

impl Group {
    pub(crate) const ROOM: Self = Self { at: None, filter: 0, of: Of::Room };
    pub(crate) const RUNNING: Self = Self { at: None, filter: 0, of: Of::Running };
    pub(crate) const IDLE: Self = Self { at: None, filter: 0, of: Of::Idle };

    /// Those who wait for the origin itself.
    pub(crate) const fn at(origin: OriginIx) -> Self {
        Self { at: Some(origin), filter: 0, of: Of::Origin }
    }

    /// Those who wait for what this request does, which holds this; `number` is its own.
    pub(crate) fn of(ask: &LeaseRequest, origin: OriginIx, stake: Option<Stake>, number: u64) -> Self {
        let wants = ask.exclusive || ask.accepted.is_some() || !ask.trail.refused.is_empty();
        let anew = Of::New(ask.granularity.window().0, ask.affinity == Affinity::RoundRobin);
        let of = match (stake, ask.when_lost()) {
            _ if wants => Of::Alone(number),
            (None, _) if ask.granularity == Granularity::PerRequest => Of::Any,
            (None, _) => anew,
            (Some(own), lost) if own.over || (own.lost && lost == OnLoss::Move) => {
                if own.owned {
                    Of::OwnOrAny(own.exit)
                } else {
                    anew
                }
            }
            (Some(own), OnLoss::Move) if own.busy => {
                Of::Own { exit: own.exit, fails: false, alone: own.alone }
            }
            (Some(own), OnLoss::Move) if own.alone => Of::OwnOrAny(own.exit),
            (Some(_), OnLoss::Move) => Of::Any,
            (Some(own), lost) => Of::Own { exit: own.exit, fails: lost == OnLoss::Fail, alone: own.alone },
        };
        let filter = ask.filter.as_ref().map_or(0, |filter| hash_of(filter));
        Self { at: Some(origin), filter, of }
    }

    /// Whether they want whatever exit there is.
    pub(super) const fn wants_any(self) -> bool {
        matches!(self.of, Of::Any | Of::New(..))
    }

    /// Where they want to go.
    pub(crate) const fn origin(self) -> Option<OriginIx> {
        self.at
    }
}
