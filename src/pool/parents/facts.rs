//! Gateways as data, for people to read.

use super::{Kind, Parent};
use crate::pool::Pool;
use crate::pool::gate::State;
use crate::request::Time;
use std::collections::BTreeSet;
use std::time::Duration;

/// What is thought of a login.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LoginState {
    /// Nothing speaks against it.
    Works,
    /// It is overloaded, and left alone.
    Held,
    /// It was refused, and one lease tries it.
    Suspect,
    /// It was refused again: nothing goes out on it.
    Stopped,
}

/// A gateway, or an address that several listed exits stand behind.
pub(crate) struct GatewayFacts {
    pub(crate) name: String,
    pub(crate) exits: u32,
    pub(crate) in_flight: u32,
    pub(crate) limit: Option<u32>,
    pub(crate) left_alone: Option<Duration>,
    /// Of so many attempts lately.
    pub(crate) refused: u32,
    pub(crate) attempts: u32,
    /// The worst of its exits' logins, and how long that rests still, if that has an end.
    pub(crate) login: LoginState,
    pub(crate) login_rests: Option<Duration>,
}

impl Parent {
    fn login_state(&self) -> LoginState {
        match self.gate.state() {
            State::Open | State::Spaced { .. } => LoginState::Works,
            _ if self.is_held() => LoginState::Held,
            State::Trial { .. } => LoginState::Suspect,
            State::Resting { .. } => LoginState::Stopped,
        }
    }

    /// How long it rests still: no time at all on trial, `None` if it is open.
    fn rests(&self, now: Time) -> Option<Duration> {
        match self.gate.state() {
            State::Open | State::Spaced { .. } => None,
            State::Trial { .. } => Some(Duration::ZERO),
            State::Resting { until } => Some(until.since(now)),
        }
    }

    fn rests_with_an_end(&self, now: Time) -> Option<Duration> {
        let for_good = self.gate.state() == State::Resting { until: Time::MAX };
        self.rests(now).filter(|_| !for_good)
    }
}

impl Pool {
    /// Those that have exits. Walks over these.
    pub(crate) fn gateway_facts(&self, now: Time) -> impl Iterator<Item = GatewayFacts> {
        let all = self.parents.0.iter().filter(|parent| parent.kind == Kind::Gateway);
        all.filter_map(move |parent| self.facts_of(now, parent))
    }

    fn facts_of(&self, now: Time, parent: &Parent) -> Option<GatewayFacts> {
        let records = parent.members.iter().filter_map(|at| self.exits.fixed.get(*at as usize));
        let (mut exits, mut logins, mut first) = (0, BTreeSet::new(), None);
        for record in records.filter(|record| !record.gone) {
            exits += 1;
            logins.extend(record.parents[1]);
            first = first.or(Some(record));
        }
        let first = first?;
        let name = match first.source.gateway() {
            Some(ix) => {
                let gateway = &self.exits.gateways[ix.index()].gateway;
                format!("{}:{}", gateway.host(), gateway.port())
            }
            None => format!("{}:{}", first.exit.route().host(), first.exit.route().port()),
        };
        let logins = logins.into_iter().filter_map(|ix| self.parents.get(ix));
        let worst = logins.max_by_key(|login| (login.login_state(), login.rests(now)));
        let lately = parent.flow.lately();
        Some(GatewayFacts {
            name,
            exits,
            in_flight: parent.flow.out,
            limit: parent.flow.limit(),
            left_alone: parent.rests(now),
            refused: lately.failed,
            attempts: lately.of,
            login: worst.map_or(LoginState::Works, Parent::login_state),
            login_rests: worst.and_then(|login| login.rests_with_an_end(now)),
        })
    }
}
