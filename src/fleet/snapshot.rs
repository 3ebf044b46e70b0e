//! The state of the fleet as data.

use super::gateways::{self, ClassSnapshot, GatewaySnapshot};
use crate::error::UnusableCounts;
use crate::exit::ExitId;
use crate::outcome::{Multiplier, OutcomeCounts, WireBytes};
use crate::pool::{BlockedSpread, Diagnosis, Pool, PoolFacts};
use crate::request::{Key, Origin, Time};
#[cfg(feature = "serde")]
use serde::Serialize as _;
use std::time::Duration;

/// The state of the fleet at one moment. As data here; printed with `{}` it is a table to read.
///
/// With the feature `serde` it can be serialised, under the names that its fields have here: exits and origins as strings, bands
/// and verdicts as words in lower case, durations in seconds, and no time of day. No login is in it.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Snapshot {
    /// How old the scheduler is: what the counters are counts of. Seconds, where it is serialised.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub age: Duration,
    /// The exits by state.
    pub exits: ExitCounts,
    /// Leases out now.
    pub in_flight: u32,
    /// Requests that wait in line now.
    pub waiting: u32,
    /// Distinct exits with a lease out now.
    pub exits_in_use: u32,
    /// Leases given since the scheduler was built: those of all origins together.
    pub leases: u64,
    /// Outcomes of all origins together, since the scheduler was built.
    pub outcomes: OutcomeCounts,
    /// The retry multiplier of all outcomes since the scheduler was built; `None` while nothing is known.
    pub multiplier: Option<Multiplier>,
    /// The retry multiplier of the last 5 s that ended, or of as long as it took to make 20 attempts; `None` until then.
    pub lately: Option<Multiplier>,
    /// The fleet asks too hard: in two such ticks in a row the multiplier was surely above 1.5 (by the lower bound of the
    /// failed share, one-sided 95 %), and has not been at 1.2 or less in three in a row since.
    pub alarm: bool,
    /// Requests that were given back instead of being sent again, because too many retries were before them:
    /// [`Why::Parked`](crate::verdict::Why::Parked).
    pub parked: u64,
    /// Leases refused, by reason.
    pub refusals: RefusalCounts,
    /// The named pools, by name.
    pub pools: Vec<PoolSnapshot>,
    /// Gateways, and addresses that several exits of a list stand behind: those in trouble first, then those with most leases
    /// out. At most 32.
    pub gateways: Vec<GatewaySnapshot>,
    /// The classes of requests, if any were declared.
    pub classes: Vec<ClassSnapshot>,
    /// Each origin, most attempts first.
    pub origins: Vec<OriginSnapshot>,
    /// The origins that had to be forgotten for others (65,536 are known at once): what they had counted.
    pub forgotten: OriginTotals,
    /// The hottest pairs, and those that rest, hottest first; at most ten. Pairs below 0.1 that do not rest are left out: 0.05 is assumed of a new one.
    pub hottest: Vec<PairSnapshot>,
    /// Bytes on the wire through all exits, sessions that are gone included, since the scheduler was built. As far as clients
    /// count them: an attempt's come in when its lease has ended and its body is over, given-up ones included.
    pub wire: WireBytes,
    /// The exits that most of them went through, most first; at most ten. A session or token that is gone is only in the
    /// total.
    pub busiest: Vec<ExitTraffic>,
    /// Events that no observer was told of, because too many came before the last were.
    pub events_lost: u64,
    /// Refusals by origins that could not be remembered, because the table of pairs was full of pairs that rest; and those that
    /// were forgotten before the rest was over, because the table of origins was full of such.
    pub uncooled: u64,
}

/// How many of the hottest pairs are told.
const HOTTEST: usize = 10;
/// Heat that is nothing to tell: twice what is assumed of an exit that is new at a site.
pub(super) const COLD: f32 = 0.1;
/// How many of the exits with most bytes are told.
const BUSIEST: usize = 10;

impl Snapshot {
    pub(super) fn of(pool: &Pool, now: Time) -> Self {
        let census = pool.census();
        let origin = |facts: crate::pool::OriginFacts<'_>| OriginSnapshot {
            origin: facts.name.clone(),
            leases: facts.leases,
            outcomes: facts.counts,
            wire: facts.wire,
            heat: facts.heat,
            benched: facts.benched,
            held: facts.held,
            gap: facts.gap,
            spread: facts.spread,
            diagnosis: facts.diagnosis.cloned(),
            pool: facts.pool,
            limit: facts.limit,
            lately: None,
        };
        let pool_of = |facts: PoolFacts| PoolSnapshot {
            name: facts.name,
            exits: facts.exits,
            leases: facts.leases,
            wire: facts.wire,
            cost: facts.cost,
        };
        let mut pools: Vec<_> = pool.pool_facts().map(pool_of).collect();
        pools.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
        let mut origins: Vec<_> = pool.origin_facts(now).map(origin).collect();
        origins.sort_by(|a, b| {
            b.outcomes.total().cmp(&a.outcomes.total()).then_with(|| a.origin.cmp(&b.origin))
        });
        // What is cold and does not rest is nothing to tell.
        let told = |pair: &crate::pool::PairFacts<'_>| pair.heat >= COLD || !pair.cooling.is_zero();
        let mut pairs: Vec<_> = pool.pair_facts(now).filter(told).collect();
        pairs.sort_unstable_by(|a, b| b.heat.total_cmp(&a.heat).then_with(|| a.exit.cmp(&b.exit)));
        let pair = |facts: crate::pool::PairFacts<'_>| PairSnapshot {
            exit: facts.exit,
            line: facts.line,
            origin: facts.origin.clone(),
            heat: facts.heat,
            cooling: facts.cooling,
        };
        Self {
            age: now.since(Time::ZERO),
            exits: ExitCounts {
                total: census.total,
                dead: census.dead,
                quarantined: census.quarantined,
                held: census.held,
                suspect: census.suspect,
                stopped: census.stopped,
                sessions: census.sessions,
            },
            exits_in_use: census.in_use,
            uncooled: census.uncooled,
            outcomes: census.outcomes,
            multiplier: census.outcomes.multiplier(),
            pools,
            gateways: gateways::gateways(pool, now),
            origins,
            forgotten: OriginTotals {
                origins: census.gone.origins,
                leases: census.gone.leases,
                outcomes: census.gone.counts,
                wire: census.gone.wire,
            },
            wire: census.wire,
            busiest: busiest(pool.exit_bytes().collect(), census.wire),
            hottest: pairs.into_iter().take(HOTTEST).map(pair).collect(),
            ..Self::default()
        }
    }
}

/// The exits with most bytes, of all that have any.
fn busiest(mut exits: Vec<(ExitId, Option<u32>, WireBytes)>, all: WireBytes) -> Vec<ExitTraffic> {
    exits.sort_unstable_by(|(a, _, one), (b, _, two)| two.total().cmp(&one.total()).then_with(|| a.cmp(b)));
    let share = |wire: WireBytes| wire.total() as f64 / all.total().max(1) as f64;
    let told = exits.into_iter().take(BUSIEST);
    told.map(|(exit, line, wire)| ExitTraffic { exit, line, wire, share: share(wire) }).collect()
}

/// Exits by state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ExitCounts {
    /// Listed exits, and the slots of gateways.
    pub total: u32,
    /// Unreachable for every origin.
    pub dead: u32,
    /// Kept out by a person.
    pub quarantined: u32,
    /// Behind a gateway that is overloaded or unreachable, until it has served somebody again.
    pub held: u32,
    /// With a login in doubt, until one lease has tried it.
    pub suspect: u32,
    /// With a login that is stopped.
    pub stopped: u32,
    /// Sessions of gateways that are held, or in use, by one holder alone. They are minted for it, and not among the `total`.
    pub sessions: u32,
}

/// Leases refused, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RefusalCounts {
    /// No exit was usable.
    pub no_usable_exit: u64,
    /// The site failed everybody, and was left alone: [`HeldBy::Failures`](crate::error::HeldBy::Failures).
    pub origin_held_by_failures: u64,
    /// The site bore no more requests at once: [`HeldBy::Limit`](crate::error::HeldBy::Limit).
    pub origin_held_by_limit: u64,
    /// Others waited for the same, and it would not wait with them.
    pub behind: u64,
    /// A bound was met.
    pub busy: u64,
    /// Every login was stopped.
    pub stopped: u64,
    /// The fleet was drained.
    pub closed: u64,
    /// An identity's exit was lost, and its move not accepted yet.
    pub moved: u64,
    /// Why the exits were not usable, at the last such refusal.
    pub last: UnusableCounts,
}

/// One named pool.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PoolSnapshot {
    /// Its name; `default` for what was given without one.
    pub name: Key,
    /// Its exits, slots of gateways included.
    pub exits: u32,
    /// Leases of them.
    pub leases: u64,
    /// Bytes on the wire through them.
    pub wire: WireBytes,
    /// What these cost, at the pool's [price](crate::exit::Pool::price); `None` without one.
    pub cost: Option<f64>,
}

/// One origin.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OriginSnapshot {
    /// The site.
    pub origin: Origin,
    /// Leases given for it.
    pub leases: u64,
    /// Its outcomes.
    pub outcomes: OutcomeCounts,
    /// Bytes on the wire for it.
    pub wire: WireBytes,
    /// Recent block rate over all exits, 0 to 1.
    pub heat: f32,
    /// Exits that rest at this origin, or are on trial there; not those that were but used a moment ago.
    pub benched: u32,
    /// For how long it is left alone still, since it fails everybody: no time at all while one request tries it.
    pub held: Option<Duration>,
    /// How far apart the uses of one exit are kept at this origin, as its 429s have taught; `None` while nothing speaks for that.
    /// Up to 60 s; seconds, where it is serialised.
    #[cfg_attr(feature = "serde", serde(serialize_with = "maybe_seconds"))]
    pub gap: Option<Duration>,
    /// How its blocks spread over exits; `None` if nothing was blocked within the last 30 to 60 s, or more than 256 origins
    /// are blocked at once, or it was through gateways that rotate by themselves alone, where nobody knows the exit.
    pub spread: Option<BlockedSpread>,
    /// What its blocks depend on; `None` while that is not clear, and where there were none within the last minute.
    pub diagnosis: Option<Diagnosis>,
    /// The pool whose turn it is, where its [site](crate::site::Site) has an order of pools.
    pub pool: Option<Key>,
    /// How many leases may be out for it at once, if that is limited: too many of its attempts have failed.
    pub limit: Option<u32>,
    /// Its retry multiplier in the last 5 s that ended, or in as long as it took to make 20 attempts; `None` where nothing has
    /// failed lately.
    pub lately: Option<Multiplier>,
}

/// Some origins together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OriginTotals {
    /// How many times an origin was forgotten.
    pub origins: u64,
    /// Leases given for them.
    pub leases: u64,
    /// Their outcomes.
    pub outcomes: OutcomeCounts,
    /// Bytes on the wire for them.
    pub wire: WireBytes,
}

/// What one exit has carried.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ExitTraffic {
    /// The exit.
    pub exit: ExitId,
    /// The line of the list that it was read from, if it was; see [`ExitList::line_of`](crate::ExitList::line_of).
    pub line: Option<u32>,
    /// Bytes on the wire.
    pub wire: WireBytes,
    /// Their share of all the fleet's, 0 to 1.
    pub share: f64,
}

/// One pair of exit and origin.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PairSnapshot {
    /// The exit.
    pub exit: ExitId,
    /// The line of the list that it was read from, if it was.
    pub line: Option<u32>,
    /// The site.
    pub origin: Origin,
    /// Recent block rate, 0 to 1.
    pub heat: f32,
    /// How long it still rests; zero if it does not. Seconds, where it is serialised.
    #[cfg_attr(feature = "serde", serde(serialize_with = "seconds"))]
    pub cooling: Duration,
}

#[cfg(feature = "serde")]
#[allow(clippy::ref_option, reason = "as serde calls it")]
pub(super) fn maybe_seconds<S: serde::Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    duration.map(|duration| duration.as_secs_f64()).serialize(serializer)
}

#[cfg(feature = "serde")]
pub(super) fn seconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}
