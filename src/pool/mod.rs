//! Which exit may serve whom, now; and what evidence costs whom.

mod bindings;
mod bits;
mod bounds;
mod capacity;
mod charge;
#[cfg(test)]
mod check;
mod choice;
mod choose;
mod describe;
mod diagnose;
mod draws;
mod enter;
mod event;
mod exits;
mod flow;
mod gap;
mod gate;
mod gates;
mod heat;
mod hold;
mod install;
mod ix;
mod moved;
mod named;
mod operate;
mod origins;
mod pairs;
mod parents;
mod plan;
mod promise;
mod proof;
mod reason;
mod receipt;
mod refuse;
mod rests;
mod ring;
mod room;
mod slab;
mod spread;
mod stake;
mod table;
mod timers;
mod unusable;
mod view;

pub use bounds::Bounds;
pub(crate) use capacity::Capacity;
pub(crate) use choice::{Blocked, Choice, NoExit};
pub(crate) use describe::{OriginFacts, PairFacts, PoolFacts};
pub use event::Event;
pub(crate) use event::Events;
pub(crate) use flow::decay;
pub(crate) use install::Installed;
pub(crate) use ix::{BindingIx, ExitIx, OriginIx};
pub(crate) use moved::Moved;
pub(crate) use named::{MOST as MOST_POOLS, NamedIx};
pub(crate) use parents::GatewayFacts;
pub use parents::LoginState;
pub(crate) use promise::Promise;
pub use reason::Reason;
pub use receipt::Receipt;
pub(crate) use receipt::{Cost, LeaseId, Taken};
pub(crate) use room::RETURN;
pub(crate) use slab::{Slab, Slot};
pub use spread::{BlockedSpread, Cause, Diagnosis, ExitBlocks, SpreadVerdict, Subnet, SubnetBlocks};
pub(crate) use stake::Stake;
pub(crate) use table::Member;

use bindings::Bindings;
pub(crate) use bindings::hash_of;
use bits::Bits;
use gap::Gap;
use origins::Origins;
use pairs::Pairs;
use parents::Parents;
use plan::Plan;
use spread::Spreads;
use table::ExitTable;
use timers::{Due, Timers};

use crate::draw::mix;
#[cfg(test)]
use crate::exit::ExitId;
use crate::exit::{self, Reuse, Route};
use crate::knobs::Knobs;
use crate::outcome::{Egress, WireBytes};
use crate::request::{Key, Origin, Time};
use crate::site::Sites;
use crate::verdict::Rest;
use std::collections::BTreeSet;
use std::sync::Arc;
#[cfg(test)]
use std::time::Duration;

pub(crate) struct Pool {
    seed: u64,
    /// Tells the draws of this process from those of its fleet's others.
    member: u64,
    /// Wall time at `Time::ZERO`, in nanoseconds since the Unix epoch.
    epoch: u64,
    /// How long a burned pair rests.
    rest: Rest,
    knobs: Knobs,
    /// How long until one counts half, in seconds.
    half_life: f64,
    exits: ExitTable,
    /// What holds at single origins.
    sites: Arc<Sites>,
    /// Exits that admit nobody, and when each dead one's rest is over.
    down: Bits,
    /// Exits whose gateway or login admits nobody.
    barred: Bits,
    parents: Parents,
    /// What happened, until it is told.
    pub(crate) events: Events,
    /// Exits that one binding holds alone.
    owned: Bits,
    /// Exits that carry as many leases as they may.
    full: Bits,
    /// Whose turn it is, where exits take turns.
    turn: u32,
    dead: BTreeSet<(Time, ExitIx)>,
    origins: Origins,
    spreads: Spreads,
    pairs: Pairs,
    bindings: Bindings,
    timers: Timers,
    /// Where somebody who waits may have become able to go.
    moved: Moved,
    /// Counter of the draws for what holds nothing.
    picks: u64,
    in_use: u32,
    /// Refusals that no pair could be made for.
    uncooled: u64,
    /// Bytes on the wire through all exits there ever were: minted ones and old tokens take theirs along.
    wire: WireBytes,
}

/// How a lease enters.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Entry {
    /// It is the one trial of something that had to rest, or is doubted.
    pub(crate) trial: bool,
    /// It tries the last usable exit, which is paced and not benched: no refusal of it is one too many.
    pub(crate) paced: bool,
    /// It tries a login, and so needs a fresh connection: a tunnel outlives its password.
    pub(crate) fresh: bool,
    /// See [`Receipt::turn`].
    pub(crate) turn: u64,
    /// See [`Receipt::gateway`].
    pub(crate) gateway: Option<ix::ParentIx>,
    /// Of which pool the exit is.
    pub(crate) named: NamedIx,
    /// The exit has served the origin lately, and not blocked since.
    pub(crate) clean: bool,
}

/// What a pool is built from.
pub(crate) struct PoolConfig {
    /// Each exit in one of them alone.
    pub(crate) pools: Vec<exit::Pool>,
    pub(crate) sites: Arc<Sites>,
    pub(crate) seed: u64,
    pub(crate) member: Member,
    pub(crate) epoch: u64,
    pub(crate) bounds: Bounds,
    pub(crate) rest: Rest,
    pub(crate) knobs: Knobs,
}

impl Pool {
    pub(crate) fn new(config: PoolConfig) -> Self {
        let PoolConfig { pools, sites, seed, member, epoch, bounds, rest, knobs } = config;
        let mut pool = Self {
            seed,
            member: mix(u64::from(member.index)),
            epoch,
            rest,
            knobs,
            half_life: knobs.lane.unwrap_or_default().half_life.as_secs_f64().max(1e-3),
            exits: ExitTable::new(seed, member, bounds.minted),
            sites: Arc::default(),
            down: Bits::default(),
            barred: Bits::default(),
            parents: Parents::default(),
            events: Events::new(bounds.events),
            owned: Bits::default(),
            full: Bits::default(),
            turn: 0,
            dead: BTreeSet::new(),
            origins: Origins::new(bounds.origins),
            spreads: Spreads::new(knobs.diagnosis),
            pairs: Pairs::new(bounds.pairs),
            bindings: Bindings::new(bounds.bindings),
            timers: Timers::default(),
            moved: Moved::default(),
            picks: 0,
            in_use: 0,
            uncooled: 0,
            wire: WireBytes::default(),
        };
        pool.install(Time::ZERO, pools, sites);
        pool.moved = Moved::default();
        pool
    }

    /// The origin of that name; `None` if the table is full of origins in use.
    #[inline]
    pub(crate) fn origin(&mut self, now: Time, name: &Origin) -> Option<OriginIx> {
        let known = self.origins.intern(now, name);
        match known {
            Some(ix) if !self.sites.is_empty() => self.plan_for(ix),
            _ => {}
        }
        known
    }

    /// An origin that is new here gets its plan.
    fn plan_for(&mut self, ix: OriginIx) {
        let Some(record) = self.origins.get_mut(ix).filter(|record| !record.planned) else { return };
        record.planned = true;
        let site = self.sites.of(record.name.as_str());
        record.plan = site.and_then(|site| Plan::of(site, &self.exits.named, None));
    }

    /// Who else may use a connection that is to end with the hold: the holder, in this generation.
    #[cold]
    pub(crate) fn reuse(&self, binding: Option<(BindingIx, u32)>) -> Reuse {
        let held = binding.and_then(|(ix, generation)| Some((self.bindings.get(ix)?.entity, generation)));
        held.map_or(Reuse::Nobody, |(entity, generation)| {
            Reuse::Holder(mix(entity ^ mix(generation.into())).max(1))
        })
    }

    /// What an attempt has revealed of its exit. A held one that leaves from elsewhere now is told of: its holder may have
    /// cookies that are bound to the address. Says whether it does.
    pub(crate) fn reveal(&mut self, now: Time, by: &Receipt, egress: &Egress) -> bool {
        self.reveal_subnet(by, egress);
        let Some((ix, generation)) = by.binding else { return false };
        let at = by.at.0;
        let held = self.bindings.get_mut(ix).filter(|held| held.generation == generation && held.exit == at);
        let Some(held) = held else { return false };
        let before = held.egress.replace(egress.clone());
        let Some(from) = before.filter(|before| before.differs(egress)) else { return false };
        let (key, to) = (held.name().clone(), egress.clone());
        if let Some(origin) = self.name(by.at.1) {
            self.events.push(now, Event::LeaseChanged { key, origin, exit: by.exit, from, to });
        }
        true
    }

    /// The ways out that will not be taken again since the last time: whoever keeps connections for them is to let go.
    pub(crate) fn given_up(&mut self) -> Vec<Route> {
        self.exits.given_up()
    }

    #[inline]
    pub(crate) fn has_given_up(&self) -> bool {
        self.exits.has_given_up()
    }

    /// Gives an exit to one binding alone, or back to all. A minted exit is its binding's alone in any case.
    fn set_owner(&mut self, exit: ExitIx, owner: Option<(BindingIx, Time)>) {
        let (Some(index), Some(record)) = (exit.index(), self.exits.get_mut(exit)) else { return };
        let before = std::mem::replace(&mut record.owner, owner);
        let until = |owner: Option<(BindingIx, Time)>| owner.map(|(_, until)| until);
        self.timers.reset(Due::Owner(exit), until(before), until(owner));
        if owner.is_none() {
            self.moved.everywhere();
        }
        self.owned.set(index, owner.is_some(), self.exits.len());
    }

    /// How long burned pairs rest from now on.
    pub(crate) fn set_rest(&mut self, rest: Rest) {
        self.rest = rest;
        if !rest.learns() {
            self.origins.iter_mut().for_each(|record| record.gap = Gap::default());
        }
    }

    /// The name of a pool.
    pub(crate) fn name_of(&self, named: NamedIx) -> Key {
        self.exits
            .named
            .get(named.index())
            .map_or_else(|| Key::from(""), |named| Key::from(Arc::clone(&named.name)))
    }

    /// The origin of that name, if it is known.
    pub(crate) fn known(&self, name: &Origin) -> Option<OriginIx> {
        self.origins.find(name)
    }

    pub(crate) fn name(&self, origin: OriginIx) -> Option<Origin> {
        self.origins.get(origin).map(|record| record.name.clone())
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.exits.places()
    }

    #[cfg(test)]
    pub(crate) fn kill_for_test(&mut self, id: ExitId, now: Time) {
        let at = self.exits.fixed.iter().position(|exit| exit.id() == id).unwrap();
        let until = now + Duration::from_secs(1_000);
        self.with_exit(ExitIx::at(at), |record| record.gate.shut(now, until));
    }

    #[cfg(test)]
    pub(crate) fn shut_for_test(&mut self, now: Time, name: &Origin, until: Time) {
        if let Some(origin) = self.origin(now, name) {
            self.with_origin(origin, |record| record.room.gate.shut(now, until));
        }
    }

    #[cfg(test)]
    pub(crate) fn open_for_test(&mut self, now: Time, name: &Origin) {
        if let Some(origin) = self.origin(now, name) {
            self.with_origin(origin, |record| record.room.gate.forget());
        }
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }
}
