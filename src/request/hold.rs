//! How long an exit is held, by whom, where, and what happens when it is lost. Separate axes: any combination is a choice.
//!
//! | | key, worker, origin | round robin |
//! |---|---|---|
//! | per request | nothing is held; the better of two drawn at random; the key is a label | exact turn |
//! | windowed | held per key, worker or origin | one exit of the whole pool per window, in turn |
//! | static | held for life | refused: an exit for life is nobody's turn |

use std::num::NonZeroU32;
use std::time::Duration;

/// How long one exit is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Granularity {
    /// Not at all: every request is placed anew.
    PerRequest,
    /// For a window, which ends at whichever bound comes first. With neither it does not end.
    Windowed {
        /// The window's length. Windows of different holders begin at different times, so the first one may be shorter.
        max_age: Option<Duration>,
        /// How many leases a window may serve.
        max_uses: Option<NonZeroU32>,
    },
    /// For life.
    Static,
}

impl Granularity {
    /// The length of a window, and its uses. What has no end is a window that never ends.
    #[inline]
    pub(crate) fn window(self) -> (Duration, Option<NonZeroU32>) {
        match self {
            Self::Windowed { max_age, max_uses } => (max_age.unwrap_or(Duration::MAX), max_uses),
            Self::PerRequest | Self::Static => (Duration::MAX, None),
        }
    }
}

/// Who shares an exit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Affinity {
    /// Requests of one key.
    Key,
    /// Requests of one worker, whatever their keys. The request must name it: [`LeaseRequest::worker`].
    ///
    /// [`LeaseRequest::worker`]: crate::LeaseRequest::worker
    Worker,
    /// All requests to one origin.
    Origin,
    /// Nobody in particular: exits take turns.
    RoundRobin,
}

/// Where a held exit is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Scope {
    /// At each origin another one: what one site refuses costs the others nothing.
    PerOrigin,
    /// The same at all origins: a login must not change address between the hosts of a site.
    AllOrigins,
}

/// How long a connection through an exit serves. Whatever is asked, a gateway that rotates by itself has one a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Freshness {
    /// It is kept, and serves whoever leases the exit next.
    #[default]
    Keep,
    /// It serves those alone who hold the exit, and ends with their hold. What holds nothing has one a request.
    PerLease,
    /// One a request.
    Fresh,
}

/// What happens when a held exit is lost: dead, or burned at the origin that is asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OnLoss {
    /// Another exit is held from now on. While the held one may only not be used for a moment (it was told to slow down, or
    /// failed this request once), another is lent.
    Move,
    /// The request is refused until the exit is back.
    Wait,
    /// The request is refused, with the exit that would come next, until the move is accepted by
    /// [`LeaseRequest::generation`](crate::LeaseRequest::generation).
    Fail,
}
