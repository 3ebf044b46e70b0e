//! What evidence costs whom.
//!
//! | outcome | heat of the pair | pair | exit |
//! |---|---|---|---|
//! | ok | good | passes a trial; 20 in a row forgive a strike | works |
//! | rate limited | bad | rests max(hint, 1 s); no strike, unless it fails a trial | works |
//! | blocked | bad | one strike; rests max(hint, 30 s, doubling) | works |
//! | origin error | a quarter bad | - | works |
//! | proxy error | - | - | one fault |
//! | interrupted, origin TLS, a gateway status in the absolute form | - | - | half a fault, if the origin works for others |
//! | target unreachable | - | rests 5 s if the target works for others | half a fault then |
//! | session lost | - | - | a new session; of a list, one fault |
//! | gateway throttles one target, or one exit | - | rests max(hint, 1 s) | or it rests, without a fault |
//! | all others | - | - | works, if the origin answered |
//!
//! Every rest is lengthened by U(1, 1.25), never shortened: nobody comes back earlier than asked. The last usable exit of a
//! list is not benched but paced: it rests max(hint, 1 s, an eighth), and what holds it keeps it. What was in flight when a
//! gate shut says nothing new about it, so a burst of refusals counts once. What is blameless charges no exit. An attempt of
//! which more is said than once costs its exit the worst of it, once.

use super::Pool;
use super::Receipt;
use super::event::Event;
use super::exits::{ExitRecord, Source};
use super::gate::State;
use super::hold::BROKEN;
use super::ix::{BindingIx, ExitIx, OriginIx};
use super::pairs::Pair;
use super::slab::Slot;
use super::{Cost, Taken};
use crate::draw::{Stream, draw, unit};
use crate::outcome::{BlockedBy, Evidence, FailureDomain, Outcome, Phase, Seen};
use crate::request::Time;
use crate::verdict::Rest;
use std::time::Duration;

/// The rest of a pair that was asked to slow down, without saying how long.
const LIMITED: Duration = Duration::from_secs(1);
/// An origin that served somebody this long ago still works, unless it is the cause itself.
const LATELY: Duration = Duration::from_secs(60);
/// The rest of a pair whose exit does not reach the target though others do.
pub(super) const UNREACHED: Duration = Duration::from_secs(5);
/// Longest hint that is believed.
const HINT_CAP: Duration = Duration::from_secs(3_600);

impl Pool {
    /// Takes one report in. `amends` is what the same attempt reported before; it is taken back first, but for what
    /// it has cost the exit. Says what was taken: what an origin refused is not made less by a broken body.
    #[inline]
    pub(crate) fn charge(
        &mut self,
        now: Time,
        by: &Receipt,
        evidence: &Evidence,
        amends: Option<&Taken>,
    ) -> Option<Taken> {
        if let Some(before) = amends {
            if !before.evidence.outcome.is_ok() && matches!(evidence.outcome, Outcome::Interrupted { .. }) {
                return None;
            }
            self.take_back(now, by, before);
        }
        let again = amends.is_some_and(|before| before.evidence.outcome.is_ok());
        let mut cost = amends.map(|before| before.cost).unwrap_or_default();
        let (settled, minded) = self.charge_pair::<false>(now, by, evidence, again, &mut cost);
        if minded && amends.is_none() {
            self.mind(now, by, evidence);
        }
        if !settled && !self.charge_parents(now, by, evidence, &mut cost) {
            self.charge_exit(now, by, evidence, &mut cost);
        }
        Some(Taken { evidence: *evidence, at: now, cost })
    }

    /// Tells of a report, before what it costs.
    #[inline]
    pub(crate) fn tell_report(&mut self, now: Time, by: &Receipt, evidence: &Evidence, amends: bool) {
        if self.events.is_told_all() {
            self.push_report(now, by, evidence, amends);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_report(&mut self, now: Time, by: &Receipt, evidence: &Evidence, amends: bool) {
        let Some(origin) = self.name(by.at.1) else { return };
        let (exit, outcome) = (by.exit, evidence.outcome);
        self.events.push(now, Event::Report { lease: by.id.0, exit, origin, outcome, amends });
    }

    fn take_back(&mut self, now: Time, by: &Receipt, before: &Taken) {
        let (exit, origin) = by.at;
        let Taken { evidence: before, at, cost } = before;
        let Some(record) = self.origins.get_mut(origin) else { return };
        let count = record.counts.of(&before.outcome);
        *count = count.saturating_sub(1);
        self.spreads.take_back(record.spread, now, by, &before.outcome);
        let Some(share) = share(by, &before.outcome).filter(|_| !cost.spared) else { return };
        record.heat.take_back(now, *at, share);
        if let Some(slot) = self.pairs.find(exit, origin) {
            self.with_pair(slot, |pair| pair.take_back(now, *at, share));
        }
    }

    /// Says whether that was all: most evidence is good, and of an exit that has nothing to be cleared of; and whether it says
    /// something of the origin as a whole. `again`: the attempt has been good before. `LATE`: it was counted already, when it
    /// cost its pair nothing.
    #[inline]
    pub(super) fn charge_pair<const LATE: bool>(
        &mut self,
        now: Time,
        by: &Receipt,
        evidence: &Evidence,
        again: bool,
        cost: &mut Cost,
    ) -> (bool, bool) {
        let (exit, origin) = by.at;
        let Some(mut record) = self.origins.get_mut(origin) else { return (false, false) };
        let minded = record.trouble.is_some() || is_said_by_the_origin(&evidence.outcome);
        if !LATE {
            *record.counts.of(&evidence.outcome) += 1;
            if record.flow.is_due(now) {
                let more =
                    record.flow.take_in(now, record.counts.ok, evidence.outcome.is_ok(), self.half_life);
                self.flow.add(now, more, self.half_life);
            }
        }
        if !LATE && (record.spread.is_some() || matches!(evidence.outcome, Outcome::Blocked { .. })) {
            cost.spared = self.diagnose(now, by, evidence);
            if cost.spared {
                return (false, minded);
            }
            let Some(known) = self.origins.get_mut(origin) else { return (false, minded) };
            record = known;
        }
        let Some(share) = share(by, &evidence.outcome) else { return (false, minded) };
        record.heat.add(now, share);
        let limited = matches!(evidence.outcome, Outcome::RateLimited { .. });
        if limited || record.gap.is_watched() {
            self.learn_gap(now, by, limited);
            let Some(known) = self.origins.get_mut(origin) else { return (false, minded) };
            record = known;
        }
        if let Some(plan) = record.plan.as_mut().filter(|_| !(again && evidence.outcome.is_ok())) {
            let refused = refuses_pool(&evidence.outcome);
            if let Some(turned) = refused.and_then(|refused| plan.note(now, by.named, by.sent, refused)) {
                let told = turned.told(&record.name, &self.exits.named);
                self.events.push(now, told);
                // Who found nobody may find somebody now.
                self.moved.at(origin);
            }
        }
        // The token may have changed since: then this says nothing about the exit in its place.
        let Some(known) = self.exits.get(exit).filter(|known| known.id() == by.exit) else {
            return (false, minded);
        };
        let clear = known.gate.is_open() && !known.has_parents();
        let settled = clear && evidence.outcome.is_ok() && !evidence.login_accepted;
        match known.source {
            Source::Listed => {}
            Source::Slot { gateway, .. } | Source::Minted { gateway, .. } => {
                record.heat_of(gateway).add(now, share);
            }
            Source::Rotating { gateway } => {
                record.heat_of(gateway).add(now, share);
                // Nobody knows which of its exits it was.
                return (settled, minded);
            }
        }
        let hash = record.hash;
        if matches!(evidence.outcome.domain(), FailureDomain::Pair) {
            let (origins, exits) = (&self.origins, &self.exits);
            let gone = |exit, origin| origins.get(origin).is_none() || exits.get(exit).is_none();
            match self.pairs.make(now, exit, origin, gone) {
                Some(slot) => self.refuse_pair(now, by, evidence, slot, (share, hash)),
                None => self.uncooled += 1,
            }
        } else if let Some(slot) = self.pairs.find(exit, origin) {
            let cleared = self.with_pair(slot, |pair| {
                pair.heat.add(now, share);
                // One attempt passes one trial, however often it is said.
                if evidence.outcome.is_ok() && !again {
                    pair.success(now);
                    if !pair.gate.is_stale(by.sent) {
                        pair.gate.pass(by.id, pair.trials_needed(now));
                        return std::mem::take(&mut pair.suspect);
                    }
                }
                false
            });
            if cleared == Some(true) {
                self.settle(origin, false);
            }
        }
        (settled, minded)
    }

    fn refuse_pair(
        &mut self,
        now: Time,
        by: &Receipt,
        evidence: &Evidence,
        slot: Slot,
        (share, hash): (f32, u64),
    ) {
        let (rest, seed, entity) = (self.rest, self.seed ^ hash, by.exit.as_u64());
        let last = self.is_last(by.at.0, Some(by.at.1));
        let doubts = self.doubts(by.at.1);
        let refused = self.with_pair(slot, |pair| {
            pair.heat.add(now, share);
            let suspected = pair.suspect;
            let burned = refuse(pair, now, by, evidence, (rest, seed, entity), (last, doubts));
            (burned, suspected && !pair.suspect)
        });
        let (burned, proven) = (refused.map(|refused| refused.0), refused.is_some_and(|refused| refused.1));
        if proven {
            self.settle(by.at.1, true);
        }
        if self.events.is_told_all() {
            let state = self.pairs.get_mut(slot).map(|pair| pair.gate.state());
            self.tell_rest(now, by, Some(by.at.1), state);
        }
        if burned == Some(true) {
            self.lose(by.binding);
            self.exits.renew(by.at.0);
        }
    }

    /// Behind a gateway that rotates by itself nobody knows which exit it was.
    #[cold]
    fn learn_gap(&mut self, now: Time, by: &Receipt, limited: bool) {
        let Some(rules) = &self.knobs.spacing else { return };
        let rotates = |known: &ExitRecord| matches!(known.source, Source::Rotating { .. });
        let exits = self.exits_at(by.at.1);
        let Some(record) = self.origins.get_mut(by.at.1) else { return };
        if self.exits.get(by.at.0).is_some_and(rotates) {
            return;
        }
        record.gap.count(now, by.sent, limited, exits, rules);
    }

    /// How a block of a pair that was good until then is to be taken: how many successes make it good, and the rest of it.
    fn doubts(&self, origin: OriginIx) -> Option<(u8, Duration)> {
        let rules = self.knobs.suspicion.filter(|_| self.rest.doubles)?;
        let proof = &self.origins.get(origin)?.proof;
        Some((rules.calm, proof.rest(self.rest.first, &rules)))
    }

    /// A trial has shown what a block meant.
    #[cold]
    fn settle(&mut self, origin: OriginIx, ban: bool) {
        if let (Some(rules), Some(record)) = (self.knobs.suspicion, self.origins.get_mut(origin)) {
            record.proof.settle(ban, &rules);
        }
    }

    /// What holds a burned exit must leave it: its own binding at once, others when they come to lease.
    fn lose(&mut self, binding: Option<(BindingIx, u32)>) {
        let Some((ix, generation)) = binding else { return };
        if let Some(held) = self.bindings.get_mut(ix) {
            held.lost |= held.generation == generation;
        }
    }

    /// Whether the origin has served somebody lately.
    pub(super) fn works(&self, now: Time, origin: OriginIx) -> bool {
        let worked = self.origins.get(origin).map_or(Time::ZERO, |record| record.worked);
        worked > Time::ZERO && now.since(worked) <= LATELY
    }

    #[inline]
    fn charge_exit(&mut self, now: Time, by: &Receipt, evidence: &Evidence, cost: &mut Cost) {
        let (exit, origin) = by.at;
        let known = self.exits.get(exit).filter(|record| record.id() == by.exit);
        let Some(record) = known.filter(|_| !evidence.blameless) else { return };
        let weight = match evidence.outcome {
            // May be the origin's fault as well: it is the exit's only if the origin works for others.
            Outcome::ProxyError { phase: Phase::OriginTls } | Outcome::Interrupted { .. } => {
                if !self.works(now, origin) {
                    return;
                }
                0.5
            }
            Outcome::OriginError { .. } if evidence.seen != Seen::Seen => {
                if !self.works(now, origin) {
                    return;
                }
                0.5
            }
            Outcome::ProxyError { .. } => 1.0,
            Outcome::SessionLost => match record.source {
                Source::Listed => 1.0,
                _ => return self.lose_session(exit),
            },
            // A name that does not resolve burns nobody. Where the target works for others the exit's resolver is at fault, and is
            // not asked for it for a while: it would be the fastest of all.
            Outcome::TargetFailed => {
                if self.works(now, origin) {
                    self.rest_pair(now, by, UNREACHED);
                }
                return;
            }
            // The pair's fault first. The exit's as well, if the target works for others.
            Outcome::TargetUnreachable => match self.unreachable_target(now, by) {
                Some(weight) => weight,
                None => return,
            },
            _ if evidence.seen == Seen::Seen => {
                let gate = &record.gate;
                if !gate.is_open() && !gate.is_stale(by.sent) {
                    self.with_exit(exit, |record| {
                        record.gate.pass(by.id, 1);
                        record.revive(now);
                    });
                }
                return;
            }
            _ => return,
        };
        let owed = weight - cost.faults;
        if owed > 0.0 {
            cost.faults = weight;
            self.fault(now, exit, by, owed);
        }
    }

    /// One more fault of an exit, or a part of one.
    pub(super) fn fault(&mut self, now: Time, exit: ExitIx, by: &Receipt, weight: f32) {
        let (seed, last) = (self.seed, self.is_last(exit, None));
        let died = self.with_exit(exit, |record| {
            if record.gate.is_stale(by.sent) {
                return false;
            }
            let trial = matches!(record.gate.state(), State::Trial { .. });
            let Some(rest) = record.fault(now, by.at.1, weight, trial) else { return false };
            let (entity, count) = (record.id().as_u64(), u64::from(record.gate.shuts()));
            let draw = unit(draw(seed, Stream::Cooldown, entity, count));
            let rest = rest.mul_f64(0.9 + 0.2 * draw);
            record.gate.shut(now, now + if last { paced(rest) } else { rest });
            true
        });
        if died == Some(true) {
            let state = self.exits.get(exit).map(|record| record.gate.state());
            self.tell_rest(now, by, None, state);
            self.exits.renew(exit);
        }
    }
}

/// How bad the outcome is for heat; `None` if heat has no part in it.
#[inline]
fn share(by: &Receipt, outcome: &Outcome) -> Option<f32> {
    match outcome {
        Outcome::Ok => Some(0.0),
        Outcome::RateLimited { .. } => Some(1.0),
        Outcome::Blocked { .. } => by.charged.then_some(1.0),
        Outcome::OriginError { .. } => Some(BROKEN),
        _ => None,
    }
}

/// Whether it may be what the origin says to everybody.
#[inline]
const fn is_said_by_the_origin(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::OriginError { .. } | Outcome::RateLimited { .. })
}

/// Whether an answer is a refusal of the pool that it came through, if it says anything of that. A refusal of the request's
/// pattern does not.
const fn refuses_pool(outcome: &Outcome) -> Option<bool> {
    match outcome {
        Outcome::Ok => Some(false),
        Outcome::Blocked { by: BlockedBy::Pattern } => None,
        Outcome::Blocked { .. } | Outcome::RateLimited { .. } => Some(true),
        _ => None,
    }
}

/// Rests a refused pair. Says whether it is burned now.
fn refuse(
    pair: &mut Pair,
    now: Time,
    by: &Receipt,
    evidence: &Evidence,
    (burned, seed, entity): (Rest, u64, u64),
    (last, doubts): (bool, Option<(u8, Duration)>),
) -> bool {
    let hint = evidence.retry_after.map_or(Duration::ZERO, |hint| hint.wait().min(HINT_CAP));
    // Another address would be refused as well: the site is asked less, and no exit burned.
    let blocked = matches!(evidence.outcome, Outcome::Blocked { by } if by != BlockedBy::Pattern);
    if pair.gate.is_stale(by.sent) {
        // Old news but for the hint: what was asked for holds, also if the gate has opened since.
        match pair.gate.state() {
            State::Resting { .. } => pair.gate.lengthen(now + hint),
            State::Open | State::Spaced { .. } | State::Trial { .. } if !hint.is_zero() => {
                pair.gate.shut(now, now + hint)
            }
            State::Open | State::Spaced { .. } | State::Trial { .. } => {}
        }
        return blocked && !pair.paced;
    }
    let trial = matches!(pair.gate.state(), State::Trial { .. });
    // A pair that was good until then is but suspected.
    let suspected = doubts.filter(|(calm, _)| blocked && !trial && pair.doubt(*calm));
    if blocked && suspected.is_none() {
        pair.suspect = false;
    }
    let strikes = match suspected {
        None if blocked || trial => pair.strike(now),
        _ => pair.strikes_now(now),
    };
    let rest = match blocked {
        true if burned.doubles => match suspected {
            // What it was suspected of before is not over.
            Some((_, rest)) => Pair::rest(strikes + 1.0, rest),
            None => Pair::rest(strikes + f32::from(u8::from(doubts.is_some() && trial)), burned.first),
        },
        true => burned.first,
        false if trial => Pair::rest(strikes + 1.0, LIMITED),
        // However often it was blocked: on top of a hint, or of the lack of one, an exponent idles a fleet.
        false => LIMITED,
    };
    let share = if blocked { burned.stretch } else { 0.25 };
    let stretch = 1.0 + share * unit(draw(seed, Stream::Cooldown, entity, u64::from(pair.gate.shuts())));
    let rest = if last { paced(rest) } else { rest };
    pair.gate.shut(now, now + rest.max(hint).mul_f64(stretch));
    (pair.burned, pair.paced) = (blocked && !last, last);
    pair.burned
}

/// The rest between two uses of an exit that is the last one of its pool: a pool that rests as a whole serves nobody.
pub(super) fn paced(rest: Duration) -> Duration {
    const SHARE: u32 = 8;
    const LEAST: Duration = Duration::from_secs(1);
    (rest / SHARE).max(LEAST)
}
