//! A lease enters and leaves: what is in flight, trials that are taken, limits that are met.

use super::Entry;
use super::Pool;
use super::exits::Source;
use super::ix::{ExitIx, OriginIx};
use super::named::NamedIx;
use super::receipt::{LeaseId, Receipt};
use super::slab::Slot;
use super::timers::Due;
use crate::exit::Route;
use crate::outcome::WireBytes;
use crate::request::Time;
use std::time::Duration;

impl Pool {
    /// The lease enters: it counts as in flight, and takes the place of a trial. Returns the way it goes.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: Time,
        lease: LeaseId,
        (exit, origin): (ExitIx, OriginIx),
        place_until: Time,
    ) -> Option<(Route, Entry)> {
        let record = self.exits.get_mut(exit)?;
        record.in_flight += 1;
        self.in_use += u32::from(record.in_flight == 1);
        let (route, parents) = (record.exit.route().clone(), record.parents);
        let (rested, named, spacing) = (!record.gate.is_open(), record.named, record.spacing);
        let rotates = matches!(record.source, Source::Rotating { .. });
        let full = record.in_flight >= record.most;
        self.exits.named[named.index()].leases += 1;
        if let (true, Some(index)) = (full, exit.index()) {
            self.full.set(index, true, self.exits.len());
        }
        let mut entry = self.enter_parents(parents, lease, place_until);
        entry.named = named;
        if let [_, Some(login)] = parents {
            entry.turn = self.parents.count(login);
        }
        if let [Some(gateway), _] = parents {
            self.go_behind(gateway);
            entry.gateway = Some(gateway);
        }
        if rested {
            entry.trial |= self.with_exit(exit, |record| record.gate.enter(lease, place_until)) == Some(true);
        }
        if let Some(slot) = self.pairs.find(exit, origin) {
            let entered = self.with_pair(slot, |pair| (pair.gate.enter(lease, place_until), pair.paced));
            if let Some((true, paced)) = entered {
                (entry.trial, entry.paced) = (true, paced);
            }
        }
        let mut gap = 0.0;
        if let Some(record) = self.origins.get_mut(origin) {
            record.room.enter();
            record.leases += 1;
            record.last_used = now;
            if record.spread.is_some() {
                entry.clean = self.spreads.is_clean(record.spread, exit);
            }
            if !rotates {
                gap = record.gap.seconds();
            }
            if !record.room.gate.is_open() {
                entry.trial |= self.enter_origin(now, origin, lease, place_until);
            }
        }
        if spacing > 0 || gap > 0.0 {
            let learned = Duration::from_secs_f32(gap);
            self.space(now, exit, origin, now + learned.max(Duration::from_millis(spacing.into())));
        }
        if gap > 0.0 {
            self.take_turn(now, (exit, origin), named);
        }
        Some((route, entry))
    }

    /// All exits together are used no faster than the gap lets each of them be.
    #[cold]
    fn take_turn(&mut self, now: Time, at: (ExitIx, OriginIx), pool: NamedIx) {
        let Some(rules) = self.knobs.spacing else { return };
        let exits = self.exits_at(at, pool);
        self.with_origin(at.1, |record| {
            if let Some(next) = record.gap.turn(now, exits, &rules) {
                record.room.gate.space(next);
            }
        });
    }

    /// Leaves the pair alone for a moment: its pool's terms say so, or its origin's 429s. What rests or is on trial is left alone
    /// as it is.
    #[cold]
    pub(super) fn space(&mut self, now: Time, exit: ExitIx, origin: OriginIx, until: Time) {
        if until <= now {
            return;
        }
        let (origins, exits) = (&self.origins, &self.exits);
        let gone = |exit, origin| origins.get(origin).is_none() || exits.get(exit).is_none();
        match self.pairs.make(now, exit, origin, gone) {
            Some(slot) => drop(self.with_pair(slot, |pair| pair.gate.space(until))),
            None => self.uncooled += 1,
        }
    }

    /// The lease is over: its place in a trial is free. `good` clears the exit's earlier faults.
    #[inline]
    pub(crate) fn leave(&mut self, receipt: &Receipt, good: bool) {
        let (exit, origin) = receipt.at;
        if let Some(gateway) = receipt.gateway {
            self.come_back(gateway);
        }
        if let Some(record) = self.exits.get_mut(exit) {
            if good && record.id() == receipt.exit {
                record.clear_faults();
            }
            record.in_flight = record.in_flight.saturating_sub(1);
            self.in_use -= u32::from(record.in_flight == 0);
            let (parents, was_full) = (record.parents, record.in_flight < record.most);
            if let (true, Some(index)) = (was_full, exit.index().filter(|index| self.full.contains(*index))) {
                self.full.set(index, false, self.exits.len());
                self.moved.everywhere();
            }
            let Some(record) = self.exits.get_mut(exit) else { return };
            if !record.gate.is_open() {
                self.with_exit(exit, |record| record.gate.leave(receipt.id));
            }
            self.leave_parents(parents, receipt.id);
        }
        if let Some(slot) = self.pairs.find(exit, origin) {
            self.with_pair(slot, |pair| pair.gate.leave(receipt.id));
        }
        if let Some(record) = self.origins.get_mut(origin) {
            let frees = record.left(good.then_some(receipt.sent));
            if frees || !record.room.gate.is_open() {
                self.leave_origin(origin, receipt.id);
            }
        }
        if let ExitIx::Minted(slot) = exit {
            self.retire(slot);
        }
    }

    /// An attempt ended well, its body included: earlier faults were not the exit's, and the origin works.
    pub(crate) fn ended_well(&mut self, receipt: &Receipt) {
        let (exit, origin) = receipt.at;
        if let Some(record) = self.exits.get_mut(exit).filter(|record| record.id() == receipt.exit) {
            record.clear_faults();
        }
        if let Some(record) = self.origins.get_mut(origin) {
            record.works(receipt.sent);
        }
    }

    /// Bytes of an attempt on the wire. Its exit and its origin may be gone.
    pub(crate) fn spend(&mut self, receipt: &Receipt, wire: WireBytes) {
        let (exit, origin) = receipt.at;
        self.wire += wire;
        if let Some(record) = self.exits.get_mut(exit).filter(|record| record.id() == receipt.exit) {
            record.wire += wire;
        }
        self.exits.named[receipt.named.index()].wire += wire;
        self.origins.spend(origin, wire);
    }

    /// A minted exit goes when nothing holds it and nothing rides it.
    pub(super) fn retire(&mut self, slot: Slot) {
        let Some(record) = self.exits.minted.get(slot) else { return };
        if record.bound > 0 || record.in_flight > 0 {
            return;
        }
        self.timers.reset(Due::Exit(ExitIx::Minted(slot)), record.gate.state().due_at(), None);
        let gone = self.exits.minted.remove(slot);
        self.exits.give_up(gone.map(|record| record.exit));
    }
}
