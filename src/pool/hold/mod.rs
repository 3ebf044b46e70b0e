//! An origin that fails everybody is left alone as a whole, and then tried by one request: the canary.
//!
//! | what the origin says | while it is open | of the canary |
//! |---|---|---|
//! | a status from 500 on; a 503 with a wait; it is not reached | a failure | shuts it again, for longer |
//! | any other answer | the failures are forgotten | opens it |
//! | nothing: the exit, its gateway or its login failed, or the request broke | - | another one tries |
//!
//! Over plain http a 502, 503 or 504 may be the proxy's own, and that it does not reach the target is its word in any case. What
//! one says may be its own trouble; what as many say of one origin as must is the origin's. Exits of one gateway are one then.
//!
//! Silence counts for nothing: a page that hangs, callers that give up and a gateway that dies look alike, and the origin may
//! serve all else. Statuses from 500 on are one failure: what is down behind a balancer says 502, 503 and 504 in turn. A wait
//! that comes with a 429 is its exit's own, however many are told the same: limits for each address have words of one kind,
//! and are met by all who ask alike.
//!
//! As many exits must meet a failure within a moment, and as many failures follow each other as do not by chance ([`usual`]): of
//! an origin that answers many, and fails some of them, three in a row are met every minute. One that fails half of all is not
//! held: it serves the others, and for each that it does not serve fewer are sent by the governor and the retries' lane. It is
//! held once or twice until that is known.
//!
//! A canary that hangs lets another go after a moment, and its answer counts whenever it comes. A wait is believed for as long as as many
//! exits ask for as must meet a failure, an hour at most; what fewer ask for is a minute at most.

mod trouble;
mod usual;
mod witness;

pub(super) use trouble::Trouble;
pub(super) use usual::Usual;

use super::Pool;
use super::Receipt;
use super::event::Event;
use super::ix::OriginIx;
use crate::draw::{Stream, draw, unit};
use crate::knobs;
use crate::outcome::{Evidence, Outcome, Phase, Seen};
use crate::request::Time;
use std::time::Duration;
use trouble::{Met, are_enough};

/// Longest wait that is believed, whoever asks for it.
const HINT_CAP: Duration = Duration::from_secs(3_600);
/// How bad an origin's own failure is for the heat of a pair: it may be that it fails this exit alone.
pub(super) const BROKEN: f32 = 0.25;

/// What one answer says of the origin as a whole.
enum Word {
    /// It is broken, or says when it will be back; or its exit says so.
    Fails,
    Answers,
    /// The exchange broke, by whomsoever.
    Broke,
    Nothing,
}

/// The wait that an answer asks for.
fn hint(evidence: &Evidence) -> Duration {
    evidence.retry_after.map_or(Duration::ZERO, |hint| hint.wait().min(HINT_CAP))
}

fn word(evidence: &Evidence) -> Word {
    match evidence.outcome {
        Outcome::Interrupted { .. } | Outcome::ProxyError { phase: Phase::OriginTls } => Word::Broke,
        Outcome::ProxyError { .. } => Word::Nothing,
        Outcome::TargetUnreachable => Word::Fails,
        Outcome::OriginError { status } if status.as_u16() >= 500 => Word::Fails,
        Outcome::RateLimited { .. } if evidence.for_all && !hint(evidence).is_zero() => Word::Fails,
        _ if evidence.seen != Seen::Seen => Word::Nothing,
        _ => Word::Answers,
    }
}

impl Pool {
    /// What a report says of its origin as a whole.
    #[cold]
    #[inline(never)]
    pub(super) fn mind(&mut self, now: Time, by: &Receipt, evidence: &Evidence) {
        let Some(rules) = self.knobs.hold else { return };
        let Some(record) = self.origins.get(by.at.1) else { return };
        let (open, stale) = (!record.room.is_held(), record.room.gate.is_stale(by.sent));
        // A canary's answer is news, however many have tried since.
        let old = record.trouble.as_ref().is_none_or(|trouble| by.sent <= trouble.held);
        match word(evidence) {
            Word::Nothing => {}
            Word::Broke if open && !stale => self.breaks(now, by, evidence, &rules),
            Word::Broke => {}
            Word::Fails if open && stale => {}
            Word::Fails if open => self.meet(now, by, evidence, &rules),
            Word::Fails if stale => self.meet_late(now, by, evidence, &rules),
            Word::Fails => self.meet_again(now, by, evidence, &rules),
            Word::Answers if open => self.forget_trouble(by.at.1),
            Word::Answers if old => {}
            Word::Answers => self.open_origin(now, by),
        }
    }

    fn forget_trouble(&mut self, origin: OriginIx) {
        if let Some(record) = self.origins.get_mut(origin) {
            record.trouble = None;
        }
    }

    /// It fails, and is open.
    fn meet(&mut self, now: Time, by: &Receipt, evidence: &Evidence, rules: &knobs::Hold) {
        if evidence.blameless {
            return;
        }
        // A page that fails alone is no failure of the site, however often it is sent. Those who come back after a hold have all
        // been sent before.
        let alone = !by.first && !self.returns(now, by.at.1);
        let met = self.met(now, by, evidence);
        let Some(record) = self.origins.get_mut(by.at.1) else { return };
        let begins = record.trouble.as_ref().is_none_or(|trouble| trouble.row == 0);
        record.usual.fail(&record.counts, begins, met.who, rules);
        if alone {
            return;
        }
        record.trouble.get_or_insert_with(Box::default).add(met);
        if self.is_enough(now, by.at.1, rules) {
            self.hold_origin(now, by, evidence, rules);
        }
    }

    /// The canary has met the same.
    fn meet_again(&mut self, now: Time, by: &Receipt, evidence: &Evidence, rules: &knobs::Hold) {
        let met = self.met(now, by, evidence);
        if let Some(record) = self.origins.get_mut(by.at.1) {
            record.usual.skip(&record.counts);
            record.trouble.get_or_insert_with(Box::default).add(met);
        }
        self.hold_origin(now, by, evidence, rules);
    }

    /// What was in flight when it was shut says nothing new, but for when to come back; and is as little its exit's fault.
    fn meet_late(&mut self, now: Time, by: &Receipt, evidence: &Evidence, rules: &knobs::Hold) {
        let met = self.met(now, by, evidence);
        if let Some(trouble) = self.origins.get_mut(by.at.1).and_then(|record| record.trouble.as_mut()) {
            trouble.wait(met);
        }
        let until = self.asked(now, by.at.1, &met, rules);
        self.with_origin(by.at.1, |record| record.room.gate.lengthen(until));
        self.refund(now, by.at.1, &[met]);
    }

    /// Until when it is to be left alone: what it asks for now, as far as others are told the like.
    fn asked(&self, now: Time, origin: OriginIx, met: &Met, rules: &knobs::Hold) -> Time {
        let own = met.until.min(now + rules.alone);
        let Some(record) = self.origins.get(origin) else { return own };
        let are_all = |met: &[Met]| self.are_all(record, met);
        let of_all = |trouble: &Trouble| trouble.asked(rules.exits.max(1).into(), are_all);
        record.trouble.as_deref().map_or(own, |trouble| of_all(trouble).max(own))
    }

    /// Whether as many exits have met it as must, and as often in a row as is no chance.
    fn is_enough(&self, now: Time, origin: OriginIx, rules: &knobs::Hold) -> bool {
        let Some(record) = self.origins.get(origin) else { return false };
        let Some(trouble) = &record.trouble else { return false };
        trouble.row >= record.usual.in_a_row(record.flow.rate(now, self.half_life), rules)
            && are_enough(trouble.since(now, rules.within), rules.exits.max(1).into(), |met| {
                self.are_all(record, met)
            })
    }

    /// Leaves the origin alone, once more if it is on trial.
    fn hold_origin(&mut self, now: Time, by: &Receipt, evidence: &Evidence, rules: &knobs::Hold) {
        let seed = self.seed;
        let asked = self.asked(now, by.at.1, &self.met(now, by, evidence), rules);
        let held = self.with_origin(by.at.1, |record| {
            let trouble = record.trouble.as_mut()?;
            if trouble.holds == 0 {
                trouble.held = now;
            }
            let soon = rules.soon.max(now.since(trouble.held) / rules.part.max(1)).min(rules.longest);
            let rest = rules.first.saturating_mul(1 << trouble.holds.min(16)).min(soon);
            trouble.holds += 1;
            let draw = draw(seed, Stream::Hold, record.hash, u64::from(record.room.gate.shuts()));
            let rest = rest.max(asked.since(now)).mul_f64(1.0 + unit(draw) / 4.0);
            record.room.gate.shut(now, now + rest);
            Some((record.name.clone(), rest, trouble.exits(), std::mem::take(&mut trouble.met)))
        });
        let Some((origin, rest, exits, mut met)) = held.flatten() else { return };
        if let Some(last) = met.last_mut() {
            // It is charged after this, if at all.
            last.faulted = false;
        }
        self.refund(now, by.at.1, &met);
        let status = match evidence.outcome {
            Outcome::OriginError { status } => Some(status.as_u16()),
            _ => None,
        };
        let exits = u32::try_from(exits).unwrap_or(u32::MAX);
        self.events.push(now, Event::OriginHeld { origin, rest: Some(rest), exits, status });
    }

    /// The canary was answered.
    fn open_origin(&mut self, now: Time, by: &Receipt) {
        let after = self.knobs.spacing.filter(|_| self.rest.learns()).map(|spacing| spacing.after_hold);
        let opened = self.with_origin(by.at.1, |record| {
            if let Some(seconds) = after {
                record.gap.begin(now, seconds);
            }
            // Perhaps another canary has failed since, and it rests: this one's answer is the later word.
            record.room.gate.forget();
            record.trouble = None;
            record.room.released = Some(now);
            record.name.clone()
        });
        if let Some(origin) = opened {
            self.events.push(now, Event::OriginReleased { origin });
        }
    }

    /// Lets one lease try each origin that is left alone.
    pub(super) fn resume_origins(&mut self, now: Time) {
        for origin in self.origins.held() {
            self.with_origin(origin, |record| {
                record.room.gate.doubt(now);
                if let Some(trouble) = &mut record.trouble {
                    trouble.holds = 0;
                }
            });
        }
    }
}
