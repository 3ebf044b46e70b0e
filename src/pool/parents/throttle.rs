//! How many leases may be out behind a gateway: fewer where it says that it has too much to do, one more for each round that is
//! served.
//!
//! ```text
//!            overloaded, surely more than now and then
//!   no limit ────────────────▶ limit: 0.7 of what is out ──┐ again, of what was sent since
//!      ▲  ▲                     │ ▲  │                     │
//!      │  └── not met for long ─┘ │  └── + 1 / limit each  │
//!      │                          └────────────────────────┘
//!      └── as few as it served of what was too many, and as many of them are refused: it is not their number
//! ```
//!
//! A cut is a bet that fewer at once are refused less. A gateway that refuses by chance, whatever one asks, wins none of them.

use super::series::Series;
use crate::knobs::Throttle;
use crate::request::Time;
use crate::share::Share;

/// What is known of one gateway.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(in crate::pool) struct Flow {
    /// Leases that are out, and places that are kept for who was called.
    pub(super) out: u32,
    pub(super) promised: u32,
    limit: Option<f64>,
    /// What was too many when it was cut first, when that was, and what was refused of what was sent before.
    too_many: u32,
    began: Time,
    before: Share,
    /// What was refused since, and whether the limit was as low as it served before.
    fewer: Share,
    deep: bool,
    /// What was refused of what was sent since the limit fell last.
    seen: Share,
    since: Time,
    /// What was refused lately, whatever the limit was.
    lately: Share,
    pub(super) series: Series,
    /// Fewer were no cure: it is not cut before then, and how often that was so.
    excused: Time,
    lost: u32,
    /// When the limit was met last.
    met: Time,
}

/// What a report has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turned {
    Cut { from: u32, to: u32 },
    Lifted,
}

impl Flow {
    pub(super) const fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// What was refused, of what was watched lately.
    pub(super) const fn lately(&self) -> Share {
        self.lately
    }

    /// Whether what is served says anything.
    pub(super) const fn is_watched(&self) -> bool {
        self.limit.is_some() || self.lately.failed > 0 || self.series.is_on()
    }

    /// Whether some are served, and many leases are out or about half of them are served: then it is this that helps, and no rest.
    pub(super) fn helps(&self, rules: &Throttle) -> bool {
        !self.series.is_outage(rules, self.out) && (self.out > rules.least || self.serves_half(rules))
    }

    /// Not surely less than half of what was sent lately was served.
    pub(super) fn serves_half(&self, rules: &Throttle) -> bool {
        self.lately.of >= rules.few && self.lately.least() <= 0.5
    }

    /// In whole leases.
    pub(super) fn limit(&self) -> Option<u32> {
        self.limit.map(whole)
    }

    pub(super) fn has_place(&self) -> bool {
        self.limit.is_none_or(|limit| self.out.saturating_add(self.promised) < whole(limit))
    }

    pub(super) fn note(&mut self, rules: &Throttle, now: Time, sent: Time, refused: bool) -> Option<Turned> {
        self.series.note(now, sent, self.out, refused);
        if !refused && !self.is_watched() {
            return None;
        }
        count(&mut self.lately, refused, rules.window);
        if self.series.is_outage(rules, self.out) {
            // It serves nobody: that says nothing of how many it bears.
            (self.seen, self.since) = (Share::default(), now);
            return None;
        }
        if now < self.excused {
            if refused && self.before.is_below(self.lately) {
                // More than by chance.
                (self.excused, self.seen, self.since) = (now, Share::default(), now);
            }
            return None;
        }
        if sent < self.since {
            if self.has_limit() && sent < self.began {
                self.before.count(!refused);
            }
            return None;
        }
        self.seen.count(!refused);
        if self.has_limit() {
            count(&mut self.fewer, refused, rules.memory);
        }
        if refused && self.seen.least() > rules.most {
            return self.is_too_much(rules, now);
        }
        let enough = self.enough(rules);
        if self.seen.of >= if self.has_limit() { enough * 2 } else { enough } {
            halve(&mut self.seen);
        }
        self.rise(rules, now, refused)
    }

    /// Attempts that show whether a limit is a cure.
    fn enough(&self, rules: &Throttle) -> u32 {
        rules.window.max(self.limit().unwrap_or(0))
    }

    fn is_too_much(&mut self, rules: &Throttle, now: Time) -> Option<Turned> {
        // The one that was refused is out still.
        let from = self.limit().map_or(self.out, |limit| limit.min(self.out)).max(1);
        if self.is_no_cure(rules) {
            return Some(self.lift(rules, now));
        }
        if self.limit.is_none() || from >= self.too_many || self.seen.is_below(self.before) {
            // A bet of its own: fewer were a cure so far.
            self.lost = if self.limit.is_none() { self.lost } else { 0 };
            (self.too_many, self.began, self.before) = (from, now, self.seen);
            (self.fewer, self.deep) = (Share::default(), false);
        }
        let served = f64::from(self.too_many) * (1.0 - self.before.value());
        let floor = (served * rules.cut).max(f64::from(rules.least));
        let to = (f64::from(from) * rules.cut).max(floor);
        if whole(to) >= from {
            return None;
        }
        self.deep |= whole(to) <= whole(floor);
        (self.limit, self.seen, self.since, self.met) = (Some(to), Share::default(), now, now);
        Some(Turned::Cut { from, to: whole(to) })
    }

    /// Whether surely too many were refused, and not surely fewer than before, with as few out as it served then.
    fn is_no_cure(&self, rules: &Throttle) -> bool {
        let in_vain = |share: Share| {
            share.of >= self.enough(rules) && share.least() > rules.most && !share.is_below(self.before)
        };
        self.deep && (in_vain(self.seen) || in_vain(self.fewer))
    }

    fn lift(&mut self, rules: &Throttle, now: Time) -> Turned {
        let pause = rules.lapse.saturating_mul(1 << self.lost.min(16)).min(rules.pause);
        (self.limit, self.excused, self.lost) = (None, now + pause, self.lost + 1);
        (self.before, self.deep) = (self.before.and(self.fewer), false);
        (self.seen, self.since) = (Share::default(), now);
        Turned::Lifted
    }

    fn rise(&mut self, rules: &Throttle, now: Time, refused: bool) -> Option<Turned> {
        let limit = self.limit.filter(|_| !refused)?;
        if self.out >= whole(limit) {
            self.met = now;
        }
        if now.since(self.met) >= rules.lapse {
            (self.limit, self.lost) = (None, 0);
            return Some(Turned::Lifted);
        }
        let used = self.out.saturating_mul(2) >= whole(limit);
        self.limit = Some(limit + if used { (1.0 / limit).max(rules.ramp) } else { 0.0 });
        None
    }
}

fn count(share: &mut Share, refused: bool, window: u32) {
    share.count(!refused);
    if share.of >= window {
        halve(share);
    }
}

/// What is old counts less.
const fn halve(share: &mut Share) {
    (share.of, share.failed) = (share.of / 2, share.failed / 2);
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, and nothing is negative"
)]
fn whole(limit: f64) -> u32 {
    limit as u32
}
