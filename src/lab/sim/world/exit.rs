//! Exits: good ones, dead ones, slow ones.

use crate::lab::sim::luck::{For, Luck};
use crate::request::Time;
use std::time::Duration;

/// How long an attempt takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) enum Latency {
    /// Log-normal, by its median in seconds; the site sees the request at half of it. A dead exit costs 10 s.
    LogNormal { median: f64, sigma: f64 },
    /// A success takes no time.
    Instant { failure: Duration, dead: Duration },
}

impl Latency {
    pub(super) fn of(self, luck: Luck, exit: u32, nth: u64) -> Duration {
        match self {
            Self::Instant { .. } => Duration::ZERO,
            Self::LogNormal { median, sigma } => {
                let normal = luck.normal((For::Latency, For::LatencyAngle), &[exit.into(), nth]);
                Duration::from_secs_f64(median * libm::exp(sigma * normal))
            }
        }
    }

    pub(super) const fn dead(self) -> Duration {
        match self {
            Self::Instant { dead, .. } => dead,
            Self::LogNormal { .. } => Duration::from_secs(10),
        }
    }

    /// On average.
    pub(in crate::lab::sim) fn mean(self) -> f64 {
        match self {
            Self::Instant { .. } => 0.0,
            Self::LogNormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
        }
    }
}

/// How one is known that is down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lab::sim) enum Broken {
    /// It says nothing until the caller gives up.
    Hangs,
    /// It refuses the connection at once.
    Refuses,
}

/// What an exit is like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) struct ExitRules {
    /// Unreachable from then on.
    pub(in crate::lab::sim) dead_from: Option<Duration>,
    /// Up for so long, then down for as long, and so on.
    pub(in crate::lab::sim) flaps: Option<Duration>,
    pub(in crate::lab::sim) broken: Broken,
    /// The share of bodies that it breaks off.
    pub(in crate::lab::sim) lossy: f64,
    /// As many times slower than others.
    pub(in crate::lab::sim) slower: f64,
    /// The address behind it changes so often.
    pub(in crate::lab::sim) rotates: Option<Duration>,
}

impl ExitRules {
    pub(in crate::lab::sim) const GOOD: Self =
        Self { dead_from: None, flaps: None, broken: Broken::Hangs, lossy: 0.0, slower: 1.0, rotates: None };

    pub(in crate::lab::sim) fn is_down(&self, now: Time) -> bool {
        let since = now.since(Time::ZERO);
        let flapped = |each: Duration| (since.as_nanos() / each.as_nanos().max(1)) % 2 == 1;
        self.dead_from.is_some_and(|from| since >= from) || self.flaps.is_some_and(flapped)
    }

    /// Which of its addresses it leaves from.
    pub(super) fn address(&self, now: Time) -> u64 {
        let each = self.rotates.unwrap_or(Duration::MAX).as_nanos().max(1);
        u64::try_from(now.since(Time::ZERO).as_nanos() / each).unwrap_or(u64::MAX)
    }
}

pub(super) struct Exit {
    pub(super) rules: ExitRules,
    pub(super) uses: u64,
}

impl Exit {
    pub(super) const fn new(rules: ExitRules) -> Self {
        Self { rules, uses: 0 }
    }
}
