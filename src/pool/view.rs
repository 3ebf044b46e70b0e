//! What one choice sees: the pool, from one request at one origin.

use super::Pool;
use super::bindings::{Binding, Holder, Place, Windows};
use super::choice::{Choice, Hold, NoExit, Target};
use super::exits::{ExitRecord, Source};
use super::gate::State;
use super::ix::{BindingIx, ExitIx, GatewayIx, OriginIx};
use super::named::Among;
use super::origins::OriginRecord;
use super::pairs::Pair;
use super::reason::Reason;
use crate::draw::{Stream, draw, mix};
use crate::exit::ExitId;
use crate::request::{Affinity, Granularity, LeaseRequest, OnLoss, Time};
use std::time::Duration;

/// Draws for two usable exits before the scan.
const DRAWS: u64 = 24;
/// Keeps an exit without heat from winning whatever its queue.
const FLOOR: f32 = 0.02;
/// Scores closer than this are equal.
const CLEARLY: f32 = 0.9;

#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) pool: &'a Pool,
    pub(super) ask: &'a LeaseRequest,
    pub(super) origin: OriginIx,
    pub(super) record: &'a OriginRecord,
    /// Where an exit is looked for; and all the pools that may serve the request, where it may be held.
    pub(super) among: Among,
    pub(super) all: Among,
    pub(super) avoid: &'a [ExitId],
    /// The exit that the request's own binding holds alone.
    pub(super) own: Option<ExitIx>,
    /// Whether a refusal says why and until when, which may mean to look at each exit.
    pub(super) explain: bool,
    pub(super) now: Time,
}

impl View<'_> {
    pub(super) fn choose(mut self) -> Result<Choice, NoExit> {
        if self.ask.granularity == Granularity::PerRequest {
            let choice = match self.ask.affinity {
                Affinity::RoundRobin => self.turn(None).map(|exit| chosen(exit, Reason::Turn, Hold::Turn)),
                _ => self.pick(),
            };
            return choice.ok_or_else(|| self.unusable());
        }
        match self.pool.bindings.find(Holder::of(self.ask, self.record.hash)) {
            None => {
                let entity = Holder::of(self.ask, self.record.hash).entity();
                // Who has been told of moves before, perhaps in an earlier life of the scheduler, begins there.
                let known = self.ask.accepted.filter(|_| self.ask.when_lost() == OnLoss::Fail);
                self.place_anew((entity, known.unwrap_or(0)), Reason::Placed, None)
            }
            Some((ix, held)) => {
                let owner = self.pool.exits.get(held.exit).and_then(|record| record.owner);
                self.own = owner.filter(|(owner, _)| *owner == ix).map(|_| held.exit);
                self.held(ix, held)
            }
        }
    }

    /// Whether the exit may serve the origin now, for this request.
    #[inline]
    pub(super) fn usable(&self, exit: ExitIx) -> bool {
        self.free(exit) && !self.avoids(exit)
    }

    pub(super) fn free(&self, exit: ExitIx) -> bool {
        match exit.index() {
            Some(index) => {
                let out = self.pool.down.contains(index)
                    || self.pool.barred.contains(index)
                    || self.pool.full.contains(index)
                    || self.record.benched.contains(index);
                !out && !self.reserved(exit)
            }
            None => {
                let pair = self.pool.pairs.at(exit, self.origin);
                let admits = |record: &ExitRecord| {
                    record.gate.state().admits()
                        && !record.gone
                        && record.in_flight < record.most
                        && self.pool.parents_admit(record)
                };
                self.pool.exits.get(exit).is_some_and(admits)
                    && pair.is_none_or(|pair| pair.gate.state().admits())
            }
        }
    }

    pub(super) fn reserved(&self, exit: ExitIx) -> bool {
        exit.index().is_some_and(|index| self.pool.owned.contains(index)) && self.own != Some(exit)
    }

    pub(super) fn avoids(&self, exit: ExitIx) -> bool {
        let id = || self.pool.exits.id(exit);
        let among = |list: &[ExitId]| !list.is_empty() && id().is_some_and(|id| list.contains(&id));
        // A gateway that rotates is another exit each time.
        let refused = || self.ask.trail.past.as_ref().is_some_and(|past| among(&past.refused));
        among(self.avoid) || (refused() && !self.rotates(exit))
    }

    /// Whether nothing but its pool's terms keep the request from it.
    pub(super) fn is_busy(&self, exit: ExitIx) -> bool {
        let Some(record) = self.pool.exits.get(exit) else { return false };
        let pair = self.pool.pairs.at(exit, self.origin).map_or(State::Open, |pair| pair.gate.state());
        let spaced = matches!(pair, State::Spaced { .. });
        let terms = spaced || record.in_flight >= record.most;
        let free = record.barred == 0 && record.gate.state().admits() && !self.reserved(exit);
        terms && free && (spaced || pair.admits()) && self.pool.parents_admit(record) && !self.avoids(exit)
    }

    fn rotates(&self, exit: ExitIx) -> bool {
        self.pool.exits.get(exit).is_some_and(|record| matches!(record.source, Source::Rotating { .. }))
    }

    /// Power of two choices: of two usable exits drawn at random, the better one. Where few are usable, the two come from
    /// a walk.
    fn pick(&self) -> Option<Choice> {
        let picked = |exit, reason| Some(chosen(exit, reason, Hold::Nothing));
        let base = draw(self.pool.seed ^ self.pool.member, Stream::Pick, self.record.hash, self.pool.picks);
        let prior = self.record.heat.prior(self.now);
        let mut first = None;
        for step in 0..DRAWS {
            let exit = self.drawn(mix(base ^ step))?;
            if first == Some(exit) || !self.usable(exit) {
                continue;
            }
            match first {
                None => first = Some(exit),
                Some(first) => return picked(self.better(first, exit, prior), Reason::Picked),
            }
        }
        let first = match first {
            Some(exit) => exit,
            None => self.any(mix(base ^ DRAWS), |_| true)?,
        };
        let second = self.any(mix(base ^ (DRAWS + 1)), |exit| exit != first).unwrap_or(first);
        picked(self.better(first, second, prior), Reason::Found)
    }

    /// The one with clearly less heat times queue, else the first. A difference that is only the rest of old heat must not
    /// keep an exit idle for ever.
    fn better(&self, a: ExitIx, b: ExitIx, prior: f32) -> ExitIx {
        if self.score(b, prior) < CLEARLY * self.score(a, prior) { b } else { a }
    }

    #[allow(clippy::cast_precision_loss, reason = "a queue of 2^24 leases on one exit is full anyway")]
    fn score(&self, exit: ExitIx, prior: f32) -> f32 {
        let record = self.pool.exits.get(exit);
        let prior = match record.and_then(|record| record.source.gateway()) {
            None => prior,
            gateway => self.record.prior(self.now, gateway),
        };
        let pair = self.pool.pairs.at(exit, self.origin);
        let heat = pair.map_or(prior, |pair| pair.heat.rate(self.now, prior)).max(prior);
        (heat + FLOOR) * (record.map_or(0, |record| record.in_flight) + 1) as f32
    }

    /// The exit of somebody who holds one.
    fn held(&self, ix: BindingIx, held: &Binding) -> Result<Choice, NoExit> {
        let (length, max_uses) = self.ask.granularity.window();
        let Some(until) = self.window_ends(held) else {
            return self.place_again(held);
        };
        let source = self.pool.exits.get(held.exit).map(|record| record.source);
        if let Some(Source::Minted { gateway, .. }) = source {
            if !self.keeps(gateway, length) {
                return Err(NoExit::Unheld);
            }
        }
        let next = (held.entity, held.generation.wrapping_add(1));
        let moves = self.ask.when_lost() == OnLoss::Move;
        let Some(from) = self.pool.exits.id(held.exit) else {
            // Its session was let go.
            return self.place_again(held);
        };
        if held.is_stale(self.now) && !self.lost(held.exit) {
            // The next request would leave from another address under the same name.
            let choice = self.place_anew(next, Reason::Renewed { from }, None)?;
            if moves || self.ask.accepted == Some(next.1) {
                return Ok(choice);
            }
            return Err(NoExit::Moved { from, to: self.target(&choice), generation: next.1 });
        }
        if !self.lost(held.exit) && !self.ask.knows(held.generation) {
            // Somebody else has accepted the move, or this one accepts one that was not.
            let (from, to) = (held.before.unwrap_or(from), Some(from));
            return Err(NoExit::Moved { from, to, generation: held.generation });
        }
        if self.lost(held.exit) || (held.lost && moves) {
            return match self.ask.when_lost() {
                OnLoss::Move => self.place_anew(next, Reason::Moved { from }, Some(held.exit)),
                OnLoss::Wait => Err(self.waits_for(held.exit, until)),
                OnLoss::Fail => {
                    let choice = self.place_anew(next, Reason::Moved { from }, Some(held.exit))?;
                    if self.ask.accepted == Some(next.1) {
                        return Ok(choice);
                    }
                    Err(NoExit::Moved { from, to: self.target(&choice), generation: next.1 })
                }
            };
        }
        if max_uses.is_some_and(|most| held.uses >= most.get()) {
            return self.place_anew(next, Reason::Placed, Some(held.exit));
        }
        let hold = Hold::Keep(ix, held.generation);
        // Who does not move uses its own exit again, also after it has failed the request.
        if self.usable(held.exit) || (!moves && self.free(held.exit)) {
            return Ok(chosen(held.exit, Reason::Bound, hold));
        }
        // Its pool's terms are the caller's own wish: they borrow no other exit.
        if !moves || self.is_busy(held.exit) {
            return Err(self.waits_for(held.exit, until));
        }
        let exit = match self.ask.affinity {
            Affinity::RoundRobin => self.turn(None),
            _ => {
                let seed = self.seed((held.entity, held.generation), self.windows(held.entity, length));
                let usable = |exit| self.usable(exit);
                self.at_place(seed, usable).or_else(|| self.any(seed, |_| true))
            }
        };
        let exit = exit.ok_or_else(|| self.unusable())?;
        Ok(chosen(exit, Reason::Borrowed { from }, hold))
    }

    /// The next exit of who has lost none since; who has not heard of a loss is told also when its window has ended.
    fn place_again(&self, held: &Binding) -> Result<Choice, NoExit> {
        let before = self.pool.exits.id(held.exit).filter(|_| held.ends <= self.now);
        let reason = match before {
            // Its own window goes on, but the provider would not keep the session for so long.
            Some(from) if self.is_same_window(held) => Reason::Renewed { from },
            _ => Reason::Placed,
        };
        let choice = self.place_anew((held.entity, held.generation), reason, None)?;
        match held.before.or_else(|| self.pool.exits.id(held.exit)) {
            Some(from) if !self.ask.knows(held.generation) => {
                Err(NoExit::Moved { from, to: self.target(&choice), generation: held.generation })
            }
            _ => Ok(choice),
        }
    }

    /// The exit that is chosen; `None` if it is a session that is minted first.
    fn target(&self, choice: &Choice) -> Option<ExitId> {
        match choice.target {
            Target::Exit(exit) => self.pool.exits.id(exit),
            Target::Mint(_) => None,
        }
    }

    /// When the window ends that the request means; `None` if it has.
    fn window_ends(&self, held: &Binding) -> Option<Time> {
        let (length, _) = self.ask.granularity.window();
        if held.length == length {
            return (self.now < held.until).then_some(held.until);
        }
        let same = self.now < held.ends && self.is_same_window(held);
        same.then(|| self.windows(held.entity, length).end(self.now).min(held.ends))
    }

    /// Whether the window that the request means is the one in which the exit was placed.
    fn is_same_window(&self, held: &Binding) -> bool {
        let windows = self.windows(held.entity, self.ask.granularity.window().0);
        windows.index(held.placed) == windows.index(self.now)
    }

    /// The same; `None` also if its uses have come to an end.
    pub(super) fn held_until(&self, held: &Binding) -> Option<Time> {
        let (_, max_uses) = self.ask.granularity.window();
        self.window_ends(held).filter(|_| max_uses.is_none_or(|most| held.uses < most.get()))
    }

    fn windows(&self, entity: u64, length: Duration) -> Windows {
        Windows::new(self.pool.seed, self.pool.epoch, entity, length)
    }

    /// The seed of a holder's sequence of places.
    fn seed(&self, (entity, generation): (u64, u32), windows: Windows) -> u64 {
        let counter = mix(windows.index(self.now)) ^ u64::from(generation);
        draw(self.pool.seed, Stream::Place, entity, counter)
    }

    /// The exit that is held from now on; not the one that was, unless that is the only one.
    fn place_anew(
        &self,
        (entity, generation): (u64, u32),
        reason: Reason,
        not: Option<ExitIx>,
    ) -> Result<Choice, NoExit> {
        let (length, _) = self.ask.granularity.window();
        let windows = self.windows(entity, length);
        let seed = self.seed((entity, generation), windows);
        let in_turn = self.ask.affinity == Affinity::RoundRobin;
        let find = |not| match in_turn {
            true => self.turn(not).map(Target::Exit),
            false => self.place(seed, length, not),
        };
        let target = find(not).or_else(|| find(None)).ok_or_else(|| self.unheld(length))?;
        // A session that the provider ends earlier is held for windows of its own, and so is younger than it may become.
        let (lasts, idle) = self.lasts(target);
        let (session, until) = (self.windows(entity, length.min(lasts)), windows.end(self.now));
        let ends = if lasts == Duration::MAX { Time::MAX } else { session.end(self.now) };
        let window = if ends < until { session.index(self.now) } else { windows.index(self.now) };
        let from = match reason {
            Reason::Moved { from } | Reason::Renewed { from } => Some(from),
            _ => None,
        };
        let until = until.min(ends);
        let place = Place { entity, generation, length, until, ends, idle, window, from };
        let reason = if in_turn && reason == Reason::Placed { Reason::Turn } else { reason };
        Ok(Choice { target, reason, hold: Hold::Bind(place) })
    }

    /// A place by seed: an exit of the list, or a gateway to mint a session at. Who wants a listed exit alone takes one that
    /// nobody holds, if there is one: others would have to leave.
    fn place(&self, seed: u64, length: Duration, not: Option<ExitIx>) -> Option<Target> {
        let source = |exit| self.pool.exits.get(exit).map(|record| record.source);
        let find = |unheld: bool| {
            let suits = |exit: ExitIx| match source(exit) {
                Some(Source::Listed) => {
                    let bound = self.pool.exits.get(exit).is_some_and(|record| record.bound > 0);
                    Some(exit) != not && !(unheld && bound) && self.usable(exit)
                }
                Some(Source::Slot { gateway, .. }) => {
                    let index = exit.index().unwrap_or(usize::MAX);
                    self.keeps(gateway, length) && !self.pool.barred.contains(index)
                }
                _ => false,
            };
            self.at_place(seed, suits).or_else(|| self.any(seed, suits))
        };
        let exit = if self.ask.exclusive { find(true).or_else(|| find(false)) } else { find(false) }?;
        match source(exit)? {
            Source::Slot { gateway, .. } => Some(Target::Mint(gateway)),
            _ => Some(Target::Exit(exit)),
        }
    }

    /// Whether the gateway keeps a session for so long, or its holder may move when it does not.
    fn keeps(&self, gateway: GatewayIx, length: Duration) -> bool {
        self.ask.when_lost() == OnLoss::Move || length <= self.lasts(Target::Mint(gateway)).0
    }

    /// How long a session lasts, and for how long it may lie unused; for ever, if nothing is known of it.
    fn lasts(&self, target: Target) -> (Duration, Duration) {
        let Target::Mint(gateway) = target else { return (Duration::MAX, Duration::MAX) };
        let Some(known) = self.pool.exits.gateways.get(gateway.index()) else {
            return (Duration::MAX, Duration::MAX);
        };
        let (lasts, idle) = (known.gateway.held_at_most(), known.gateway.idle_at_most());
        (lasts.unwrap_or(Duration::MAX), idle.unwrap_or(Duration::MAX))
    }

    /// Why nothing can be held: because nothing may go, or because nothing lasts so long.
    fn unheld(&self, length: Duration) -> NoExit {
        let lasts = |record: &ExitRecord| match record.source {
            Source::Listed => true,
            Source::Slot { gateway, .. } => self.keeps(gateway, length),
            Source::Rotating { .. } | Source::Minted { .. } => false,
        };
        if self.ask.affinity == Affinity::RoundRobin || self.pool.exits.fixed.iter().any(lasts) {
            return self.unusable();
        }
        NoExit::Unheld
    }

    /// Whether what holds the exit must leave it: it is dead, burned at this origin, or somebody else's alone.
    pub(super) fn lost(&self, exit: ExitIx) -> bool {
        let dead = |record: &ExitRecord| {
            !record.gate.state().admits() || record.quarantined || record.gone || !self.all.has(record.named)
        };
        if self.pool.exits.get(exit).is_none_or(dead) || self.reserved(exit) {
            return true;
        }
        let burned = |pair: &Pair| pair.burned && matches!(pair.gate.state(), State::Resting { .. });
        self.pool.pairs.at(exit, self.origin).is_some_and(burned)
    }
}

const fn chosen(exit: ExitIx, reason: Reason, hold: Hold) -> Choice {
    Choice { target: Target::Exit(exit), reason, hold }
}
