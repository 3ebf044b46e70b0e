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
//!         Next::Never => "no repetition will help".into(),
//!         Next::Bug => format!("the program is wrong: {error}"),
//!         _ => "wait until somebody has resumed the fleet".into(),
//!     }
//! }
//! ```

mod config;
mod lease;
mod order;

pub use config::ConfigError;
pub use lease::{LeaseError, UnusableCounts};
pub use order::CarriesRefusal;

use crate::exit::ExitId;
use crate::outcome::{Evidence, Outcome, RetryAfter};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What to do after an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Next {
    /// Try again at this time.
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
}

impl AttemptRecord {
    pub(crate) const fn new(exit: ExitId, outcome: Outcome, waited: Duration) -> Self {
        Self { exit, outcome, waited, bytes: 0 }
    }
}

/// Why a request got no answer.
pub struct Error(Box<Repr>);

struct Repr {
    kind: Kind,
    trail: Arc<[AttemptRecord]>,
}

enum Kind {
    Refused(LeaseError),
    Failed { exit: ExitId, evidence: Evidence, source: BoxError },
    NotReady(BoxError),
}

impl Error {
    fn new(kind: Kind) -> Self {
        Self(Box::new(Repr { kind, trail: Arc::new([]) }))
    }

    /// No lease was given.
    pub(crate) fn refused(refusal: LeaseError) -> Self {
        Self::new(Kind::Refused(refusal))
    }

    /// An attempt failed.
    pub(crate) fn failed(exit: ExitId, evidence: Evidence, source: BoxError) -> Self {
        Self::new(Kind::Failed { exit, evidence, source })
    }

    /// The inner service failed before there was an attempt.
    pub(crate) fn not_ready(source: BoxError) -> Self {
        Self::new(Kind::NotReady(source))
    }

    pub(crate) fn attach(&mut self, trail: Arc<[AttemptRecord]>) {
        self.0.trail = trail;
    }

    /// What to do about it.
    #[must_use]
    pub fn next(&self) -> Next {
        match &self.0.kind {
            Kind::Refused(refusal) => refusal.next(),
            Kind::Failed { .. } | Kind::NotReady(_) => Next::Never,
        }
    }

    /// What the last attempt showed; `None` if there was none.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match &self.0.kind {
            Kind::Failed { evidence, .. } => Some(evidence.outcome),
            Kind::Refused(_) | Kind::NotReady(_) => self.0.trail.last().map(|attempt| attempt.outcome),
        }
    }

    /// The exit of the last attempt; `None` if there was none.
    #[must_use]
    pub fn exit(&self) -> Option<ExitId> {
        match &self.0.kind {
            Kind::Failed { exit, .. } => Some(*exit),
            Kind::Refused(_) | Kind::NotReady(_) => self.0.trail.last().map(|attempt| attempt.exit),
        }
    }

    /// The attempts, first to last; the last sixteen if there were more. Empty without a retry layer.
    #[must_use]
    pub fn attempts(&self) -> &[AttemptRecord] {
        &self.0.trail
    }

    /// How long the last answer asked to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.0.kind {
            Kind::Failed { evidence, .. } => evidence.retry_after.map(RetryAfter::wait),
            Kind::Refused(_) | Kind::NotReady(_) => None,
        }
    }

    /// Whether no lease was given: nothing was sent by the attempt that ended the request.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self.0.kind, Kind::Refused(_))
    }

    /// The refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&LeaseError> {
        match &self.0.kind {
            Kind::Refused(refusal) => Some(refusal),
            Kind::Failed { .. } | Kind::NotReady(_) => None,
        }
    }

    /// Finds this error behind the boxed error that tower's own layers make.
    #[must_use]
    pub fn of<'a>(error: &'a (dyn std::error::Error + Send + Sync + 'static)) -> Option<&'a Self> {
        let mut at: &(dyn std::error::Error + 'static) = error;
        loop {
            if let Some(own) = at.downcast_ref() {
                return Some(own);
            }
            at = at.source()?;
        }
    }
}

impl From<LeaseError> for Error {
    fn from(refusal: LeaseError) -> Self {
        Self::refused(refusal)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        match &self.0.kind {
            Kind::Refused(refusal) => out.field("refused", refusal),
            Kind::Failed { exit, evidence, source } => {
                out.field("exit", exit).field("evidence", evidence).field("source", source)
            }
            Kind::NotReady(source) => out.field("not_ready", source),
        };
        out.field("attempts", &self.0.trail).finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Refused(refusal) => fmt::Display::fmt(refusal, f)?,
            Kind::Failed { exit, evidence, source } => {
                write!(f, "{} through exit {exit}: {source}", evidence.outcome)?;
            }
            Kind::NotReady(source) => write!(f, "the inner service is not ready: {source}")?,
        }
        match self.0.trail.len() {
            0 | 1 => Ok(()),
            n => write!(f, " (after {n} attempts)"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            Kind::Refused(refusal) => Some(refusal),
            Kind::Failed { source, .. } | Kind::NotReady(source) => Some(&**source),
        }
    }
}
