//! An origin that fails everybody is left alone as a whole, and then tried by one request: the canary.
//!
//! | what the origin says | while it is open | of the canary |
//! |---|---|---|
//! | a status from 500 on; a 503 with a wait | a failure | shuts it again, for twice as long |
//! | any other answer | all is forgotten | opens it |
//! | nothing: the exit, its gateway or its login failed, or the request broke | - | another one tries |
//!
//! Silence counts for nothing: a page that hangs, callers that give up and a gateway that dies look alike, and the origin may
//! serve all else. Statuses from 500 on are one failure: what is down behind a balancer says 502, 503 and 504 in turn. A wait
//! that comes with a 429 is its exit's own, however many are told the same: limits for each address have words of one kind,
//! and are met by all who ask alike.

use super::Pool;
use super::Receipt;
use super::event::Event;
use super::gate::State;
use super::ix::{ExitIx, OriginIx};
use super::origins::OriginRecord;
use crate::draw::{Stream, draw, unit};
use crate::exit::ExitId;
use crate::knobs;
use crate::outcome::{Evidence, Outcome, Seen};
use crate::request::Time;
use std::time::Duration;

/// Failures that are remembered.
const MOST: usize = 32;
/// Longest wait that is believed.
const HINT_CAP: Duration = Duration::from_secs(3_600);
/// The least that one exit, and each of two, must meet.
const ALONE: usize = 3;
const TWICE: usize = 2;

/// What one answer says of the origin as a whole.
enum Word {
    /// It is broken, or says when it will be back.
    Fails,
    Answers,
    Nothing,
}

/// A failure that an exit met.
#[derive(Clone, Copy, Debug)]
struct Met {
    exit: ExitIx,
    id: ExitId,
    at: Time,
    /// What it cost the pair in heat.
    heated: bool,
}

/// The failures since the origin said anything else, and how it was held for them.
#[derive(Default, Debug)]
pub(super) struct Trouble {
    met: Vec<Met>,
    /// How often in a row it was held.
    holds: u32,
}

impl Trouble {
    /// One more failure; those that are too old go.
    fn add(&mut self, met: Met, within: Duration) {
        self.met.retain(|before| met.at.since(before.at) <= within);
        if self.met.len() == MOST {
            self.met.remove(0);
        }
        self.met.push(met);
    }

    fn has(&self, id: ExitId) -> bool {
        self.met.iter().any(|met| met.id == id)
    }

    /// How many different exits met one.
    fn exits(&self) -> usize {
        let first = |at: &usize| self.met[..*at].iter().all(|met| met.id != self.met[*at].id);
        (0..self.met.len()).filter(first).count()
    }
}

/// The wait that an answer asks for.
fn hint(evidence: &Evidence) -> Duration {
    evidence.retry_after.map_or(Duration::ZERO, |hint| hint.wait().min(HINT_CAP))
}

fn word(evidence: &Evidence) -> Word {
    match evidence.outcome {
        Outcome::ProxyError { .. } | Outcome::Interrupted { .. } => Word::Nothing,
        _ if evidence.seen != Seen::Seen => Word::Nothing,
        Outcome::OriginError { status } if status.as_u16() >= 500 => Word::Fails,
        Outcome::RateLimited { .. } if evidence.for_all && !hint(evidence).is_zero() => Word::Fails,
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
        let (state, stale) = (record.room.gate.state(), record.room.gate.is_stale(by.sent));
        match (word(evidence), state) {
            (Word::Nothing, _) => {}
            (Word::Fails, State::Open | State::Spaced { .. }) => {
                if !stale {
                    self.meet(now, by, evidence, &rules);
                }
            }
            (Word::Answers, State::Open | State::Spaced { .. }) => self.forget_trouble(by.at.1),
            (Word::Fails, _) if stale => self.meet_late(now, by, evidence),
            (Word::Answers, _) if stale => {}
            (Word::Fails, _) => self.meet_again(now, by, evidence, &rules),
            (Word::Answers, _) => self.open_origin(now, by),
        }
    }

    fn forget_trouble(&mut self, origin: OriginIx) {
        if let Some(record) = self.origins.get_mut(origin) {
            record.trouble = None;
        }
    }

    /// It fails, and is open.
    fn meet(&mut self, now: Time, by: &Receipt, evidence: &Evidence, rules: &knobs::Hold) {
        // A page that fails alone is no failure of the site, however often it is sent. Those who come back after a hold have all
        // been sent before.
        let alone = !by.first && !self.returns(now, by.at.1);
        if evidence.blameless || alone {
            return;
        }
        let Some(record) = self.origins.get_mut(by.at.1) else { return };
        note(record, by, now, evidence, rules.within);
        if self.is_enough(by.at.1, rules) {
            self.hold_origin(now, by, evidence, rules);
        }
    }

    /// The canary has met the same.
    fn meet_again(&mut self, now: Time, by: &Receipt, evidence: &Evidence, rules: &knobs::Hold) {
        if let Some(record) = self.origins.get_mut(by.at.1) {
            note(record, by, now, evidence, Duration::ZERO);
        }
        self.hold_origin(now, by, evidence, rules);
    }

    /// What was in flight when it was shut says nothing new, but for when to come back; and is as little its exit's fault.
    fn meet_late(&mut self, now: Time, by: &Receipt, evidence: &Evidence) {
        let wait = hint(evidence);
        self.with_origin(by.at.1, |record| record.room.gate.lengthen(now + wait));
        if matches!(evidence.outcome, Outcome::OriginError { .. }) {
            self.refund(now, by.at.1, &[Met { exit: by.at.0, id: by.exit, at: now, heated: true }]);
        }
    }

    /// Whether as many exits have met it as must: all of them, more than once, if there are fewer.
    fn is_enough(&self, origin: OriginIx, rules: &knobs::Hold) -> bool {
        let Some(record) = self.origins.get(origin) else { return false };
        let Some(trouble) = &record.trouble else { return false };
        let met = trouble.exits();
        if met >= usize::from(rules.exits.max(1)) {
            return true;
        }
        if trouble.met.len() < ALONE.max(TWICE * met) {
            return false;
        }
        // There may be no more of them.
        let twice = |met: &Met| trouble.met.iter().filter(|other| other.id == met.id).count() >= TWICE;
        trouble.met.iter().all(twice) && self.are_all(record, trouble)
    }

    /// Whether no other exit could be leased there.
    fn are_all(&self, record: &OriginRecord, trouble: &Trouble) -> bool {
        let all = record.plan.as_ref().map(|plan| plan.all());
        (0..).zip(&self.exits.fixed).all(|(index, exit)| {
            let out = exit.barred > 0 || self.down.contains(index) || record.benched.contains(index);
            out || exit.gone || all.is_some_and(|all| !all.has(exit.named)) || trouble.has(exit.id())
        })
    }

    /// Leaves the origin alone, once more if it is on trial.
    fn hold_origin(&mut self, now: Time, by: &Receipt, evidence: &Evidence, rules: &knobs::Hold) {
        let (seed, wait) = (self.seed, hint(evidence));
        let held = self.with_origin(by.at.1, |record| {
            let trouble = record.trouble.as_mut()?;
            let rest = rules.first.saturating_mul(1 << trouble.holds.min(16)).min(rules.longest);
            trouble.holds += 1;
            let draw = draw(seed, Stream::Hold, record.hash, u64::from(record.room.gate.shuts()));
            let rest = rest.max(wait).mul_f64(1.0 + unit(draw) / 4.0);
            record.room.gate.shut(now, now + rest);
            Some((record.name.clone(), rest, trouble.exits(), std::mem::take(&mut trouble.met)))
        });
        let Some((origin, rest, exits, met)) = held.flatten() else { return };
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
            record.room.gate.pass(by.id, 1);
            record.trouble = None;
            record.room.released = Some(now);
            record.room.gate.is_open().then(|| record.name.clone())
        });
        if let Some(origin) = opened.flatten() {
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

    /// The origin failed everybody: the exits did not. What it has cost them in heat is taken back, and no rest is ended.
    fn refund(&mut self, now: Time, origin: OriginIx, met: &[Met]) {
        for met in met.iter().filter(|met| met.heated) {
            let exit = self.exits.get(met.exit).filter(|exit| exit.id() == met.id);
            let gateway = exit.and_then(|exit| exit.source.gateway());
            if let (Some(gateway), Some(record)) = (gateway, self.origins.get_mut(origin)) {
                record.heat_of(gateway).take_back(now, met.at, BROKEN);
            }
            let pair = self.pairs.find(met.exit, origin).and_then(|slot| self.pairs.get_mut(slot));
            if let Some(pair) = pair {
                pair.take_back(now, met.at, BROKEN);
            }
        }
    }
}

/// How bad an origin's own failure is for the heat of a pair: it may be that it fails this exit alone.
pub(super) const BROKEN: f32 = 0.25;

fn note(record: &mut OriginRecord, by: &Receipt, now: Time, evidence: &Evidence, within: Duration) {
    let heated = matches!(evidence.outcome, Outcome::OriginError { .. });
    let met = Met { exit: by.at.0, id: by.exit, at: now, heated };
    record.trouble.get_or_insert_with(Box::default).add(met, within);
}
