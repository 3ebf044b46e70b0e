//! Heads of the line that may have become able to go: marked at once, looked at a few at a time.

use super::{Group, Rank};
use crate::pool::OriginIx;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// How many origins are swept one by one; of more all are.
const MOST: usize = 16;

/// The first of each queue, by rank.
#[derive(Default)]
pub(super) struct Heads {
    all: BTreeMap<Rank, Group>,
    /// The same, by where they want to go.
    at: BTreeSet<(Option<OriginIx>, Rank)>,
    /// To be looked at: some by rank, all, and all that want to go to one place.
    look: BTreeSet<Rank>,
    everywhere: Option<Sweep>,
    origins: BTreeMap<OriginIx, Sweep>,
}

/// A pass from the first to the last. It never begins anew before it has come to the end, so that the last are looked at
/// too where things change without a pause.
#[derive(Clone, Copy, Default)]
struct Sweep {
    from: Rank,
    again: bool,
}

impl Sweep {
    fn renew(&mut self) {
        self.again = self.from > Rank::FIRST;
    }

    /// Whether there is another pass.
    const fn ends(&mut self) -> bool {
        let again = self.again;
        *self = Self { from: Rank::FIRST, again: false };
        again
    }
}

impl Heads {
    pub(super) fn insert(&mut self, rank: Rank, group: Group) {
        self.all.insert(rank, group);
        self.at.insert((group.origin(), rank));
    }

    pub(super) fn remove(&mut self, rank: Rank) {
        if let Some(group) = self.all.remove(&rank) {
            self.at.remove(&(group.origin(), rank));
        }
    }

    pub(super) fn get(&self, rank: Rank) -> Option<Group> {
        self.all.get(&rank).copied()
    }

    pub(super) fn first(&self) -> Option<(Rank, Group)> {
        self.all.first_key_value().map(|(rank, group)| (*rank, *group))
    }

    /// In order, those whose they are.
    pub(super) fn groups(&self) -> impl Iterator<Item = Group> {
        self.all.values().copied()
    }

    /// How many are before it, up to so many.
    pub(super) fn before(&self, rank: Rank, most: usize) -> usize {
        self.all.range(..rank).take(most).count()
    }

    /// Those before it that want to go to the same origin: the first of them, where they are many.
    pub(super) fn ahead(&self, origin: OriginIx, rank: Rank) -> impl Iterator<Item = Group> {
        /// As many are looked at, one by one.
        const MOST: usize = 64;
        let range = self.at.range((Some(origin), Rank::FIRST)..(Some(origin), rank)).take(MOST);
        range.filter_map(|(_, rank)| self.get(*rank))
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
        if self.next_at(origin, Rank::FIRST).is_none() {
            return;
        }
        if self.origins.len() < MOST || self.origins.contains_key(&origin) {
            return self.origins.entry(origin).or_default().renew();
        }
        self.origins.clear();
        self.look_everywhere();
    }

    pub(super) fn look_at(&mut self, rank: Rank) {
        self.look.insert(rank);
    }

    pub(super) fn is_looked_at(&self) -> bool {
        self.look.is_empty() && self.everywhere.is_none() && self.origins.is_empty()
    }

    /// The first of those that are to be looked at. It may be a head no more.
    pub(super) fn pop_look(&mut self) -> Option<Rank> {
        self.end_sweeps();
        let everywhere = self.everywhere.and_then(|sweep| self.next(sweep.from));
        let at = |(origin, sweep): (&OriginIx, &Sweep)| self.next_at(*origin, sweep.from);
        let at = self.origins.iter().filter_map(at).min();
        let first = [self.look.first().copied(), everywhere, at].into_iter().flatten().min()?;
        self.look.remove(&first);
        if let Some(sweep) = self.everywhere.as_mut().filter(|_| everywhere == Some(first)) {
            sweep.from = first.next();
        }
        if let Some(origin) = self.get(first).and_then(Group::origin) {
            if let Some(sweep) = self.origins.get_mut(&origin).filter(|sweep| sweep.from <= first) {
                sweep.from = first.next();
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

    fn next(&self, from: Rank) -> Option<Rank> {
        self.all.range(from..).next().map(|(rank, _)| *rank)
    }

    fn next_at(&self, origin: OriginIx, from: Rank) -> Option<Rank> {
        next_at(&self.at, origin, from)
    }
}

fn next_at(at: &BTreeSet<(Option<OriginIx>, Rank)>, origin: OriginIx, from: Rank) -> Option<Rank> {
    let range = (Bound::Included((Some(origin), from)), Bound::Included((Some(origin), Rank::LAST)));
    at.range(range).next().map(|(_, rank)| *rank)
}

fn passed(at: &BTreeSet<(Option<OriginIx>, Rank)>, origin: OriginIx, from: Rank) -> bool {
    next_at(at, origin, from).is_none()
}
