//! Whether the blocks of an origin are on some exits or on all alike (A27): is it my pool, or my pattern?
//!
//! Counting begins at an origin's first block and ends when it had none for a minute, so that whoever is not blocked pays
//! nothing. Bounded: 256 origins at once, 512 exits each.

mod counts;
mod figure;
mod tarone;
#[cfg(test)]
mod tests;

pub use figure::{BlockedSpread, ExitBlocks, SpreadVerdict};

use super::ix::SpreadIx;
use super::slab::Slab;
use crate::exit::ExitId;
use crate::outcome::Outcome;
use crate::request::Time;
use counts::Spread;
use std::time::Duration;

/// How many origins are counted at once. More are not, until one of these has been quiet.
const ORIGINS: usize = 256;
/// How long without a block ends the counting.
const QUIET: Duration = Duration::from_secs(60);
/// How many of them are looked at for one that is quiet.
const LOOK: usize = 16;

pub(super) struct Spreads(Slab<Spread>);

impl Spreads {
    pub(super) fn new() -> Self {
        Self(Slab::new(ORIGINS))
    }

    /// Counts an attempt that an origin served or blocked. `at` is where that origin is counted.
    #[inline(never)]
    pub(super) fn count(&mut self, at: &mut Option<SpreadIx>, now: Time, exit: ExitId, outcome: &Outcome) {
        let Some(blocked) = is_block(outcome) else { return };
        let quiet = |spread: &Spread| now.since(spread.last_block()) > QUIET;
        if let Some(ix) = at.filter(|ix| self.0.get(ix.0).is_none_or(quiet)) {
            self.0.remove(ix.0);
            *at = None;
        }
        if at.is_none() && blocked {
            if self.0.is_full() {
                self.0.evict(LOOK, |spread| quiet(spread).then(|| spread.last_block()));
            }
            *at = self.0.insert(Spread::new(now)).map(SpreadIx);
        }
        if let Some(spread) = at.and_then(|ix| self.0.get_mut(ix.0)) {
            spread.count(now, exit, blocked);
        }
    }

    /// The attempt was counted under an outcome that it did not have.
    pub(super) fn take_back(&mut self, at: Option<SpreadIx>, now: Time, exit: ExitId, outcome: &Outcome) {
        let spread = at.and_then(|ix| self.0.get_mut(ix.0));
        if let (Some(spread), Some(blocked)) = (spread, is_block(outcome)) {
            spread.take_back(now, exit, blocked);
        }
    }

    /// `None` if nothing was blocked lately.
    pub(super) fn figure(&self, at: Option<SpreadIx>, now: Time) -> Option<BlockedSpread> {
        self.0.get(at?.0)?.figure(now)
    }
}

/// Whether the origin served or blocked the attempt; what else became of it says nothing about blocks.
const fn is_block(outcome: &Outcome) -> Option<bool> {
    match outcome {
        Outcome::Ok => Some(false),
        Outcome::Blocked { .. } => Some(true),
        _ => None,
    }
}
