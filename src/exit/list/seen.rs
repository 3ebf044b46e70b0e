//! Which exits a list has named already, by ranges of ports: none is expanded for it.

use super::entry::Entry;
use crate::exit::ExitId;
use std::collections::BTreeMap;

/// For each login at a host (its id at port 0) and the first port of a range that is named: the last port,
/// and the entry. The ranges of one login at one host have no port in common.
#[derive(Default)]
pub(super) struct Seen(BTreeMap<(ExitId, u16), (u16, usize)>);

/// What is new of an entry.
pub(super) enum New {
    /// All of its ports.
    All,
    /// These; another entry, the first of several, has named the rest.
    Parts(Vec<(u16, u16)>, usize),
    /// Nothing: another entry has one of its ports with another password.
    OtherPassword(usize),
}

impl Seen {
    /// Compares an entry, of this login at this host, with those before it.
    pub(super) fn compare(&self, who: ExitId, entry: &Entry, entries: &[Entry]) -> New {
        let (first, last) = entry.ports();
        let reach = self.0.range((who, 0)..=(who, last)).rev();
        let overlaps =
            reach.map(|((_, from), (to, at))| (*from, *to, *at)).take_while(|(_, to, _)| *to >= first);
        let (mut parts, mut known, mut end) = (Vec::new(), None, Some(last));
        for (from, to, at) in overlaps {
            if entries[at].first().route().credential() != entry.first().route().credential() {
                return New::OtherPassword(at);
            }
            known = Some(at);
            if let Some(end) = end.filter(|end| *end > to) {
                parts.push((to + 1, end));
            }
            end = from.checked_sub(1);
        }
        let Some(known) = known else { return New::All };
        if let Some(end) = end.filter(|end| *end >= first) {
            parts.push((first, end));
        }
        parts.reverse();
        New::Parts(parts, known)
    }

    /// Keeps the ports of an entry, none of which is known.
    pub(super) fn add(&mut self, who: ExitId, (first, last): (u16, u16), at: usize) {
        self.0.insert((who, first), (last, at));
    }
}
