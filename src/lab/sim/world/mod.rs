//! The world: sites that limit and ban, exits that lead to them. What it answers depends on who asks when, and on its luck.

mod bucket;
mod exit;
mod origin;

pub(super) use bucket::Bucket;
pub(super) use exit::{ExitRules, Latency};
pub(super) use origin::{Ban, Blocks, Hint, Limit, Origin, Rules, Shock, Soft, Violations};

use super::job::Job;
use super::luck::{For, Luck};
use super::scenario::Scenario;
use crate::outcome::{BlockedBy, Evidence, Outcome, Phase, RetryAfter, Seen};
use crate::request::Time;
use exit::Exit;
use http::StatusCode;
use std::time::Duration;

/// Exits whose addresses are neighbours.
pub(super) const SUBNET: u32 = 10;

/// One attempt under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) job: Job,
    /// Of the job, from 0.
    pub(super) number: u32,
    pub(super) exit: u32,
    /// How often the exit was used before.
    pub(super) nth: u64,
    pub(super) sent: Time,
}

/// What became of an attempt, as only the world knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Truth {
    Served,
    /// Asked too often.
    Limited,
    /// While banned.
    Banned,
    /// By chance, or by the exit's name.
    Blocked,
    /// For the request itself.
    Poisoned,
    /// The site is down.
    Down,
    /// The exit does not get through.
    Unreached,
}

/// What comes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) evidence: Evidence,
    pub(super) truth: Truth,
}

/// What an attempt does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leg {
    /// It is at the site then.
    Arrives(Time),
    Answered(Time, Answer),
}

pub(super) struct World {
    luck: Luck,
    exits: Vec<Exit>,
    pub(super) origins: Vec<Origin>,
    latency: Latency,
    /// All exits have one address.
    shared: bool,
}

impl World {
    pub(super) fn new(scenario: &Scenario, luck: Luck) -> Self {
        let exits = (0..scenario.exits).map(|at| Exit::new(scenario.exit_rules(at))).collect();
        let origins =
            scenario.origins.iter().map(|rules| Origin::new(rules.clone(), scenario.exits)).collect();
        Self { luck, exits, origins, latency: scenario.latency, shared: scenario.name == "S2" }
    }

    /// How often the exit was used, this time included.
    pub(super) fn use_exit(&mut self, exit: u32) -> u64 {
        let exit = &mut self.exits[exit as usize];
        exit.uses += 1;
        exit.uses
    }

    pub(super) fn send(&mut self, now: Time, attempt: &Attempt) -> Leg {
        let exit = &self.exits[attempt.exit as usize];
        if exit.rules.is_down(now) {
            // Behind a gateway it answers for what is not there.
            let phase = if self.shared { Phase::Tunnel } else { Phase::ExitTcp };
            let failed = Outcome::ProxyError { phase };
            let evidence = Evidence::of(failed).seen(Seen::Never);
            return Leg::Answered(now + self.latency.dead(), Answer { evidence, truth: Truth::Unreached });
        }
        Leg::Arrives(now + self.latency(attempt) / 2)
    }

    /// What the site says, and when that is back.
    pub(super) fn arrive(&mut self, now: Time, attempt: &Attempt) -> (Time, Answer) {
        let back = self.latency(attempt) / 2;
        let rotated = self.exits[attempt.exit as usize].rules.address(now);
        let truth = self.origins[attempt.job.origin as usize].ask(now, attempt, self.luck, rotated);
        let answer = self.classified(attempt, truth);
        if let Latency::Instant { failure, .. } = self.latency {
            let failed = !answer.evidence.outcome.is_ok();
            return (if failed { now + failure } else { now }, answer);
        }
        (now + back, answer)
    }

    fn latency(&self, attempt: &Attempt) -> Duration {
        let slower = self.exits[attempt.exit as usize].rules.slower;
        self.latency.of(self.luck, attempt.exit, attempt.nth).mul_f64(slower)
    }

    /// As the classifier sees it.
    fn classified(&self, attempt: &Attempt, (truth, hint): (Truth, Option<Duration>)) -> Answer {
        let blocked = Evidence::of(Outcome::Blocked { by: BlockedBy::Unknown });
        let served = Evidence::of(Outcome::Ok);
        let soft = self.origins[attempt.job.origin as usize].rules.soft;
        let keys = [attempt.job.id.into(), attempt.number.into()];
        let seen = |p| self.luck.chance(p, For::Detection, &keys);
        let evidence = match truth {
            Truth::Served => match soft {
                Some(soft) if seen(soft.alarm) => blocked,
                _ => served,
            },
            Truth::Blocked | Truth::Banned | Truth::Poisoned => match soft {
                Some(soft) if !seen(soft.found) => served,
                _ => blocked,
            },
            Truth::Limited => Evidence::of(Outcome::RateLimited { retry_after: hint.map(RetryAfter::new) }),
            Truth::Down => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Evidence::of(Outcome::OriginError { status }).for_all(true)
            }
            Truth::Unreached => Evidence::of(Outcome::ProxyError { phase: Phase::ExitTcp }),
        };
        Answer { evidence: evidence.login_accepted(true), truth }
    }
}
