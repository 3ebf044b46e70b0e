//! How far apart an origin wants the uses of one exit: learned from its 429s, and shared by all its exits, since a limit on an
//! address is the site's policy and not the exit's.
//!
//! The gap is lengthened as soon as more attempts are limited than may be, surely (by Wilson's lower bound, so that two in a
//! row of a small pool count, and one stray of a busy one does not), and shortened little by little while hardly any are.
//! What was sent before the last change says nothing about it: a burst of 429s lengthens the gap once.

use crate::knobs::Spacing;
use crate::request::Time;

/// One-sided 95 %.
const Z: f64 = 1.64;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gap {
    /// In seconds; 0 while nothing speaks for one.
    seconds: f32,
    /// When it was changed last.
    changed: Time,
    /// Attempts since, and how many of them were limited.
    attempts: u32,
    limited: u32,
    /// It was too long once, so that it is about right.
    met: bool,
}

impl Gap {
    pub(super) const fn is_none(&self) -> bool {
        self.seconds == 0.0
    }

    pub(super) const fn seconds(&self) -> f32 {
        self.seconds
    }

    /// One answer of the origin to an attempt that was sent then.
    pub(super) fn count(&mut self, now: Time, sent: Time, limited: bool, rules: &Spacing) {
        if sent < self.changed {
            return;
        }
        self.attempts = self.attempts.saturating_add(1);
        self.limited += u32::from(limited);
        let share = f64::from(self.limited) / f64::from(self.attempts);
        if limited && wilson_lower(share, f64::from(self.attempts)) > rules.most {
            let factor = if self.met { rules.longer } else { rules.at_first };
            self.set(now, (self.seconds * factor).clamp(rules.least, rules.longest));
        } else if now.since(self.changed) >= rules.tick && self.seconds > 0.0 {
            if share < rules.few {
                self.met = true;
                let shorter = self.seconds * rules.shorter;
                self.set(now, if shorter < rules.least { 0.0 } else { shorter });
            } else {
                self.set(now, self.seconds);
            }
        }
    }

    fn set(&mut self, now: Time, seconds: f32) {
        *self = Self { seconds, changed: now, attempts: 0, limited: 0, met: self.met && seconds > 0.0 };
    }
}

/// The lower bound of a share that was seen in `n` attempts, which is not 0 (Wilson: Probable Inference, 1927).
fn wilson_lower(share: f64, n: f64) -> f64 {
    let z2 = Z * Z;
    let middle = share + z2 / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    (middle - half) / (1.0 + z2 / n)
}
