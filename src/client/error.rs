//! Why an exchange through an exit failed.

use super::distrust;
use crate::error::BoxError;
use crate::outcome::{Failure, Phase, Seen};
use std::error::Error;
use std::fmt;

/// Why an exchange through an exit failed. Its [`source`](Error::source) is the [`Failure`], with the phase and what is
/// proven. No login, header or body shows in `Debug` or `Display`.
pub struct ClientError(Failure);

impl ClientError {
    /// The failure: its phase, whether the origin can have seen the request, and the proxy's refusal if there was one.
    #[must_use]
    pub const fn failure(&self) -> &Failure {
        &self.0
    }

    /// The failure, owned.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        self.0
    }

    /// The answer's body broke off.
    pub(super) fn in_body(cause: hyper::Error) -> Self {
        Self(Failure::new(Phase::Body, Seen::Seen).because(cause))
    }
}

impl From<Failure> for ClientError {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientError").field(&self.0).finish()
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)?;
        let mut cause = self.0.source();
        let phase = self.0.phase();
        if let Some(distrust) = cause.and_then(|cause| distrust::distrust(phase, cause)) {
            return write!(f, ": {distrust}");
        }
        while let Some(at) = cause {
            write!(f, ": {at}")?;
            cause = at.source();
        }
        Ok(())
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// The request cannot be sent as it is; nothing was dialled.
pub(super) fn unsendable(why: impl Into<BoxError>) -> Failure {
    Failure::new(Phase::Request, Seen::Never).because(why)
}
