//! The default rules, read on the heat of the next exit.

use super::{Facts, Switch, Verdict, Why};
use crate::draw::unit;
use crate::outcome::{Outcome, Phase, Seen};
use std::time::Duration;

/// Longest hint that is believed, for the request and for the pair.
const HINT_CAP: Duration = Duration::from_secs(3_600);

/// The arithmetic of retries. Waits, in seconds, for attempt n (from 0) and heat h (of the next exit, 0 to 1):
///
/// | outcome | wait | sent again through |
/// |---|---|---|
/// | rate limited | (2^n + 30 h) · U(1, 1.5) | another exit |
/// | blocked | U(0, 0.25) · (n + 1) | another exit |
/// | proxy error, interrupted | 0.5 (n + 1) + U(0, 1) | another exit |
/// | origin error | max((2^n + 30 h), Retry-After) · U(1, 1.5) | the same exit if it is held |
///
/// The heat is that of the exit that comes next, not of the one just left. Blocked: its cooldown stays with the pair, the
/// request goes on. Where no other exit may go now, the wait lasts until one may, plus U(0, 0.5), if patience and deadline
/// allow. A TLS handshake with the origin that has failed through two exits, and all other outcomes, stop: no other exit
/// can cure them.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryRules {
    max_sends: u32,
}

impl Default for RetryRules {
    /// Four sends.
    fn default() -> Self {
        Self { max_sends: 4 }
    }
}

impl RetryRules {
    /// Sets how often a request is sent at most, the first time included; 0 is read as 1, which sends nothing again.
    ///
    /// ```
    /// use tower_egress::verdict::RetryRules;
    ///
    /// assert_eq!(RetryRules::default().max_attempts(2).max_sends(), 2);
    /// assert_eq!(RetryRules::default().max_attempts(0).max_sends(), 1);
    /// ```
    #[must_use]
    pub const fn max_attempts(mut self, sends: u32) -> Self {
        self.max_sends = if sends == 0 { 1 } else { sends };
        self
    }

    /// How often a request is sent at most, the first time included.
    #[must_use]
    pub const fn max_sends(&self) -> u32 {
        self.max_sends
    }

    /// What a request does next.
    #[must_use]
    pub fn verdict(&self, facts: &Facts) -> Verdict {
        match self.remedy(facts) {
            Err(why) => Verdict::Stop(why),
            Ok(_) if facts.heat_next.is_none() && facts.soonest > facts.patience => {
                Verdict::Stop(Why::NoUsableExit)
            }
            Ok((delay, _)) if delay >= facts.left => {
                let waits = facts.heat_next.is_none();
                Verdict::Stop(if waits { Why::NoUsableExit } else { Why::Deadline })
            }
            Ok((delay, switch)) => Verdict::Retry { delay, switch },
        }
    }

    fn remedy(&self, facts: &Facts) -> Result<(Duration, Switch), Why> {
        let n = facts.sends.saturating_sub(1);
        let jitter = unit(facts.draw);
        let (delay, switch) = match facts.evidence.outcome {
            Outcome::Ok => return Err(Why::Done),
            Outcome::Fatal => return Err(Why::Fatal),
            Outcome::RateLimited { .. } => (heated(n, facts) * (1.0 + jitter / 2.0), Switch::Exit),
            Outcome::Blocked { .. } => (0.25 * jitter * f64::from(n + 1), Switch::Exit),
            // The same certificate through two exits is the origin's, or the caller's roots.
            Outcome::ProxyError { phase: Phase::OriginTls } if facts.sends >= 2 => return Err(Why::NoCure),
            Outcome::ProxyError { .. } | Outcome::Interrupted { .. } => {
                (0.5 * f64::from(n + 1) + jitter, Switch::Exit)
            }
            Outcome::OriginError { .. } => {
                let hint =
                    facts.evidence.retry_after.map_or(Duration::ZERO, |hint| hint.wait().min(HINT_CAP));
                (heated(n, facts).max(hint.as_secs_f64()) * (1.0 + jitter / 2.0), Switch::Same)
            }
            _ => return Err(Why::NoCure),
        };
        if facts.evidence.seen != Seen::Never && !facts.repeatable {
            return Err(Why::NotRepeatable);
        }
        if !facts.replayable {
            return Err(Why::BodyGone);
        }
        if facts.sends >= facts.max_sends {
            return Err(Why::Exhausted);
        }
        let delay = Duration::from_secs_f64(delay);
        // All who wait for one exit must not come back in the same moment.
        let apart = Duration::from_secs_f64(jitter / 2.0);
        Ok((if facts.heat_next.is_none() { delay.max(facts.soonest + apart) } else { delay }, switch))
    }
}

/// 2^n + 30 h seconds; the power is bounded by an hour. Who waits for an exit to come back waits for its heat already.
fn heated(n: u32, facts: &Facts) -> f64 {
    f64::from(1_u32 << n.min(11)) + 30.0 * f64::from(facts.heat_next.unwrap_or(0.0))
}
