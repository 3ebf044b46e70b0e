//! How many leases may be out behind a gateway: fewer where it says that it has too much to do, one more for each round that is
//! served.
//!
//! ```text
//!            overloaded, surely more than now and then
//!   no limit ────────────────▶ limit: 0.7 of what is out ──┐ again, of what was sent since
//!      ▲                        │ ▲                        │
//!      └── not met for a while ─┘ └── + 1 / limit each ◀───┘
//! ```

use crate::knobs::Throttle;
use crate::request::Time;

/// One-sided 95 %.
const Z: f64 = 1.64;

/// What is known of one gateway.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(in crate::pool) struct Flow {
    /// Leases that are out, and places that are kept for who was called.
    pub(super) out: u32,
    pub(super) promised: u32,
    limit: Option<f64>,
    /// What was too many when it began.
    too_many: u32,
    /// Fewer were no cure: it is not cut before then.
    excused: Time,
    /// Attempts since the limit fell, and those that it refused.
    of: u32,
    refused: u32,
    /// Refused one after the other.
    pub(super) in_a_row: u32,
    /// What was sent before says nothing of the limit.
    since: Time,
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

    /// Whether what is served says anything.
    pub(super) const fn is_watched(&self) -> bool {
        self.limit.is_some() || self.refused > 0 || self.in_a_row > 0
    }

    /// Whether it is this, and not a rest, that helps: there are many leases out, fewer were not in vain, and some are served.
    pub(super) fn helps(&self, rules: &Throttle, now: Time) -> bool {
        self.in_a_row < rules.outage && self.out > rules.least && now >= self.excused
    }

    /// In whole leases.
    pub(super) fn limit(&self) -> Option<u32> {
        self.limit.map(whole)
    }

    pub(super) fn has_place(&self) -> bool {
        self.limit.is_none_or(|limit| self.out.saturating_add(self.promised) < whole(limit))
    }

    pub(super) fn note(&mut self, rules: &Throttle, now: Time, sent: Time, refused: bool) -> Option<Turned> {
        self.in_a_row = if refused { self.in_a_row.saturating_add(1) } else { 0 };
        if now < self.excused || sent < self.since || !refused && self.limit.is_none() && self.refused == 0 {
            return None;
        }
        self.of += 1;
        self.refused += u32::from(refused);
        if refused && least(self.refused, self.of) > rules.most {
            // The one that was refused is out still.
            let from = self.limit().map_or(self.out, |limit| limit.min(self.out)).max(1);
            let to = (f64::from(from) * rules.cut).max(f64::from(rules.least));
            (self.of, self.refused, self.since, self.met) = (0, 0, now, now);
            if self.limit.is_none() {
                self.too_many = from;
            }
            if to < f64::from(self.too_many) * rules.futile {
                (self.limit, self.excused) = (None, now + rules.lapse);
                return Some(Turned::Lifted);
            }
            let falls = self.limit.is_none_or(|limit| to < limit);
            self.limit = if falls { Some(to) } else { self.limit };
            return falls.then_some(Turned::Cut { from, to: whole(to) });
        }
        if self.of >= rules.window.max(self.limit().unwrap_or(0)) {
            (self.of, self.refused) = (self.of / 2, self.refused / 2);
        }
        let limit = self.limit.filter(|_| !refused)?;
        if self.out >= whole(limit) {
            self.met = now;
        }
        if now.since(self.met) >= rules.lapse {
            self.limit = None;
            return Some(Turned::Lifted);
        }
        let used = self.out.saturating_mul(2) >= whole(limit);
        self.limit = Some(limit + if used { (1.0 / limit).max(rules.ramp) } else { 0.0 });
        None
    }
}

/// Wilson's lower bound of a share.
fn least(failed: u32, of: u32) -> f64 {
    let (n, z2) = (f64::from(of.max(1)), Z * Z);
    let share = f64::from(failed) / n;
    let half = Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    (share + z2 / (2.0 * n) - half) / (1.0 + z2 / n)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, and nothing is negative"
)]
fn whole(limit: f64) -> u32 {
    limit as u32
}
