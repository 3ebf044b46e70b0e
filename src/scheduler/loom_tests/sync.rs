//! The checker's locks and atomics: before each use of one it may let another thread go on.

pub(crate) use loom::sync::{Mutex, MutexGuard};

pub(super) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

const POISONED: &str = "the model has failed before";

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect(POISONED)
}

pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().ok()
}

pub(super) fn get_mut<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().expect(POISONED)
}
