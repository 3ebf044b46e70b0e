//! What a choice comes to.

use super::bindings::Place;
use super::ix::{BindingIx, ExitIx, GatewayIx};
use super::reason::Reason;
use crate::error::{HeldBy, UnusableCounts};
use crate::exit::ExitId;
use crate::request::Time;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(super) target: Target,
    pub(crate) reason: Reason,
    pub(super) hold: Hold,
}

/// Through what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Exit(ExitIx),
    /// A session of its own, to be minted for the binding.
    Mint(GatewayIx),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Hold {
    /// Nothing is held: the next draw.
    Nothing,
    /// Nothing is held: the next turn.
    Turn,
    /// The binding stays as it is.
    Keep(BindingIx, u32),
    /// The holder holds the exit from now on.
    Bind(Place),
}

/// Why there is no exit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoExit {
    /// None may serve the origin, or the one that must may not.
    Unusable { retry_at: Time, counts: UnusableCounts, by: Blocked },
    /// The origin admits nobody, or as many are there as may be.
    Held { retry_at: Time, by: HeldBy },
    /// The one that is held is lost, and its holder does not move unasked.
    Moved { from: ExitId, to: Option<ExitId>, generation: u32 },
    /// Every login is stopped.
    Stopped,
    /// Nothing in the pool can be held for so long.
    Unheld,
    /// No named pool is what the request wants, or what its site is served by.
    Unfit,
}

/// What the request must wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocked {
    /// An exit that may serve the origin.
    Anyone,
    /// The one that it holds.
    Holder,
    /// No time and nobody else's answer makes an exit usable for it.
    ForGood,
}
