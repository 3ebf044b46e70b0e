//! The table of exits: listed ones and the slots of gateways at fixed places, minted ones beside it.

use super::exits::{ExitRecord, Source};
use super::ix::{ExitIx, GatewayIx, ParentIx};
use super::parents::{Kind, Parents};
use super::ring::Ring;
use super::slab::Slab;
use crate::draw::{mix, text};
use crate::exit::{Exit, ExitId, Gateway, Route, Session};
use crate::outcome::WireBytes;
use std::collections::BTreeMap;

pub(super) struct ExitTable {
    pub(super) fixed: Vec<ExitRecord>,
    pub(super) minted: Slab<ExitRecord>,
    pub(super) gateways: Vec<Gateway>,
    pub(super) ring: Ring,
    /// Salt of the tokens.
    salt: u64,
    /// How many tokens there were: digits are counted out.
    tokens: Tokens,
    given_up: Vec<Route>,
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
    pub(super) fn new(
        mut exits: Vec<Exit>,
        mut gateways: Vec<Gateway>,
        salt: u64,
        member: Member,
        cap: usize,
    ) -> Self {
        // So that no decision depends on the order in which they were given.
        exits.sort_unstable_by_key(Exit::id);
        exits.dedup_by_key(|exit| exit.id());
        gateways.sort_by_key(Gateway::id);
        gateways.dedup_by_key(|gateway| gateway.id());
        let next = mix(salt) % 1_000_000_007 * u64::from(member.of) + u64::from(member.index);
        let mut tokens = Tokens { next, step: member.of.into() };
        let mut fixed: Vec<_> =
            exits.into_iter().map(|exit| ExitRecord::new(exit, Source::Listed, 0)).collect();
        let mut held: Vec<_> = (0..).zip(&fixed).map(|(at, record)| (at, record.id().as_u64())).collect();
        for (gateway, ix) in gateways.iter().zip((0..).map(GatewayIx)) {
            for slot in 0..gateway.slots() {
                let place = mix(gateway.id() ^ text("slot") ^ u64::from(slot));
                if gateway.is_rotating() {
                    let exit = gateway.exit(&session(salt, 0, 0, 0), 0);
                    fixed.push(ExitRecord::new(exit, Source::Rotating { gateway: ix }, 0));
                    continue;
                }
                held.push((u32::try_from(fixed.len()).unwrap_or(u32::MAX), place));
                let rider = place ^ mix(u64::from(member.index));
                let count = tokens.take();
                let exit = gateway.exit(&session(salt, rider, 0, 0), count);
                let source = Source::Slot { gateway: ix, rider, generation: 0 };
                fixed.push(ExitRecord::new(exit, source, count));
            }
        }
        let ring = Ring::new(&held);
        Self { fixed, minted: Slab::new(cap), gateways, ring, salt, tokens, given_up: Vec::new() }
    }

    /// Finds what the exits share: an address that several stand behind, and the login of a gateway. A listed exit's login
    /// is its own.
    pub(super) fn adopt(&mut self) -> Parents {
        let mut parents = Parents::default();
        let mut by_address: BTreeMap<(String, u16), Vec<u32>> = BTreeMap::new();
        let mut by_gateway: BTreeMap<GatewayIx, Vec<u32>> = BTreeMap::new();
        for (index, record) in (0..).zip(&self.fixed) {
            let route = record.exit.route();
            by_address.entry((route.host().to_owned(), route.port())).or_default().push(index);
            if let Some(gateway) = record.source.gateway() {
                by_gateway.entry(gateway).or_default().push(index);
            }
        }
        let shared = by_address.into_values().filter(|members| {
            members.len() > 1 || members.iter().any(|at| self.fixed[*at as usize].source.gateway().is_some())
        });
        let shared: Vec<_> = shared.collect();
        for members in shared {
            self.share(&mut parents, Kind::Gateway, members);
        }
        for members in by_gateway.into_values() {
            self.share(&mut parents, Kind::Credential, members);
        }
        parents
    }

    fn share(&mut self, parents: &mut Parents, kind: Kind, members: Vec<u32>) {
        let ix = parents.add(kind, members.clone());
        for index in members {
            self.fixed[index as usize].parents[usize::from(kind == Kind::Credential)] = Some(ix);
        }
    }

    /// The parents of a gateway's exits.
    pub(super) fn parents_of(&self, gateway: GatewayIx) -> [Option<ParentIx>; 2] {
        // Gateways stand behind all listed exits, in order.
        let before = |record: &ExitRecord| record.source.gateway() < Some(gateway);
        let first = self.fixed.partition_point(before);
        self.fixed.get(first).map_or([None; 2], |record| record.parents)
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

    /// How many exits requests are spread over.
    pub(super) fn len(&self) -> usize {
        self.fixed.len()
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
    ) -> ExitRecord {
        let session = session(self.salt, rider, generation, window);
        let count = self.tokens.take();
        let exit = self.gateways[gateway.index()].exit(&session, count);
        let mut record = ExitRecord::new(exit, Source::Minted { gateway, session }, count);
        record.parents = self.parents_of(gateway);
        record
    }

    /// Gives the gateway of that name and kind, and all its exits, another's password.
    pub(super) fn set_gateway(&mut self, gateway: &Gateway) -> Option<GatewayIx> {
        let at = self.gateways.iter().position(|known| known.id() == gateway.id())?;
        let ix = GatewayIx(u16::try_from(at).ok()?);
        let gateway = self.gateways[at].with_login_of(gateway)?;
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
        self.gateways[at] = gateway;
        Some(ix)
    }

    /// Gives a slot a token that it never had.
    pub(super) fn renew(&mut self, ix: ExitIx) {
        let Some(Source::Slot { gateway, rider, generation }) = self.get(ix).map(|record| record.source)
        else {
            return;
        };
        let generation = generation.wrapping_add(1);
        let session = session(self.salt, rider, generation, 0);
        let count = self.tokens.take();
        let exit = self.gateways[gateway.index()].exit(&session, count);
        if let Some(record) = self.get_mut(ix) {
            (record.count, record.wire) = (count, WireBytes::default());
            record.source = Source::Slot { gateway, rider, generation };
            let old = std::mem::replace(&mut record.exit, exit);
            self.give_up([old]);
        }
    }
}

const fn session(salt: u64, rider: u64, generation: u32, window: u64) -> Session {
    Session { salt, rider, generation, window }
}
