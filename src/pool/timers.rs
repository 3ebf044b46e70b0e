//! When gates must be looked at again: one entry a gate.

use super::ix::{ExitIx, OriginIx, ParentIx};
use super::slab::Slot;
use crate::request::Time;
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    Exit(ExitIx),
    Pair(Slot),
    Parent(ParentIx),
    Origin(OriginIx),
    /// A binding's right to hold an exit alone ends.
    Owner(ExitIx),
}

pub(super) struct Timers {
    entries: BTreeSet<(Time, Due)>,
    /// When the first is due, so that nothing is looked up before.
    next: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Self { entries: BTreeSet::new(), next: Time::MAX }
    }
}

impl Timers {
    /// Replaces the entry for `before`, if there was one.
    pub(super) fn reset(&mut self, what: Due, before: Option<Time>, after: Option<Time>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.entries.remove(&(before, what));
        }
        if let Some(after) = after {
            self.entries.insert((after, what));
        }
        self.next = self.entries.first().map_or(Time::MAX, |(at, _)| *at);
    }

    /// Drops the first entry if it is of something that is gone.
    pub(super) fn forget(&mut self, what: Due) {
        if let Some((at, first)) = self.entries.first().copied() {
            if first == what {
                self.reset(what, Some(at), None);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn has(&self, at: Time, what: Due) -> bool {
        self.entries.contains(&(at, what))
    }

    /// When the first entry is due; `Time::MAX` if there is none.
    pub(super) const fn next(&self) -> Time {
        self.next
    }

    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.next <= now
    }

    /// The first entry, if it is due. It stays until its gate says otherwise.
    pub(super) fn due(&self, now: Time) -> Option<Due> {
        if !self.is_due(now) {
            return None;
        }
        self.entries.first().map(|(_, what)| *what)
    }
}
