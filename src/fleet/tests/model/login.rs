//! What the reference knows of a login.

use super::gate::Gate;
use super::reference::LeaseNo;

#[derive(Clone, Debug)]
pub(super) struct Login {
    pub(super) gate: Gate,
    pub(super) accepted: Option<u64>,
    /// Leases so far. A listed exit's login is thought of when it is first refused, and they are counted from then on.
    pub(super) counts: bool,
    pub(super) entered: u64,
    /// The turns of those that were refused in a row, as many more as which stop it on trial; and the first turn that counts.
    pub(super) row: Vec<u64>,
    pub(super) enough: usize,
    /// Sent after the first of these, and ended without a word.
    pub(super) silent: usize,
    pub(super) from: u64,
    /// The last turn that was accepted or forgotten, and how many were refused, and silent, of those after it.
    pub(super) clean: u64,
    pub(super) all: usize,
    pub(super) mute: usize,
    /// Of these, the refusals that a site may have forged, and the others.
    pub(super) hearsay: usize,
    pub(super) sure: usize,
    /// The others that were refused before it rested for what may be forged, with nothing accepted since.
    pub(super) before: usize,
    pub(super) refused: Vec<(LeaseNo, u64, bool)>,
    pub(super) doublings: u32,
}

impl Login {
    pub(super) fn forget_row(&mut self, from: u64) {
        self.row.clear();
        self.silent = 0;
        self.from = from;
        (self.all, self.mute, self.hearsay, self.sure, self.before) = (0, 0, 0, 0, 0);
    }

    /// The same of all that were sent since one was accepted.
    pub(super) fn more_refused_of_all(&self) -> usize {
        let sent = self.row.iter().max().map_or(0, |last| last - self.clean) as usize;
        (2 * self.all).saturating_sub(sent.saturating_sub(self.mute).max(self.all))
    }

    /// How many more were refused than were not, of those sent from the first to the last of them.
    pub(super) fn more_refused(&self) -> usize {
        let (first, last) = (self.row.iter().min(), self.row.iter().max());
        let sent = first.zip(last).map_or(0, |(first, last)| (last - first) as usize + 1);
        (2 * self.row.len()).saturating_sub(sent.saturating_sub(self.silent).max(self.row.len()))
    }
}
