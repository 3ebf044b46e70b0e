//! The pool as data, for people to read.

use super::Pool;
use super::exits::ExitRecord;
use super::gate::State;
use super::named::Named;
use super::origins::Gone;
use super::parents::Parent;
use super::spread::{BlockedSpread, Diagnosis};
use crate::exit::ExitId;
use crate::outcome::{OutcomeCounts, WireBytes};
use crate::request::{Key, Origin, Time};
use std::sync::Arc;
use std::time::Duration;

/// How many exits there are, are dead, and have a lease out.
pub(crate) struct Census {
    pub(crate) total: u32,
    pub(crate) dead: u32,
    pub(crate) quarantined: u32,
    pub(crate) held: u32,
    pub(crate) suspect: u32,
    pub(crate) stopped: u32,
    /// Sessions that are held beside them.
    pub(crate) sessions: u32,
    pub(crate) in_use: u32,
    pub(crate) uncooled: u64,
    pub(crate) outcomes: OutcomeCounts,
    pub(crate) gone: Gone,
    pub(crate) wire: WireBytes,
}

pub(crate) struct OriginFacts<'a> {
    pub(crate) name: &'a Origin,
    pub(crate) leases: u64,
    pub(crate) counts: OutcomeCounts,
    pub(crate) wire: WireBytes,
    pub(crate) heat: f32,
    pub(crate) benched: u32,
    pub(crate) held: Option<Duration>,
    /// How far apart the uses of one exit are kept.
    pub(crate) gap: Option<Duration>,
    pub(crate) spread: Option<BlockedSpread>,
    pub(crate) diagnosis: Option<&'a Diagnosis>,
    /// The pool whose turn it is, where it has an order.
    pub(crate) pool: Option<Key>,
    pub(crate) limit: Option<u32>,
}

/// A named pool.
pub(crate) struct PoolFacts {
    pub(crate) name: Key,
    pub(crate) exits: u32,
    pub(crate) leases: u64,
    pub(crate) wire: WireBytes,
    pub(crate) cost: Option<f64>,
}

pub(crate) struct PairFacts<'a> {
    pub(crate) exit: ExitId,
    /// Of its list.
    pub(crate) line: Option<u32>,
    pub(crate) origin: &'a Origin,
    pub(crate) heat: f32,
    pub(crate) cooling: Duration,
}

impl Pool {
    pub(crate) fn census(&self) -> Census {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        // An exit on trial is dead until it has passed.
        let dead = self.exits.fixed.iter().filter(|exit| !exit.gone && !exit.gate.is_open()).count();
        Census {
            total: count(self.exits.living()),
            dead: count(dead),
            quarantined: count(self.exits.fixed.iter().filter(|exit| !exit.gone && exit.quarantined).count()),
            held: self.with_parent_that(|parent| !parent.gate.is_open() && parent.is_held()),
            suspect: self.with_parent_that(|parent| {
                parent.is_doubted() && !parent.gate.is_open() && !parent.is_stopped()
            }),
            stopped: self.with_parent_that(Parent::is_stopped),
            sessions: count(self.exits.minted.len()),
            in_use: self.in_use,
            uncooled: self.uncooled + self.origins.gone().rests,
            outcomes: self.origins.total(),
            gone: self.origins.gone(),
            wire: self.wire,
        }
    }

    /// Exits that share such a thing.
    fn with_parent_that(&self, is: impl Fn(&Parent) -> bool) -> u32 {
        let any = |exit: &&ExitRecord| {
            exit.parents.iter().flatten().any(|ix| self.parents.get(*ix).is_some_and(&is))
        };
        let staying = self.exits.fixed.iter().filter(|exit| !exit.gone);
        u32::try_from(staying.filter(any).count()).unwrap_or(u32::MAX)
    }

    pub(crate) fn origin_facts(&self, now: Time) -> impl Iterator<Item = OriginFacts<'_>> {
        self.origins.iter().map(move |record| OriginFacts {
            name: &record.name,
            leases: record.leases,
            counts: record.counts,
            wire: record.wire,
            heat: record.heat.prior(now),
            benched: record
                .benched
                .len()
                .saturating_sub(u32::try_from(record.spaced.len()).unwrap_or(u32::MAX)),
            held: Self::held_for(now, &record.room),
            gap: record.gap.figure(),
            spread: self.spreads.figure(record.spread, now),
            diagnosis: self.spreads.diagnosis(record.spread, now),
            pool: record.plan.as_ref().map(|plan| self.name_of(plan.turn())),
            limit: record.room.limit(),
        })
    }

    /// Each named pool that has exits, or had some that were leased.
    pub(crate) fn pool_facts(&self) -> impl Iterator<Item = PoolFacts> {
        let known = |named: &&Named| named.leases > 0 || !named.members.is_empty();
        self.exits.named.iter().filter(known).map(|named| PoolFacts {
            name: Key::from(Arc::clone(&named.name)),
            exits: u32::try_from(named.members.len()).unwrap_or(u32::MAX),
            leases: named.leases,
            wire: named.wire,
            cost: named.terms.cost(named.wire.total()),
        })
    }

    /// What each exit that has carried something has carried.
    pub(crate) fn exit_bytes(&self) -> impl Iterator<Item = (ExitId, Option<u32>, WireBytes)> {
        let all = self.exits.fixed.iter().chain(self.exits.minted.iter());
        let carried = all.filter(|record| record.wire.total() > 0);
        carried.map(|record| (record.id(), record.exit.line(), record.wire))
    }

    pub(crate) fn pair_facts(&self, now: Time) -> impl Iterator<Item = PairFacts<'_>> {
        self.pairs.iter().filter_map(move |pair| {
            let origin = self.origins.get(pair.origin)?;
            let cooling = match pair.gate.state() {
                State::Resting { until } => until.since(now),
                State::Open | State::Spaced { .. } | State::Trial { .. } => Duration::ZERO,
            };
            let record = self.exits.get(pair.exit)?;
            let (exit, line) = (self.exits.id(pair.exit)?, record.exit.line());
            let heat = pair.heat.rate(now, origin.prior(now, record.source.gateway()));
            Some(PairFacts { exit, line, origin: &origin.name, heat, cooling })
        })
    }
}
