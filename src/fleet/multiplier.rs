//! The retry multiplier as it is lately, and the alarm when the fleet asks too hard.
//!
//! Attempts are counted in ticks of 5 s, each extended until it has 20 of them. Two ticks in a row in which the multiplier is
//! surely above 1.5 raise the alarm, three in a row at 1.2 or less end it. Surely: by the lower bound of the failed share
//! (Wilson: Probable Inference, 1927), so that a small tick of bad luck raises nothing. A true multiplier of 1.8 shows from 49
//! attempts a tick on, one of 2 from 22.
//!
//! There is no timer: a tick ends with the first report after its time, so an idle fleet keeps its state.

use super::Fleet;
use crate::outcome::{Band, Evidence, Multiplier, Outcome};
use crate::pool::{Event, OriginIx};
use crate::request::Time;
use crate::share::Share;
use std::time::Duration;

const TICK: Duration = Duration::from_secs(5);
const LEAST: u32 = 20;
/// A multiplier of 1.5 is a failed share of 1 - 1 / 1.5.
const TOO_HARD: f64 = 1.0 / 3.0;
/// Ticks in a row that raise the alarm, and that end it.
const RAISE: u8 = 2;
const END: u8 = 3;

#[derive(Default)]
pub(super) struct Meter {
    successes: u32,
    failures: u32,
    suspects: Suspects,
    /// When the tick may end; zero before the first report.
    due: Time,
    lately: Option<Multiplier>,
    alarm: bool,
    /// Ticks in a row that speak for a change.
    row: u8,
}

impl Meter {
    /// The multiplier of the last tick that ended.
    pub(super) const fn lately(&self) -> Option<Multiplier> {
        self.lately
    }

    pub(super) const fn alarm(&self) -> bool {
        self.alarm
    }

    /// One report, and what it amends. Says whether the tick may be over.
    #[inline]
    fn count(&mut self, now: Time, at: OriginIx, outcome: &Outcome, amends: Option<&Evidence>) -> bool {
        if outcome.is_ok() && amends.is_none() {
            self.successes += 1;
        } else {
            self.count_rest(at, outcome, amends);
        }
        now >= self.due
    }

    #[inline(never)]
    fn count_rest(&mut self, at: OriginIx, outcome: &Outcome, amends: Option<&Evidence>) {
        // If that was in an earlier tick, the difference is counted in this one: it is known only now.
        match amends.and_then(|before| before.outcome.success()) {
            Some(true) => self.successes = self.successes.saturating_sub(1),
            Some(false) => {
                self.failures = self.failures.saturating_sub(1);
                self.suspects.take_back(at);
            }
            None => {}
        }
        match outcome.success() {
            Some(true) => self.successes += 1,
            Some(false) => {
                self.failures += 1;
                self.suspects.add(at);
            }
            None => {}
        }
    }

    /// Ends the tick, if it has enough attempts. Says whether that raises the alarm or ends it.
    fn end_tick(&mut self, now: Time) -> Option<Change> {
        if self.due == Time::ZERO {
            self.due = now + TICK;
        }
        let (failures, attempts) = (self.failures, self.failures.saturating_add(self.successes));
        if now < self.due || attempts < LEAST {
            return None;
        }
        let multiplier = Multiplier::of(attempts.into(), self.successes.into())?;
        let origin = self.suspects.most(failures);
        (self.successes, self.failures, self.suspects) = (0, 0, Suspects::default());
        (self.due, self.lately) = (now + TICK, Some(multiplier));
        let share = Share { failed: failures, of: attempts };
        let (speaks, enough) = match self.alarm {
            false => (share.least() > TOO_HARD, RAISE),
            true => (multiplier.band == Band::Healthy, END),
        };
        self.row = if speaks { self.row + 1 } else { 0 };
        if self.row < enough {
            return None;
        }
        (self.alarm, self.row) = (!self.alarm, 0);
        Some(if self.alarm { Change::Raised { multiplier, origin } } else { Change::Ended { multiplier } })
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Change {
    Raised { multiplier: Multiplier, origin: Option<OriginIx> },
    Ended { multiplier: Multiplier },
}

impl Fleet {
    #[inline]
    pub(super) fn measure(&mut self, now: Time, at: OriginIx, said: &Evidence, amends: Option<&Evidence>) {
        if self.meter.count(now, at, &said.outcome, amends) {
            self.end_tick(now);
        }
    }

    #[inline(never)]
    fn end_tick(&mut self, now: Time) {
        let event = match self.meter.end_tick(now) {
            None => return,
            Some(Change::Ended { multiplier }) => Event::AsksWell { multiplier },
            Some(Change::Raised { multiplier, origin }) => {
                let origin = origin.and_then(|origin| self.pool.name(origin));
                Event::AsksTooHard { multiplier, origin }
            }
        };
        self.pool.events.push(now, event);
    }
}

/// Where attempts failed: the most frequent of a stream in a few counters (Metwally, Agrawal, El Abbadi: Efficient
/// Computation of Frequent and Top-k Elements in Data Streams, 2005).
#[derive(Clone, Copy, Default)]
struct Suspects([Suspect; 8]);

#[derive(Clone, Copy, Default)]
struct Suspect {
    origin: Option<OriginIx>,
    count: u32,
    /// How many of them may have been of others, whose counter it took over.
    inherited: u32,
}

impl Suspects {
    fn add(&mut self, origin: OriginIx) {
        if let Some(known) = self.find(origin) {
            known.count += 1;
        } else if let Some(least) = self.0.iter_mut().min_by_key(|suspect| suspect.count) {
            *least = Suspect { origin: Some(origin), count: least.count + 1, inherited: least.count };
        }
    }

    fn take_back(&mut self, origin: OriginIx) {
        if let Some(known) = self.find(origin) {
            known.count = known.count.saturating_sub(1).max(known.inherited);
        }
    }

    fn find(&mut self, origin: OriginIx) -> Option<&mut Suspect> {
        self.0.iter_mut().find(|suspect| suspect.origin == Some(origin))
    }

    /// The origin that surely had at least half of the failures.
    fn most(&self, failures: u32) -> Option<OriginIx> {
        let surely = |suspect: &&Suspect| suspect.count - suspect.inherited;
        self.0.iter().max_by_key(surely).filter(|most| surely(most) >= failures.div_ceil(2))?.origin
    }
}
