//! The one alias for locks and atomics, so that a model checker can stand in for them (`loom_tests/sync.rs`). Reference
//! counts are std's: nothing but memory hangs on them.
//!
//! Without poison: what a lock guards here is changed in one step or not at all, and a lease that could no longer be given
//! back after a panic would be worse.

pub(crate) type Mutex<T> = parking_lot::Mutex<T>;

pub(crate) type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock()
}

pub(super) fn get_mut<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut()
}
