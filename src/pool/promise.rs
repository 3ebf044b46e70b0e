//! The place of a trial, or one of few at an origin, kept for somebody who was called and has not come yet.

use super::Pool;
use super::choice::{Choice, Target};
use super::ix::{ExitIx, OriginIx, ParentIx};
use super::receipt::LeaseId;
use crate::request::Time;

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    by: LeaseId,
    exit: Option<ExitIx>,
    parents: [Option<ParentIx>; 2],
    origin: OriginIx,
    /// It is a place at an origin that has few.
    place: bool,
    /// A place behind a gateway that has few.
    behind: Option<ParentIx>,
    trial: bool,
}

impl Promise {
    #[cfg(test)]
    pub(super) fn place(&self) -> Option<OriginIx> {
        self.place.then_some(self.origin)
    }

    /// Whether it is the place of a trial: nobody follows before that is over.
    pub(crate) const fn is_trial(&self) -> bool {
        self.trial
    }
}

impl Pool {
    /// Keeps the places of trials and at the origin that the choice would take, if it takes any. Those of trials are free again at
    /// `until`; all are when the promise is [forgone](Self::forgo), which it must be.
    pub(crate) fn promise(
        &mut self,
        by: LeaseId,
        choice: &Choice,
        origin: OriginIx,
        until: Time,
    ) -> Option<Promise> {
        let (exit, parents) = match choice.target {
            Target::Exit(exit) => {
                (Some(exit), self.exits.get(exit).map_or([None; 2], |record| record.parents))
            }
            Target::Mint(gateway) => (None, self.exits.parents_of(gateway)),
        };
        let mut trial = self.enter_parents(parents, by, until).trial;
        if let Some(exit) = exit {
            trial |= self.with_exit(exit, |record| record.gate.enter(by, until)) == Some(true);
            if let Some(slot) = self.pairs.find(exit, origin) {
                trial |= self.with_pair(slot, |pair| pair.gate.enter(by, until)) == Some(true);
            }
        }
        let (place, canary) = self.promise_origin(origin, by, until);
        trial |= canary;
        let behind = self.promise_behind(parents[0]);
        let kept = trial || place || behind.is_some();
        kept.then_some(Promise { by, exit, parents, origin, place, behind, trial })
    }

    pub(crate) fn forgo(&mut self, promise: Promise) {
        let Promise { by, exit, parents, origin, place, behind, trial: _ } = promise;
        if let Some(gateway) = behind {
            self.forgo_behind(gateway);
        }
        if place {
            self.forgo_origin(origin, by);
        }
        self.leave_parents(parents, by);
        let Some(exit) = exit else { return };
        self.with_exit(exit, |record| record.gate.leave(by));
        if let Some(slot) = self.pairs.find(exit, origin) {
            self.with_pair(slot, |pair| pair.gate.leave(by));
        }
    }

    /// Somebody waits to go to the origin, which is not forgotten until then.
    pub(crate) fn await_origin(&mut self, origin: OriginIx) {
        if let Some(record) = self.origins.get_mut(origin) {
            record.waiting += 1;
        }
    }

    pub(crate) fn await_origin_no_more(&mut self, origin: OriginIx) {
        if let Some(record) = self.origins.get_mut(origin) {
            record.waiting = record.waiting.saturating_sub(1);
        }
    }
}
