//! The luck of a world: each draw is a hash of the seed and of what it is for. So all policies meet the same luck, however often
//! and in whatever order they ask.

use crate::draw::{mix, unit};

/// What a draw is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(super) enum For {
    /// By origin, job, attempt of the job, exit.
    Block = 0x51,
    /// By exit and its uses.
    Latency,
    LatencyAngle,
    /// By job.
    Poison,
    Size,
    SizeAngle,
    Origin,
    Arrival,
    /// By origin and exit.
    Shock,
    /// By gateway and its tunnels.
    Gateway,
    Stray,
    /// By job and attempt.
    Detection,
    /// By exit and its uses.
    Loss,
    /// A policy's own, by stream and counter.
    Policy,
    /// By origin, job, attempt of the job, exit.
    Limit,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Luck(u64);

impl Luck {
    pub(super) const fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x5eed_0f1c))
    }

    pub(super) fn draw(self, what: For, keys: &[u64]) -> u64 {
        keys.iter().fold(mix(self.0 ^ what as u64), |hash, key| mix(hash ^ key))
    }

    /// In 0..1.
    pub(super) fn unit(self, what: For, keys: &[u64]) -> f64 {
        unit(self.draw(what, keys))
    }

    pub(super) fn chance(self, p: f64, what: For, keys: &[u64]) -> bool {
        p > 0.0 && self.unit(what, keys) < p
    }

    /// A standard normal, by Box and Muller.
    pub(super) fn normal(self, (what, angle): (For, For), keys: &[u64]) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit(what, keys)));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit(angle, keys))
    }
}
