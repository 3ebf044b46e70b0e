//! The world: sites that limit and ban, exits that lead to them. What it answers depends on who asks when, and on its luck.

mod bucket;
mod exit;
mod gateway;
mod origin;

pub(super) use bucket::Bucket;
pub(super) use exit::{Broken, ExitRules, Latency};
pub(super) use gateway::{GatewayRules, Login, Refusals};
pub(super) use origin::{Ban, Blocks, Hint, Limit, Origin, Rules, Shock, Soft, Violations};

use super::job::Job;
use super::luck::{For, Luck};
use super::scenario::Scenario;
use crate::outcome::{BlockedBy, Evidence, Outcome, Phase, RetryAfter, Seen};
use crate::request::Time;
use exit::Exit;
use gateway::Gateway;
use http::StatusCode;
use std::time::Duration;

/// After this time it is known that an exit refuses the connection.
const REFUSED: Duration = Duration::from_millis(100);
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
    /// The gateway has too much to do.
    Overloaded,
    /// The gateway does not take the login.
    Login,
    /// The body broke off.
    Cut,
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

impl Leg {
    pub(super) const fn at(&self) -> Time {
        match self {
            Self::Arrives(at) | Self::Answered(at, _) => *at,
        }
    }
}

pub(super) struct World {
    luck: Luck,
    exits: Vec<Exit>,
    /// The exits stand behind them in turns.
    gateways: Vec<Gateway>,
    pub(super) origins: Vec<Origin>,
    latency: Latency,
    /// All exits have one address.
    shared: bool,
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
        let gateways: Vec<_> = scenario.gateways.iter().map(|rules| Gateway::new(*rules)).collect();
        let shared = scenario.name == "S2" || !gateways.is_empty();
        Self { luck, exits, gateways, origins, latency: scenario.latency, shared, on_the_way }
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

    /// The gateway of an exit, if it stands behind one.
    fn gateway_of(&self, exit: u32) -> Option<&Gateway> {
        self.gateways.get(exit as usize % self.gateways.len().max(1))
    }

    /// Whether it is down, or its gateway is, or does not take its login.
    pub(super) fn is_down(&self, now: Time, exit: u32) -> bool {
        let behind = self.gateway_of(exit).is_some_and(|gateway| gateway.is_shut(now));
        behind || self.exits[exit as usize].rules.is_down(now)
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
        let (luck, count) = (self.luck, self.gateways.len().max(1));
        let number = attempt.exit as usize % count;
        let takes = self.latency(attempt) / 2;
        let gateway = self.gateways.get_mut(number);
        let refused = gateway.and_then(|gateway| gateway.ask(now, luck, number as u64, takes));
        if let Some((at, answer)) = refused {
            return Leg::Answered(at, answer);
        }
        let rules = self.exits[attempt.exit as usize].rules;
        if rules.is_down(now) {
            self.is_over(attempt.exit);
            // Behind a gateway it answers for what is not there.
            let phase = if self.shared { Phase::Tunnel } else { Phase::ExitTcp };
            let failed = Outcome::ProxyError { phase };
            let evidence = Evidence::of(failed).seen(Seen::Never).login_accepted(self.shared);
            let after = if rules.broken == Broken::Refuses { REFUSED } else { self.latency.dead() };
            return Leg::Answered(now + after, Answer { evidence, truth: Truth::Unreached });
        }
        self.on_the_way[attempt.job.origin as usize][attempt.exit as usize] += 1;
        Leg::Arrives(now + takes)
    }

    /// An answer is back.
    pub(super) fn answered(&mut self, attempt: &Attempt, answer: &Answer) {
        if answer.truth == Truth::Overloaded {
            self.is_over(attempt.exit);
        }
    }

    /// The gateway of an exit has opened a tunnel, or not.
    fn is_over(&mut self, exit: u32) {
        let number = exit as usize % self.gateways.len().max(1);
        if let Some(gateway) = self.gateways.get_mut(number) {
            gateway.is_over();
        }
    }

    /// What each gateway has refused.
    pub(super) fn refusals(&self) -> impl Iterator<Item = Refusals> + '_ {
        self.gateways.iter().map(|gateway| gateway.refusals)
    }

    /// It is broken off, on its way to the site or on that of an answer back.
    pub(super) fn lose(&mut self, attempt: &Attempt, leg: &Leg) {
        match leg {
            Leg::Answered(_, answer) => self.answered(attempt, answer),
            Leg::Arrives(_) => {
                self.on_the_way[attempt.job.origin as usize][attempt.exit as usize] -= 1;
                self.is_over(attempt.exit);
            }
        }
    }

    /// What the site says, and when that is back.
    pub(super) fn arrive(&mut self, now: Time, attempt: &Attempt) -> (Time, Answer) {
        self.on_the_way[attempt.job.origin as usize][attempt.exit as usize] -= 1;
        let back = self.latency(attempt) / 2;
        self.is_over(attempt.exit);
        let rotated = self.exits[attempt.exit as usize].rules.address(now);
        let truth = self.origins[attempt.job.origin as usize].ask(now, attempt, self.luck, rotated);
        let lossy = self.exits[attempt.exit as usize].rules.lossy;
        let cut = self.luck.chance(lossy, For::Loss, &[attempt.exit.into(), attempt.nth]);
        let truth = if cut && truth.0 == Truth::Served { (Truth::Cut, None) } else { truth };
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
            Truth::Cut => Evidence::of(Outcome::Interrupted { phase: Phase::Body }).seen(Seen::Seen),
            // The site says none of these.
            Truth::Unreached | Truth::Overloaded | Truth::Login => {
                Evidence::of(Outcome::ProxyError { phase: Phase::ExitTcp })
            }
        };
        Answer { evidence: evidence.login_accepted(true), truth }
    }
}
