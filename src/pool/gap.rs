//! How far apart an origin wants the uses of one exit: learned from its 429s, and shared by all its exits, since a limit on an
//! address is the site's policy and not the exit's.
//!
//! While more attempts are limited than may be, surely (by Wilson's lower bound, so that two in a row of a small pool count, and
//! one stray of a busy one does not), what the origin serves is all that it serves: so many exits over that rate is the gap. As
//! long as unused allowance is there it serves more than that, so the gap comes from below and does not overshoot. While hardly
//! any attempt is limited it is shortened little by little. What was sent before the last change says nothing about it: a burst
//! of 429s counts once.

use crate::knobs::Spacing;
use crate::request::Time;
use crate::share::Share;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gap {
    /// In seconds; 0 while nothing speaks for one.
    seconds: f32,
    /// When it was changed last, and how many of the attempts since then were limited.
    changed: Time,
    limited: Share,
    served: Served,
    /// When the next use of any exit is due, had each been used evenly.
    turn: Time,
}

/// How much the origin serves, lately: a count that halves.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    count: f32,
    at: Time,
    /// Since when it is counted; zero while it is not.
    since: Time,
}

impl Served {
    fn add(&mut self, now: Time, served: bool, half_life: Duration) {
        let kept = libm::exp2f(-now.since(self.at).as_secs_f32() / half_life.as_secs_f32());
        (self.count, self.at) = (self.count * kept + f32::from(u8::from(served)), now);
    }

    /// A second; right also before the first half-life is over.
    fn rate(&self, now: Time, half_life: Duration) -> f32 {
        let lives = now.since(self.since).as_secs_f32() / half_life.as_secs_f32();
        let seconds = half_life.as_secs_f32() / std::f32::consts::LN_2 * (1.0 - libm::exp2f(-lives));
        self.count / seconds.max(0.1)
    }
}

impl Gap {
    /// Whether attempts are counted.
    pub(super) fn is_watched(&self) -> bool {
        self.served.since > Time::ZERO
    }

    pub(super) const fn seconds(&self) -> f32 {
        self.seconds
    }

    /// One answer of the origin to an attempt that was sent then; `exits` may serve it.
    pub(super) fn count(&mut self, now: Time, sent: Time, limited: bool, exits: usize, rules: &Spacing) {
        if !self.is_watched() {
            self.served = Served { count: 0.0, at: now, since: now };
            return self.set(now, 0.0);
        }
        self.served.add(now, !limited, rules.half_life);
        if sent < self.changed {
            return;
        }
        self.limited.count(!limited);
        let watched = now.since(self.served.since) >= rules.watch;
        if limited && watched && self.limited.least() > rules.most {
            self.set(now, self.longer(now, exits, rules));
        } else if now.since(self.changed) >= rules.tick {
            let shorter =
                if self.limited.value() < rules.few { self.seconds * rules.shorter } else { self.seconds };
            if shorter < rules.least {
                *self = Self::default();
            } else {
                self.set(now, shorter);
            }
        }
    }

    /// An exit is used. When the next one may be, if that is not now: a gap that was just learned holds at once, and not only
    /// when each of the exits has been used once more.
    #[allow(clippy::cast_precision_loss, reason = "as many exits as there may be")]
    pub(super) fn turn(&mut self, now: Time, exits: usize, rules: &Spacing) -> Option<Time> {
        let saved = u64::try_from(rules.ahead.as_nanos()).unwrap_or(u64::MAX);
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(saved));
        self.turn = self.turn.max(earliest) + Duration::from_secs_f32(self.seconds / exits.max(1) as f32);
        (self.turn > now).then_some(self.turn)
    }

    #[allow(clippy::cast_precision_loss, reason = "as many exits as there may be")]
    fn longer(&self, now: Time, exits: usize, rules: &Spacing) -> f32 {
        let least = (self.seconds * rules.longer).max(rules.least);
        let all = exits as f32 / self.served.rate(now, rules.half_life).max(0.01);
        all.clamp(least, least.max(self.seconds * rules.at_once)).min(rules.longest)
    }

    fn set(&mut self, now: Time, seconds: f32) {
        (self.seconds, self.changed, self.limited) = (seconds, now, Share::default());
    }
}
