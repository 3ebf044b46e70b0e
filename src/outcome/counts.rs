//! Attempts counted by outcome.

use super::{Multiplier, Outcome};
use std::ops::AddAssign;

/// Attempts by outcome. Each attempt is counted once, under what it showed last: a late amendment moves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct OutcomeCounts {
    /// The origin answered.
    pub ok: u64,
    /// The origin asked to slow down.
    pub rate_limited: u64,
    /// The origin refused.
    pub blocked: u64,
    /// The exit failed.
    pub proxy_error: u64,
    /// The session's exit was taken away.
    pub session_lost: u64,
    /// The gateway was overloaded.
    pub gateway_overloaded: u64,
    /// The proxy refused the login.
    pub auth_error: u64,
    /// The provider does not serve the target.
    pub target_denied: u64,
    /// The target cannot be reached.
    pub target_unreachable: u64,
    /// No exit can reach the target.
    pub target_failed: u64,
    /// The origin failed.
    pub origin_error: u64,
    /// The answer was longer than may be collected.
    pub too_large: u64,
    /// The exchange broke off.
    pub interrupted: u64,
    /// The request was wrong.
    pub fatal: u64,
}

impl OutcomeCounts {
    pub(crate) const fn of(&mut self, outcome: &Outcome) -> &mut u64 {
        match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::RateLimited { .. } => &mut self.rate_limited,
            Outcome::Blocked { .. } => &mut self.blocked,
            Outcome::ProxyError { .. } => &mut self.proxy_error,
            Outcome::SessionLost => &mut self.session_lost,
            Outcome::GatewayOverloaded { .. } => &mut self.gateway_overloaded,
            Outcome::AuthError { .. } => &mut self.auth_error,
            Outcome::TargetDenied => &mut self.target_denied,
            Outcome::TargetUnreachable => &mut self.target_unreachable,
            Outcome::TargetFailed => &mut self.target_failed,
            Outcome::OriginError { .. } => &mut self.origin_error,
            Outcome::TooLarge { .. } => &mut self.too_large,
            Outcome::Interrupted { .. } => &mut self.interrupted,
            Outcome::Fatal => &mut self.fatal,
        }
    }

    /// Each count with its outcome's name, in a fixed order.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u64); 14] {
        [
            ("ok", self.ok),
            ("rate_limited", self.rate_limited),
            ("blocked", self.blocked),
            ("proxy_error", self.proxy_error),
            ("session_lost", self.session_lost),
            ("gateway_overloaded", self.gateway_overloaded),
            ("auth_error", self.auth_error),
            ("target_denied", self.target_denied),
            ("target_unreachable", self.target_unreachable),
            ("target_failed", self.target_failed),
            ("origin_error", self.origin_error),
            ("too_large", self.too_large),
            ("interrupted", self.interrupted),
            ("fatal", self.fatal),
        ]
    }

    fn all(&mut self) -> [&mut u64; 14] {
        [
            &mut self.ok,
            &mut self.rate_limited,
            &mut self.blocked,
            &mut self.proxy_error,
            &mut self.session_lost,
            &mut self.gateway_overloaded,
            &mut self.auth_error,
            &mut self.target_denied,
            &mut self.target_unreachable,
            &mut self.target_failed,
            &mut self.origin_error,
            &mut self.too_large,
            &mut self.interrupted,
            &mut self.fatal,
        ]
    }

    /// All attempts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.named().iter().map(|(_, count)| count).sum()
    }

    /// Attempts that count in the retry multiplier: those that failed for the request, the gateway or the login do not.
    #[must_use]
    pub const fn attempts(&self) -> u64 {
        self.ok
            + self.rate_limited
            + self.blocked
            + self.proxy_error
            + self.session_lost
            + self.origin_error
            + self.interrupted
    }

    /// The retry multiplier with its band. `None` while nothing is known: before the first success, and before the 20th
    /// attempt without one.
    #[must_use]
    pub fn multiplier(&self) -> Option<Multiplier> {
        Multiplier::of(self.attempts(), self.ok)
    }

    /// The retry multiplier, attempts per success: 1.05 to 1.2 is healthy, above 1.5 the fleet asks too hard. `None` as in
    /// [`multiplier`](Self::multiplier).
    #[must_use]
    pub fn retry_multiplier(&self) -> Option<f64> {
        self.multiplier().map(|multiplier| multiplier.value)
    }
}

impl AddAssign for OutcomeCounts {
    fn add_assign(&mut self, more: Self) {
        for (count, (_, more)) in self.all().into_iter().zip(more.named()) {
            *count += more;
        }
    }
}
