//! Lists of exits, one spec a line.

mod entry;
mod notes;
mod read;
mod seen;
#[cfg(test)]
mod tests;

pub use entry::Exits;

use super::{Exit, ExitId};
use crate::error::ConfigError;
use entry::Entry;
use notes::Notes;
use std::fmt;

/// Exits from a file or text: one [proxy spec](Exit::parse) a line, or `host:first-last` with or without a login, which is an
/// exit for each port from the first to the last.
///
/// Empty lines and those that begin with `#`, `;` or `//` are skipped; a `#` after white space begins a comment. Quotes
/// around a line, with or without a comma behind them, a byte order mark, and white space at the edges are left away. The
/// same exit twice counts once. An own address, `local://192.0.2.7`, is refused here, since a list may be somebody else's: give it
/// by [`Exit::local`] or [`Exit::parse`] beside the list.
///
/// Lines that cannot be read are left out and kept as errors: [`skipped`](Self::skipped). A range of ports is kept as one
/// entry, and its exits are made as they are asked for, with one login. A list that is read names at most 1,000,000 exits.
///
/// Two lists are equal that have the same exits in the same order, however they were written.
///
/// ```
/// use tower_egress::ExitList;
///
/// let list = ExitList::parse("gw.example:10000-10999:user:pw\n203.0.113.7:8080 # Frankfurt\nuser:pw@\n")?;
/// assert_eq!(list.len(), 1_001);
/// assert_eq!(list.skipped()[0].line(), Some(3));
/// assert_eq!(list.line_of(list.iter().last().expect("one").id()), Some(2));
/// assert!(list.whole().is_err(), "for those who would rather have no list than a part of one");
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
#[derive(Clone, Default)]
pub struct ExitList {
    entries: Vec<Entry>,
    /// Exits of all entries.
    count: usize,
    skipped: Notes,
    repeated: Notes,
}

impl ExitList {
    /// The list as it is, if all of it could be read: for who replaces a list by another, where a line that became bad must
    /// not take its exit away.
    ///
    /// # Errors
    /// The first line that was skipped.
    pub fn whole(self) -> Result<Self, ConfigError> {
        match self.skipped.kept().first() {
            Some(first) => Err(first.clone()),
            None => Ok(self),
        }
    }

    /// The lines that could not be read, each with its number, and its file if there is one: the first 100.
    #[must_use]
    pub fn skipped(&self) -> &[ConfigError] {
        self.skipped.kept()
    }

    /// How many lines could not be read.
    #[must_use]
    pub fn skipped_total(&self) -> usize {
        self.skipped.total()
    }

    /// The lines that name an exit again that another one has named, in whole or, by a range, in part: the first 100. They
    /// count once, so this is no fault; but whoever sells so many exits may have sold fewer.
    #[must_use]
    pub fn repeated(&self) -> &[ConfigError] {
        self.repeated.kept()
    }

    /// How many lines name an exit again.
    #[must_use]
    pub fn repeated_total(&self) -> usize {
        self.repeated.total()
    }

    /// The line that an exit was read from, in its own text if the list was put together from several. Takes time in
    /// proportion to the number of exits, since the list keeps no table: it is for messages.
    #[must_use]
    pub fn line_of(&self, exit: ExitId) -> Option<u32> {
        self.entries.iter().find(|entry| entry.holds(exit)).and_then(Entry::line)
    }

    /// Sets how TLS to the proxies works, for those of the list that are `https://` ones.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn proxy_tls(mut self, tls: &super::ProxyTls) -> Self {
        for entry in &mut self.entries {
            entry.change(|exit| exit.proxy_tls(tls));
        }
        self
    }

    /// The exits in the order of the list, those of a range by port. An exit is made when it is its turn.
    #[must_use]
    pub fn iter(&self) -> Exits<'_> {
        Exits::of((&self.entries[..]).into(), self.count)
    }

    /// How many exits there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none. A list that was read has at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Puts another list behind this one, with its ranges as they are.
    pub(crate) fn append(&mut self, other: Self) {
        self.count += other.count;
        self.entries.extend(other.entries);
        self.skipped.append(other.skipped);
        self.repeated.append(other.repeated);
    }
}

impl PartialEq for ExitList {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && (self.entries == other.entries || self.iter().eq(other))
    }
}

impl Eq for ExitList {}

impl Extend<Exit> for ExitList {
    fn extend<I: IntoIterator<Item = Exit>>(&mut self, exits: I) {
        let before = self.entries.len();
        self.entries.extend(exits.into_iter().map(Entry::one));
        self.count += self.entries.len() - before;
    }
}

impl FromIterator<Exit> for ExitList {
    fn from_iter<I: IntoIterator<Item = Exit>>(exits: I) -> Self {
        let mut list = Self::default();
        list.extend(exits);
        list
    }
}

impl IntoIterator for ExitList {
    type Item = Exit;
    type IntoIter = Exits<'static>;

    fn into_iter(self) -> Self::IntoIter {
        Exits::of(self.entries.into(), self.count)
    }
}

impl<'a> IntoIterator for &'a ExitList {
    type Item = Exit;
    type IntoIter = Exits<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for ExitList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExitList")
            .field("len", &self.count)
            .field("entries", &self.entries)
            .field("skipped", &self.skipped.total())
            .finish_non_exhaustive()
    }
}
