//! The blocks of one origin, counted by exit over two windows of half a minute.

use super::alike::{Alike, Past};
use super::figure::{BlockedSpread, ExitBlocks, SpreadVerdict};
use super::subnet::{Subnet, SubnetBlocks, refused};
use crate::draw::mix;
use crate::exit::ExitId;
use crate::request::Time;
use hashbrown::HashMap;
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(30);
/// How many exits are counted. If there are more, one in two is, chosen by its hash, then one in four, and so on: a sample
/// that does not depend on what happened to them.
const EXITS: usize = 512;
/// How often it is looked at what the exits say.
const TICK: Duration = Duration::from_secs(5);
/// Looks in a row that confirm a verdict, and windows in a row that confirm one on subnets.
const CONFIRM: u32 = 2;

#[derive(Clone, Copy, Default)]
struct Count {
    attempts: u32,
    blocked: u32,
}

/// An exit's: in this window, and in the one before.
#[derive(Clone, Copy, Default)]
struct Cell {
    counts: [Count; 2],
    past: Past,
    /// Where its address lies, as far as that is known.
    subnet: Option<Subnet>,
}

/// The blocks by exit.
pub(super) struct Counts {
    /// Which window it is, since the scheduler was built.
    window: u64,
    exits: HashMap<ExitId, Cell>,
    /// An exit is counted if its hash ends in as many zeros.
    zeros: u32,
    alike: Alike,
    /// What the last look said, and how many in a row; and when the next is due.
    said: SpreadVerdict,
    row: u32,
    due: Time,
    /// Which subnets were refused at the last window's end, with the one before it, and how many in a row found some.
    refused: Vec<SubnetBlocks>,
    refused_row: u32,
}

impl Counts {
    pub(super) fn new(now: Time) -> Self {
        Self {
            window: window(now),
            exits: HashMap::new(),
            zeros: 0,
            alike: Alike::new(now),
            said: SpreadVerdict::Unclear,
            row: 0,
            due: now + TICK,
            refused: Vec::new(),
            refused_row: 0,
        }
    }

    /// `subnet` is where the exit's address lies, asked if that is not known yet. Says whether a window has ended, and whether
    /// it was the one before this.
    pub(super) fn count(
        &mut self,
        now: Time,
        exit: ExitId,
        blocked: bool,
        subnet: impl FnOnce() -> Option<Subnet>,
    ) -> Turned {
        let turned = self.turn(now);
        if self.has_place(exit) {
            let new = || Cell { subnet: subnet(), ..Cell::default() };
            let cell = self.exits.entry(exit).or_insert_with(new);
            cell.counts[0].attempts += 1;
            cell.counts[0].blocked += u32::from(blocked);
            self.alike.count(now, &mut cell.past, blocked);
        }
        if now >= self.due {
            self.look(now);
        }
        turned
    }

    /// The exit has said which address it leaves from.
    pub(super) fn reveal(&mut self, exit: ExitId, subnet: Subnet) {
        if let Some(cell) = self.exits.get_mut(&exit) {
            cell.subnet = Some(subnet);
        }
    }

    pub(super) fn subnet(&self, exit: ExitId) -> Option<Subnet> {
        self.exits.get(&exit)?.subnet
    }

    /// The subnets that are refused, if two windows in a row have found some.
    pub(super) fn refused_subnets(&self) -> &[SubnetBlocks] {
        if self.refused_row >= CONFIRM { &self.refused } else { &[] }
    }

    /// What the exits say.
    pub(super) fn verdict(&self) -> SpreadVerdict {
        self.alike.verdict()
    }

    /// What was counted has turned out otherwise. It is looked for in this window, then in the one before.
    pub(super) fn take_back(&mut self, now: Time, exit: ExitId, blocked: bool) {
        self.turn(now);
        let Some(Cell { counts, past, .. }) = self.exits.get_mut(&exit) else { return };
        let has = |count: &&mut Count| match blocked {
            true => count.blocked > 0,
            false => count.attempts > count.blocked,
        };
        if let Some(count) = counts.iter_mut().find(has) {
            count.attempts -= 1;
            count.blocked -= u32::from(blocked);
            self.alike.take_back(past, blocked);
        }
    }

    /// Whether the exit is in the sample. There is room for it then.
    fn has_place(&mut self, exit: ExitId) -> bool {
        while self.exits.len() >= EXITS && !self.exits.contains_key(&exit) {
            self.zeros += 1;
            let zeros = self.zeros;
            self.exits.retain(|exit, _| sampled(*exit, zeros));
        }
        sampled(exit, self.zeros)
    }

    fn look(&mut self, now: Time) {
        self.due = now + TICK;
        let said = self.alike.verdict();
        self.row = if said == self.said { self.row.saturating_add(1) } else { 1 };
        self.said = said;
    }

    /// Ends the windows whose time is over.
    fn turn(&mut self, now: Time) -> Turned {
        let window = window(now);
        let turned = match window.saturating_sub(self.window) {
            0 => return Turned::Not,
            1 => {
                self.judge();
                self.exits.retain(|_, Cell { counts: [this, before], .. }| {
                    (*before, *this) = (*this, Count::default());
                    before.attempts > 0
                });
                Turned::Next
            }
            _ => {
                self.exits.clear();
                self.refused.clear();
                (self.alike, self.due) = (Alike::new(now), now + TICK);
                (self.said, self.row, self.refused_row) = (SpreadVerdict::Unclear, 0, 0);
                Turned::Far
            }
        };
        self.window = window;
        turned
    }

    /// What a window that has ended says of subnets.
    fn judge(&mut self) {
        let exits = self.exits.values().filter(|cell| cell.counts.iter().any(|count| count.attempts > 0));
        let blocked = |cell: &Cell| cell.counts.iter().any(|count| count.blocked > 0);
        self.refused = refused(exits.filter_map(|cell| Some((cell.subnet?, blocked(cell)))));
        self.refused_row = if self.refused.is_empty() { 0 } else { self.refused_row.saturating_add(1) };
    }

    /// What was counted in a window and the one before it.
    fn recent(&self, window: u64) -> impl Iterator<Item = ExitBlocks> {
        let both = window == self.window;
        self.exits.iter().map(move |(exit, Cell { counts: [this, before], .. })| ExitBlocks {
            exit: *exit,
            attempts: this.attempts + if both { before.attempts } else { 0 },
            blocked: this.blocked + if both { before.blocked } else { 0 },
        })
    }

    /// How many of the exits were blocked.
    pub(super) fn blocked_exits(&self, now: Time) -> u32 {
        let exits = self.recent(window(now)).filter(|exit| exit.blocked > 0).count();
        u32::try_from(exits).unwrap_or(u32::MAX)
    }

    pub(super) fn figure(&self, now: Time) -> Option<BlockedSpread> {
        let window = window(now);
        if window > self.window + 1 {
            return None;
        }
        let exits: Vec<_> = self.recent(window).filter(|exit| exit.attempts > 0).collect();
        let one_in = 1_u32.checked_shl(self.zeros).unwrap_or(u32::MAX);
        BlockedSpread::of(&exits, one_in, &self.alike, (self.row >= CONFIRM).then_some(self.said))
    }
}

/// Whether a window has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turned {
    Not,
    /// And this is the next.
    Next,
    /// Long ago.
    Far,
}

fn window(now: Time) -> u64 {
    now.since(Time::ZERO).as_secs() / WINDOW.as_secs()
}

fn sampled(exit: ExitId, zeros: u32) -> bool {
    mix(exit.as_u64()).trailing_zeros() >= zeros
}

#[cfg(test)]
impl Counts {
    pub(super) fn len(&self) -> usize {
        self.exits.len()
    }
}
