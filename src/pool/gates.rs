//! The gates of exits and pairs change here alone, by evidence or by time, so that bits, sets and timers agree with them.

use super::Pool;
use super::exits::ExitRecord;
use super::gate::State;
use super::ix::ExitIx;
use super::pairs::Pair;
use super::slab::Slot;
use super::timers::Due;
use crate::request::Time;
use std::collections::BTreeSet;

/// How many due timers one entry runs, so that none takes long.
const TICK: usize = 64;

impl Pool {
    /// Runs due timers, a bounded number of them; says whether there may be more.
    #[inline]
    pub(crate) fn tick(&mut self, now: Time) -> bool {
        self.timers.is_due(now) && self.run_timers(now)
    }

    #[cold]
    fn run_timers(&mut self, now: Time) -> bool {
        for _ in 0..TICK {
            match self.timers.due(now) {
                None => return false,
                Some(due @ Due::Exit(exit)) => {
                    if self.with_exit(exit, |record| record.gate.due(now)).is_none() {
                        self.timers.forget(due);
                    }
                }
                Some(Due::Owner(exit)) => self.set_owner(exit, None),
                Some(Due::Origin(origin)) => {
                    if self.with_origin(origin, |record| record.room.gate.due(now)).is_none() {
                        self.timers.forget(Due::Origin(origin));
                    }
                }
                Some(Due::Parent(ix)) => {
                    self.with_parent(ix, |parent| parent.gate.due(now));
                }
                Some(Due::Pair(slot)) => {
                    if self.with_pair(slot, |pair| pair.gate.due(now)).is_none() {
                        self.timers.forget(Due::Pair(slot));
                    }
                }
            }
        }
        true
    }

    /// Every change of an exit's gate goes through here, so that bits and timers agree with it. `None` if the exit is gone.
    #[inline(never)]
    pub(super) fn with_exit<T>(
        &mut self,
        exit: ExitIx,
        change: impl FnOnce(&mut ExitRecord) -> T,
    ) -> Option<T> {
        let record = self.exits.get_mut(exit)?;
        let before = record.gate.state();
        let out = change(record);
        let after = record.gate.state();
        if before != after {
            self.timers.reset(Due::Exit(exit), before.due_at(), after.due_at());
            if !after.is_taken() {
                self.moved.everywhere();
            }
            if let Some(index) = exit.index() {
                keep_rest(&mut self.dead, exit, before, after);
                self.down.set(index, !after.admits(), self.exits.len());
            }
        }
        Some(out)
    }

    /// As [`with_exit`](Self::with_exit), for a pair.
    #[inline(never)]
    pub(super) fn with_pair<T>(&mut self, slot: Slot, change: impl FnOnce(&mut Pair) -> T) -> Option<T> {
        let pair = self.pairs.get_mut(slot)?;
        let (before, was_burned) = (pair.gate.state(), pair.is_burned());
        let out = change(pair);
        let (exit, origin, after) = (pair.exit, pair.origin, pair.gate.state());
        let burned = pair.is_burned();
        if let (true, Some(_), Some(record)) =
            (was_burned != burned, exit.index(), self.origins.get_mut(origin))
        {
            record.burned = if burned { record.burned + 1 } else { record.burned.saturating_sub(1) };
        }
        if before != after {
            self.timers.reset(Due::Pair(slot), before.due_at(), after.due_at());
            if !after.is_taken() {
                self.moved.at(origin);
            }
            if let Some(record) = self.origins.get_mut(origin) {
                if let Some(index) = exit.index() {
                    keep_rest(&mut record.resting, exit, before, after);
                    let spaced = |state| if let State::Spaced { until } = state { Some(until) } else { None };
                    keep(&mut record.spaced, exit, spaced(before), spaced(after));
                    record.benched.set(index, !after.admits(), self.exits.len());
                }
            }
        }
        Some(out)
    }
}

/// Keeps a set of rests in step with a gate.
fn keep_rest(set: &mut BTreeSet<(Time, ExitIx)>, exit: ExitIx, before: State, after: State) {
    let resting = |state| if let State::Resting { until } = state { Some(until) } else { None };
    keep(set, exit, resting(before), resting(after));
}

fn keep(set: &mut BTreeSet<(Time, ExitIx)>, exit: ExitIx, before: Option<Time>, after: Option<Time>) {
    if let Some(until) = before {
        set.remove(&(until, exit));
    }
    if let Some(until) = after {
        set.insert((until, exit));
    }
}
