//! Gateways and classes of a snapshot.

use super::Fleet;
use crate::pool::{GatewayFacts, LoginState, Pool};
use crate::request::{Key, Time};
use std::time::Duration;

/// How many gateways are told.
const MOST: usize = 32;

/// A gateway: one of a provider's, or an address that several exits of a list stand behind.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GatewaySnapshot {
    /// Its host and port.
    pub gateway: String,
    /// Exits behind it: slots of sessions, or those of lists.
    pub exits: u32,
    /// Leases out behind it.
    pub in_flight: u32,
    /// As many may be out at once, if that is limited: it has said that it has too much to do.
    pub limit: Option<u32>,
    /// For how long it is left alone still, since it is overloaded or cannot be reached: no time at all while one request tries
    /// it. Seconds, where it is serialised.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::snapshot::maybe_seconds"))]
    pub left_alone: Option<Duration>,
    /// How many attempts it refused for having too much to do, lately; and of how many. Counted from the first refusal on,
    /// until it has refused none for a while.
    pub refused: u32,
    /// Of so many.
    pub attempts: u32,
    /// The login behind it; of several the worst. It is not told itself.
    pub login: LoginState,
    /// For how long that login rests still; `None` if it does not, or until somebody resumes it. Seconds, where it is
    /// serialised.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::snapshot::maybe_seconds"))]
    pub login_rests: Option<Duration>,
}

/// A class of requests, where classes were declared.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ClassSnapshot {
    /// Its name; `default` for requests that name none.
    pub class: Key,
    /// Its weight.
    pub weight: u32,
    /// Its share of the turns while all classes wait for one origin, 0 to 1.
    pub share: f64,
    /// Requests of it that wait in line now.
    pub waiting: u32,
}

/// Those in trouble first, then those with most leases out.
pub(super) fn gateways(pool: &Pool, now: Time) -> Vec<GatewaySnapshot> {
    let row = |facts: GatewayFacts| GatewaySnapshot {
        gateway: facts.name,
        exits: facts.exits,
        in_flight: facts.in_flight,
        limit: facts.limit,
        left_alone: facts.left_alone,
        refused: facts.refused,
        attempts: facts.attempts,
        login: facts.login,
        login_rests: facts.login_rests,
    };
    let mut rows: Vec<_> = pool.gateway_facts(now).map(row).collect();
    let calm = |row: &GatewaySnapshot| {
        row.left_alone.is_none() && row.limit.is_none() && row.login == LoginState::Works
    };
    rows.sort_by(|a, b| {
        let most = b.in_flight.cmp(&a.in_flight).then_with(|| b.exits.cmp(&a.exits));
        calm(a).cmp(&calm(b)).then(most).then_with(|| a.gateway.cmp(&b.gateway))
    });
    rows.truncate(MOST);
    rows
}

impl Fleet {
    pub(super) fn classes(&self) -> Vec<ClassSnapshot> {
        let all: Vec<_> = self.line.classes().collect();
        let weights: u32 = all.iter().map(|(_, weight, _)| weight).sum();
        let row = |(class, weight, waiting): (&Key, u32, usize)| ClassSnapshot {
            class: class.clone(),
            weight,
            share: f64::from(weight) / f64::from(weights.max(1)),
            waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
        };
        all.into_iter().map(row).collect()
    }
}
