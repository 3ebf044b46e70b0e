//! What an origin serves, and how far apart its exits are used by that.

use crate::knobs::Spacing;
use crate::request::Time;
use crate::share::Share;
use std::time::Duration;

/// How much the origin serves, lately: a count that halves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Served {
    pub(super) count: f32,
    pub(super) at: Time,
    /// Since when it is counted; zero while it is not.
    pub(super) since: Time,
}

impl Served {
    pub(super) fn add(&mut self, now: Time, served: bool, half_life: Duration) {
        let kept = libm::exp2f(-now.since(self.at).as_secs_f32() / half_life.as_secs_f32());
        (self.count, self.at) = (self.count * kept + f32::from(u8::from(served)), now);
    }

    /// A second; right also before the first half-life is over.
    pub(super) fn rate(&self, now: Time, half_life: Duration) -> f32 {
        let lives = now.since(self.since).as_secs_f32() / half_life.as_secs_f32();
        let seconds = half_life.as_secs_f32() / std::f32::consts::LN_2 * (1.0 - libm::exp2f(-lives));
        self.count / seconds.max(0.1)
    }
}

/// Through how many exits an origin is asked, and through how many of them now: a rest keeps an exit apart from itself.
#[derive(Clone, Copy, Debug)]
pub(in crate::pool) struct Exits {
    pub(super) all: usize,
    pub(super) awake: usize,
}

/// How far apart the uses of an exit are, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses {
    /// If all exits were used evenly for what is served.
    pub(super) all: f32,
    /// As those that do not rest are used, the limited ones counted.
    pub(super) each: f32,
}

impl Uses {
    #[allow(clippy::cast_precision_loss, reason = "as many exits as there may be")]
    #[allow(clippy::cast_possible_truncation, reason = "a share")]
    pub(super) fn of(exits: Exits, served: f32, limited: Share) -> Self {
        let served = served.max(0.01);
        let each = exits.awake as f32 / served * (1.0 - limited.value()) as f32;
        Self { all: exits.all as f32 / served, each }
    }

    /// Whether it is the gap that keeps them apart, and not that nobody wants more, or that the exits rest.
    pub(super) fn are_kept_apart_by(&self, gap: f32, rules: &Spacing) -> bool {
        gap >= self.each * rules.binds
    }
}
