//! Whether an origin admits anybody, and how many at once: a gate in front of it as a whole, and a limit on leases in flight.

use super::Pool;
use super::choice::NoExit;
use super::gate::{Gate, State};
use super::ix::OriginIx;
use super::origins::OriginRecord;
use super::receipt::LeaseId;
use super::timers::Due;
use super::unusable::TRIAL;
use crate::error::HeldBy;
use crate::request::Time;
use std::time::Duration;

/// Over how long those come back who waited while an origin was left alone.
pub(crate) const RETURN: Duration = Duration::from_secs(8);

/// What an origin has in front of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Shut while the origin fails everybody; its trial is the canary.
    pub(super) gate: Gate,
    /// Most leases in flight; `u32::MAX` if there is no limit.
    pub(super) limit: u32,
    pub(super) in_flight: u32,
    /// Places that are kept for waiters who were called and have not come yet.
    pub(super) promised: u32,
    /// Most leases in flight since somebody asked.
    peak: u32,
    /// When its canary was answered last.
    pub(super) released: Option<Time>,
}

impl Room {
    pub(super) const EMPTY: Self =
        Self { gate: Gate::OPEN, limit: u32::MAX, in_flight: 0, promised: 0, peak: 0, released: None };

    /// Whether one more lease may be in flight.
    #[inline]
    pub(super) const fn has_place(&self) -> bool {
        self.in_flight.saturating_add(self.promised) < self.limit
    }

    /// Most leases in flight, if that is limited.
    pub(super) const fn limit(&self) -> Option<u32> {
        if self.limit == u32::MAX { None } else { Some(self.limit) }
    }

    /// Whether one more may enter, and not on trial.
    #[inline]
    pub(super) const fn is_open(&self) -> bool {
        self.gate.is_open() && self.has_place()
    }

    /// Whether the origin is left alone, or tried by a canary.
    pub(super) const fn is_held(&self) -> bool {
        !matches!(self.gate.state(), State::Open | State::Spaced { .. })
    }

    /// Whether one more may enter, on trial or not.
    const fn admits(&self) -> bool {
        self.gate.state().admits() && self.has_place()
    }

    /// Whether there is anything that one could wait for.
    const fn is_free(&self) -> bool {
        self.gate.is_open() && self.limit == u32::MAX
    }

    #[inline]
    pub(super) fn enter(&mut self) {
        self.in_flight += 1;
        self.peak = self.peak.max(self.in_flight);
    }

    /// Says whether somebody may come now who could not before.
    #[inline]
    pub(super) const fn leave(&mut self) -> bool {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.limit != u32::MAX && self.has_place()
    }

    /// Why nobody may enter, and when to ask again.
    fn shut(&self, now: Time) -> Option<(Time, HeldBy)> {
        match self.gate.state() {
            State::Resting { until } => Some((until.max(now), HeldBy::Failures)),
            State::Spaced { until } => Some((until.max(now), HeldBy::Limit)),
            State::Trial { lease: Some(_), .. } => Some((now + TRIAL, HeldBy::Failures)),
            State::Open | State::Trial { lease: None, .. } => {
                (!self.has_place()).then_some((now + TRIAL, HeldBy::Limit))
            }
        }
    }
}

impl Pool {
    /// Every change of an origin's gate goes through here, so that timers and those who wait agree with it. `None` if it was
    /// forgotten.
    #[inline(never)]
    pub(super) fn with_origin<T>(
        &mut self,
        ix: OriginIx,
        change: impl FnOnce(&mut OriginRecord) -> T,
    ) -> Option<T> {
        let record = self.origins.get_mut(ix)?;
        let before = record.room.gate.state();
        let out = change(record);
        let after = record.room.gate.state();
        if before != after {
            self.timers.reset(Due::Origin(ix), before.due_at(), after.due_at());
            if after.admits() {
                self.moved.at(ix);
            }
        }
        Some(out)
    }

    /// Whether the lease is the canary. One that hangs keeps its place alone for a moment: its answer counts whenever it comes.
    #[cold]
    pub(super) fn enter_origin(&mut self, now: Time, origin: OriginIx, by: LeaseId, until: Time) -> bool {
        let until = self.knobs.hold.map_or(until, |rules| until.min(now + rules.canary));
        self.with_origin(origin, |record| record.room.gate.enter(by, until)) == Some(true)
    }

    /// A place is free.
    #[cold]
    pub(super) fn leave_origin(&mut self, origin: OriginIx, by: LeaseId) {
        self.with_origin(origin, |record| record.room.gate.leave(by));
        if self.origins.get(origin).is_some_and(|record| record.room.admits()) {
            self.moved.at(origin);
        }
    }

    /// Keeps a place for a waiter; says whether one is kept, and whether it is the canary's.
    pub(super) fn promise_origin(&mut self, origin: OriginIx, by: LeaseId, until: Time) -> (bool, bool) {
        if self.is_free(origin) {
            return (false, false);
        }
        let kept = self.with_origin(origin, |record| {
            record.room.promised += 1;
            record.room.gate.enter(by, until)
        });
        (kept.is_some(), kept == Some(true))
    }

    pub(super) fn forgo_origin(&mut self, origin: OriginIx, by: LeaseId) {
        if let Some(record) = self.origins.get_mut(origin) {
            record.room.promised = record.room.promised.saturating_sub(1);
        }
        self.leave_origin(origin, by);
    }

    /// Why nobody may go there, whatever the exit.
    #[inline]
    pub(crate) fn shut(&self, now: Time, origin: OriginIx) -> Option<NoExit> {
        let room = &self.origins.get(origin)?.room;
        if room.is_open() { None } else { self.why_shut(now, room) }
    }

    #[cold]
    fn why_shut(&self, now: Time, room: &Room) -> Option<NoExit> {
        let (retry_at, by) = room.shut(now)?;
        // Who waits for the origin would wait for nothing.
        let stopped = self.is_stopped_for_good();
        Some(if stopped { NoExit::Stopped } else { NoExit::Held { retry_at, by } })
    }

    /// Whether the origin as a whole keeps nobody waiting.
    pub(crate) fn is_free(&self, origin: OriginIx) -> bool {
        self.origins.get(origin).is_none_or(|record| record.room.is_free())
    }

    /// Whether it was left alone until a moment ago: those who waited come back over this time.
    pub(crate) fn returns(&self, now: Time, origin: OriginIx) -> bool {
        let released = self.origins.get(origin).and_then(|record| record.room.released);
        released.is_some_and(|released| now.since(released) < RETURN)
    }

    /// For how long the origin is left alone still: no time at all while a canary is out, or awaited.
    pub(super) fn held_for(now: Time, room: &Room) -> Option<Duration> {
        match room.gate.state() {
            State::Open | State::Spaced { .. } => None,
            State::Resting { until } => Some(until.since(now)),
            State::Trial { .. } => Some(Duration::ZERO),
        }
    }

    /// Whether the origin has a place for one more, which is not a trial.
    pub(crate) fn is_roomy(&self, origin: OriginIx) -> bool {
        self.origins.get(origin).is_some_and(|record| record.room.is_open())
    }

    /// How many leases may be in flight at the origin from now on: one at least; `None`: any number. Who is out stays out. An
    /// origin that is forgotten forgets its limit, too.
    pub(crate) fn set_limit(&mut self, origin: OriginIx, limit: Option<u32>) {
        let Some(record) = self.origins.get_mut(origin) else { return };
        let limit = limit.map_or(u32::MAX, |limit| limit.max(1));
        if std::mem::replace(&mut record.room.limit, limit) < limit {
            self.moved.at(origin);
        }
    }

    /// As a learned gap leaves it after a use.
    #[cfg(test)]
    pub(crate) fn space_for_test(&mut self, origin: OriginIx, until: Time) {
        self.with_origin(origin, |record| record.room.gate.space(until));
    }

    /// Leases in flight at the origin.
    #[cfg(test)]
    pub(crate) fn origin_in_flight(&self, origin: OriginIx) -> u32 {
        self.origins.get(origin).map_or(0, |record| record.room.in_flight)
    }

    /// Most leases in flight at the origin since this was last asked.
    pub(crate) fn take_peak(&mut self, origin: OriginIx) -> u32 {
        let Some(record) = self.origins.get_mut(origin) else { return 0 };
        std::mem::replace(&mut record.room.peak, record.room.in_flight)
    }
}
