//! How much a site bears, as far as the fleet knows.

use super::Fleet;
use crate::pool::Capacity;
use crate::request::{Origin, Time};
use std::fmt;
use std::time::Duration;

/// As many recent successes count as much as what was learned: tried on the simulator's T and G, 20 to 1,000 exits.
const LEARNED: f64 = 100.0;

/// What can be asked of one site for as long as nothing changes, and what limits it. Prints as a sentence.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Forecast {
    /// The site.
    pub origin: Origin,
    /// Requests a second that it serves in the long run: what its limits come to, and the nearer to what it serves lately the
    /// more that is, while requests wait for it; or that alone, where nothing has limited it. `None` if nothing is known of it.
    pub per_second: Option<f64>,
    /// What more requests would meet first.
    pub limited_by: LimitedBy,
    /// Successes a second lately: with a half-life of 5 s.
    pub served: f64,
}

/// What limits a site.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LimitedBy {
    /// It was never limited so far: what it serves now is told.
    Nothing,
    /// Each exit may be used so often there, as its 429s have taught.
    Gap {
        /// Exits that may serve it.
        exits: u32,
        /// From one use of an exit to the next. Seconds, where it is serialised.
        #[cfg_attr(feature = "serde", serde(serialize_with = "super::snapshot::seconds"))]
        gap: Duration,
    },
    /// Too many attempts fail there when more are out at once.
    Concurrency {
        /// Most leases out at once.
        limit: u32,
    },
    /// The exits' pools: how many leases an exit may have at once, or how far apart they may be.
    Exits {
        /// Exits that may serve it.
        exits: u32,
    },
    /// It fails everybody, and is left alone.
    Held {
        /// For so long still: no time at all while one request tries it. Seconds, where it is serialised.
        #[cfg_attr(feature = "serde", serde(serialize_with = "super::snapshot::seconds"))]
        left: Duration,
    },
    /// Every exit rests, each for more than a minute: what is sooner back counts as serving.
    Resting {
        /// Until the first is back. Seconds, where it is serialised.
        #[cfg_attr(feature = "serde", serde(serialize_with = "super::snapshot::seconds"))]
        left: Duration,
    },
    /// Every login is stopped, or every exit kept out by a person.
    Stopped,
    /// The fleet is drained.
    Drained,
    /// Nothing is known of it.
    Unknown,
}

impl Fleet {
    pub(crate) fn forecast(&self, now: Time, name: &Origin) -> Forecast {
        let origin = self.pool.known(name);
        let capacity = self.pool.capacity(now, origin);
        let (per_second, limited_by) = if self.closed {
            (Some(0.0), LimitedBy::Drained)
        } else if capacity.exits == 0 && capacity.back.is_none() && self.pool.is_shut() {
            (Some(0.0), LimitedBy::Stopped)
        } else if let Some(left) = capacity.held {
            (Some(0.0), LimitedBy::Held { left })
        } else if let Some(left) = capacity.back {
            (Some(0.0), LimitedBy::Resting { left })
        } else {
            limit(&capacity)
        };
        Forecast { origin: name.to_kept(), per_second, limited_by, served: capacity.served }
    }
}

/// The lowest of all limits.
fn limit(capacity: &Capacity) -> (Option<f64>, LimitedBy) {
    let Capacity { exits, gap, served, .. } = *capacity;
    if exits == 0 {
        return (Some(0.0), LimitedBy::Exits { exits });
    }
    let by_gaps = if gap > Duration::ZERO && gap >= capacity.interval {
        LimitedBy::Gap { exits, gap }
    } else {
        LimitedBy::Exits { exits }
    };
    // Little's law: each lease that is out serves so many a second, and so do more of them, as long as they are not slower.
    let each = (capacity.in_flight > 0 && served > 0.0).then(|| served / f64::from(capacity.in_flight));
    let at_once = |most: f64| each.map_or(f64::INFINITY, |each| each * most);
    let in_pools = capacity.most.map_or(f64::INFINITY, |most| at_once(most as f64));
    let at_site = capacity.limit.map_or(f64::INFINITY, |limit| at_once(limit.into()));
    let site = LimitedBy::Concurrency { limit: capacity.limit.unwrap_or(u32::MAX) };
    let all = [(at_site, site), (capacity.by_gaps, by_gaps), (in_pools, LimitedBy::Exits { exits })];
    match all.into_iter().min_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((rate, by)) if rate.is_finite() && capacity.waits && served > 0.0 => {
            (Some(between(rate, served, capacity.recent)), by)
        }
        Some((rate, by)) if rate.is_finite() => (Some(rate), by),
        // There is a limit, and nobody is there to tell what it comes to.
        _ if capacity.limit.is_some() => (None, site),
        _ if served > 0.0 => (Some(served), LimitedBy::Nothing),
        _ => (None, LimitedBy::Unknown),
    }
}

/// While requests wait, what a site serves is what it bears: nearer than what is learned step by step, but where it serves few
/// at all. So the more there are to go by, the more it counts.
fn between(learned: f64, served: f64, recent: f64) -> f64 {
    let weight = recent / (recent + LEARNED);
    libm::exp(weight * libm::log(served) + (1.0 - weight) * libm::log(learned))
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, per_second, limited_by, .. } = self;
        match (per_second, limited_by) {
            (_, LimitedBy::Drained) => return write!(f, "none at {origin}: the fleet is drained"),
            (_, LimitedBy::Stopped) => {
                return write!(f, "none at {origin}: every login is stopped, or kept out by a person");
            }
            (_, LimitedBy::Held { left }) if left.is_zero() => {
                return write!(f, "none at {origin}: it fails everybody, and one request tries it");
            }
            (_, LimitedBy::Held { left }) => {
                let seconds = left.as_secs_f64();
                return write!(
                    f,
                    "none at {origin}: it fails everybody, and is left alone for {seconds:.1} s"
                );
            }
            (_, LimitedBy::Resting { left }) => {
                let seconds = left.as_secs_f64();
                return write!(
                    f,
                    "none at {origin}: every exit rests, and the first is back in {seconds:.0} s"
                );
            }
            (_, LimitedBy::Exits { exits: 0 }) => {
                return write!(f, "none at {origin}: no exit may serve it");
            }
            (None, LimitedBy::Concurrency { limit }) => {
                return write!(f, "unknown at {origin}: at most {limit} at once, and none is out");
            }
            (None, _) => return write!(f, "unknown at {origin}: nothing was served there lately"),
            (Some(rate), _) if *rate < 9.95 => write!(f, "about {rate:.1} requests a second at {origin}")?,
            (Some(rate), _) => write!(f, "about {rate:.0} requests a second at {origin}")?,
        }
        match limited_by {
            LimitedBy::Gap { exits, gap } => {
                let (plural, gap) = (plural(*exits), gap.as_secs_f64());
                write!(
                    f,
                    ": {exits} exit{plural}, each every {gap:.1} s (learned from its 429s, or just back from a hold)"
                )
            }
            LimitedBy::Concurrency { limit } => write!(f, ": at most {limit} at once, or too many fail"),
            LimitedBy::Exits { exits } => {
                write!(f, ": {exits} exit{} at the limits of their pools", plural(*exits))
            }
            _ => f.write_str(": what it serves now, and nothing has limited it yet"),
        }
    }
}

const fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}
