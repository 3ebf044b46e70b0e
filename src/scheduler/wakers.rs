//! Whom to wake when a ticket is called. Kept beside the fleet, under its lock, so that no call is lost.

use crate::fleet::{Fleet, Ticket};
use std::task::Waker;

/// One waker a ticket, at its index: no more than the line holds.
#[derive(Default)]
pub(super) struct Wakers(Vec<Option<(Ticket, Waker)>>);

impl Wakers {
    /// Keeps a waker, unless the one that is kept wakes the same task. Returns the one that it replaces, which is to be
    /// dropped without the lock, as what it does then is somebody else's code.
    #[must_use]
    pub(super) fn keep(&mut self, ticket: Ticket, waker: &Waker) -> Option<Waker> {
        let index = ticket.index();
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        match &mut self.0[index] {
            Some((known, kept)) if *known == ticket && kept.will_wake(waker) => None,
            place => place.replace((ticket, waker.clone())).map(|(_, old)| old),
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
