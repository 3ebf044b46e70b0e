//! What those hold who wait: when it changes they belong elsewhere in the line.

use super::{Line, Ticket};
use crate::request::Time;
use std::ops::Bound;

impl Line {
    /// Notes what a waiter holds.
    pub(in crate::fleet) fn holds(&mut self, ticket: Ticket, holder: Option<u64>, until: Time) {
        let Some(waiter) = self.waiters.get_mut(ticket.0) else { return };
        waiter.held_until = until;
        if let Some(before) = std::mem::replace(&mut waiter.holder, holder) {
            self.holders.remove(&(before, ticket));
        }
        self.holders.extend(holder.map(|holder| (holder, ticket)));
    }

    pub(in crate::fleet) fn holds_until(&mut self, ticket: Ticket, until: Time) {
        if let Some(waiter) = self.waiters.get_mut(ticket.0) {
            waiter.held_until = until;
        }
    }

    /// These holders, or all, hold another exit from now on, or none.
    pub(in crate::fleet) fn rebound(&mut self, holders: &[u64], all: bool) {
        if all {
            self.rebound.extend(self.holders.iter().map(|(holder, _)| (*holder, None)));
        }
        for holder in holders {
            if self.next_of(*holder, None).is_some() {
                self.rebound.insert(*holder, None);
            }
        }
    }

    /// The next one of those who hold another exit.
    pub(in crate::fleet) fn next_rebound(&mut self) -> Option<Ticket> {
        loop {
            let (holder, told) = self.rebound.pop_first()?;
            if let Some(ticket) = self.next_of(holder, told) {
                self.rebound.insert(holder, Some(ticket));
                return Some(ticket);
            }
        }
    }

    fn next_of(&self, holder: u64, told: Option<Ticket>) -> Option<Ticket> {
        let first = Bound::Included((holder, Ticket::FIRST));
        let from = told.map_or(first, |ticket| Bound::Excluded((holder, ticket)));
        let (of, ticket) = self.holders.range((from, Bound::Unbounded)).next().copied()?;
        (of == holder).then_some(ticket)
    }
}
