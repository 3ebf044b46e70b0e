//! An outcome with its proofs.

use super::{Outcome, RetryAfter};

/// Whether the origin can have seen the request. It decides whether a request that must not be sent twice may be sent again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(clippy::exhaustive_enums, reason = "three-valued by nature; callers should match it whole")]
pub enum Seen {
    /// Proof that it did not.
    Never,
    /// It may have.
    Unknown,
    /// It answered.
    Seen,
}

/// What an attempt showed, with the proofs that the rules need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Evidence {
    /// The outcome.
    pub outcome: Outcome,
    /// Whether the origin can have seen the request.
    pub seen: Seen,
    /// Whether the proxy accepted a login during this attempt (a new CONNECT, or a forwarded answer). A tunnel opened
    /// earlier proves nothing: it outlives its password.
    pub login_accepted: bool,
    /// How long the answer asked to be left alone, whatever its outcome.
    pub retry_after: Option<RetryAfter>,
    /// That is asked of everybody, whatever the exit, as a 503 does.
    pub for_all: bool,
    /// Nobody is charged: what broke was the caller's own (its body, its patience, its machine), or an idle connection that
    /// was closed just when it was used again.
    pub blameless: bool,
    /// Over plain `http://` the site may have said in its proxy's name what was said of the login or of the gateway. The login is doubted
    /// for that, and rests a minute at most; the word of a refused CONNECT or of a SOCKS proxy alone stops it until somebody resumes it.
    /// A gateway that served another site within a minute goes on: the pair of exit and site rests instead.
    pub hearsay: bool,
}

impl Evidence {
    /// Evidence of an outcome, with the proofs that the outcome alone gives.
    #[inline]
    #[must_use]
    pub const fn of(outcome: Outcome) -> Self {
        let (seen, retry_after) = match outcome {
            Outcome::Ok
            | Outcome::Blocked { .. }
            | Outcome::OriginError { .. }
            | Outcome::TooLarge { .. } => (Seen::Seen, None),
            Outcome::RateLimited { retry_after } => (Seen::Seen, retry_after),
            Outcome::GatewayOverloaded { retry_after, .. } => (Seen::Unknown, retry_after),
            _ => (Seen::Unknown, None),
        };
        Self {
            outcome,
            seen,
            login_accepted: false,
            retry_after,
            for_all: false,
            blameless: false,
            hearsay: false,
        }
    }

    /// Whether the exit did its part: the origin answered, and nothing broke.
    pub(crate) const fn is_good_end(&self) -> bool {
        let broke = matches!(self.outcome, Outcome::ProxyError { .. } | Outcome::Interrupted { .. });
        matches!(self.seen, Seen::Seen) && !broke
    }

    /// Sets whether the origin can have seen the request.
    #[must_use]
    pub const fn seen(mut self, seen: Seen) -> Self {
        self.seen = seen;
        self
    }

    /// Sets whether the proxy accepted a login.
    #[must_use]
    pub const fn login_accepted(mut self, accepted: bool) -> Self {
        self.login_accepted = accepted;
        self
    }

    /// Sets whether nobody is charged.
    #[must_use]
    pub const fn blameless(mut self, blameless: bool) -> Self {
        self.blameless = blameless;
        self
    }

    /// Sets whether the site may have said it in its proxy's name.
    #[must_use]
    pub const fn hearsay(mut self, hearsay: bool) -> Self {
        self.hearsay = hearsay;
        self
    }

    /// Sets whether it asks everybody.
    #[must_use]
    pub const fn for_all(mut self, for_all: bool) -> Self {
        self.for_all = for_all;
        self
    }

    /// Sets how long the answer asked to be left alone.
    #[must_use]
    pub const fn retry_after(mut self, hint: Option<RetryAfter>) -> Self {
        self.retry_after = hint;
        self
    }
}

impl From<Outcome> for Evidence {
    #[inline]
    fn from(outcome: Outcome) -> Self {
        Self::of(outcome)
    }
}
