//! What evidence costs whom.
//!
//! | outcome | heat of the pair | pair | exit |
//! |---|---|---|---|
//! | ok | good | passes a trial; forgives half a strike | works |
//! | rate limited | bad | rests as long as the hint says, else max(1 s, the origin's gap); no strike, unless it fails a trial after a whole rest | works |
//! | blocked | bad | a suspicion, or one strike; rests max(hint, what `refuse` says); after three 429s or more in half a minute it counts as one for the gap | works |
//! | origin error | a quarter bad | - | works |
//! | proxy error | - | - | one fault |
//! | interrupted, origin TLS, a gateway status in the absolute form | - | - | half a fault, if the origin works for others; taken back if three exits meet it and nobody anything else |
//! | target unreachable | - | rests 5 s if the target works for others | half a fault then, likewise |
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
use super::exits::Source;
use super::gate::State;
use super::hold::BROKEN;
use super::ix::{ExitIx, OriginIx};
use super::proof::Shown;
use super::refuse::paced;
use super::{Cost, Taken};
use crate::draw::{Stream, draw, unit};
use crate::outcome::{BlockedBy, Evidence, FailureDomain, Outcome, Phase, Seen};
use crate::request::Time;
use std::time::Duration;

/// An origin that served somebody this long ago still works, unless it is the cause itself.
const LATELY: Duration = Duration::from_secs(60);
/// What costs an exit that may not be to blame.
pub(super) const DOUBTFUL: f32 = 0.5;
/// The rest of a pair whose exit does not reach the target though others do.
pub(super) const UNREACHED: Duration = Duration::from_secs(5);

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
        let mut cost = amends.map(|before| before.cost).unwrap_or_default();
        let (settled, minded) = self.charge_pair::<false>(
            now,
            by,
            evidence,
            amends.map(|before| &before.evidence.outcome),
            &mut cost,
        );
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
    /// something of the origin as a whole. `before` is what the attempt showed until now. `LATE`: it was counted already, when it
    /// cost its pair nothing.
    #[inline]
    pub(super) fn charge_pair<const LATE: bool>(
        &mut self,
        now: Time,
        by: &Receipt,
        evidence: &Evidence,
        before: Option<&Outcome>,
        cost: &mut Cost,
    ) -> (bool, bool) {
        let (exit, origin) = by.at;
        let again = before.is_some_and(Outcome::is_ok);
        let Some(mut record) = self.origins.get_mut(origin) else { return (false, false) };
        let minded = record.trouble.is_some() || may_be_the_origins(&evidence.outcome);
        if !LATE {
            *record.counts.of(&evidence.outcome) += 1;
            if record.flow.is_due(now) {
                record.flow.take_in(now, record.counts.ok, evidence.outcome.is_ok(), self.half_life);
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
        // What a site that is left alone asks of everybody is no pair's refusal: its canaries' exits would rest longer than it does.
        if evidence.for_all && evidence.outcome.is_rate_limited() && record.room.is_held() {
            return (false, minded);
        }
        record.heat.add(now, share);
        // A ban that limits have led to says that they are the site's, and that the gap is too short.
        let banned = may_be_ban(&evidence.outcome)
            && self.pairs.at(exit, origin).is_some_and(|pair| pair.earns_ban(now));
        if banned {
            record.gap.rule_out_chance();
        }
        let limited = evidence.outcome.is_rate_limited();
        // A 503 that says when to come back is a word on the site and not on how often an exit may ask: holds are for that.
        let on_exits = !(limited && evidence.for_all);
        let record = if on_exits && (limited || banned || record.gap.is_watched()) {
            self.learn_gap(now, by, limited || banned, before);
            let Some(record) = self.origins.get_mut(origin) else { return (false, minded) };
            record
        } else {
            record
        };
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
                Some(slot) => {
                    if limited && on_exits && !before.is_some_and(Outcome::is_rate_limited) {
                        self.with_pair(slot, |pair| pair.limit(now));
                    }
                    self.refuse_pair(now, by, evidence, slot, (share, hash, again));
                }
                None => self.uncooled += 1,
            }
        } else if let Some(slot) = self.pairs.find(exit, origin) {
            let gap =
                record.gap.figure().unwrap_or_default().max(Duration::from_millis(known.spacing.into()));
            let noise = self.with_pair(slot, |pair| {
                pair.heat.add(now, share);
                // One attempt passes one trial, however often it is said.
                evidence.outcome.is_ok() && !again && pair.success(now, by)
            });
            if noise == Some(true) {
                self.settle(origin, Shown::Noise);
            }
            // A trial that passed is a use as well.
            if gap > Duration::ZERO && evidence.outcome.is_ok() {
                self.space(now, exit, origin, by.sent + gap);
            }
        }
        (settled, minded)
    }

    /// Whether the origin has served somebody lately.
    pub(super) fn works(&self, now: Time, origin: OriginIx) -> bool {
        let worked = self.origins.get(origin).map_or(Time::ZERO, |record| record.worked);
        worked > Time::ZERO && now.since(worked) <= LATELY
    }

    #[inline]
    fn charge_exit(&mut self, now: Time, by: &Receipt, evidence: &Evidence, cost: &mut Cost) {
        let exit = by.at.0;
        let known = self.exits.get(exit).filter(|record| record.id() == by.exit);
        let Some(record) = known.filter(|_| !evidence.blameless) else { return };
        let weight = match evidence.outcome {
            // May be the origin's fault as well: it is the exit's only if the origin works for others.
            Outcome::ProxyError { phase: Phase::OriginTls } | Outcome::Interrupted { .. } => {
                if !self.works_beside(now, by) {
                    return;
                }
                DOUBTFUL
            }
            Outcome::OriginError { .. } if evidence.seen != Seen::Seen => {
                if !self.works_beside(now, by) {
                    return;
                }
                DOUBTFUL
            }
            Outcome::ProxyError { .. } => 1.0,
            Outcome::SessionLost => match record.source {
                Source::Listed => 1.0,
                _ => return self.lose_session(exit),
            },
            // A name that does not resolve burns nobody. Where the target works for others the exit's resolver is at fault, and is
            // not asked for it for a while: it would be the fastest of all.
            Outcome::TargetFailed => {
                if self.works_beside(now, by) {
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

/// Whether a refusal may be a ban of the exit: what is refused for its pattern is none.
#[inline]
const fn may_be_ban(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Blocked { by } if !matches!(by, BlockedBy::Pattern))
}

/// Whether it may be what everybody meets at the origin.
#[inline]
const fn may_be_the_origins(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::OriginError { .. }
            | Outcome::RateLimited { .. }
            | Outcome::TargetUnreachable
            | Outcome::Interrupted { .. }
            | Outcome::ProxyError { phase: Phase::OriginTls }
    )
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
