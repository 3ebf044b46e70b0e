//! The one alias for locks, so that a model checker can stand in for std's.

use std::sync::PoisonError;

#[expect(
    clippy::disallowed_types,
    reason = "the scheduler's one lock, and the small ones of single requests"
)]
pub(crate) type Mutex<T> = std::sync::Mutex<T>;

pub(crate) type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;

/// Locks. A lock that a panic has poisoned is taken all the same: what it guards is changed in one step or not at all, and
/// a lease that could no longer be given back would be worse.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
