//! The fleet by its verbs, in virtual time.

mod absent;
mod alarm;
mod amendments;
mod article;
mod bounds;
mod chance;
mod chaos;
mod charges;
mod choice;
mod classes;
mod clock;
mod crowd;
mod diagnosis;
mod domains;
mod figures;
mod forecast;
mod freshness;
mod gates;
mod gateways;
mod governor;
mod groups;
mod hold;
mod holding;
mod lane;
mod line;
mod model;
mod patience;
mod pool_of_one;
mod pools;
mod reload;
mod replay;
mod retries;
mod room;
mod spacing;
mod suspicion;
mod words;

use super::*;
use crate::exit::{Exit, ExitId, ExitList, Gateway};
use crate::outcome::{BlockedBy, RetryAfter};
use crate::request::Granularity;
use crate::site::Sites;
use crate::verdict::{Verdict, Why};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

pub(super) const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };
pub(super) const REFUSED: Outcome = Outcome::ProxyError { phase: Phase::ExitTcp };

/// Who has one exit of several, and waits for it: its rests are not those of a pool's last exit.
pub(super) fn held() -> LeaseRequest {
    LeaseRequest::new("held").granularity(Granularity::Static)
}

pub(super) fn limited(hint: Option<u64>) -> Outcome {
    Outcome::RateLimited { retry_after: hint.map(|seconds| RetryAfter::new(secs(seconds))) }
}

pub(super) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(super) fn exits(count: u16) -> Vec<Exit> {
    let lines: Vec<String> = (1..=count).map(|port| format!("gw.test:{port}")).collect();
    ExitList::parse(&lines.join("\n")).unwrap().into_iter().collect()
}

/// What a fleet is built from, with the exits that are of no named pool beside those that are.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) exits: Vec<Exit>,
    pub(super) gateways: Vec<Gateway>,
    pub(super) pools: Vec<exit::Pool>,
    pub(super) sites: Sites,
    pub(super) member: Member,
    pub(super) rules: RetryRules,
    pub(super) seed: u64,
    pub(super) epoch: u64,
    pub(super) bounds: Bounds,
    pub(super) knobs: Knobs,
    pub(super) classes: Classes,
}

impl Setup {
    pub(super) fn config(self) -> FleetConfig {
        let Self { exits, gateways, mut pools, sites, member, rules, seed, epoch, bounds, knobs, classes } =
            self;
        if !exits.is_empty() || !gateways.is_empty() {
            let listed = exit::Pool::new("default", exits.into_iter().collect::<ExitList>());
            pools.push(gateways.into_iter().fold(listed, exit::Pool::and));
        }
        FleetConfig { pools, sites: Arc::new(sites), member, rules, seed, epoch, bounds, knobs, classes }
    }
}

pub(super) fn config(count: u16) -> Setup {
    Setup {
        exits: exits(count),
        gateways: Vec::new(),
        pools: Vec::new(),
        sites: Default::default(),
        member: Member::ALONE,
        rules: RetryRules::default(),
        seed: 7,
        epoch: 1_700_000_000_000_000_000,
        bounds: Bounds::default(),
        knobs: Knobs::default(),
        classes: Classes::default(),
    }
}

/// A fleet, its clock, and one origin unless another is named.
pub(super) struct World {
    pub(super) fleet: Fleet,
    pub(super) now: Time,
    /// What each lease reported last.
    pub(super) said: HashMap<LeaseId, Taken>,
}

impl World {
    pub(super) fn of(count: u16) -> Self {
        Self::new(config(count))
    }

    /// A fleet that leaves no origin alone as a whole: what is counted, or charged, must not wait for that.
    pub(super) fn unheld(count: u16) -> Self {
        let mut setup = config(count);
        setup.knobs.hold = None;
        Self::new(setup)
    }

    pub(super) fn new(setup: Setup) -> Self {
        Self { fleet: Fleet::new(setup.config()), now: Time::ZERO + secs(1), said: HashMap::new() }
    }

    pub(super) fn pass(&mut self, time: Duration) -> &mut Self {
        self.now = self.now + time;
        self
    }

    pub(super) fn at(&mut self, origin: &str, ask: &LeaseRequest) -> Result<Grant, Refusal> {
        let name = Origin::new(origin);
        self.fleet.lease(self.now, ask, &name).map_err(|no| self.fleet.refuse(self.now, ask, &name, no))
    }

    pub(super) fn lease(&mut self, ask: &LeaseRequest) -> Grant {
        self.at("a.test", ask).unwrap()
    }

    /// Leases of nothing held, until the exit comes.
    pub(super) fn through(&mut self, origin: &str, exit: ExitId) -> Grant {
        for _ in 0..10_000 {
            let grant = self.at(origin, &LeaseRequest::per_request()).unwrap();
            if grant.receipt.exit == exit {
                return grant;
            }
            self.end(&grant);
        }
        panic!("the exit is never chosen")
    }

    pub(super) fn report(&mut self, grant: &Grant, outcome: impl Into<Evidence>) {
        let (evidence, id, at) = (outcome.into(), grant.receipt.id, self.now);
        let before = self.said.get(&id).copied();
        if let Some(taken) = self.fleet.report(at, &grant.receipt, &evidence, before.as_ref()) {
            self.said.insert(id, taken);
        }
    }

    pub(super) fn end(&mut self, grant: &Grant) {
        let said = self.said.remove(&grant.receipt.id);
        let how = if said.is_some() { Release::Done } else { Release::NotAttempted };
        self.fleet.release(&grant.receipt, how, said.map(|said| said.evidence).as_ref());
    }

    pub(super) fn finish(&mut self, grant: &Grant, outcome: impl Into<Evidence>) {
        self.report(grant, outcome);
        self.end(grant);
    }

    /// One attempt that ends so.
    pub(super) fn once(&mut self, ask: &LeaseRequest, outcome: impl Into<Evidence>) -> Grant {
        let grant = self.lease(ask);
        self.finish(&grant, outcome);
        grant
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.fleet.snapshot(self.now)
    }
}
