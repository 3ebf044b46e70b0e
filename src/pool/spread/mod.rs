//! What the blocks of an origin depend on (A27): is it my pool, or my pattern? A subnet, or some of the requests?
//!
//! Counting begins at an origin's first block and ends when it had none for a minute, so that whoever is not blocked pays
//! nothing. Bounded: 256 origins at once, 512 exits each, a bit or two for each of the others, 256 blocks that may yet be charged.

mod alike;
mod clean;
mod counts;
mod course;
mod diagnosis;
mod figure;
mod spared;
mod strata;
mod subnet;
mod tarone;
#[cfg(test)]
mod tests;

pub use diagnosis::{Cause, Diagnosis};
pub use figure::{BlockedSpread, ExitBlocks, SpreadVerdict};
pub use subnet::{Subnet, SubnetBlocks};

use super::ix::{ExitIx, SpreadIx};
use super::receipt::{LeaseId, Receipt};
use super::slab::Slab;
use crate::exit::ExitId;
use crate::knobs;
use crate::outcome::{Evidence, Outcome};
use crate::request::Time;
use course::{Attempt, Spread};
use std::time::Duration;

/// How many origins are counted at once. More are not, until one of these has been quiet.
const ORIGINS: usize = 256;
/// How long without a block ends the counting.
const QUIET: Duration = Duration::from_secs(60);
/// How many of them are looked at for one that is quiet.
const LOOK: usize = 16;

pub(super) struct Spreads {
    origins: Slab<Spread>,
    /// `None`: nothing follows from what is counted.
    knobs: Option<knobs::Diagnosis>,
}

impl Spreads {
    pub(super) fn new(knobs: Option<knobs::Diagnosis>) -> Self {
        Self { origins: Slab::new(ORIGINS), knobs }
    }

    pub(super) const fn knobs(&self) -> Option<&knobs::Diagnosis> {
        self.knobs.as_ref()
    }

    /// Counts an attempt that an origin served or blocked. `at` is where that origin is counted, `len` the size of the pool, and
    /// `subnet` where the exit's address lies. Answers what its blocks depend on from now on, if that has changed.
    pub(super) fn count(
        &mut self,
        at: &mut Option<SpreadIx>,
        now: Time,
        (by, len): (&Receipt, usize),
        outcome: &Outcome,
        subnet: impl FnOnce() -> Option<Subnet>,
    ) -> Option<Diagnosis> {
        let attempt = attempt(by, len, outcome)?;
        let mut over = None;
        let quiet = |spread: &Spread| is_quiet(now, spread);
        if let Some(ix) = at.filter(|ix| self.origins.get(ix.0).is_none_or(quiet)) {
            let held = self.origins.remove(ix.0).and_then(|spread| spread.holds().cloned());
            over = held.map(|_| Diagnosis::default());
            *at = None;
        }
        if at.is_none() && attempt.blocked {
            if self.origins.is_full() {
                self.origins.evict(LOOK, |spread| quiet(spread).then(|| spread.last_block()));
            }
            *at = self.origins.insert(Spread::new(now)).map(SpreadIx);
        }
        let spread = at.and_then(|ix| self.origins.get_mut(ix.0));
        spread.and_then(|spread| spread.count(now, attempt, self.knobs.as_ref(), subnet)).or(over)
    }

    /// The attempt was counted under an outcome that it did not have.
    pub(super) fn take_back(&mut self, at: Option<SpreadIx>, now: Time, by: &Receipt, outcome: &Outcome) {
        if let (Some(spread), Some(attempt)) = (self.get_mut(at), attempt(by, 0, outcome)) {
            spread.take_back(now, attempt);
        }
    }

    /// The exit is charged for a block.
    pub(super) fn charged(&mut self, at: Option<SpreadIx>, exit: ExitIx, len: usize) {
        if let (Some(spread), Some(index)) = (self.get_mut(at), exit.index()) {
            spread.charged((index, len));
        }
    }

    /// A block is laid to the request: kept until it is known whether the request passes elsewhere. At its second it stops.
    pub(super) fn spare(&mut self, at: Option<SpreadIx>, by: &Receipt, evidence: &Evidence) {
        let Some(spread) = self.get_mut(at) else { return };
        match by.blocked {
            LeaseId::NONE => spread.spared.keep(by, evidence),
            before => drop(spread.spared.take(before)),
        }
    }

    /// The request has passed elsewhere: the block that was laid to it.
    pub(super) fn spared(&mut self, at: Option<SpreadIx>, lease: LeaseId) -> Option<(Receipt, Evidence)> {
        self.get_mut(at)?.spared.take(lease)
    }

    /// What a request has revealed of an exit.
    pub(super) fn reveal(&mut self, at: Option<SpreadIx>, exit: ExitId, subnet: Subnet) {
        if let Some(spread) = self.get_mut(at) {
            spread.reveal(exit, subnet);
        }
    }

    /// Where the exit's address lies, if it has said so lately.
    pub(super) fn subnet(&self, at: Option<SpreadIx>, exit: ExitId) -> Option<Subnet> {
        self.origins.get(at?.0)?.subnet(exit)
    }

    /// Whether the exit has served the origin lately, and was not blocked since.
    #[cold]
    pub(super) fn is_clean(&self, at: Option<SpreadIx>, exit: ExitIx) -> bool {
        let spread = at.and_then(|ix| self.origins.get(ix.0));
        spread.zip(exit.index()).is_some_and(|(spread, index)| spread.clean.has(index))
    }

    /// What an origin's blocks depend on; `None` if that is not clear, or nothing was blocked lately.
    pub(super) fn diagnosis(&self, at: Option<SpreadIx>, now: Time) -> Option<&Diagnosis> {
        self.origins.get(at?.0).filter(|spread| !is_quiet(now, spread))?.holds()
    }

    /// `None` if nothing was blocked lately.
    pub(super) fn figure(&self, at: Option<SpreadIx>, now: Time) -> Option<BlockedSpread> {
        self.origins.get(at?.0)?.figure(now)
    }

    fn get_mut(&mut self, at: Option<SpreadIx>) -> Option<&mut Spread> {
        self.origins.get_mut(at?.0)
    }
}

fn is_quiet(now: Time, spread: &Spread) -> bool {
    now.since(spread.last_block()) > QUIET
}

fn attempt(by: &Receipt, len: usize, outcome: &Outcome) -> Option<Attempt> {
    let place = by.at.0.index().map(|index| (index, len));
    let (exit, clean, again) = (by.exit, by.clean, by.again);
    is_block(outcome).map(|blocked| Attempt { exit, place, clean, again, blocked })
}

/// Whether the origin served or blocked the attempt; what else became of it says nothing about blocks.
const fn is_block(outcome: &Outcome) -> Option<bool> {
    match outcome {
        Outcome::Ok => Some(false),
        Outcome::Blocked { .. } => Some(true),
        _ => None,
    }
}
