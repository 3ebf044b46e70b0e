//! What a request does next: [`RetryRules`] turn the [`Facts`] of an attempt into a [`Verdict`]. Pure arithmetic.
//!
//! ```
//! use tower_egress::verdict::RetryRules;
//!
//! let rules = RetryRules::negotiated().max_attempts(6);
//! assert_ne!(rules, RetryRules::default());
//! ```

mod rules;
#[cfg(test)]
mod tests;

pub(crate) use rules::Rest;
pub use rules::RetryRules;

use crate::outcome::Evidence;
use std::fmt;
use std::time::Duration;

/// What must change before the next attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Switch {
    /// Nothing: a held exit is kept.
    Same,
    /// Another exit.
    Exit,
}

/// Why a request is not sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Why {
    /// It succeeded, or nothing was sent.
    Done,
    /// Nothing was reported of the attempt: say first what it showed.
    Unreported,
    /// The request itself is wrong.
    Fatal,
    /// It was sent as often as allowed.
    Exhausted,
    /// The origin may have acted on it, and it is not known to be repeatable.
    NotRepeatable,
    /// Its body is gone: it was streamed, or larger than the replay cap.
    BodyGone,
    /// No other exit can cure it.
    NoCure,
    /// The origin's blocks depend on the request, and two exits that serve others were refused it.
    RequestBlocked,
    /// No other exit may serve this origin within the deadline.
    NoUsableExit,
    /// The exit that the identity holds is lost, and its move not accepted yet: ask again to learn which comes next.
    ExitLost,
    /// The site as a whole is left alone for longer than the request may wait.
    OriginHeld,
    /// Every login is stopped, until an operator mends one.
    FleetStopped,
    /// The fleet was drained meanwhile: work ends.
    Drained,
    /// The deadline comes first.
    Deadline,
    /// Too many retries are before it: its turn would be more than 30 s away, or after its deadline. It was sent once
    /// at least, and is given back instead of being sent again; nothing is kept for it. Put it aside, do other work, and send it
    /// anew then, as `examples/parked.rs` does.
    Parked {
        /// How long until it may go, from when that was decided on: others that were parked have been told other times.
        retry_in: Duration,
    },
}

impl Why {
    /// Whether the same request may be served later.
    pub(crate) const fn passes(self) -> bool {
        matches!(
            self,
            Self::Exhausted | Self::Deadline | Self::NoUsableExit | Self::OriginHeld | Self::Parked { .. }
        )
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Parked { retry_in } = self {
            let seconds = retry_in.as_secs_f64();
            return write!(
                f,
                "too many retries are before it; put it aside and send it anew in {seconds:.1} s"
            );
        }
        f.write_str(match self {
            Self::Done => "nothing is left to do",
            Self::Unreported => {
                "nothing was reported; report what the attempt showed, then ask what to do next"
            }
            Self::Fatal => "the request itself is wrong",
            Self::Exhausted => "it was sent as often as RetryRules::max_attempts allows",
            Self::NotRepeatable => {
                "the origin may have acted on it; if it may do so twice, say LeaseRequest::repeatable"
            }
            Self::BodyGone => {
                "its body cannot be sent again; give it one in memory, or raise ExitAwareRetryLayer::replay_cap"
            }
            Self::NoCure => "no other exit can cure it",
            Self::RequestBlocked => {
                "the site refuses this request through every exit, and serves others through them; look at the request"
            }
            Self::NoUsableExit => "no other exit may serve this origin within its LeaseRequest::patience and deadline",
            Self::OriginHeld => {
                "the site is left alone as a whole, or is given no more at once, for longer than LeaseRequest::patience and the deadline let it wait"
            }
            Self::ExitLost => {
                "the identity's exit is lost, and its request does not move unasked; lease anew to learn which comes next"
            }
            Self::FleetStopped => "every login is stopped; mend one, then resume the fleet with Scheduler::operator",
            Self::Drained => "the fleet was drained meanwhile; resume it with Scheduler::operator",
            Self::Deadline => "its deadline comes first; raise LeaseRequest::deadline, or send it anew",
            Self::Parked { .. } => "too many retries are before it",
        })
    }
}

impl std::error::Error for Why {}

/// What a request does next.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(clippy::exhaustive_enums, reason = "a request goes on or stops; callers should match it whole")]
pub enum Verdict {
    /// It stops, and the caller gets what it has.
    Stop(Why),
    /// It is sent again.
    Retry {
        /// After this wait, holding no lease.
        delay: Duration,
        /// With this changed.
        switch: Switch,
    },
}

/// What the rules look at.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Facts {
    /// What the attempt showed.
    pub evidence: Evidence,
    /// Heat of the exit just left, at this origin, 0 to 1.
    pub heat_left: f32,
    /// The origin's own block rate over all exits, 0 to 1.
    pub prior: f32,
    /// Heat of the exit that would be next, at this origin, 0 to 1; `None` if no other exit may go now.
    pub heat_next: Option<f32>,
    /// How long until the first exit may go, if none may now.
    pub soonest: Duration,
    /// How long the request may wait for an exit to come back.
    pub patience: Duration,
    /// The origin's blocks depend on the request, and this one was blocked on two exits that serve others.
    pub request_blocked: bool,
    /// How often the request was sent, this attempt included.
    pub sends: u32,
    /// How often it may be.
    pub max_sends: u32,
    /// Whether it may be sent twice.
    pub repeatable: bool,
    /// Whether its body can be sent again.
    pub replayable: bool,
    /// Time left before the deadline.
    pub left: Duration,
    /// A draw for the jitter, uniform over all of u64.
    pub draw: u64,
}
