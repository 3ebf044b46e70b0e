//! Why no lease was given, and what would cure it.

use super::Next;
use crate::exit::ExitId;
use crate::request::Origin;
use std::fmt;
use std::time::{Duration, Instant};

/// Why each exit of the pool could not serve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct UnusableCounts {
    /// Unreachable for every origin.
    pub dead: u32,
    /// Resting after a refusal by this origin.
    pub cooling: u32,
    /// Being tried by one request after a rest.
    pub on_trial: u32,
    /// Behind a gateway that is overloaded or unreachable, and left alone for a moment.
    pub held: u32,
    /// Waiting for one lease to show whether their login is still right.
    pub suspect: u32,
    /// Their login was refused twice.
    pub stopped: u32,
    /// Kept out by a person.
    pub quarantined: u32,
    /// Refused for this request before, which has burned its share of exits.
    pub avoided: u32,
    /// Held by somebody else alone.
    pub reserved: u32,
    /// Used as often as may be: with as many leases out as their pool allows, or leased for this origin a moment ago.
    pub busy: u32,
}

impl UnusableCounts {
    /// How many exits could not serve.
    #[must_use]
    pub const fn total(&self) -> u32 {
        let shared = self.held + self.suspect + self.stopped + self.quarantined;
        self.dead + self.cooling + self.on_trial + shared + self.avoided + self.reserved + self.busy
    }
}

impl UnusableCounts {
    /// What cures it where no time does, if it is the same for all exits.
    const fn cure(&self) -> Option<&'static str> {
        match self.total() {
            0 => None,
            all if all == self.avoided => {
                Some("each was refused for this request before: look at the request, or add exits")
            }
            all if all == self.quarantined => Some("release them with Scheduler::operator, or add exits"),
            all if all == self.stopped + self.quarantined => {
                Some("mend the login with Scheduler::operator, or add exits with another")
            }
            _ => None,
        }
    }
}

impl fmt::Display for UnusableCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (self.dead, "dead"),
            (self.cooling, "cooling"),
            (self.on_trial, "on trial"),
            (self.held, "behind a gateway that is held"),
            (self.suspect, "with a login in doubt"),
            (self.stopped, "with a stopped login"),
            (self.quarantined, "kept out by hand"),
            (self.avoided, "refused for this request before"),
            (self.reserved, "held by somebody else alone"),
            (self.busy, "used as often as may be"),
        ];
        let mut comma = "";
        for (count, name) in named.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{comma}{count} {name}")?;
            comma = ", ";
        }
        Ok(())
    }
}

/// What keeps requests from a site as a whole, whatever the exit. No other exit cures that, and no new one: time does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum HeldBy {
    /// It fails everybody, and is left alone for a while; then one request tries it.
    Failures,
    /// As many requests are there as it is given at once: because too many failed
    /// ([`OriginSnapshot::limit`](crate::scheduler::OriginSnapshot::limit)), or because it was left alone and comes back step by step. Whether fewer are a
    /// cure shows by itself, and the limit goes if they are not
    /// ([`Event::NotOurRate`](crate::scheduler::Event::NotOurRate)).
    Limit,
}

/// Why no lease was given. Each says its cure; [`next`](Self::next) says it to a program.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LeaseError {
    /// No exit may serve this origin now.
    NoUsableExit {
        /// The site.
        origin: Origin,
        /// When the first exit may serve again, by tokio's clock (which tests can pause).
        retry_at: Instant,
        /// How long that was away when the lease was refused.
        retry_in: Duration,
        /// Why each exit could not.
        counts: UnusableCounts,
    },
    /// The site as a whole is left alone for a while, or bears no more requests at once now. No exit is at fault, and more of
    /// them would not help.
    OriginHeld {
        /// The site.
        origin: Origin,
        /// When to ask again, by tokio's clock (which tests can pause).
        retry_at: Instant,
        /// How long that was away when the lease was refused.
        retry_in: Duration,
        /// What keeps requests from it.
        why: HeldBy,
    },
    /// Others wait in line for the same, and go first: who has no patience to wait with them does not pass them.
    Behind {
        /// The site.
        origin: Origin,
        /// When to ask again, by tokio's clock (which tests can pause).
        retry_at: Instant,
        /// How long that was away when the lease was refused.
        retry_in: Duration,
    },
    /// As many leases are out, as many requests wait or as many origins are known and busy as the scheduler was built for:
    /// see [`Bounds`](crate::scheduler::Bounds).
    Busy {
        /// Which bound was met.
        bound: &'static str,
        /// When to ask again.
        retry_at: Instant,
        /// How long that was away when the lease was refused.
        retry_in: Duration,
    },
    /// The exit that an identity holds is lost, and its request does not move unasked. Nothing was sent.
    Moved {
        /// The exit that was held.
        from: ExitId,
        /// The exit that would come next; `None` if it is a session that a gateway still has to give.
        to: Option<ExitId>,
        /// What to accept the move with: [`LeaseRequest::generation`](crate::LeaseRequest::generation).
        generation: u32,
    },
    /// The login of every exit was refused, and refused again when it was tried over a fresh connection. Nothing is sent,
    /// and nothing billed, until new credentials are set or [`Operator::resume`](crate::scheduler::Operator::resume) is
    /// called.
    FleetStopped,
    /// The fleet is drained, which is how work ends: a worker that gets this should stop. Nothing is leased before [`Operator::resume`](crate::scheduler::Operator::resume) is called.
    Closed,
    /// The request's deadline has passed.
    DeadlinePassed,
    /// The request carries no [`LeaseRequest`](crate::LeaseRequest).
    NoLeaseRequest,
    /// The layers, or a plain caller's calls, are in an order that cannot work.
    Misuse(&'static str),
}

impl LeaseError {
    /// How long the time to ask again was away when the lease was refused: the value for a `Retry-After` of your own.
    #[must_use]
    pub const fn retry_in(&self) -> Option<Duration> {
        match self {
            Self::NoUsableExit { retry_in, .. }
            | Self::OriginHeld { retry_in, .. }
            | Self::Behind { retry_in, .. }
            | Self::Busy { retry_in, .. } => Some(*retry_in),
            Self::Moved { .. }
            | Self::FleetStopped
            | Self::Closed
            | Self::DeadlinePassed
            | Self::NoLeaseRequest
            | Self::Misuse(_) => None,
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn next(&self) -> Next {
        match self {
            Self::NoUsableExit { retry_at, .. }
            | Self::OriginHeld { retry_at, .. }
            | Self::Behind { retry_at, .. }
            | Self::Busy { retry_at, .. } => Next::At(*retry_at),
            Self::FleetStopped => Next::WhenResumed,
            Self::Moved { .. } | Self::DeadlinePassed | Self::Closed => Next::Never,
            Self::NoLeaseRequest | Self::Misuse(_) => Next::Bug,
        }
    }
}

/// What, where, when to ask again, and what else would cure it.
impl fmt::Display for LeaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: &Duration| time.as_secs_f64();
        match self {
            Self::NoUsableExit { origin, counts, retry_in, .. } => {
                write!(f, "no exit may serve {origin} now")?;
                if counts.total() > 0 {
                    write!(f, " ({counts})")?;
                }
                match counts.cure() {
                    Some(cure) => write!(f, "; {cure}"),
                    None => {
                        let cure = "then, raise LeaseRequest::patience, or add exits";
                        write!(f, "; the first may in {:.1} s: ask again {cure}", seconds(retry_in))
                    }
                }
            }
            Self::OriginHeld { origin, retry_in, why: HeldBy::Failures, .. } => {
                let cure = "raise LeaseRequest::patience";
                write!(f, "{origin} fails through every exit, and is left alone until one request has tried it; ask again in ")?;
                write!(f, "{:.1} s, or {cure}", seconds(retry_in))
            }
            Self::OriginHeld { origin, retry_in, why: HeldBy::Limit, .. } => {
                write!(f, "{origin} has as many requests as it is given at once now; ask again in ")?;
                write!(f, "{:.1} s, or raise LeaseRequest::patience", seconds(retry_in))
            }
            Self::Behind { origin, retry_in, .. } => {
                write!(f, "others wait for {origin} and go first; ask again in {:.1} s, or raise ", seconds(retry_in))?;
                f.write_str("LeaseRequest::patience (in the layers, or with Scheduler::acquire) and wait with them")
            }
            Self::Busy { bound, retry_in, .. } => {
                write!(f, "{bound}; ask again in {:.1} s, run fewer requests at once, ", seconds(retry_in))?;
                f.write_str("or raise the bound with Builder::bounds")
            }
            Self::Moved { from, to, generation } => {
                write!(f, "the identity's exit {from} is lost and ")?;
                match to {
                    Some(to) => write!(f, "{to}")?,
                    None => f.write_str("a new session")?,
                }
                let cure = "would come next; drop what is bound to the old address, then accept with";
                write!(f, " {cure} LeaseRequest::generation({generation})")
            }
            Self::FleetStopped => f.write_str(
                "the proxies refuse the login of every exit; mend it, then resume the fleet with Scheduler::operator",
            ),
            Self::Closed => f.write_str("the fleet is drained; resume it with Scheduler::operator to lease again"),
            Self::DeadlinePassed => f.write_str(
                "the request's deadline has passed; raise LeaseRequest::deadline, or run fewer requests at once",
            ),
            Self::NoLeaseRequest => f.write_str(
                "the request carries no LeaseRequest; insert one into its extensions, or give the layer one with \
                 LeaseLayer::default_lease or LeaseLayer::with",
            ),
            Self::Misuse(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for LeaseError {}
