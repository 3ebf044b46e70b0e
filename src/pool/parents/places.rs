//! Places at what an exit shares: of trials, and behind a gateway that bears few leases.

use super::{Kind, ParentIx};
use crate::pool::receipt::LeaseId;
use crate::pool::{Entry, Pool};
use crate::request::Time;

impl Pool {
    /// Takes the places of trials. A login on trial needs a fresh connection.
    #[inline]
    pub(in crate::pool) fn enter_parents(
        &mut self,
        parents: [Option<ParentIx>; 2],
        by: LeaseId,
        until: Time,
    ) -> Entry {
        if let [None, None] = parents { Entry::default() } else { self.enter_each(parents, by, until) }
    }

    fn enter_each(&mut self, parents: [Option<ParentIx>; 2], by: LeaseId, until: Time) -> Entry {
        let mut entry = Entry::default();
        for ix in parents.into_iter().flatten() {
            if self.parents.get(ix).is_some_and(|parent| parent.gate.is_open()) {
                continue;
            }
            let kind = self.with_parent(ix, |parent| parent.gate.enter(by, until).then_some(parent.kind));
            entry.trial |= kind.flatten().is_some();
            entry.fresh |= kind.flatten() == Some(Kind::Credential);
        }
        entry
    }

    #[inline]
    pub(in crate::pool) fn leave_parents(&mut self, parents: [Option<ParentIx>; 2], by: LeaseId) {
        if let [None, None] = parents {
            return;
        }
        self.leave_each(parents, by);
    }

    fn leave_each(&mut self, parents: [Option<ParentIx>; 2], by: LeaseId) {
        for ix in parents.into_iter().flatten() {
            if self.parents.get(ix).is_some_and(|parent| !parent.gate.is_open()) {
                self.with_parent(ix, |parent| parent.gate.leave(by));
            }
        }
    }

    /// One more lease is out behind a gateway.
    #[inline]
    pub(in crate::pool) fn go_behind(&mut self, ix: ParentIx) {
        let Some(parent) = self.parents.0.get_mut(ix.index()) else { return };
        if parent.flow.has_limit() {
            self.with_parent(ix, |parent| parent.flow.out += 1);
        } else {
            parent.flow.out += 1;
        }
    }

    #[inline]
    pub(in crate::pool) fn come_back(&mut self, ix: ParentIx) {
        let Some(parent) = self.parents.0.get_mut(ix.index()) else { return };
        if parent.flow.has_limit() {
            self.with_parent(ix, |parent| parent.flow.out = parent.flow.out.saturating_sub(1));
        } else {
            parent.flow.out = parent.flow.out.saturating_sub(1);
        }
    }

    /// Keeps a place behind a gateway that has few; says whether one is kept.
    pub(in crate::pool) fn promise_behind(&mut self, gateway: Option<ParentIx>) -> Option<ParentIx> {
        let ix = gateway.filter(|ix| self.parents.get(*ix).is_some_and(|parent| parent.flow.has_limit()))?;
        self.with_parent(ix, |parent| parent.flow.promised += 1).map(|()| ix)
    }

    pub(in crate::pool) fn forgo_behind(&mut self, ix: ParentIx) {
        self.with_parent(ix, |parent| parent.flow.promised = parent.flow.promised.saturating_sub(1));
    }
}
