//! All that is counted of an origin with recent blocks, and how a verdict begins and ends.

use super::clean::Clean;
use super::counts::{Counts, Turned};
use super::diagnosis::{Cause, Diagnosis};
use super::figure::{BlockedSpread, SpreadVerdict};
use super::spared::Spared;
use super::strata::Strata;
use super::subnet::Subnet;
use crate::exit::ExitId;
use crate::knobs;
use crate::request::Time;

/// Looks in a row that begin or end a verdict.
const CONFIRM: u32 = 2;

/// An attempt that an origin served or blocked.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    pub(super) exit: ExitId,
    /// Its place in the table, and how large that is; `None` if it is one holder's alone.
    pub(super) place: Option<(usize, usize)>,
    /// The exit was clean when it was leased.
    pub(super) clean: bool,
    /// The request had been blocked before.
    pub(super) again: bool,
    pub(super) blocked: bool,
}

pub(super) struct Spread {
    counts: Counts,
    strata: Strata,
    pub(super) clean: Clean,
    pub(super) spared: Spared,
    last_block: Time,
    /// What holds, if it points at something.
    holds: Option<Diagnosis>,
    /// What the last look said, and how many in a row.
    said: Cause,
    row: u32,
    /// When the next look is due.
    due: Time,
}

impl Spread {
    pub(super) fn new(now: Time) -> Self {
        Self {
            counts: Counts::new(now),
            strata: Strata::new(now),
            clean: Clean::default(),
            spared: Spared::default(),
            last_block: now,
            holds: None,
            said: Cause::Unclear,
            row: 0,
            due: now,
        }
    }

    pub(super) const fn last_block(&self) -> Time {
        self.last_block
    }

    pub(super) const fn holds(&self) -> Option<&Diagnosis> {
        self.holds.as_ref()
    }

    /// Counts an attempt. Answers what the blocks depend on from now on, if that has changed.
    pub(super) fn count(
        &mut self,
        now: Time,
        attempt: Attempt,
        knobs: Option<&knobs::Diagnosis>,
        subnet: impl FnOnce() -> Option<Subnet>,
    ) -> Option<Diagnosis> {
        let Attempt { exit, place, clean, again, blocked } = attempt;
        if blocked {
            self.last_block = now;
        }
        match self.counts.count(now, exit, blocked, subnet) {
            Turned::Not => {}
            Turned::Next => self.clean.turn(),
            Turned::Far => self.clean.clear(),
        }
        let knobs = knobs?;
        if clean {
            self.strata.count(now, knobs, again, blocked);
        }
        if let Some((place, len)) = place.filter(|_| !blocked) {
            self.clean.served(place, len);
        }
        if now < self.due { None } else { self.look(now, knobs) }
    }

    /// The exit is charged for a block.
    pub(super) fn charged(&mut self, place: (usize, usize)) {
        self.clean.blocked(place.0, place.1);
    }

    pub(super) fn take_back(&mut self, now: Time, attempt: Attempt) {
        self.counts.take_back(now, attempt.exit, attempt.blocked);
        if attempt.clean {
            self.strata.take_back(attempt.again, attempt.blocked);
        }
    }

    pub(super) fn reveal(&mut self, exit: ExitId, subnet: Subnet) {
        self.counts.reveal(exit, subnet);
    }

    pub(super) fn subnet(&self, exit: ExitId) -> Option<Subnet> {
        self.counts.subnet(exit)
    }

    pub(super) fn figure(&self, now: Time) -> Option<BlockedSpread> {
        self.counts.figure(now)
    }

    /// Looks at the figures.
    #[cold]
    fn look(&mut self, now: Time, knobs: &knobs::Diagnosis) -> Option<Diagnosis> {
        self.due = now + knobs.tick;
        let says = self.says(now, knobs);
        self.row = if says == self.said { self.row.saturating_add(1) } else { 1 };
        self.said = says;
        let held = self.holds.as_ref().map_or(Cause::Unclear, |held| held.cause);
        if says == held || self.row < CONFIRM {
            return None;
        }
        let diagnosis = self.diagnosis(now, says);
        self.holds = Some(diagnosis.clone()).filter(|diagnosis| diagnosis.cause != Cause::Unclear);
        Some(diagnosis)
    }

    fn says(&mut self, now: Time, knobs: &knobs::Diagnosis) -> Cause {
        match self.counts.verdict() {
            _ if self.strata.depend(now, knobs) => Cause::Request,
            _ if !self.counts.refused_subnets().is_empty() => Cause::Subnet,
            SpreadVerdict::Pool => Cause::Pool,
            SpreadVerdict::Pattern => Cause::Pattern,
            SpreadVerdict::Unclear => Cause::Unclear,
        }
    }

    fn diagnosis(&self, now: Time, cause: Cause) -> Diagnosis {
        let mut diagnosis = Diagnosis { cause, ..Diagnosis::default() };
        if let Some(figure) = self.counts.figure(now) {
            diagnosis.attempts = figure.attempts;
            diagnosis.blocked = figure.blocked;
            diagnosis.exits = figure.exits;
            diagnosis.blocked_exits = self.counts.blocked_exits(now);
            diagnosis.worst = if cause == Cause::Pool { figure.worst } else { Vec::new() };
        }
        match cause {
            Cause::Request => diagnosis.requests = Some(self.strata.share()),
            Cause::Subnet => diagnosis.subnets = self.counts.refused_subnets().to_vec(),
            Cause::Pool | Cause::Pattern | Cause::Unclear => {}
        }
        diagnosis
    }
}
