//! The lab's own lock. Scripts and records are shared between tasks and the test; nothing awaits while holding one.

#![expect(
    clippy::disallowed_types,
    reason = "the lab is a world around the crate and shares no state with the scheduler"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(super) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(super) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// A panic elsewhere leaves plain data behind, so a poisoned lock is as good as another.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
