//! An entry of a list: an exit, or those of a range of ports.

use crate::exit::{Exit, ExitId};
use std::borrow::Cow;
use std::fmt;
use std::iter::FusedIterator;

/// An exit, and those that are the same but for a later port.
#[derive(Clone)]
pub(super) struct Entry {
    first: Exit,
    /// How many ports follow the first.
    more: u16,
    /// 0 for what was not read.
    line: u32,
}

impl Entry {
    /// One that was not read.
    pub(super) fn one(exit: Exit) -> Self {
        Self { first: exit, more: 0, line: 0 }
    }

    pub(super) fn read(first: Exit, more: u16, line: u32) -> Self {
        Self { first: Exit { line, ..first }, more, line }
    }

    /// A part of its ports, which must be among them.
    pub(super) fn part(&self, (first, last): (u16, u16)) -> Self {
        Self { first: self.first.at_port(first), more: last - first, line: self.line }
    }

    pub(super) fn count(&self) -> usize {
        usize::from(self.more) + 1
    }

    /// The first port and the last; 0 for an own address.
    pub(super) fn ports(&self) -> (u16, u16) {
        let first = self.first.route().port();
        (first, first + self.more)
    }

    pub(super) fn line(&self) -> Option<u32> {
        (self.line > 0).then_some(self.line)
    }

    pub(super) fn first(&self) -> &Exit {
        &self.first
    }

    pub(super) fn holds(&self, exit: ExitId) -> bool {
        let (first, last) = self.ports();
        self.first.id() == exit || self.more > 0 && (first..=last).any(|port| self.first.id_at(port) == exit)
    }

    #[cfg(feature = "client")]
    pub(super) fn change(&mut self, change: impl FnOnce(Exit) -> Exit) {
        self.first = change(self.first.clone());
    }
}

/// Where it was read does not matter.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.more == other.more && self.first == other.first
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.first.route(), f)?;
        if self.more > 0 {
            write!(f, " to port {}", self.ports().1)?;
        }
        Ok(())
    }
}

/// The exits of an [`ExitList`](super::ExitList), each made when it is its turn.
#[derive(Clone, Debug)]
pub struct Exits<'a> {
    entries: Cow<'a, [Entry]>,
    /// The entry that is next, and how many of its ports have been.
    at: usize,
    ports: u16,
    left: usize,
}

impl<'a> Exits<'a> {
    pub(super) fn of(entries: Cow<'a, [Entry]>, left: usize) -> Self {
        Self { entries, at: 0, ports: 0, left }
    }
}

impl Iterator for Exits<'_> {
    type Item = Exit;

    fn next(&mut self) -> Option<Exit> {
        let entry = self.entries.get(self.at)?;
        let exit = entry.first.at_port(entry.ports().0 + self.ports);
        (self.at, self.ports) =
            if self.ports == entry.more { (self.at + 1, 0) } else { (self.at, self.ports + 1) };
        self.left -= 1;
        Some(exit)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Exits<'_> {}
impl FusedIterator for Exits<'_> {}
