//! When gates must be looked at again: one entry a gate.

use super::exits::ExitIx;
use super::slab::Slot;
use crate::request::Time;
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    Exit(ExitIx),
    Pair(Slot),
}

#[derive(Default)]
pub(super) struct Timers(BTreeSet<(Time, Due)>);

impl Timers {
    /// Replaces the entry for `before`, if there was one.
    pub(super) fn reset(&mut self, what: Due, before: Option<Time>, after: Option<Time>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.0.remove(&(before, what));
        }
        if let Some(after) = after {
            self.0.insert((after, what));
        }
    }

    /// The first entry, if it is due. It stays until its gate says otherwise.
    pub(super) fn due(&self, now: Time) -> Option<Due> {
        self.0.first().filter(|(at, _)| *at <= now).map(|(_, what)| *what)
    }
}
