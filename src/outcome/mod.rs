//! Outcomes: what one attempt showed, named by what failed.
//!
//! An [`Outcome`] names its failure domain, because that decides who is charged and what can cure it. [`Evidence`] is the
//! outcome with its proofs; [`Failure`] is how a client says in which phase an attempt broke.
//!
//! ```
//! use tower_egress::outcome::{FailureDomain, Outcome, Phase};
//!
//! let refused = Outcome::ProxyError { phase: Phase::ExitTcp };
//! assert_eq!(refused.domain(), FailureDomain::Exit);
//! assert!(!refused.is_ok());
//! ```

mod causes;
mod connection;
mod counts;
mod egress;
mod evidence;
mod failure;
pub(crate) mod machine;
mod multiplier;
mod phrase;
mod rate_limit;
mod retry_after;
mod traffic;

#[cfg(test)]
mod tests;

pub(crate) use causes::causes;
pub use connection::Connection;
pub use counts::OutcomeCounts;
pub use egress::Egress;
pub use evidence::{Evidence, Seen};
pub use failure::{Failure, Phase, SocksRefusal};
pub use multiplier::{Band, Multiplier};
pub use phrase::ReasonPhrase;
pub use retry_after::RetryAfter;
#[cfg(feature = "client")]
pub(crate) use traffic::Counts;
pub use traffic::{Traffic, WireBytes};

use http::StatusCode;
use std::fmt;

/// What one attempt showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The origin answered through the exit. 404 and 410 are answers too.
    Ok,
    /// The origin asks this exit to slow down (429).
    RateLimited {
        /// How long it asked to be left alone.
        retry_after: Option<RetryAfter>,
    },
    /// The origin refuses this exit or this request (403, a challenge).
    Blocked {
        /// Whether the address or the request's pattern is refused, where the answer says so.
        by: BlockedBy,
    },
    /// The exit, or the way to it, failed before the origin was reached.
    ProxyError {
        /// Where it failed.
        phase: Phase,
    },
    /// The provider has taken the session's exit away: its token leads nowhere any more, another one does.
    SessionLost,
    /// The gateway has no capacity; its exits are not to blame.
    GatewayOverloaded {
        /// How long the gateway asked to be left alone.
        retry_after: Option<RetryAfter>,
        /// What is overloaded.
        scope: GatewayScope,
    },
    /// The proxy refuses the login (407).
    AuthError {
        /// Why, where the answer says so.
        reason: AuthReason,
    },
    /// The provider does not serve this target.
    TargetDenied,
    /// The target cannot be reached from the exit: the way to it may be at fault, or the target itself.
    TargetUnreachable,
    /// No exit can reach the target: its name does not resolve, or what it answers cannot be used.
    TargetFailed,
    /// The origin itself failed (5xx, 408).
    OriginError {
        /// Its status.
        status: StatusCode,
    },
    /// The answer's body is longer than may be collected
    /// ([`ClassifyLayer::collect`](crate::ClassifyLayer::collect)): no other exit has a shorter one.
    TooLarge {
        /// How many bytes it may have.
        cap: u64,
    },
    /// The exchange broke off; whether the origin acted on the request may be unknown.
    Interrupted {
        /// Where it broke.
        phase: Phase,
    },
    /// The request itself is wrong: no exit and no repetition can cure it.
    Fatal,
}

/// What failed, and so what must change before the next attempt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FailureDomain {
    /// Nothing failed.
    None,
    /// The pair of exit and origin: other exits serve this origin, this exit serves other origins.
    Pair,
    /// The exit, for every origin.
    Exit,
    /// The provider's gateway.
    Gateway,
    /// The login.
    Credential,
    /// The target, whatever the exit.
    Target,
    /// The target at this provider.
    ProviderTarget,
    /// The origin, whatever the exit.
    Origin,
    /// The request.
    Request,
}

/// Who a block is aimed at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum BlockedBy {
    /// The exit's address.
    Exit,
    /// The country that the exit is in: another exit there will not help.
    Country,
    /// The pattern of the requests: another address will not help.
    Pattern,
    /// The answer does not say.
    Unknown,
}

/// What of a gateway is overloaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum GatewayScope {
    /// All of it.
    Gateway,
    /// Its way to this exit.
    Exit,
    /// Its way to this target.
    Target,
    /// What the account may use at once: other accounts at the same gateway are not touched.
    Credential,
    /// Exits in the place that was asked for: there is none just now.
    Place,
}

/// Why a proxy refused a login.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AuthReason {
    /// The login was refused.
    Rejected,
    /// The account has expired.
    Expired,
    /// The traffic that was paid for is used up.
    Quota,
    /// 407 without a challenge: the provider has no capacity, the password may be right.
    Capacity,
    /// The account may not be used: suspended, not yet approved, or not from this machine's address.
    Suspended,
    /// The login's parameters are refused, a country or a lifetime that the provider does not know: the template is wrong.
    Parameters,
}

impl BlockedBy {
    /// Its name in logs: one of a closed set.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Country => "country",
            Self::Pattern => "pattern",
            Self::Unknown => "unknown",
        }
    }
}

impl GatewayScope {
    /// Its name in logs: one of a closed set.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Exit => "exit",
            Self::Target => "target",
            Self::Credential => "credential",
            Self::Place => "place",
        }
    }
}

impl AuthReason {
    /// Its name in logs: one of a closed set.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Quota => "quota",
            Self::Capacity => "capacity",
            Self::Suspended => "suspended",
            Self::Parameters => "parameters",
        }
    }
}

impl Outcome {
    /// What failed.
    #[must_use]
    pub const fn domain(&self) -> FailureDomain {
        match self {
            Self::Ok => FailureDomain::None,
            Self::RateLimited { .. } | Self::Blocked { .. } => FailureDomain::Pair,
            Self::ProxyError { .. } | Self::Interrupted { .. } | Self::SessionLost => FailureDomain::Exit,
            Self::GatewayOverloaded { .. } => FailureDomain::Gateway,
            Self::AuthError { .. } => FailureDomain::Credential,
            Self::TargetDenied => FailureDomain::ProviderTarget,
            Self::TargetUnreachable | Self::TargetFailed => FailureDomain::Target,
            Self::OriginError { .. } | Self::TooLarge { .. } => FailureDomain::Origin,
            Self::Fatal => FailureDomain::Request,
        }
    }

    /// Whether this is [`Outcome::Ok`].
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Ok)
    }

    pub(crate) const fn is_rate_limited(&self) -> bool {
        matches!(self, Self::RateLimited { .. })
    }

    /// Whether the attempt counts in the retry multiplier, and as a success; as [`OutcomeCounts::attempts`] has it.
    #[inline]
    pub(crate) const fn success(&self) -> Option<bool> {
        match self {
            Self::Ok => Some(true),
            Self::RateLimited { .. }
            | Self::Blocked { .. }
            | Self::ProxyError { .. }
            | Self::SessionLost
            | Self::OriginError { .. }
            | Self::Interrupted { .. } => Some(false),
            Self::GatewayOverloaded { .. }
            | Self::AuthError { .. }
            | Self::TargetDenied
            | Self::TargetUnreachable
            | Self::TargetFailed
            | Self::TooLarge { .. }
            | Self::Fatal => None,
        }
    }

    /// The outcome's name in logs and metrics: one of a closed set.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::RateLimited { .. } => "rate_limited",
            Self::Blocked { .. } => "blocked",
            Self::ProxyError { .. } => "proxy_error",
            Self::SessionLost => "session_lost",
            Self::GatewayOverloaded { .. } => "gateway_overloaded",
            Self::AuthError { .. } => "auth_error",
            Self::TargetDenied => "target_denied",
            Self::TargetUnreachable => "target_unreachable",
            Self::TargetFailed => "target_failed",
            Self::OriginError { .. } => "origin_error",
            Self::TooLarge { .. } => "too_large",
            Self::Interrupted { .. } => "interrupted",
            Self::Fatal => "fatal",
        }
    }
}

/// As its name and what it carries: `{"name": "origin_error", "status": 502}`; times in seconds.
#[cfg(feature = "serde")]
impl serde::Serialize for Outcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name())?;
        match self {
            Self::RateLimited { retry_after } | Self::GatewayOverloaded { retry_after, .. } => {
                let wait = retry_after.map(|hint| hint.wait().as_secs_f64());
                map.serialize_entry("retry_after", &wait)?;
            }
            Self::Blocked { by } => map.serialize_entry("by", by)?,
            Self::ProxyError { phase } | Self::Interrupted { phase } => {
                map.serialize_entry("phase", &phase.to_string())?;
            }
            Self::AuthError { reason } => map.serialize_entry("reason", reason)?,
            Self::OriginError { status } => map.serialize_entry("status", &status.as_u16())?,
            Self::TooLarge { cap } => map.serialize_entry("cap", cap)?,
            Self::Ok
            | Self::SessionLost
            | Self::TargetDenied
            | Self::TargetUnreachable
            | Self::TargetFailed
            | Self::Fatal => {}
        }
        map.end()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::ProxyError { phase } | Self::Interrupted { phase } => write!(f, " ({phase})"),
            Self::OriginError { status } => write!(f, " ({})", status.as_u16()),
            Self::TooLarge { cap } => write!(f, " (over {cap} bytes)"),
            Self::AuthError { reason } => write!(f, " ({})", reason.name()),
            Self::GatewayOverloaded { scope, .. } => write!(f, " ({})", scope.name()),
            Self::Blocked { by } if *by != BlockedBy::Unknown => write!(f, " ({})", by.name()),
            _ => Ok(()),
        }
    }
}
