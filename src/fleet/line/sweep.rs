//! Heads of the line that may have become able to go: marked at once, looked at a few at a time.

use super::Group;
use crate::pool::OriginIx;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// How many origins are swept one by one; of more all are.
const MOST: usize = 16;

/// The first of each queue, by number of arrival.
#[derive(Default)]
pub(super) struct Heads {
    all: BTreeMap<u64, Group>,
    /// The same, by where they want to go.
    at: BTreeSet<(Option<OriginIx>, u64)>,
    /// To be looked at: some by number, all, and all that want to go to one place.
    look: BTreeSet<u64>,
    everywhere: Option<Sweep>,
    origins: BTreeMap<OriginIx, Sweep>,
}

/// A pass from the first to the last. It never begins anew before it has come to the end, so that the last are looked at
/// too where things change without a pause.
#[derive(Clone, Copy, Default)]
struct Sweep {
    from: u64,
    again: bool,
}

impl Sweep {
    const fn renew(&mut self) {
        self.again = self.from > 0;
    }

    /// Whether there is another pass.
    const fn ends(&mut self) -> bool {
        let again = self.again;
        *self = Self { from: 0, again: false };
        again
    }
}

impl Heads {
    pub(super) fn insert(&mut self, number: u64, group: Group) {
        self.all.insert(number, group);
        self.at.insert((group.origin(), number));
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Some(group) = self.all.remove(&number) {
            self.at.remove(&(group.origin(), number));
        }
    }

    pub(super) fn get(&self, number: u64) -> Option<Group> {
        self.all.get(&number).copied()
    }

    pub(super) fn first(&self) -> Option<(u64, Group)> {
        self.all.first_key_value().map(|(number, group)| (*number, *group))
    }

    /// How many are before it, up to so many.
    pub(super) fn before(&self, number: u64, most: usize) -> usize {
        self.all.range(..number).take(most).count()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        debug_assert_eq!(self.all.len(), self.at.len());
        self.all.len()
    }

    pub(super) fn look_everywhere(&mut self) {
        if !self.all.is_empty() {
            self.everywhere.get_or_insert_default().renew();
        }
    }

    pub(super) fn look_at_origin(&mut self, origin: OriginIx) {
        if self.next_at(origin, 0).is_none() {
            return;
        }
        if self.origins.len() < MOST || self.origins.contains_key(&origin) {
            return self.origins.entry(origin).or_default().renew();
        }
        self.origins.clear();
        self.look_everywhere();
    }

    pub(super) fn look_at(&mut self, number: u64) {
        self.look.insert(number);
    }

    pub(super) fn is_looked_at(&self) -> bool {
        self.look.is_empty() && self.everywhere.is_none() && self.origins.is_empty()
    }

    /// The first of those that are to be looked at. It may be a head no more.
    pub(super) fn pop_look(&mut self) -> Option<u64> {
        self.end_sweeps();
        let everywhere = self.everywhere.and_then(|sweep| self.next(sweep.from));
        let at = |(origin, sweep): (&OriginIx, &Sweep)| self.next_at(*origin, sweep.from);
        let at = self.origins.iter().filter_map(at).min();
        let first = [self.look.first().copied(), everywhere, at].into_iter().flatten().min()?;
        self.look.remove(&first);
        if let Some(sweep) = self.everywhere.as_mut().filter(|_| everywhere == Some(first)) {
            sweep.from = first + 1;
        }
        if let Some(origin) = self.get(first).and_then(Group::origin) {
            if let Some(sweep) = self.origins.get_mut(&origin).filter(|sweep| sweep.from <= first) {
                sweep.from = first + 1;
            }
        }
        Some(first)
    }

    fn end_sweeps(&mut self) {
        let Self { all, at, everywhere, origins, .. } = self;
        if everywhere.is_some_and(|sweep| all.range(sweep.from..).next().is_none()) {
            *everywhere = everywhere.filter(|sweep| sweep.again).map(|_| Sweep::default());
        }
        origins.retain(|origin, sweep| !passed(at, *origin, sweep.from) || sweep.ends());
    }

    fn next(&self, from: u64) -> Option<u64> {
        self.all.range(from..).next().map(|(number, _)| *number)
    }

    fn next_at(&self, origin: OriginIx, from: u64) -> Option<u64> {
        next_at(&self.at, origin, from)
    }
}

fn next_at(at: &BTreeSet<(Option<OriginIx>, u64)>, origin: OriginIx, from: u64) -> Option<u64> {
    let range = (Bound::Included((Some(origin), from)), Bound::Included((Some(origin), u64::MAX)));
    at.range(range).next().map(|(_, number)| *number)
}

fn passed(at: &BTreeSet<(Option<OriginIx>, u64)>, origin: OriginIx, from: u64) -> bool {
    next_at(at, origin, from).is_none()
}
