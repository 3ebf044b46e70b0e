//! The one alias for locks, so that a model checker can stand in for them.
//!
//! Without poison: what a lock guards here is changed in one step or not at all, and a lease that could no longer be given
//! back after a panic would be worse.

pub(crate) type Mutex<T> = parking_lot::Mutex<T>;

pub(crate) type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
