//! The retry multiplier, and what it means.

use std::fmt;

/// With no success among as many attempts, the multiplier is at least their number; among fewer nothing is known.
const LEAST: u64 = 20;

/// How a retry multiplier reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Band {
    /// Up to 1.2: the usual second tries.
    Healthy,
    /// Up to 1.5: more second tries than usual.
    Attention,
    /// Above 1.5: the fleet asks too hard. Lower its concurrency; single backoffs do not help.
    Alarm,
}

impl Band {
    /// The band of attempts per success.
    #[must_use]
    pub fn of(multiplier: f64) -> Self {
        match multiplier {
            m if m <= 1.2 => Self::Healthy,
            m if m <= 1.5 => Self::Attention,
            _ => Self::Alarm,
        }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Healthy => "healthy",
            Self::Attention => "attention",
            Self::Alarm => "alarm",
        })
    }
}

/// Attempts per success. Attempts that failed for the request, the target, the gateway or the login do not count: no
/// concurrency would cure them.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Multiplier {
    /// Attempts that count.
    pub attempts: u64,
    /// Those that the origin served.
    pub successes: u64,
    /// Attempts per success. Without a success it is at least as many as there were attempts, and that is its value.
    pub value: f64,
    /// How it reads.
    pub band: Band,
}

impl Multiplier {
    /// `None` where nothing is known: before the first success and fewer than 20 attempts.
    #[allow(clippy::cast_precision_loss, reason = "a ratio for people to read")]
    pub(crate) fn of(attempts: u64, successes: u64) -> Option<Self> {
        if successes == 0 && attempts < LEAST {
            return None;
        }
        let value = attempts as f64 / successes.max(1) as f64;
        Some(Self { attempts, successes, value, band: Band::of(value) })
    }
}

/// The number and its band: `1.100, healthy`.
impl fmt::Display for Multiplier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.successes {
            0 => write!(f, "{} or more, {}", self.attempts, self.band),
            _ => write!(f, "{:.3}, {}", self.value, self.band),
        }
    }
}
