//! The words behind a status.

use bytes::Bytes;
use std::fmt;

/// The reason phrase of an HTTP/1 status line, where it is not the status's own. Some providers say there what their status
/// leaves open: `502 NO_HOST_CONNECTION`. A client puts it into the response's extensions.
#[derive(Clone, PartialEq, Eq)]
pub struct ReasonPhrase(Bytes);

impl ReasonPhrase {
    /// A phrase, byte for byte.
    #[must_use]
    pub fn new(phrase: impl Into<Bytes>) -> Self {
        Self(phrase.into())
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for ReasonPhrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
