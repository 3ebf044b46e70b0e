//! An origin that fails everybody is left alone as a whole, and then tried by one request: the canary.
//!
//! | what the origin says | while it is open | of the canary |
//! |---|---|---|
//! | a status from 500 on; a 503 with a wait | a failure | shuts it again, for twice as long |
//! | another answer with a wait | a failure, if many exits are told the same wait | the same, if that shut it |
//! | any other answer | all is forgotten | opens it |
//! | nothing: the exit, its gateway or its login failed, or the request broke | - | another one tries |
//!
//! Silence counts for nothing: a page that hangs, callers that give up and a gateway that dies look alike, and the origin may
//! serve all else. Statuses from 500 on are one failure: what is down behind a balancer says 502, 503 and 504 in turn.

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

/// Exits that are told the same wait within this time are told the origin's.
const ALIKE: Duration = Duration::from_secs(10);
/// As one of so many of all exits at least: a limit for each address makes the same words, and quick ones.
const SHARE: usize = 3;
/// Failures that are remembered.
const MOST: usize = 32;
/// Longest wait that is believed.
const HINT_CAP: Duration = Duration::from_secs(3_600);
/// The least that one exit, and each of two, must meet: one request alone does not come so often.
const ALONE: usize = 3;
const TWICE: usize = 2;

/// What an origin says to everybody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failure {
    /// It is broken, or says when it will be back.
    Broken,
    /// To come back after so long.
    Asked(Duration),
}

/// What one answer says of the origin as a whole.
enum Word {
    Fails(Failure),
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
#[derive(Debug)]
pub(super) struct Trouble {
    failure: Failure,
    met: Vec<Met>,
    /// How often in a row it was held.
    holds: u32,
}

impl Trouble {
    /// One more failure; those that are too old go, and so do all that were others.
    fn add(&mut self, failure: Failure, met: Met, within: Duration) {
        if self.failure != failure {
            self.failure = failure;
            self.met.clear();
        }
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
    let limited = matches!(evidence.outcome, Outcome::RateLimited { .. }) && !hint(evidence).is_zero();
    match evidence.outcome {
        Outcome::ProxyError { .. } | Outcome::Interrupted { .. } => Word::Nothing,
        _ if evidence.seen != Seen::Seen => Word::Nothing,
        Outcome::OriginError { status } if status.as_u16() >= 500 => Word::Fails(Failure::Broken),
        _ if limited && evidence.for_all => Word::Fails(Failure::Broken),
        _ if limited => Word::Fails(Failure::Asked(hint(evidence))),
        _ => Word::Answers,
    }
}

impl Pool {
    /// What a report says of its origin as a whole.
    #[cold]
    #[inline(never)]
    pub(super) fn mind(&mut self, now: Time, by: &Receipt, evidence: &Evidence) {
        let Some(rules) = self.hold else { return };
        let Some(record) = self.origins.get(by.at.1) else { return };
        let (state, stale) = (record.room.gate.state(), record.room.gate.is_stale(by.sent));
        let held_for = record.trouble.as_ref().map(|trouble| trouble.failure);
        match (word(evidence), state) {
            (Word::Nothing, _) => {}
            (Word::Fails(failure), State::Open) => {
                if !stale {
                    self.meet(now, by, evidence, failure, &rules);
                }
            }
            (Word::Answers, State::Open) => self.forget_trouble(by.at.1),
            (Word::Fails(failure), _) if stale => self.meet_late(now, by, evidence, failure),
            (Word::Answers, _) if stale => {}
            (Word::Fails(failure), _) if failure == Failure::Broken || held_for == Some(failure) => {
                self.meet_again(now, by, evidence, failure, &rules);
            }
            (Word::Fails(_) | Word::Answers, _) => self.open_origin(now, by),
        }
    }

    fn forget_trouble(&mut self, origin: OriginIx) {
        if let Some(record) = self.origins.get_mut(origin) {
            record.trouble = None;
        }
    }

    /// It fails, and is open.
    fn meet(&mut self, now: Time, by: &Receipt, evidence: &Evidence, failure: Failure, rules: &knobs::Hold) {
        if evidence.blameless {
            return;
        }
        let Some(record) = self.origins.get_mut(by.at.1) else { return };
        let within = if failure == Failure::Broken { rules.within } else { ALIKE };
        note(record, by, now, evidence, failure, within);
        if self.is_enough(by.at.1, rules) {
            self.hold_origin(now, by, evidence, rules);
        }
    }

    /// The canary has met the same.
    fn meet_again(
        &mut self,
        now: Time,
        by: &Receipt,
        evidence: &Evidence,
        failure: Failure,
        rules: &knobs::Hold,
    ) {
        if let Some(record) = self.origins.get_mut(by.at.1) {
            note(record, by, now, evidence, failure, Duration::ZERO);
        }
        self.hold_origin(now, by, evidence, rules);
    }

    /// What was in flight when it was shut says nothing new, but for when to come back; and is as little its exit's fault.
    fn meet_late(&mut self, now: Time, by: &Receipt, evidence: &Evidence, failure: Failure) {
        if let (Failure::Broken, wait) = (failure, hint(evidence)) {
            self.with_origin(by.at.1, |record| record.room.gate.lengthen(now + wait));
        }
        if matches!(evidence.outcome, Outcome::OriginError { .. }) {
            self.refund(now, by.at.1, &[Met { exit: by.at.0, id: by.exit, at: now, heated: true }]);
        }
    }

    /// Whether as many exits have met it as must: all of them, more than once, if there are fewer.
    fn is_enough(&self, origin: OriginIx, rules: &knobs::Hold) -> bool {
        let Some(record) = self.origins.get(origin) else { return false };
        let Some(trouble) = &record.trouble else { return false };
        let least = usize::from(rules.exits.max(1));
        let needed = match trouble.failure {
            Failure::Broken => least,
            Failure::Asked(_) => (self.exits.len() / SHARE).clamp(least, MOST.max(least)),
        };
        let met = trouble.exits();
        if met >= needed {
            return true;
        }
        if trouble.failure != Failure::Broken || trouble.met.len() < ALONE.max(TWICE * met) {
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
        let opened = self.with_origin(by.at.1, |record| {
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

fn note(
    record: &mut OriginRecord,
    by: &Receipt,
    now: Time,
    evidence: &Evidence,
    failure: Failure,
    within: Duration,
) {
    let heated = matches!(evidence.outcome, Outcome::OriginError { .. });
    let met = Met { exit: by.at.0, id: by.exit, at: now, heated };
    let fresh = || Box::new(Trouble { failure, met: Vec::new(), holds: 0 });
    record.trouble.get_or_insert_with(fresh).add(failure, met, within);
}
