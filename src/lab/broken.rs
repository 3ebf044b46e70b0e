//! How an exchange breaks in the lab.

use crate::outcome::{Failure, Phase, Seen};
use std::error::Error;
use std::fmt;

/// An exchange that the lab broke off, as the script said. Its source is the [`Failure`] that a client on real sockets
/// would report, so that `ClassifyLayer` finds it.
#[derive(Debug)]
pub struct Broken {
    what: &'static str,
    failure: Failure,
}

impl Broken {
    pub(super) const fn new(what: &'static str, failure: Failure) -> Self {
        Self { what, failure }
    }

    /// The body ended before its time.
    pub(super) fn body() -> Self {
        Self::new("the body was cut off", Failure::new(Phase::Body, Seen::Seen))
    }

    /// The phase that broke, and what is proven.
    #[must_use]
    pub const fn failure(&self) -> &Failure {
        &self.failure
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (lab: {})", self.failure, self.what)
    }
}

impl Error for Broken {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.failure)
    }
}
