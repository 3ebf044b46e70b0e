//! Errors that say what to do.
//!
//! Everything that goes wrong with a request is one opaque [`Error`]; ask it. A refusal to lease is a [`LeaseError`], a
//! configuration that cannot be used a [`ConfigError`].
//!
//! ```
//! use tower_egress::{Error, Next};
//!
//! fn what_to_do(error: &Error) -> String {
//!     match error.next() {
//!         Next::At(time) => format!("try again at {time:?}"),
//!         Next::Never => "no repetition will help, or it must not be risked".into(),
//!         Next::Bug => format!("the program is wrong: {error}"),
//!         _ => "wait until somebody has resumed the fleet".into(),
//!     }
//! }
//! ```

mod config;
mod lease;
mod nearest;
mod order;
#[cfg(test)]
mod words;

pub use config::ConfigError;
pub(crate) use config::looks_like_proxy;
#[cfg(feature = "config")]
pub(crate) use config::shown_path;
pub use lease::{HeldBy, LeaseError, UnusableCounts};
pub(crate) use nearest::nearest;
pub use order::CarriesRefusal;

use crate::exit::ExitId;
use crate::outcome::{Evidence, Outcome, RetryAfter, WireBytes, causes};
use crate::verdict::Why;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What to do after an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Next {
    /// Try again at this time, by tokio's clock: `tokio::time::Instant::from_std(at)`.
    At(Instant),
    /// Wait until the fleet is resumed.
    WhenResumed,
    /// Nothing: a repetition will not help, or must not be risked.
    Never,
    /// Mend the program or its configuration.
    Bug,
}

/// One attempt of a request, as its trail remembers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// The exit it went through.
    pub exit: ExitId,
    /// What it showed.
    pub outcome: Outcome,
    /// How long the request waited before it.
    pub waited: Duration,
    /// Bytes of its response body that were read.
    pub bytes: u64,
    /// Bytes between this machine and the exit, heads, tunnel and TLS included, once the attempt has ended. Zero where the
    /// client does not count them. Of an attempt that ran out of time, only what was known when it did; the rest is in
    /// [`Snapshot::wire`](crate::scheduler::Snapshot::wire). Attempts that share a connection (HTTP/2) share its bytes, see
    /// [`Traffic`](crate::outcome::Traffic).
    pub wire: WireBytes,
}

impl AttemptRecord {
    pub(crate) const fn new(exit: ExitId, outcome: Outcome, waited: Duration) -> Self {
        Self { exit, outcome, waited, bytes: 0, wire: WireBytes::new(0, 0) }
    }
}

/// Why a request got no answer.
pub struct Error(Box<Repr>);

struct Repr {
    kind: Kind,
    trail: Arc<[AttemptRecord]>,
    /// Why it was not sent again, and when an exit may serve it.
    stopped: Option<(Why, Instant, Duration)>,
}

enum Kind {
    Refused(LeaseError),
    Failed { exit: ExitId, evidence: Evidence, source: BoxError },
    Other(BoxError),
}

impl Error {
    fn new(kind: Kind) -> Self {
        Self(Box::new(Repr { kind, trail: Arc::new([]), stopped: None }))
    }

    /// No lease was given.
    pub(crate) fn refused(refusal: LeaseError) -> Self {
        Self::new(Kind::Refused(refusal))
    }

    /// An attempt failed.
    pub(crate) fn failed(exit: ExitId, evidence: Evidence, source: BoxError) -> Self {
        Self::new(Kind::Failed { exit, evidence, source })
    }

    /// An error of another layer or service of the stack: a timeout's, a load shedder's, a client's that is not ready. An
    /// egress error comes back as it is; one that lies deeper in the chain of sources still answers here.
    ///
    /// ```
    /// use tower_egress::{Error, LeaseError, Next};
    ///
    /// let refused = Error::from(LeaseError::DeadlinePassed);
    /// assert!(Error::other(refused).is_refusal());
    /// let foreign = Error::other(std::io::Error::other("overloaded"));
    /// assert_eq!((foreign.exit(), foreign.next()), (None, Next::Never));
    /// ```
    #[must_use]
    pub fn other(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        match source.into().downcast::<Self>() {
            Ok(own) => *own,
            Err(foreign) => Self::new(Kind::Other(foreign)),
        }
    }

    /// The retry layer stopped here. `at` is when the first exit may serve the request, now or later, and `wait` how long
    /// until then.
    pub(crate) fn stop(&mut self, why: Why, (at, wait): (Instant, Duration)) {
        self.0.stopped = Some((why, at, wait));
    }

    /// The egress error that a foreign one carries.
    fn inner(&self) -> Option<&Self> {
        match &self.0.kind {
            Kind::Other(source) => Self::of(&**source),
            Kind::Refused(_) | Kind::Failed { .. } => None,
        }
    }

    pub(crate) fn attach(&mut self, trail: Arc<[AttemptRecord]>) {
        self.0.trail = trail;
    }

    /// What to do about it. After a failure: [`Next::At`] where the request may be repeated and an exit could cure it, only
    /// not within its sends or its deadline, or before its turn among all retries; else [`Next::Never`]. Without a retry layer, and for a body that broke,
    /// nobody has judged that: it is `Never`, and whether to ask again is yours to say.
    #[must_use]
    pub fn next(&self) -> Next {
        match &self.0.kind {
            Kind::Refused(refusal) => refusal.next(),
            Kind::Failed { .. } => match self.0.stopped {
                Some((why, at, _)) if why.passes() => Next::At(at),
                Some((Why::FleetStopped, ..)) => Next::WhenResumed,
                _ => Next::Never,
            },
            Kind::Other(_) => self.inner().map_or(Next::Never, Self::next),
        }
    }

    /// Why the request was not sent again; `None` if nobody has judged that: there was no attempt, or no retry layer.
    #[must_use]
    pub fn why(&self) -> Option<Why> {
        match self.inner() {
            Some(inner) => inner.why(),
            None => self.0.stopped.map(|(why, ..)| why),
        }
    }

    /// What the last attempt showed; `None` if there was none.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.0.kind {
            Kind::Failed { evidence, .. } => Some(evidence.outcome),
            Kind::Refused(_) | Kind::Other(_) => self.attempts().last().map(|attempt| attempt.outcome),
        }
    }

    /// The exit of the last attempt; `None` if there was none.
    #[must_use]
    pub fn exit(&self) -> Option<ExitId> {
        match &self.0.kind {
            Kind::Failed { exit, .. } => Some(*exit),
            Kind::Refused(_) | Kind::Other(_) => self.attempts().last().map(|attempt| attempt.exit),
        }
    }

    /// The attempts, first to last; the last sixteen if there were more. Empty without a retry layer.
    #[must_use]
    pub fn attempts(&self) -> &[AttemptRecord] {
        match self.inner() {
            Some(inner) => inner.attempts(),
            None => &self.0.trail,
        }
    }

    /// How long to leave it alone, as a `Retry-After` of your own would say it, measured when the error was made: what the
    /// failed answer asked for, else how long until an exit may serve. There is one wherever [`next`](Self::next) is
    /// [`Next::At`].
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.0.kind {
            Kind::Failed { evidence, .. } => {
                let until = match (self.next(), self.0.stopped) {
                    (Next::At(_), Some((_, _, wait))) => Some(wait),
                    _ => None,
                };
                evidence.retry_after.map(RetryAfter::wait).max(until)
            }
            Kind::Refused(refusal) => refusal.retry_in(),
            Kind::Other(_) => self.inner().and_then(Self::retry_after),
        }
    }

    /// Whether no lease was given: nothing was sent by the attempt that ended the request.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.refusal().is_some()
    }

    /// The refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&LeaseError> {
        match &self.0.kind {
            Kind::Refused(refusal) => Some(refusal),
            Kind::Failed { .. } => None,
            Kind::Other(_) => self.inner().and_then(Self::refusal),
        }
    }

    /// Finds this error behind the boxed error that tower's own layers make.
    #[must_use]
    pub fn of<'a>(error: &'a (dyn std::error::Error + Send + Sync + 'static)) -> Option<&'a Self> {
        causes(error).find_map(|cause| cause.downcast_ref())
    }
}

impl From<LeaseError> for Error {
    fn from(refusal: LeaseError) -> Self {
        Self::refused(refusal)
    }
}

/// The sentence, which a `main` that returns the error prints; with `{:#?}` its parts.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return fmt::Display::fmt(self, f);
        }
        let mut out = f.debug_struct("Error");
        match &self.0.kind {
            Kind::Refused(refusal) => out.field("refused", refusal),
            Kind::Failed { exit, evidence, source } => {
                out.field("exit", exit).field("evidence", evidence).field("source", source)
            }
            Kind::Other(source) => out.field("other", source),
        };
        out.field("why", &self.why()).field("attempts", &self.0.trail).finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Refused(refusal) => fmt::Display::fmt(refusal, f)?,
            Kind::Failed { exit, evidence, source } => {
                write!(f, "{} through exit {exit}: {source}", evidence.outcome)?;
            }
            Kind::Other(source) => write!(f, "a layer or service of the stack failed: {source}")?,
        }
        if self.0.trail.len() > 1 {
            write!(f, " (after {} attempts)", self.0.trail.len())?;
        }
        match self.0.stopped {
            Some((why, ..)) => write!(f, "; not sent again: {why}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            Kind::Refused(refusal) => Some(refusal),
            Kind::Failed { source, .. } | Kind::Other(source) => Some(&**source),
        }
    }
}
