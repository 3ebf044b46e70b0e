//! The blocks of one origin, counted by exit over two windows of half a minute.

use super::figure::{BlockedSpread, ExitBlocks, SpreadVerdict};
use super::tarone::Sums;
use crate::draw::mix;
use crate::exit::ExitId;
use crate::request::Time;
use hashbrown::HashMap;
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(30);
/// How many exits are counted. If there are more, one in two is, chosen by its hash, then one in four, and so on: a sample
/// that does not depend on what happened to them.
const EXITS: usize = 512;
/// Windows in a row that confirm a verdict.
const CONFIRM: u32 = 2;

#[derive(Clone, Copy, Default)]
struct Count {
    attempts: u32,
    blocked: u32,
}

pub(super) struct Spread {
    /// Which window it is, since the scheduler was built.
    window: u64,
    /// What was counted in this window, and in the one before.
    exits: HashMap<ExitId, [Count; 2]>,
    /// An exit is counted if its hash ends in as many zeros.
    zeros: u32,
    last_block: Time,
    /// What the last window that ended said, with the one before it, and how many in a row said so.
    said: SpreadVerdict,
    row: u32,
}

impl Spread {
    pub(super) fn new(now: Time) -> Self {
        Self {
            window: window(now),
            exits: HashMap::new(),
            zeros: 0,
            last_block: now,
            said: SpreadVerdict::Unclear,
            row: 0,
        }
    }

    pub(super) const fn last_block(&self) -> Time {
        self.last_block
    }

    pub(super) fn count(&mut self, now: Time, exit: ExitId, blocked: bool) {
        self.turn(now);
        if blocked {
            self.last_block = now;
        }
        if let Some([count, _]) = self.cell(exit) {
            count.attempts += 1;
            count.blocked += u32::from(blocked);
        }
    }

    /// What was counted has turned out otherwise. It is looked for in this window, then in the one before.
    pub(super) fn take_back(&mut self, now: Time, exit: ExitId, blocked: bool) {
        self.turn(now);
        let counts = self.exits.get_mut(&exit).into_iter().flatten();
        let has = |count: &&mut Count| match blocked {
            true => count.blocked > 0,
            false => count.attempts > count.blocked,
        };
        if let Some(count) = counts.into_iter().find(has) {
            count.attempts -= 1;
            count.blocked -= u32::from(blocked);
        }
    }

    /// The exit's counts; `None` if it is not in the sample.
    fn cell(&mut self, exit: ExitId) -> Option<&mut [Count; 2]> {
        while self.exits.len() >= EXITS && !self.exits.contains_key(&exit) {
            self.zeros += 1;
            let zeros = self.zeros;
            self.exits.retain(|exit, _| sampled(*exit, zeros));
        }
        sampled(exit, self.zeros).then(|| self.exits.entry(exit).or_default())
    }

    /// Ends the windows whose time is over.
    fn turn(&mut self, now: Time) {
        let window = window(now);
        match window.saturating_sub(self.window) {
            0 => return,
            1 => {
                let said = Sums::of(self.recent(window - 1)).verdict();
                self.row = if said == self.said { self.row.saturating_add(1) } else { 1 };
                self.said = said;
                self.exits.retain(|_, [this, before]| {
                    (*before, *this) = (*this, Count::default());
                    before.attempts > 0
                });
            }
            _ => {
                self.exits.clear();
                (self.said, self.row) = (SpreadVerdict::Unclear, 0);
            }
        }
        self.window = window;
    }

    /// What was counted in a window and the one before it.
    fn recent(&self, window: u64) -> impl Iterator<Item = ExitBlocks> {
        let both = window == self.window;
        self.exits.iter().map(move |(exit, [this, before])| ExitBlocks {
            exit: *exit,
            attempts: this.attempts + if both { before.attempts } else { 0 },
            blocked: this.blocked + if both { before.blocked } else { 0 },
        })
    }

    pub(super) fn figure(&self, now: Time) -> Option<BlockedSpread> {
        let window = window(now);
        if window > self.window + 1 {
            return None;
        }
        let exits: Vec<_> = self.recent(window).filter(|exit| exit.attempts > 0).collect();
        let one_in = 1_u32.checked_shl(self.zeros).unwrap_or(u32::MAX);
        BlockedSpread::of(&exits, one_in, (self.row >= CONFIRM).then_some(self.said))
    }
}

fn window(now: Time) -> u64 {
    now.since(Time::ZERO).as_secs() / WINDOW.as_secs()
}

fn sampled(exit: ExitId, zeros: u32) -> bool {
    mix(exit.as_u64()).trailing_zeros() >= zeros
}

#[cfg(test)]
impl Spread {
    pub(super) fn len(&self) -> usize {
        self.exits.len()
    }
}
