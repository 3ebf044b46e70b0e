//! Whom to wake when a ticket is called. Kept beside the fleet, under its lock, so that no call is lost.

use crate::fleet::{Fleet, Ticket};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// One waker a ticket, at its index: no more than the line holds.
#[derive(Default)]
pub(super) struct Wakers(Vec<Option<(Ticket, Waker)>>);

impl Wakers {
    /// Keeps this one for the ticket. Returns one that is not needed, to be dropped without the lock: a waker is somebody
    /// else's code, and the last one of a task takes along what the task owns.
    #[must_use]
    pub(super) fn keep(&mut self, ticket: Ticket, waker: Waker) -> Option<Waker> {
        let index = ticket.index();
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        match &mut self.0[index] {
            Some((known, kept)) if *known == ticket && kept.will_wake(&waker) => Some(waker),
            place => place.replace((ticket, waker)).map(|(_, old)| old),
        }
    }

    /// The waker of a ticket, if one is kept.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Waker> {
        let place = self.0.get_mut(ticket.index())?;
        let (_, waker) = place.take_if(|(known, _)| *known == ticket)?;
        Some(waker)
    }

    /// Of all tickets that were called.
    pub(super) fn called(&mut self, fleet: &mut Fleet) -> Vec<Waker> {
        let mut called = Vec::new();
        while let Some(ticket) = fleet.poll_wake() {
            called.extend(self.take(ticket));
        }
        called
    }
}

/// Wakes all. A waker that panics is its own task's affair: neither those behind it nor who happened to wake it pay for it.
pub(super) fn wake(called: Vec<Waker>) {
    for waker in called {
        drop(catch_unwind(AssertUnwindSafe(|| waker.wake())));
    }
}
