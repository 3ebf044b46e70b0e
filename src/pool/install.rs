//! What the pool is made of: put in at first, and changed later, all at once. Exits that stay keep what is known of them and
//! who holds them; those that leave drain.

use super::Pool;
use super::exits::{ExitRecord, Source};
use super::ix::{ExitIx, GatewayIx, ParentIx};
use super::named::{self, Named, NamedIx};
use super::parents::Kind;
use super::plan::Plan;
use super::table::Known;
use crate::exit::{self, Exit, ExitId, Gateway};
use crate::request::Time;
use crate::site::Sites;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// For how long an exit that has left is remembered, with its rests, its login and whether a person kept it out: a list that
/// loses a line by mistake has it back by then. As long as the longest hint that is believed.
const REMEMBERED: Duration = Duration::from_secs(3_600);
/// As many may have left; or as many as there are.
const MOST_LEFT: usize = 1_024;

/// How many exits joined, stayed and left; slots of gateways count.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Installed {
    pub(crate) added: usize,
    pub(crate) kept: usize,
    pub(crate) removed: usize,
}

impl Pool {
    /// Makes the pool what these say, each exit and gateway in one of them alone. They have been checked.
    pub(crate) fn install(&mut self, now: Time, mut pools: Vec<exit::Pool>, sites: Arc<Sites>) -> Installed {
        self.clear_out(now);
        self.exits.installs += 1;
        // So that no decision depends on the order in which they were given.
        pools.sort_by(|a, b| a.name.cmp(&b.name));
        let names: Vec<NamedIx> = pools.iter().map(|pool| self.named_for(pool, &pools)).collect();
        let (mut exits, mut gateways) = (HashMap::new(), Vec::new());
        let mut order: Vec<Exit> = Vec::new();
        for (pool, ix) in pools.into_iter().zip(names) {
            let mut listed: Vec<Exit> = pool.exits.into_iter().collect();
            listed.sort_unstable_by_key(Exit::id);
            listed.dedup_by_key(|exit| exit.id());
            exits.extend(listed.iter().map(|exit| (exit.id(), ix)));
            order.extend(listed);
            let mut behind = pool.gateways;
            behind.sort_by_key(Gateway::id);
            behind.dedup_by_key(|gateway| gateway.id());
            gateways.extend(behind.into_iter().map(|gateway| (gateway, ix)));
        }
        let mut done = Installed::default();
        let known = self.listed();
        self.part_with_exits(now, &known, &exits, &mut done);
        let mut joined = Vec::new();
        for exit in order {
            let named = exits[&exit.id()];
            match known.get(&exit.id()) {
                Some(at) => self.keep_exit(now, *at, &exit, named, &mut done),
                None => {
                    joined.push(self.exits.add_listed(named, exit));
                    done.added += 1;
                }
            }
        }
        self.install_gateways(now, gateways, &mut joined, &mut done);
        self.exits.muster();
        self.measure();
        self.adopt(&joined);
        self.sites = sites;
        for record in self.origins.iter_mut() {
            let site = self.sites.of(record.name.as_str());
            record.planned = true;
            record.plan = site.and_then(|site| Plan::of(site, &self.exits.named, record.plan.take()));
        }
        self.moved.everywhere();
        self.moved.all_holders = true;
        done
    }

    /// Whether there is room for the names of these beside those that still drain.
    pub(crate) fn has_room_for(&self, pools: &[exit::Pool]) -> bool {
        let wanted = |named: &Named| pools.iter().any(|pool| pool.name == named.name);
        let drains = |(at, named): &(usize, &Named)| !wanted(named) && self.is_peopled(*at);
        self.exits.named.iter().enumerate().filter(drains).count() + pools.len() <= named::MOST
    }

    /// Whether that named pool has an exit, or a lease of one that has left.
    fn is_peopled(&self, at: usize) -> bool {
        let known = |record: &&ExitRecord| !record.gone || record.in_flight > 0;
        let mut exits = self.exits.fixed.iter().chain(self.exits.minted.iter()).filter(known);
        exits.any(|record| record.named.index() == at)
    }

    /// The named pool of that name, on its terms from now on. A new name takes the place of one that has nobody any more.
    fn named_for(&mut self, pool: &exit::Pool, all: &[exit::Pool]) -> NamedIx {
        let named = &self.exits.named;
        let known = named.iter().position(|known| known.name == pool.name);
        let wanted = |at: &usize| all.iter().any(|pool| pool.name == named[*at].name);
        let at = known.or_else(|| (0..named.len()).find(|at| !wanted(at) && !self.is_peopled(*at)));
        let at = at.unwrap_or(named.len());
        let named = &mut self.exits.named;
        if known.is_none() {
            let fresh = Named::new(Arc::clone(&pool.name), pool.terms.clone());
            if at == named.len() { named.push(fresh) } else { named[at] = fresh }
        }
        named[at].terms = pool.terms.clone();
        NamedIx(u8::try_from(at).unwrap_or(u8::MAX))
    }

    /// Where each listed exit stands, those that have left and are still known included.
    fn listed(&self) -> BTreeMap<ExitId, u32> {
        let listed = |(_, record): &(u32, &ExitRecord)| record.source == Source::Listed && !record.vacant;
        (0..).zip(&self.exits.fixed).filter(listed).map(|(at, record)| (record.id(), at)).collect()
    }

    fn part_with_exits(
        &mut self,
        now: Time,
        known: &BTreeMap<ExitId, u32>,
        wanted: &HashMap<ExitId, NamedIx>,
        done: &mut Installed,
    ) {
        for (id, at) in known {
            if !wanted.contains_key(id) {
                done.removed += usize::from(self.part_with(now, *at));
            }
        }
    }

    /// An exit leaves: it gets no lease any more, and what holds it must leave it. Says whether it was there.
    fn part_with(&mut self, now: Time, at: u32) -> bool {
        let record = &mut self.exits.fixed[at as usize];
        if std::mem::replace(&mut record.gone, true) {
            return false;
        }
        record.left = now;
        let exit = record.exit.clone();
        self.exits.give_up([exit]);
        self.bar(at, true);
        true
    }

    /// Keeps an exit out, for one more reason, or for one less.
    pub(super) fn bar(&mut self, at: u32, on: bool) {
        let (index, len) = (at as usize, self.exits.len());
        let record = &mut self.exits.fixed[index];
        record.barred = if on { record.barred + 1 } else { record.barred.saturating_sub(1) };
        let barred = record.barred > 0;
        self.barred.set(index, barred, len);
    }

    fn keep_exit(&mut self, now: Time, at: u32, exit: &Exit, named: NamedIx, done: &mut Installed) {
        let record = &mut self.exits.fixed[at as usize];
        record.named = named;
        let (back, other) = (std::mem::replace(&mut record.gone, false), record.exit != *exit);
        if back {
            self.bar(at, false);
            done.added += 1;
        } else {
            done.kept += 1;
        }
        if other {
            self.set_exit(now, exit);
        }
        self.exits.fixed[at as usize].exit.stands_as(exit);
    }

    fn install_gateways(
        &mut self,
        now: Time,
        wanted: Vec<(Gateway, NamedIx)>,
        joined: &mut Vec<u32>,
        done: &mut Installed,
    ) {
        let stays = |known: &Known| {
            let same = |(gateway, _): &&(Gateway, NamedIx)| {
                gateway.id() == known.gateway.id() && gateway.is_rotating() == known.gateway.is_rotating()
            };
            wanted.iter().any(|wanted| same(&wanted))
        };
        let leaving: Vec<GatewayIx> = (0..)
            .map(GatewayIx)
            .zip(&self.exits.gateways)
            .filter(|(_, known)| !known.gone && !stays(known))
            .map(|(ix, _)| ix)
            .collect();
        for ix in leaving {
            self.exits.gateways[ix.index()].gone = true;
            let slots = self.slots_of(ix);
            done.removed += slots.into_iter().filter(|at| self.part_with(now, *at)).count();
            for record in self.exits.minted.iter_mut().filter(|record| record.source.gateway() == Some(ix)) {
                record.gone = true;
            }
        }
        for (gateway, named) in wanted {
            let ix = match self.exits.find_known(&gateway) {
                Some(ix) => {
                    self.exits.gateways[ix.index()].gone = false;
                    self.keep_gateway(now, ix, gateway, named, done);
                    ix
                }
                None => {
                    let known = Known { gateway, named, parents: [None; 2], gone: false };
                    self.exits.gateways.push(known);
                    GatewayIx(u16::try_from(self.exits.gateways.len() - 1).unwrap_or(u16::MAX))
                }
            };
            let slots = self.exits.add_slots(ix);
            done.added += slots.len();
            joined.extend(slots);
        }
    }

    fn keep_gateway(
        &mut self,
        now: Time,
        ix: GatewayIx,
        gateway: Gateway,
        named: NamedIx,
        done: &mut Installed,
    ) {
        self.exits.gateways[ix.index()].named = named;
        let riders: HashSet<u64> = self.exits.riders(&gateway).collect();
        for at in self.slots_of(ix) {
            let record = &mut self.exits.fixed[at as usize];
            record.named = named;
            let stays = match record.source {
                Source::Slot { rider, .. } => riders.contains(&rider),
                _ => true,
            };
            let gone = record.gone;
            record.gone = gone && !stays;
            match (stays, gone) {
                (true, false) => done.kept += 1,
                (true, true) => {
                    // It comes back as itself, with the token that it had last.
                    self.bar(at, false);
                    done.added += 1;
                }
                (false, _) => done.removed += usize::from(self.part_with(now, at)),
            }
        }
        if self.exits.gateways[ix.index()].gateway != gateway {
            self.exits.replace_gateway(ix, gateway);
            let [_, credential] = self.exits.parents_of(ix);
            self.doubt(now, credential);
        }
    }

    fn slots_of(&self, ix: GatewayIx) -> Vec<u32> {
        let own = |(_, record): &(u32, &ExitRecord)| record.source.gateway() == Some(ix) && !record.vacant;
        (0..).zip(&self.exits.fixed).filter(own).map(|(at, _)| at).collect()
    }

    /// Which exits are at their limit: the terms may be others now.
    fn measure(&mut self) {
        let len = self.exits.len();
        for (at, record) in self.exits.fixed.iter().enumerate() {
            self.full.set(at, !record.vacant && record.in_flight >= record.most, len);
        }
    }

    /// Finds what new exits share with others: an address that several stand behind, and the login of a gateway. A listed
    /// exit's login is its own.
    fn adopt(&mut self, joined: &[u32]) {
        let mut by_address: BTreeMap<(String, u16), Vec<u32>> = BTreeMap::new();
        let mut by_gateway: BTreeMap<GatewayIx, Vec<u32>> = BTreeMap::new();
        let address = |record: &ExitRecord| match record.source.gateway() {
            // Where each port is a session, all of them stand behind the first.
            Some(ix) => {
                let gateway = &self.exits.gateways[ix.index()].gateway;
                (gateway.host().to_owned(), gateway.port())
            }
            None => (record.exit.route().host().to_owned(), record.exit.route().port()),
        };
        for at in joined {
            let record = &self.exits.fixed[*at as usize];
            by_address.entry(address(record)).or_default();
            if let Some(gateway) = record.source.gateway() {
                by_gateway.entry(gateway).or_default().push(*at);
            }
        }
        for (at, record) in (0..).zip(&self.exits.fixed).filter(|(_, record)| !record.vacant) {
            if let Some(members) = by_address.get_mut(&address(record)) {
                members.push(at);
            }
        }
        let behind = |at: &u32| self.exits.fixed[*at as usize].source.gateway();
        by_address.retain(|_, members| members.len() > 1 || members.iter().any(|at| behind(at).is_some()));
        for members in by_address.into_values() {
            self.share(Kind::Gateway, members);
        }
        for (gateway, members) in by_gateway {
            self.share(Kind::Credential, members);
            let known = &mut self.exits.gateways[gateway.index()];
            let slot = self
                .exits
                .fixed
                .iter()
                .find(|record| record.source.gateway() == Some(gateway) && !record.gone);
            known.parents = slot.map_or([None; 2], |record| record.parents);
        }
    }

    /// Puts exits under one parent: that of one of them, if it has one.
    fn share(&mut self, kind: Kind, members: Vec<u32>) {
        let which = usize::from(kind == Kind::Credential);
        let own = |at: &u32| {
            let record = &self.exits.fixed[*at as usize];
            let known = record.source.gateway().and_then(|ix| self.exits.gateways[ix.index()].parents[which]);
            record.parents[which].or(known)
        };
        let parent: Option<ParentIx> = members.iter().find_map(own);
        let ix = match parent {
            Some(ix) => ix,
            None => self.parents.add(kind, Vec::new()),
        };
        let mut shut = Vec::new();
        for at in members {
            let record = &mut self.exits.fixed[at as usize];
            if record.parents[which].is_some() {
                continue;
            }
            record.parents[which] = Some(ix);
            if self.parents.join(ix, at) {
                shut.push(at);
            }
        }
        shut.into_iter().for_each(|at| self.bar(at, true));
    }

    /// Frees the places of exits that have left and that nothing knows of any more.
    fn clear_out(&mut self, now: Time) {
        let fixed = &self.exits.fixed;
        let is_gone = |exit: ExitIx| exit.index().is_some_and(|at| fixed[at].gone && !fixed[at].vacant);
        if !fixed.iter().any(|record| record.gone && !record.vacant) {
            return;
        }
        for (ix, exit, holder) in self.bindings.forget_over(now, is_gone) {
            self.moved.holder(holder);
            self.unbind(ix, exit);
        }
        let left = self.exits.fixed.iter().filter(|record| record.gone && !record.vacant).count();
        let crowded = left > self.exits.living().max(MOST_LEFT);
        let idle = |record: &ExitRecord| {
            let old = crowded || now.since(record.left) >= REMEMBERED;
            record.gone && !record.vacant && record.in_flight == 0 && record.bound == 0 && old
        };
        let leaving: BTreeSet<u32> =
            (0..).zip(&self.exits.fixed).filter(|(_, record)| idle(record)).map(|(at, _)| at).collect();
        let leaves = |exit: ExitIx| matches!(exit, ExitIx::Fixed(at) if leaving.contains(&at));
        for slot in self.pairs.of(leaves) {
            self.with_pair(slot, |pair| pair.gate.forget());
            self.pairs.remove(slot);
        }
        self.parents.part_with(|at| leaving.contains(&at));
        for at in leaving {
            let exit = ExitIx::Fixed(at);
            self.set_owner(exit, None);
            self.with_exit(exit, |record| {
                record.gate.forget();
                record.barred = 0;
            });
            let len = self.exits.len();
            self.barred.set(at as usize, false, len);
            self.full.set(at as usize, false, len);
            self.exits.set_free(at);
        }
    }
}
