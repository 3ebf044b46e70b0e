//! Which exits a list has named already, by ranges of ports: none is expanded for it.
//!
//! A range that covers others takes their place, so a line meets at most two that will be met again. Only lines that are
//! skipped for their password leave all as it was: what those meet is counted, and the list refused past a bound.

use super::entry::Entry;
use crate::exit::ExitId;
use std::collections::BTreeMap;

/// Most ranges that lines may meet in vain, all together: each takes about a microsecond.
const VAIN_MOST: usize = 1_000_000;

/// For each login at a host (its id at port 0) and the first port of a range that is named, who has named it. The ranges of
/// one login at one host have no port in common.
#[derive(Default)]
pub(super) struct Seen {
    ranges: BTreeMap<(ExitId, u16), Named>,
    /// Ranges met by lines that were skipped.
    vain: usize,
}

/// A line that has named a range of ports.
#[derive(Clone, Copy)]
pub(super) struct Named {
    last: u16,
    pub(super) line: u32,
    /// An entry with the same login and password.
    pub(super) at: usize,
}

/// What is new of an entry.
pub(super) enum New {
    /// All of its ports.
    All,
    /// These; another line, the first by port of several, has named the rest.
    Parts(Vec<(u16, u16)>, Named),
    /// Nothing: another line has one of its ports with another password.
    OtherPassword(Named),
}

impl Seen {
    /// The ranges that have a port in common with these, the last of them first.
    fn met(&self, who: ExitId, (first, last): (u16, u16)) -> impl Iterator<Item = (u16, Named)> {
        let reach = self.ranges.range((who, 0)..=(who, last)).rev();
        reach.map(|((_, from), named)| (*from, *named)).take_while(move |(_, named)| named.last >= first)
    }

    /// Compares an entry, of this login at this host, with those before it.
    pub(super) fn compare(&mut self, who: ExitId, entry: &Entry, entries: &[Entry]) -> New {
        let (first, last) = entry.ports();
        let (mut parts, mut known, mut end) = (Vec::new(), None, Some(last));
        let mut other = None;
        for (count, (from, named)) in (1..).zip(self.met(who, (first, last))) {
            if entries[named.at].first().route().credential() != entry.first().route().credential() {
                other = Some((count, named));
                break;
            }
            known = Some(named);
            if let Some(end) = end.filter(|end| *end > named.last) {
                parts.push((named.last + 1, end));
            }
            end = from.checked_sub(1);
        }
        if let Some((count, named)) = other {
            // The one that differs is free: a list may say every line twice.
            self.vain += count - 1;
            return New::OtherPassword(named);
        }
        let Some(known) = known else { return New::All };
        if let Some(end) = end.filter(|end| *end >= first) {
            parts.push((first, end));
        }
        parts.reverse();
        New::Parts(parts, known)
    }

    /// Keeps that an entry has named its ports, in place of the ranges that it covers. What it shares with one that reaches
    /// further stays the other's. `at` is an entry with its login and password.
    pub(super) fn add(&mut self, who: ExitId, entry: &Entry, at: usize) {
        let (first, last) = entry.ports();
        let (mut from, mut to) = (first, last);
        let met: Vec<_> = self.met(who, (first, last)).map(|(from, named)| (from, named.last)).collect();
        for (start, end) in met {
            match (start < first, end > last) {
                _ if start <= first && end >= last => return,
                (true, _) => from = end + 1,
                (_, true) => to = start - 1,
                _ => _ = self.ranges.remove(&(who, start)),
            }
        }
        if from <= to {
            let line = entry.line().unwrap_or_default();
            self.ranges.insert((who, from), Named { last: to, line, at });
        }
    }

    /// Whether lines have met more in vain than a list may make them.
    pub(super) fn tired(&self) -> bool {
        self.vain > VAIN_MOST
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }
}
