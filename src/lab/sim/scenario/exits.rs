//! Which exit of the world a route leads through.

use super::Scenario;
use super::behind::{FIRST, SECOND};
use crate::exit::{ExitId, Route};
use crate::request::Time;
use std::collections::HashMap;

/// For who sees routes. A session is the next one of its gateway when it is met first.
pub(in crate::lab::sim) struct Exits {
    known: HashMap<ExitId, u32>,
    /// Sessions met, by gateway, and exits that there are.
    met: Vec<u32>,
    all: u32,
    /// When the gateways whose logins they share have another password, if they do; none for listed exits.
    renewed: Vec<Option<Time>>,
}

impl Exits {
    pub(in crate::lab::sim) fn new(scenario: &Scenario) -> Self {
        let listed = if scenario.sessions { Vec::new() } else { scenario.listed().into_iter().collect() };
        let gateways = scenario.gateways.iter().filter(|_| scenario.sessions);
        let renewed: Vec<_> =
            gateways.map(|gateway| gateway.renewed_at().map(|at| Time::ZERO + at)).collect();
        Self {
            known: (0..).zip(listed).map(|(at, exit)| (exit.id(), at)).collect(),
            met: vec![0; renewed.len()],
            all: scenario.exits,
            renewed,
        }
    }

    /// The one that was met before.
    pub(in crate::lab::sim) fn known(&self, exit: ExitId) -> Option<u32> {
        self.known.get(&exit).copied()
    }

    /// `None`: it leads nowhere in this world.
    pub(in crate::lab::sim) fn of(&mut self, route: &Route) -> Option<u32> {
        if let Some(known) = self.known(route.exit()) {
            return Some(known);
        }
        let (gateways, number) = (self.met.len() as u32, Scenario::gateway_of(route.host()));
        let turn = self.met.get_mut(number as usize)?;
        let exit = (*turn * gateways + number) % self.all;
        *turn += 1;
        self.known.insert(route.exit(), exit);
        Some(exit)
    }

    /// Whether it carries the password that the operator has for its gateway by then. That one may be refused as well.
    pub(in crate::lab::sim) fn is_current(&self, now: Time, route: &Route) -> bool {
        let Some(renewed) = self.renewed.get(Scenario::gateway_of(route.host()) as usize) else {
            return true;
        };
        let password = if renewed.is_some_and(|at| at <= now) { SECOND } else { FIRST };
        route.credential().is_some_and(|login| login.password() == password)
    }
}
