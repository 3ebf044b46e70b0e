//! The table of exits: listed ones and the slots of gateways at fixed places, minted ones beside it. A place is an exit's as
//! long as anything knows of it; what has left stays until nothing does.

use super::bits::Bits;
use super::exits::{ExitRecord, Source};
use super::ix::{ExitIx, GatewayIx, ParentIx};
use super::named::{Named, NamedIx};
use super::ring::Ring;
use super::slab::Slab;
use crate::draw::{mix, text};
use crate::exit::{Exit, ExitId, Gateway, Route, Session};
use crate::outcome::WireBytes;
use std::collections::HashSet;

pub(super) struct ExitTable {
    pub(super) fixed: Vec<ExitRecord>,
    /// Places that are nobody's.
    free: Vec<u32>,
    pub(super) minted: Slab<ExitRecord>,
    pub(super) gateways: Vec<Known>,
    pub(super) named: Vec<Named>,
    member: Member,
    /// Salt of the tokens.
    salt: u64,
    /// How many tokens there were: digits are counted out.
    tokens: Tokens,
    given_up: Vec<Route>,
    /// How often what it is made of was said.
    pub(super) installs: u32,
}

/// A gateway of the pool.
pub(super) struct Known {
    pub(super) gateway: Gateway,
    pub(super) named: NamedIx,
    /// Its address, which others may share, and its login.
    pub(super) parents: [Option<ParentIx>; 2],
    /// It has left.
    pub(super) gone: bool,
}

/// Counts tokens; members of a fleet count by turns.
struct Tokens {
    next: u64,
    step: u64,
}

impl Tokens {
    fn take(&mut self) -> u64 {
        let count = self.next;
        self.next = self.next.wrapping_add(self.step);
        count
    }
}

/// Which of how many processes this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) index: u32,
    pub(crate) of: u32,
}

#[cfg(test)]
impl Member {
    pub(crate) const ALONE: Self = Self { index: 0, of: 1 };
}

impl ExitTable {
    pub(super) fn new(salt: u64, member: Member, minted: usize) -> Self {
        let next = mix(salt) % 1_000_000_007 * u64::from(member.of) + u64::from(member.index);
        Self {
            fixed: Vec::new(),
            free: Vec::new(),
            minted: Slab::new(minted),
            gateways: Vec::new(),
            named: Vec::new(),
            member,
            salt,
            tokens: Tokens { next, step: member.of.into() },
            given_up: Vec::new(),
            installs: 0,
        }
    }

    /// Adds an exit of a list; returns its place.
    pub(super) fn add_listed(&mut self, named: NamedIx, exit: Exit) -> u32 {
        self.put(ExitRecord::new(exit, Source::Listed, named, 0))
    }

    /// Adds those slots of a gateway that it has not yet; returns their places.
    pub(super) fn add_slots(&mut self, ix: GatewayIx) -> Vec<u32> {
        let Some(Known { gateway, named, .. }) = self.gateways.get(ix.index()) else { return Vec::new() };
        let (gateway, named) = (gateway.clone(), *named);
        let there = |source: Source| match source {
            Source::Slot { gateway, rider, .. } => (gateway == ix).then_some(rider),
            Source::Rotating { gateway } => (gateway == ix).then_some(0),
            Source::Listed | Source::Minted { .. } => None,
        };
        let staying = self.fixed.iter().filter(|record| !record.gone);
        let there: HashSet<u64> = staying.filter_map(|record| there(record.source)).collect();
        let missing: Vec<u64> = self.riders(&gateway).filter(|rider| !there.contains(rider)).collect();
        let put = |rider: u64| {
            if gateway.is_rotating() {
                let exit = gateway.exit(&session(self.salt, 0, 0, 0), 0);
                return self.put(ExitRecord::new(exit, Source::Rotating { gateway: ix }, named, 0));
            }
            let count = self.tokens.take();
            // A slot that is forgotten and comes back has no token that it had.
            let generation = self.installs.wrapping_sub(1) << 16;
            let exit = gateway.exit(&session(self.salt, rider, generation, 0), count);
            let source = Source::Slot { gateway: ix, rider, generation };
            self.put(ExitRecord::new(exit, source, named, count))
        };
        missing.into_iter().map(put).collect()
    }

    /// Who rides a gateway's slots, in this process.
    pub(super) fn riders(&self, gateway: &Gateway) -> impl Iterator<Item = u64> + use<> {
        let (id, member, rotates) = (gateway.id(), mix(u64::from(self.member.index)), gateway.is_rotating());
        (0..gateway.slots()).map(move |slot| if rotates { 0 } else { place_of_slot(id, slot) ^ member })
    }

    fn put(&mut self, record: ExitRecord) -> u32 {
        if let Some(index) = self.free.pop() {
            self.fixed[index as usize] = record;
            return index;
        }
        self.fixed.push(record);
        u32::try_from(self.fixed.len() - 1).unwrap_or(u32::MAX)
    }

    /// Nothing knows of the exit at that place any more: the next one that joins may have it.
    pub(super) fn set_free(&mut self, index: u32) {
        self.fixed[index as usize].vacant = true;
        self.free.push(index);
    }

    /// Finds anew which exits each named pool has, and on which terms.
    pub(super) fn muster(&mut self) {
        // It grows by doubling, and seldom.
        self.fixed.shrink_to_fit();
        let len = self.fixed.len();
        let mut held: Vec<Vec<(u32, u64)>> = self.named.iter().map(|_| Vec::new()).collect();
        for named in &mut self.named {
            named.members.clear();
            named.set = Bits::default();
        }
        let member = mix(u64::from(self.member.index));
        for (at, record) in (0..).zip(&mut self.fixed) {
            if record.gone {
                continue;
            }
            let ix = record.named.index();
            let named = &mut self.named[ix];
            named.members.push(at);
            named.set.set(at as usize, true, len);
            (record.most, record.spacing) = (named.most(), named.spacing());
            match record.source {
                Source::Listed => held[ix].push((at, record.id().as_u64())),
                // The same in every process: who rides it is not.
                Source::Slot { rider, .. } => held[ix].push((at, rider ^ member)),
                Source::Rotating { .. } | Source::Minted { .. } => {}
            }
        }
        for (named, held) in self.named.iter_mut().zip(held) {
            named.members.shrink_to_fit();
            named.ring = Ring::new(&held);
        }
        // Sessions that are held go with their gateway, on its pool's terms.
        for record in self.minted.iter_mut() {
            let known = record.source.gateway().and_then(|ix| self.gateways.get(ix.index()));
            if let Some(known) = known.filter(|known| !known.gone) {
                let named = &self.named[known.named.index()];
                (record.named, record.most, record.spacing) = (known.named, named.most(), named.spacing());
            }
        }
    }

    /// The parents of a gateway's exits.
    pub(super) fn parents_of(&self, gateway: GatewayIx) -> [Option<ParentIx>; 2] {
        self.gateways.get(gateway.index()).map_or([None; 2], |known| known.parents)
    }

    #[inline]
    pub(super) fn get(&self, ix: ExitIx) -> Option<&ExitRecord> {
        match ix {
            ExitIx::Fixed(index) => self.fixed.get(index as usize),
            ExitIx::Minted(slot) => self.minted.get(slot),
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, ix: ExitIx) -> Option<&mut ExitRecord> {
        match ix {
            ExitIx::Fixed(index) => self.fixed.get_mut(index as usize),
            ExitIx::Minted(slot) => self.minted.get_mut(slot),
        }
    }

    pub(super) fn id(&self, ix: ExitIx) -> Option<ExitId> {
        self.get(ix).map(ExitRecord::id)
    }

    /// How many places there are, those included that are nobody's now.
    pub(super) fn len(&self) -> usize {
        self.fixed.len()
    }

    /// Whether there is one pool, and each place is somebody's.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.named.len() == 1 && self.free.is_empty()
    }

    /// Whether a pool leaves its exits alone for a while after each lease.
    pub(super) fn is_spaced(&self) -> bool {
        self.named.iter().any(|named| !named.terms.interval.is_zero())
    }

    /// How many places are somebody's.
    pub(super) fn places(&self) -> usize {
        self.fixed.len() - self.free.len()
    }

    /// How many exits requests are spread over.
    pub(super) fn living(&self) -> usize {
        self.named.iter().map(|named| named.members.len()).sum()
    }

    /// An exit that was replaced or is gone: no lease leads through it again.
    pub(super) fn give_up(&mut self, exit: impl IntoIterator<Item = Exit>) {
        self.given_up.extend(exit.into_iter().map(|exit| exit.route().clone()));
    }

    pub(super) fn given_up(&mut self) -> Vec<Route> {
        std::mem::take(&mut self.given_up)
    }

    #[inline]
    pub(super) fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
    }

    /// The session that a binding will hold.
    pub(super) fn mint(
        &mut self,
        gateway: GatewayIx,
        rider: u64,
        generation: u32,
        window: u64,
    ) -> Option<ExitRecord> {
        let session = session(self.salt, rider, generation, window);
        let known = self.gateways.get(gateway.index())?;
        let count = self.tokens.take();
        let exit = known.gateway.exit(&session, count);
        let mut record = ExitRecord::new(exit, Source::Minted { gateway, session }, known.named, count);
        record.parents = known.parents;
        let named = &self.named[known.named.index()];
        (record.most, record.spacing) = (named.most(), named.spacing());
        Some(record)
    }

    /// Where the gateway of that name and kind is, or was.
    pub(super) fn find_known(&self, gateway: &Gateway) -> Option<GatewayIx> {
        let same = |known: &Known| {
            known.gateway.id() == gateway.id() && known.gateway.is_rotating() == gateway.is_rotating()
        };
        self.gateways.iter().position(same).and_then(|at| u16::try_from(at).ok()).map(GatewayIx)
    }

    /// Where the gateway of that name is.
    pub(super) fn find_gateway(&self, gateway: &Gateway) -> Option<GatewayIx> {
        let at = self.gateways.iter().position(|known| !known.gone && known.gateway.id() == gateway.id())?;
        u16::try_from(at).ok().map(GatewayIx)
    }

    /// Puts another gateway in the place of one, and gives all its exits what it renders.
    pub(super) fn replace_gateway(&mut self, ix: GatewayIx, gateway: Gateway) {
        let salt = self.salt;
        let records = self.fixed.iter_mut().chain(self.minted.iter_mut());
        for record in records.filter(|record| record.source.gateway() == Some(ix)) {
            let session = match record.source {
                Source::Slot { rider, generation, .. } => session(salt, rider, generation, 0),
                Source::Minted { session, .. } => session,
                Source::Rotating { .. } | Source::Listed => session(salt, 0, 0, 0),
            };
            let old = std::mem::replace(&mut record.exit, gateway.exit(&session, record.count));
            self.given_up.push(old.route().clone());
        }
        if let Some(known) = self.gateways.get_mut(ix.index()) {
            known.gateway = gateway;
        }
    }

    /// Gives a slot a token that it never had.
    pub(super) fn renew(&mut self, ix: ExitIx) {
        let Some(Source::Slot { gateway, rider, generation }) = self.get(ix).map(|record| record.source)
        else {
            return;
        };
        let Some(known) = self.gateways.get(gateway.index()) else { return };
        let generation = generation.wrapping_add(1);
        let session = session(self.salt, rider, generation, 0);
        let count = self.tokens.take();
        let exit = known.gateway.exit(&session, count);
        if let Some(record) = self.get_mut(ix) {
            (record.count, record.wire) = (count, WireBytes::default());
            record.source = Source::Slot { gateway, rider, generation };
            let old = std::mem::replace(&mut record.exit, exit);
            self.give_up([old]);
        }
    }
}

/// Where a slot stands among the places of a pool: the same in every process.
fn place_of_slot(gateway: u64, slot: u32) -> u64 {
    mix(gateway ^ text("slot") ^ u64::from(slot))
}

const fn session(salt: u64, rider: u64, generation: u32, window: u64) -> Session {
    Session { salt, rider, generation, window }
}
