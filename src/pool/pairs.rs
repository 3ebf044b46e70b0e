//! Pairs of exit and origin: where a refusal lives. A cell is made on the first one, so that a clean pair costs nothing.

use super::gate::{Gate, State};
use super::heat::Heat;
use super::ix::{ExitIx, OriginIx};
use super::receipt::{LeaseId, Receipt};
use super::slab::{Slab, Slot};
use crate::request::Time;
use hashbrown::HashMap;
use std::time::Duration;

/// Strikes are the long memory: they halve in half an hour, where heat forgets a ban of an hour within minutes.
const STRIKE_HALF_LIFE: f32 = 1_800.0;
/// Fewer strikes than this are none.
const COLD_STRIKES: f32 = 0.1;
/// Strikes that a success forgives: who serves one more request is not banned, whatever the block before it was. With as many, strikes
/// grow where more than a third of what an exit is sent is blocked, and fall elsewhere.
const FORGIVEN: f32 = 0.5;
/// 429s of a pair are remembered by a count that halves in so many seconds: sites count them within a minute or so.
const LIMITS_HALF_LIFE: f32 = 30.0;
/// While more are remembered, three at least within half a minute, a block is what they led to.
const LIMITS_LEAD: f32 = 2.0;
/// From the second strike within half an hour on, a pair must pass three trials in a row instead of one.
const CAREFUL_FROM: f32 = 1.5;

pub(crate) struct Pair {
    pub(super) exit: ExitIx,
    pub(super) origin: OriginIx,
    pub(super) heat: Heat,
    /// When the cell was made: it knows of nothing before.
    made: Time,
    pub(super) gate: Gate,
    /// Its last rest followed a block, so what holds this exit must leave it.
    pub(super) burned: bool,
    /// It was the last usable exit when it was refused: one trial at a time, soon.
    pub(super) paced: bool,
    strikes: f32,
    struck: Time,
    /// Successes since the last block, as far as they matter; a pair that was never blocked had enough. What was sent before
    /// the block is none.
    calm: u8,
    suspicion: Suspicion,
    /// 429s lately, as of then.
    limits: f32,
    limited: Time,
}

/// Whether it was blocked though it was good until then, and what the trial after has shown of that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Suspicion {
    None,
    /// By whom; nothing yet.
    Open(LeaseId),
    /// That it was noise: by whom, whose later word may be another.
    Passed(LeaseId),
}

/// What a block of a pair is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Block {
    /// It was good until then.
    Suspicion,
    /// It was suspected, and refused in the trial.
    Ban,
    Other,
}

impl Pair {
    /// Whether it rests after a block.
    pub(super) const fn is_burned(&self) -> bool {
        self.burned && matches!(self.gate.state(), State::Resting { .. })
    }

    fn strikes(&self, now: Time) -> f32 {
        self.strikes * libm::exp2f(-now.since(self.struck).as_secs_f32() / STRIKE_HALF_LIFE)
    }

    fn limits(&self, now: Time) -> f32 {
        self.limits * libm::exp2f(-now.since(self.limited).as_secs_f32() / LIMITS_HALF_LIFE)
    }

    /// One more 429.
    pub(super) fn limit(&mut self, now: Time) {
        (self.limits, self.limited) = (self.limits(now) + 1.0, now);
    }

    /// Whether it was limited so often lately that a block is the ban that follows.
    pub(super) fn earns_ban(&self, now: Time) -> bool {
        self.limits(now) > LIMITS_LEAD
    }

    /// One more strike; returns how many there are.
    pub(super) fn strike(&mut self, now: Time) -> f32 {
        (self.strikes, self.struck) = (self.strikes(now) + 1.0, now);
        self.strikes
    }

    /// A block that is news, in a trial or not. `again`: the attempt has been good before, which counts no more. `calm`: so
    /// many successes make a pair good, if any do.
    pub(super) fn block(&mut self, by: LeaseId, trial: bool, again: bool, calm: Option<u8>) -> Block {
        let good = calm.is_some_and(|calm| self.calm.saturating_sub(u8::from(again)) >= calm);
        let before = std::mem::replace(&mut self.suspicion, Suspicion::None);
        self.calm = 0;
        // What was called a success before has forgiven as much, unless it was all there was.
        if again && self.strikes > 0.0 {
            self.strikes += FORGIVEN;
        }
        match before {
            Suspicion::Open(_) => Block::Ban,
            _ if good && !trial => {
                self.suspicion = Suspicion::Open(by);
                Block::Suspicion
            }
            _ => Block::Other,
        }
    }

    /// Whether this attempt has shown that a block was noise. If it has, it does so no more.
    pub(super) fn takes_pass_back(&mut self, by: LeaseId) -> bool {
        let passed = self.suspicion == Suspicion::Passed(by);
        if passed {
            self.suspicion = Suspicion::None;
        }
        passed
    }

    /// No trial will show what its block was: another exit is behind it, which has earned nothing.
    pub(super) fn acquit(&mut self, blocked: bool) {
        self.suspicion = Suspicion::None;
        if blocked {
            self.limits = 0.0;
        }
    }

    pub(super) fn strikes_now(&self, now: Time) -> f32 {
        self.strikes(now)
    }

    /// Takes an event back that was counted at `then`, if it was counted here.
    pub(super) fn take_back(&mut self, now: Time, then: Time, share: f32) {
        if then >= self.made {
            self.heat.take_back(now, then, share);
        }
    }

    /// An attempt went well; says whether that shows that a block before was noise.
    pub(super) fn success(&mut self, now: Time, by: &Receipt) -> bool {
        if self.gate.is_stale(by.sent) {
            // It was no block after all.
            if self.suspicion == Suspicion::Open(by.id) {
                (self.suspicion, self.calm) = (Suspicion::None, u8::MAX);
            }
            return false;
        }
        self.calm = self.calm.saturating_add(1);
        self.gate.pass(by.id, self.trials_needed(now));
        if self.strikes > 0.0 {
            (self.strikes, self.struck) = ((self.strikes(now) - FORGIVEN).max(0.0), now);
        }
        let open = matches!(self.suspicion, Suspicion::Open(_));
        if open {
            self.suspicion = Suspicion::Passed(by.id);
        }
        open
    }

    fn trials_needed(&self, now: Time) -> u8 {
        // What the trials before this one have forgiven is not over before the last of them.
        let passed = if let State::Trial { passed, .. } = self.gate.state() { passed } else { 0 };
        let strikes = self.strikes(now) + FORGIVEN * f32::from(passed);
        if !self.paced && strikes >= CAREFUL_FROM { 3 } else { 1 }
    }

    /// How long a block rests the pair: `base` doubles with each strike after the first, up to an hour. Strikes fade while
    /// it rests, so a pair that fails every trial settles near nine minutes.
    pub(super) fn rest(strikes: f32, base: Duration) -> Duration {
        /// Bans by sites last minutes to hours.
        const LONGEST: f32 = 3_600.0;
        Duration::from_secs_f32(
            (base.as_secs_f32() * libm::exp2f((strikes - 1.0).clamp(0.0, 30.0))).min(LONGEST),
        )
    }
}

pub(crate) struct Pairs {
    by_place: HashMap<(ExitIx, OriginIx), Slot>,
    slab: Slab<Pair>,
}

impl Pairs {
    pub(super) fn new(cap: usize) -> Self {
        Self { by_place: HashMap::new(), slab: Slab::new(cap) }
    }

    pub(super) fn find(&self, exit: ExitIx, origin: OriginIx) -> Option<Slot> {
        self.by_place.get(&(exit, origin)).copied()
    }

    pub(super) fn at(&self, exit: ExitIx, origin: OriginIx) -> Option<&Pair> {
        self.slab.get(self.find(exit, origin)?)
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Pair> {
        self.slab.get_mut(slot)
    }

    /// The pair's cell, made if there is none. `None` if the table is full of pairs that rest, are on trial or have strikes.
    /// Those of an exit or origin that is `gone` are nobody's. A suspicion whose rest is over goes with its cell, unproven.
    pub(super) fn make(
        &mut self,
        now: Time,
        exit: ExitIx,
        origin: OriginIx,
        gone: impl Fn(ExitIx, OriginIx) -> bool,
    ) -> Option<Slot> {
        if let Some(slot) = self.find(exit, origin) {
            return Some(slot);
        }
        if self.slab.is_full() {
            let cold = |pair: &Pair| {
                let cold = pair.gate.state().admits() && pair.strikes(now) <= COLD_STRIKES;
                (cold || gone(pair.exit, pair.origin)).then(|| pair.heat.at())
            };
            let (_, old) = self.slab.evict(64, cold)?;
            self.by_place.remove(&(old.exit, old.origin));
        }
        let slot = self.slab.insert(Pair {
            exit,
            origin,
            heat: Heat::COLD,
            made: now,
            gate: Gate::OPEN,
            burned: false,
            paced: false,
            strikes: 0.0,
            struck: Time::ZERO,
            calm: u8::MAX,
            suspicion: Suspicion::None,
            limits: 0.0,
            limited: Time::ZERO,
        })?;
        self.by_place.insert((exit, origin), slot);
        Some(slot)
    }

    /// Where the pairs of such exits are.
    pub(super) fn of(&self, suits: impl Fn(ExitIx) -> bool) -> Vec<Slot> {
        self.by_place.iter().filter(|((exit, _), _)| suits(*exit)).map(|(_, slot)| *slot).collect()
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        if let Some(pair) = self.slab.remove(slot) {
            self.by_place.remove(&(pair.exit, pair.origin));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pair> {
        self.slab.iter()
    }
}
