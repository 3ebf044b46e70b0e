//! The world: sites that limit and ban, exits that lead to them. What it answers depends on who asks when, and on its luck.

mod bucket;
mod exit;
mod origin;

pub(super) use bucket::Bucket;
pub(super) use exit::{ExitRules, Latency, Login};
pub(super) use origin::{Ban, Blocks, Hint, Limit, Origin, Rules, Shock, Soft, Violations};

use super::job::Job;
use super::luck::{For, Luck};
use super::scenario::Scenario;
use crate::outcome::{AuthReason, BlockedBy, Evidence, Outcome, Phase, RetryAfter, Seen};
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
    /// The proxy refused the login.
    Login,
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
    login: Login,
    /// Attempts that are not at their site yet, by site and exit.
    on_the_way: Vec<Vec<u32>>,
}

impl World {
    pub(super) fn new(scenario: &Scenario, luck: Luck) -> Self {
        Self::of(scenario, scenario.exits, luck)
    }

    /// With another number of exits.
    pub(super) fn of(scenario: &Scenario, exits: u32, luck: Luck) -> Self {
        let on_the_way = vec![vec![0; exits as usize]; scenario.origins.len()];
        let origins = scenario.origins.iter().map(|rules| Origin::new(rules.clone(), exits)).collect();
        let exits = (0..exits).map(|at| Exit::new(scenario.exit_rules(at))).collect();
        Self {
            luck,
            exits,
            origins,
            latency: scenario.latency,
            shared: scenario.name == "S2",
            login: scenario.login,
            on_the_way,
        }
    }

    /// What happens by itself by now.
    pub(super) fn turn(&mut self, now: Time) {
        for (at, origin) in (0..).zip(&mut self.origins) {
            origin.shock(now, at, self.luck);
        }
    }

    /// How many attempts are on their way to the site through the exit. For who sees the truth, as the next ones are.
    pub(super) fn on_the_way(&self, origin: u32, exit: u32) -> u32 {
        self.on_the_way[origin as usize][exit as usize]
    }

    /// Whether no exit takes the login any more.
    pub(super) fn login_is_dead(&self, now: Time) -> bool {
        self.login.dies.is_some_and(|at| now.since(Time::ZERO) >= at)
    }

    pub(super) fn is_down(&self, now: Time, exit: u32) -> bool {
        self.exits[exit as usize].rules.is_down(now)
    }

    /// As many times slower than others.
    pub(super) fn slower(&self, exit: u32) -> f64 {
        self.exits[exit as usize].rules.slower
    }

    /// Whether the site would serve an attempt through this exit now, but for bad luck.
    pub(super) fn would_serve(&self, now: Time, origin: u32, exit: u32) -> bool {
        let site = &self.origins[origin as usize];
        let free = site.free_at(now, exit, self.on_the_way(origin, exit)) <= now && site.up_at(now) <= now;
        free && !self.is_down(now, exit) && site.share(now, exit) < 0.5
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
        let keys = [attempt.exit.into(), attempt.nth];
        if self.login_is_dead(now) || self.luck.chance(self.login.stray, For::Stray, &keys) {
            let evidence =
                Evidence::of(Outcome::AuthError { reason: AuthReason::Rejected }).seen(Seen::Never);
            return Leg::Answered(now + Login::REFUSES, Answer { evidence, truth: Truth::Login });
        }
        self.on_the_way[attempt.job.origin as usize][attempt.exit as usize] += 1;
        Leg::Arrives(now + self.latency(attempt) / 2)
    }

    /// It is broken off before it is at the site.
    pub(super) fn lose(&mut self, attempt: &Attempt) {
        self.on_the_way[attempt.job.origin as usize][attempt.exit as usize] -= 1;
    }

    /// What the site says, and when that is back.
    pub(super) fn arrive(&mut self, now: Time, attempt: &Attempt) -> (Time, Answer) {
        self.on_the_way[attempt.job.origin as usize][attempt.exit as usize] -= 1;
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
            Truth::Login => Evidence::of(Outcome::AuthError { reason: AuthReason::Rejected }),
        };
        Answer { evidence: evidence.login_accepted(true), truth }
    }
}
