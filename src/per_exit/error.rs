//! Why a request through a client of its exit has no answer.

use crate::error::BoxError;
use crate::outcome::{Failure, Phase, Seen};
use std::error::Error;
use std::fmt;

/// Why [`PerExit`](super::PerExit) has no answer.
///
/// The client's error is boxed, so that clients with the boxed error of tower's own layers serve as well as typed ones.
/// Its `source` is the client's error, to be downcast.
#[derive(Debug)]
#[non_exhaustive]
pub enum PerExitError {
    /// The request names no exit. Nothing was sent, and without an exit nothing will be.
    NoRoute(Failure),
    /// There is no client for this exit: it could not be made. Nothing was sent, and no exit is charged.
    NotMade(Failure),
    /// The client's own error.
    Client(BoxError),
}

impl PerExitError {
    pub(super) fn no_route() -> Self {
        let why = "the request carries no route: a client per exit goes inside LeaseLayer, which puts it there; \
                   nothing is sent without an exit";
        Self::NoRoute(Failure::new(Phase::Request, Seen::Never).because(why))
    }

    /// If the cause is itself a failure it stands as it is: whoever makes the client may know better.
    pub(super) fn not_made(cause: BoxError) -> Self {
        let unknown = |cause| Failure::new(Phase::Request, Seen::Never).because(cause);
        Self::NotMade(cause.downcast().map_or_else(unknown, |failure| *failure))
    }
}

impl fmt::Display for PerExitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failure = match self {
            Self::Client(error) => return write!(f, "{error}"),
            Self::NoRoute(failure) => failure,
            Self::NotMade(failure) => {
                f.write_str("no client could be made for the exit: ")?;
                failure
            }
        };
        match failure.source() {
            Some(cause) => write!(f, "{cause}"),
            None => write!(f, "{failure}"),
        }
    }
}

impl Error for PerExitError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoRoute(failure) | Self::NotMade(failure) => Some(failure),
            Self::Client(error) => Some(&**error),
        }
    }
}
