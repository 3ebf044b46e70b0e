//! Draws and walks among the exits of the pools that may serve.

use super::bits::{Out, WITHIN};
use super::ix::ExitIx;
use super::named::{Named, NamedIx};
use super::view::View;
use crate::draw::{below, mix};

/// How many usable exits a walk skips at most, so that each is about as likely as the others.
const SKIP: usize = 8;

impl View<'_> {
    /// An exit of the pools that may serve, drawn at random, each by its pool's weight; `None` if they have none.
    #[inline]
    pub(super) fn drawn(&self, draw: u64) -> Option<ExitIx> {
        if let [only] = self.pool.exits.named.as_slice() {
            let members = &only.members;
            return if members.is_empty() {
                None
            } else {
                Some(ExitIx::Fixed(members[below(draw, members.len())]))
            };
        }
        let (named, at) = self.drawn_among(draw)?;
        named.members.get(at / named.terms.weight as usize).copied().map(ExitIx::Fixed)
    }

    /// A pool of those that may serve, by its exits and their weight, and which of its shares was drawn.
    pub(super) fn drawn_among(&self, draw: u64) -> Option<(&Named, usize)> {
        let all: usize = self.parts().map(Named::share).sum();
        let mut at = if all == 0 { return None } else { below(draw, all) };
        for named in self.parts() {
            let share = named.share();
            if at < share {
                return Some((named, at));
            }
            at -= share;
        }
        None
    }

    /// The pools that may serve.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Named> {
        let named = (0..).map(NamedIx).zip(&self.pool.exits.named);
        named.filter(|(ix, _)| self.among.has(*ix)).map(|(_, named)| named)
    }

    /// What is out, in each group of pools that may serve and are walked together.
    pub(super) fn walks(&self) -> impl Iterator<Item = Out<'_>> {
        let pool = self.pool;
        let sets = [&pool.down, &self.record.benched, &pool.owned, &pool.barred, &pool.full];
        let out = Out::new(sets, pool.exits.len());
        let everywhere = pool.exits.is_plain().then_some(out);
        let mut parts = self.parts().skip(if everywhere.is_some() { usize::MAX } else { 0 });
        let some = std::iter::from_fn(move || {
            let first = out.within(&parts.next()?.set);
            Some(parts.by_ref().take(WITHIN - 1).fold(first, |out, part| out.within(&part.set)))
        });
        everywhere.into_iter().chain(some)
    }

    /// Any usable exit that suits, each about as likely as the others.
    pub(super) fn any(&self, draw: u64, suits: impl Fn(ExitIx) -> bool) -> Option<ExitIx> {
        let suits = &|index| !self.avoids(ExitIx::at(index)) && suits(ExitIx::at(index));
        let (from, skip) = (below(draw, self.pool.exits.len()), below(mix(draw), SKIP));
        self.walks().find_map(|out| out.any(from, skip, suits)).map(ExitIx::at)
    }

    /// The next usable exit in turn.
    pub(super) fn turn(&self, not: Option<ExitIx>) -> Option<ExitIx> {
        let from = self.pool.turn as usize % self.pool.exits.len();
        let suits = &|index| Some(ExitIx::at(index)) != not && !self.avoids(ExitIx::at(index));
        self.walks().find_map(|out| out.first(from, suits)).map(ExitIx::at)
    }

    /// The first exit of a seed's sequence of places that suits: in the pool that the seed draws, then in the others.
    pub(super) fn at_place(&self, seed: u64, suits: impl Fn(ExitIx) -> bool) -> Option<ExitIx> {
        if let [only] = self.pool.exits.named.as_slice() {
            return only.ring.place(seed, suits);
        }
        let (first, _) = self.drawn_among(mix(seed))?;
        let others = self.parts().filter(|named| !std::ptr::eq(*named, first));
        std::iter::once(first).chain(others).find_map(|named| named.ring.place(seed, &suits))
    }
}
