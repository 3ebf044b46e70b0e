//! A turn among all retries, which goes back when nobody comes for it.

use super::Scheduler;
use super::sync::{AtomicBool, Ordering};
use crate::fleet::Booking;
use crate::request::{Kept, Taken};

struct Turn {
    scheduler: Scheduler,
    booking: Booking,
    taken: AtomicBool,
}

impl Scheduler {
    pub(super) fn keep(&self, booking: Booking) -> Kept {
        Kept::new(Turn { scheduler: self.clone(), booking, taken: AtomicBool::new(false) })
    }
}

impl Taken for Turn {
    fn take(&self) {
        self.taken.store(true, Ordering::Release);
    }
}

/// No lock of the fleet may be held here: a request that it keeps, in its line, has taken its turn.
impl Drop for Turn {
    fn drop(&mut self) {
        if !self.taken.load(Ordering::Acquire) {
            let mut guarded = self.scheduler.guarded();
            let now = self.scheduler.now();
            guarded.fleet.give_back(now, &self.booking);
        }
    }
}
