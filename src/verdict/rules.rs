//! The rules of retries: what waits how long, and what stops.

use super::{Facts, Switch, Verdict, Why};
use crate::draw::unit;
use crate::error::ConfigError;
use crate::outcome::{BlockedBy, Outcome, Phase, Seen};
use std::time::Duration;

/// Longest hint that is believed, for the request and for the pair.
const HINT_CAP: Duration = Duration::from_secs(3_600);

/// The first rest of a refused pair by our own rules; it doubles from there, so that a ban costs two trials more than with 30 s,
/// and a healthy exit that was refused for the request's sake is back three times as soon. In the simulator 20 exits with bad requests at
/// several sites (Mix) take 2,900 s for 40,000 s; 5 s is no better and costs bans where a site bans by attempts.
const FIRST_REST: Duration = Duration::from_secs(10);

/// Most retries per success: more is no limit.
const MOST_RETRIES: f64 = 2.0;

/// The arithmetic of retries, as one of three presets. Waits, in seconds, for attempt n (from 0) and heat h (of a pair, 0 to
/// 1); h' is of the exit that would be next:
///
/// | outcome | default | [`article`](Self::article) | [`negotiated`](Self::negotiated) | sent again through |
/// |---|---|---|---|---|
/// | rate limited | (2^n + 30 h') · U(1, 1.5) | the same with h of the exit just hit | D | another exit |
/// | blocked | U(0, 0.25) · (n + 1) | the same | D | another exit |
/// | proxy error, interrupted | 0.5 (n + 1) + U(0, 1) | the same | D | another exit |
/// | origin error | max((2^n + 30 h'), Retry-After) · U(1, 1.5) | with h | max(D, Retry-After · U(1, 1.25)) | the same exit if it is held |
/// | login refused, gateway overloaded, session lost | U(0, 0.25) · (n + 1) | the same | the same | another login or gateway; else the same once it may |
/// | target denied or unreachable | 0.5 (n + 1) + U(0, 1), once | the same | D, once | another exit |
/// | *a blocked pair rests* | 10 (2 q)², 1 to 10, if it was good until then; 10 · 2^strikes if that was its trial, else 10 · 2^(strikes - 1), to 3,600; · U(1, 1.25) | 300 + U(0, 60) | as the default | |
///
/// q is the share of the origin's blocks of pairs that had been good, whose next trial was blocked as well (a half at first).
///
/// D = min(30, 0.25 · 2^(7 h')) · U(0.75, 1.25), where h' is at least the origin's own block rate.
///
/// Where no other exit may go now, the request waits in line after that, if patience and deadline allow, else it stops. A
/// TLS handshake with the origin that has failed through two exits stops: no other exit can cure it. So does a request that was
/// blocked on two exits that serve others, while the origin's blocks follow requests and not exits.
///
/// These waits are the request's own. A retry also takes its turn among all others at its site and in the fleet, and goes
/// when both the wait is over and its turn has come: see [`retries_per_success`](Self::retries_per_success).
#[derive(Clone, Debug, PartialEq)]
pub struct RetryRules {
    preset: Preset,
    max_sends: u32,
    share: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Preset {
    Default,
    Article,
    Negotiated,
}

/// How long a burned pair rests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rest {
    pub(crate) first: Duration,
    /// Whether it doubles with each strike.
    pub(crate) doubles: bool,
    /// The most that chance adds, as a share.
    pub(crate) stretch: f64,
}

impl Rest {
    /// Whether the fleet learns what an origin's refusals mean. What rests for as long each time is to do just that.
    pub(crate) const fn learns(&self) -> bool {
        self.doubles
    }
}

impl Default for RetryRules {
    /// Four sends, and a retry for each four successes.
    fn default() -> Self {
        Self { preset: Preset::Default, max_sends: 4, share: 0.25 }
    }
}

impl RetryRules {
    /// Backoff by attempt and by the heat of the exit just hit; a blocked pair rests for five to six minutes, whatever it did
    /// before. It empties a short list quickly, also where blocks are only noise.
    #[must_use]
    pub fn article() -> Self {
        Self { preset: Preset::Article, ..Self::default() }
    }

    /// One delay for everything, by what the fleet knows of the next exit and the origin, and not by how often this request
    /// has tried.
    #[must_use]
    pub fn negotiated() -> Self {
        Self { preset: Preset::Negotiated, ..Self::default() }
    }

    /// Sets how often a request is sent at most, the first time included: 1 at least. Default 4.
    #[must_use]
    pub fn max_attempts(mut self, sends: u32) -> Self {
        self.max_sends = sends;
        self
    }

    /// How often a request is sent at most, the first time included.
    #[must_use]
    pub const fn max_sends(&self) -> u32 {
        self.max_sends
    }

    /// Sets how many retries a site is sent for each success there, lately: 0 to 2, default 0.25. More of them wait for their
    /// turn, 30 s at most; see [`Why::Parked`]. Two a second there are in any case, and a tenth of what is in flight.
    ///
    /// At 0.25, first tries of which one in five fails are sent again without a wait: 1.25 attempts per success.
    #[must_use]
    pub fn retries_per_success(mut self, retries: f64) -> Self {
        self.share = retries;
        self
    }

    pub(crate) const fn share(&self) -> f64 {
        self.share
    }

    /// What its setters cannot refuse.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self.max_sends {
            0 => {
                Err(ConfigError::new("max_attempts", "is 0", "set it to 1, which sends once and never again"))
            }
            _ if !(0.0..=MOST_RETRIES).contains(&self.share) => Err(ConfigError::new(
                "retries_per_success",
                format!("is {}", self.share),
                "set it from 0 to 2; 0.25 is one retry for each four successes",
            )),
            _ => Ok(()),
        }
    }

    pub(crate) const fn rest(&self) -> Rest {
        match self.preset {
            Preset::Article => Rest { first: Duration::from_secs(300), doubles: false, stretch: 0.2 },
            Preset::Default | Preset::Negotiated => Rest { first: FIRST_REST, doubles: true, stretch: 0.25 },
        }
    }

    /// What a request does next.
    #[must_use]
    pub fn verdict(&self, facts: &Facts) -> Verdict {
        match self.remedy(facts) {
            Err(why) => Verdict::Stop(why),
            Ok(_) if facts.heat_next.is_none() && facts.soonest > facts.patience => {
                Verdict::Stop(Why::NoUsableExit)
            }
            // Who waits for an exit waits in line, once the delay is over.
            Ok((delay, _)) if delay.max(facts.soonest) >= facts.left => {
                let waits = facts.heat_next.is_none();
                Verdict::Stop(if waits { Why::NoUsableExit } else { Why::Deadline })
            }
            Ok((delay, switch)) => Verdict::Retry { delay, switch },
        }
    }

    fn remedy(&self, facts: &Facts) -> Result<(Duration, Switch), Why> {
        let (switch, delay) = match facts.evidence.outcome {
            Outcome::Ok => return Err(Why::Done),
            Outcome::Fatal => return Err(Why::Fatal),
            // The same certificate through two exits is the origin's, or the caller's roots.
            Outcome::ProxyError { phase: Phase::OriginTls } if facts.sends >= 2 => return Err(Why::NoCure),
            Outcome::RateLimited { .. } => (Switch::Exit, self.limited(facts)),
            // Another address will not help.
            Outcome::Blocked { by: BlockedBy::Pattern } => return Err(Why::NoCure),
            Outcome::Blocked { .. } if facts.request_blocked => return Err(Why::RequestBlocked),
            Outcome::Blocked { .. } => (Switch::Exit, self.blocked(facts)),
            Outcome::ProxyError { .. } | Outcome::Interrupted { .. } => (Switch::Exit, self.broken(facts)),
            // The exit is gone, and another token is a healthy one.
            Outcome::SessionLost => (Switch::Exit, soon(facts)),
            Outcome::OriginError { .. } => (Switch::Same, self.origin_error(facts)),
            // The next lease takes another login, or is the one that tries this one again.
            Outcome::AuthError { .. } => (Switch::Exit, soon(facts)),
            // What is left alone is left by the pool; another gateway may go at once.
            Outcome::GatewayOverloaded { .. } => (Switch::Same, soon(facts)),
            // One try through another exit, then it is the target.
            Outcome::TargetDenied | Outcome::TargetUnreachable if facts.sends < 2 => {
                (Switch::Exit, self.broken(facts))
            }
            Outcome::TargetDenied
            | Outcome::TargetUnreachable
            | Outcome::TargetFailed
            | Outcome::TooLarge { .. } => {
                return Err(Why::NoCure);
            }
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
        Ok((Duration::from_secs_f64(delay), switch))
    }

    fn limited(&self, facts: &Facts) -> f64 {
        match self.preset {
            Preset::Negotiated => negotiated(facts),
            _ => self.heated(facts) * (1.0 + unit(facts.draw) / 2.0),
        }
    }

    fn blocked(&self, facts: &Facts) -> f64 {
        match self.preset {
            Preset::Negotiated => negotiated(facts),
            _ => soon(facts),
        }
    }

    fn broken(&self, facts: &Facts) -> f64 {
        match self.preset {
            Preset::Negotiated => negotiated(facts),
            _ => 0.5 * f64::from(n(facts) + 1) + unit(facts.draw),
        }
    }

    fn origin_error(&self, facts: &Facts) -> f64 {
        let hint =
            facts.evidence.retry_after.map_or(Duration::ZERO, |hint| hint.wait().min(HINT_CAP)).as_secs_f64();
        match self.preset {
            Preset::Negotiated => negotiated(facts).max(hint * (1.0 + unit(facts.draw) / 4.0)),
            _ => self.heated(facts).max(hint) * (1.0 + unit(facts.draw) / 2.0),
        }
    }

    /// 2^n + 30 h seconds; the power is bounded by an hour. Who waits for an exit to come back waits for its heat already.
    fn heated(&self, facts: &Facts) -> f64 {
        let heat = match self.preset {
            Preset::Article => facts.heat_left,
            _ => facts.heat_next.unwrap_or(0.0),
        };
        f64::from(1_u32 << n(facts).min(11)) + 30.0 * f64::from(heat)
    }
}

/// The attempt's number, from 0.
const fn n(facts: &Facts) -> u32 {
    facts.sends.saturating_sub(1)
}

/// U(0, 0.25) seconds, more with each attempt.
fn soon(facts: &Facts) -> f64 {
    0.25 * unit(facts.draw) * f64::from(n(facts) + 1)
}

fn negotiated(facts: &Facts) -> f64 {
    let heat = facts.heat_next.unwrap_or(0.0).max(facts.prior);
    f64::from(0.25 * libm::exp2f(7.0 * heat)).min(30.0) * (0.75 + unit(facts.draw) / 2.0)
}
