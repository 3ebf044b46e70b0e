//! The one alias for locks and atomics, so that a model checker can stand in for them (`loom_tests/sync.rs`). Reference
//! counts are std's: nothing but memory hangs on them.
//!
//! Without poison: what a lock guards here is changed in one step or not at all, and a lease that could no longer be given
//! back after a panic would be worse.

pub(crate) type Mutex<T> = parking_lot::Mutex<T>;

pub(crate) type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

/// How many pauses the looks of a waiting thread are apart, as powers of two; a pause is some 40 ns, all of them 20 µs.
/// Measured: `cargo bench --bench threads`.
const LOOKS: [u32; 6] = [3, 4, 5, 6, 7, 8];

pub(super) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    if mutex.is_locked() {
        let_go_on(mutex);
    }
    mutex.lock()
}

/// Another thread is at it, for a fraction of a microsecond. Who takes the lock as soon as it is free takes it from a thread
/// that would have gone on with it, and all that it guards moves to another core, which costs more than a decision does. So
/// each look is twice as long after the one before.
#[cold]
fn let_go_on<T>(mutex: &Mutex<T>) {
    for pauses in LOOKS.map(|look| 1_u32 << look) {
        (0..pauses).for_each(|_| std::hint::spin_loop());
        if !mutex.is_locked() {
            return;
        }
    }
}

pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock()
}

pub(super) fn get_mut<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut()
}
