//! How long a body may be.

use crate::error::Error;
use crate::scheduler::LeaseHandle;
use std::fmt;

/// How many bytes of a body may still come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cap {
    most: u64,
    left: u64,
}

impl Cap {
    pub(super) const NONE: Self = Self { most: u64::MAX, left: u64::MAX };

    pub(super) fn of(most: Option<u64>) -> Self {
        most.map_or(Self::NONE, |most| Self { most, left: most })
    }

    /// More has come.
    pub(super) const fn take(&mut self, bytes: usize) -> Result<(), TooLarge> {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(TooLarge { cap: self.most }),
        }
    }

    /// What a body says of its own length, before any of it has come.
    pub(super) const fn allows(&self, length: u64) -> Result<(), TooLarge> {
        if length > self.left { Err(TooLarge { cap: self.most }) } else { Ok(()) }
    }
}

/// A body is longer than allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooLarge {
    cap: u64,
}

impl TooLarge {
    /// Reports it, unless the head has said something worse.
    pub(super) fn of(self, handle: &LeaseHandle) -> Error {
        let evidence = handle.report_too_large(self.cap);
        Error::failed(handle.exit(), evidence, self.into())
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the answer's body is longer than the {} bytes that ClassifyLayer::collect allows; raise that, or read bodies \
             of this length as they come, without collect",
            self.cap
        )
    }
}

impl std::error::Error for TooLarge {}
