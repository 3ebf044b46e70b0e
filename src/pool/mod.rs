//! Which exit may serve whom, now; and what evidence costs whom.

mod bindings;
mod bits;
mod charge;
mod choose;
mod describe;
mod exits;
mod gate;
mod heat;
mod origins;
mod pairs;
mod reason;
mod receipt;
mod ring;
mod slab;
mod timers;

pub(crate) use bindings::BindingIx;
pub(crate) use choose::{Choice, Unusable};
pub(crate) use describe::{OriginFacts, PairFacts};
pub(crate) use exits::ExitIx;
pub(crate) use origins::OriginIx;
pub use reason::Reason;
pub(crate) use receipt::LeaseId;
pub use receipt::Receipt;
use slab::Slot;

use bindings::Bindings;
use bits::Bits;
use exits::ExitRecord;
use gate::State;
use origins::Origins;
use pairs::{Pair, Pairs};
use ring::Ring;
use timers::{Due, Timers};

use crate::exit::{Exit, ExitId};
use crate::request::{Origin, Time};
use std::collections::BTreeSet;

/// The bounds of the tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) origins: usize,
    pub(crate) pairs: usize,
    pub(crate) bindings: usize,
    pub(crate) leases: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { origins: 65_536, pairs: 262_144, bindings: 1_000_000, leases: 1_000_000 }
    }
}

/// How many due timers one entry runs, so that none takes long.
const TICK: usize = 64;

pub(crate) struct Pool {
    seed: u64,
    /// Wall time at `Time::ZERO`, in nanoseconds since the Unix epoch.
    epoch: u64,
    exits: Vec<ExitRecord>,
    ring: Ring,
    /// Exits that admit nobody, and when each dead one's rest is over.
    down: Bits,
    dead: BTreeSet<(Time, u32)>,
    origins: Origins,
    pairs: Pairs,
    bindings: Bindings,
    timers: Timers,
    /// Counter of the draws for what holds nothing.
    picks: u64,
    in_use: u32,
    /// Refusals that no pair could be made for.
    uncooled: u64,
}

impl Pool {
    pub(crate) fn new(mut exits: Vec<Exit>, seed: u64, epoch: u64, bounds: Bounds) -> Self {
        // So that no decision depends on the order of the list.
        exits.sort_unstable_by_key(Exit::id);
        exits.dedup_by_key(|exit| exit.id());
        Self {
            seed,
            epoch,
            ring: Ring::new(exits.iter().map(Exit::id)),
            exits: exits.into_iter().map(ExitRecord::new).collect(),
            down: Bits::default(),
            dead: BTreeSet::new(),
            origins: Origins::new(bounds.origins),
            pairs: Pairs::new(bounds.pairs),
            bindings: Bindings::new(bounds.bindings),
            timers: Timers::default(),
            picks: 0,
            in_use: 0,
            uncooled: 0,
        }
    }

    /// The origin of that name; `None` if the table is full of origins in use.
    #[inline]
    pub(crate) fn origin(&mut self, now: Time, name: &Origin) -> Option<OriginIx> {
        self.origins.intern(now, name)
    }

    /// Runs due timers, a bounded number of them; says whether there may be more.
    #[inline]
    pub(crate) fn tick(&mut self, now: Time) -> bool {
        self.timers.is_due(now) && self.run_timers(now)
    }

    fn run_timers(&mut self, now: Time) -> bool {
        for _ in 0..TICK {
            match self.timers.due(now) {
                None => return false,
                Some(Due::Exit(exit)) => self.with_exit(exit, |record| record.gate.due(now)),
                Some(Due::Pair(slot)) => {
                    if self.with_pair(slot, |pair| pair.gate.due(now)).is_none() {
                        self.timers.forget(Due::Pair(slot));
                    }
                }
            }
        }
        true
    }

    /// The lease enters: it counts as in flight, takes the place of a trial, and the binding keeps or takes the exit.
    /// Says whether it is a trial.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: Time,
        lease: LeaseId,
        (exit, origin): (ExitIx, OriginIx),
        place_until: Time,
    ) -> bool {
        let record = &mut self.exits[exit.index()];
        record.in_flight += 1;
        self.in_use += u32::from(record.in_flight == 1);
        let trial =
            !record.gate.is_open() && self.with_exit(exit, |record| record.gate.enter(lease, place_until));
        let pair_trial = match self.pairs.find(exit, origin) {
            Some(slot) => self.with_pair(slot, |pair| pair.gate.enter(lease, place_until)),
            None => None,
        };
        if let Some(record) = self.origins.get_mut(origin) {
            record.in_flight += 1;
            record.last_used = now;
        }
        trial || pair_trial.unwrap_or(false)
    }

    /// The lease is over: its place in a trial is free. `good` clears the exit's earlier faults.
    #[inline]
    pub(crate) fn leave(&mut self, receipt: &Receipt, good: bool) {
        let (exit, origin) = receipt.at;
        let record = &mut self.exits[exit.index()];
        if good {
            record.clear_faults();
        }
        record.in_flight = record.in_flight.saturating_sub(1);
        self.in_use -= u32::from(record.in_flight == 0);
        if !record.gate.is_open() {
            self.with_exit(exit, |record| record.gate.leave(receipt.id));
        }
        if let Some(slot) = self.pairs.find(exit, origin) {
            self.with_pair(slot, |pair| pair.gate.leave(receipt.id));
        }
        if let Some(record) = self.origins.get_mut(origin) {
            record.left(good.then_some(receipt.sent));
        }
    }

    /// An attempt ended well, its body included: earlier faults were not the exit's, and the origin works.
    pub(crate) fn ended_well(&mut self, receipt: &Receipt) {
        let (exit, origin) = receipt.at;
        self.exits[exit.index()].clear_faults();
        if let Some(record) = self.origins.get_mut(origin) {
            record.works(receipt.sent);
        }
    }

    /// Every change of an exit's gate goes through here, so that bits and timers agree with it.
    fn with_exit<T>(&mut self, exit: ExitIx, change: impl FnOnce(&mut ExitRecord) -> T) -> T {
        let record = &mut self.exits[exit.index()];
        let before = record.gate.state();
        let out = change(record);
        let after = record.gate.state();
        if before != after {
            self.timers.reset(Due::Exit(exit), before.due_at(), after.due_at());
            rest(&mut self.dead, exit, before, after);
            self.down.set(exit.index(), !after.admits(), self.exits.len());
        }
        out
    }

    /// As [`with_exit`](Self::with_exit), for a pair.
    fn with_pair<T>(&mut self, slot: Slot, change: impl FnOnce(&mut Pair) -> T) -> Option<T> {
        let pair = self.pairs.get_mut(slot)?;
        let before = pair.gate.state();
        let out = change(pair);
        let (exit, origin, after) = (pair.exit, pair.origin, pair.gate.state());
        if before != after {
            self.timers.reset(Due::Pair(slot), before.due_at(), after.due_at());
            if let Some(record) = self.origins.get_mut(origin) {
                rest(&mut record.resting, exit, before, after);
                record.benched.set(exit.index(), !after.admits(), self.exits.len());
            }
        }
        Some(out)
    }

    pub(crate) fn exit(&self, exit: ExitIx) -> &Exit {
        &self.exits[exit.index()].exit
    }

    pub(crate) fn id(&self, exit: ExitIx) -> ExitId {
        self.exits[exit.index()].id()
    }

    #[cfg(test)]
    pub(crate) fn kill_for_test(&mut self, id: ExitId, now: Time) {
        let at = self.exits.iter().position(|exit| exit.id() == id).unwrap();
        let until = now + std::time::Duration::from_secs(1_000);
        self.with_exit(ExitIx::at(u32::try_from(at).unwrap()), |record| record.gate.shut(now, until));
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }
}

/// Keeps a set of rests in step with a gate.
fn rest(set: &mut BTreeSet<(Time, u32)>, exit: ExitIx, before: State, after: State) {
    if let State::Resting { until } = before {
        set.remove(&(until, exit.0));
    }
    if let State::Resting { until } = after {
        set.insert((until, exit.0));
    }
}
