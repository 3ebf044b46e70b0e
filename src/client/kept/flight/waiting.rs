//! Who waits for a dial.

use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};

/// All who wait for the same. As a waker it wakes all of them: who would move the dial on may be one that nobody polls.
#[derive(Default)]
pub(super) struct Waiting {
    wakers: Mutex<HashMap<u64, Waker>>,
    next: AtomicU64,
    /// Somebody was woken while another one moved the dial.
    missed: AtomicBool,
}

impl Waiting {
    /// A number of one's own.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits to be woken, once.
    pub(super) fn add(&self, number: u64, waker: &Waker) {
        let known = self.wakers.lock().insert(number, waker.clone());
        drop(known);
    }

    pub(super) fn leave(&self, number: u64) {
        let known = self.wakers.lock().remove(&number);
        drop(known);
    }

    /// Another one is moving the dial.
    pub(super) fn miss(&self) {
        self.missed.store(true, Ordering::SeqCst);
    }

    /// The dial was moved, and let go.
    pub(super) fn moved(&self, over: bool) {
        let missed = self.missed.swap(false, Ordering::SeqCst);
        if over || missed {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        // Woken after the lock: a waker is foreign code.
        let wakers = std::mem::take(&mut *self.wakers.lock());
        wakers.into_values().for_each(Waker::wake);
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}
