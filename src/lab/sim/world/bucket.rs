//! A token bucket.

use crate::request::Time;
use std::time::Duration;

/// So many tokens a second, and so many at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) struct Bucket {
    pub(in crate::lab::sim) per_second: f64,
    pub(in crate::lab::sim) burst: f64,
}

/// How full a bucket is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    tokens: f64,
    at: Time,
}

impl Bucket {
    pub(super) const fn full(self) -> Level {
        Level { tokens: self.burst, at: Time::ZERO }
    }

    /// How many it gives in so many seconds.
    pub(in crate::lab::sim) fn admits(self, seconds: f64) -> f64 {
        self.burst + self.per_second * seconds
    }

    /// Tokens that there are now.
    pub(super) fn tokens(self, level: Level, now: Time) -> f64 {
        (level.tokens + now.since(level.at).as_secs_f64() * self.per_second).min(self.burst)
    }

    /// Takes one, or says how long until there is one.
    pub(super) fn take(self, level: &mut Level, now: Time) -> Result<(), Duration> {
        let tokens = self.tokens(*level, now);
        let left = if tokens >= 1.0 { tokens - 1.0 } else { tokens };
        *level = Level { tokens: left, at: now };
        if tokens >= 1.0 { Ok(()) } else { Err(Duration::from_secs_f64((1.0 - tokens) / self.per_second)) }
    }

    /// How long until there are so many.
    pub(super) fn until(self, level: Level, now: Time, wanted: f64) -> Duration {
        Duration::from_secs_f64(((wanted - self.tokens(level, now)) / self.per_second).max(0.0))
    }
}
