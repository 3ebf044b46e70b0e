//! `Retry-After` (RFC 9110, 10.2.3).

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// How long an answer asked to be left alone, in whole seconds. Kept as it was given, up to 136 years; what it costs is
/// clamped where it is charged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RetryAfter(u32);

impl RetryAfter {
    /// A wait; parts of a second count as a whole one.
    #[must_use]
    pub fn new(wait: Duration) -> Self {
        let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
        Self(u32::try_from(seconds).unwrap_or(u32::MAX))
    }

    /// Reads `Retry-After`: whole seconds, or an HTTP date measured against the response's own `Date`, else against `now`.
    ///
    /// Of several lines the longest wait holds. A date that has passed is no wait at all. What is negative, fractional or no date is not a hint: `None`. A number
    /// too large to count is the longest wait there is.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap, now: SystemTime) -> Option<Self> {
        headers.get_all(RETRY_AFTER).iter().filter_map(|value| Self::one(headers, value, now)).max()
    }

    fn one(headers: &HeaderMap, value: &http::HeaderValue, now: SystemTime) -> Option<Self> {
        let value = value.to_str().ok()?.trim();
        if value.is_empty() {
            return None;
        }
        if value.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self(value.parse().unwrap_or(u32::MAX)));
        }
        let at = httpdate::parse_http_date(value).ok()?;
        Some(Self::new(at.duration_since(sent(headers, now)).unwrap_or(Duration::ZERO)))
    }

    /// Reads what is left of a limit, for an answer that refuses: how long it takes until there is more, if it says that
    /// nothing is left, or does not say how much.
    ///
    /// `RateLimit` in both forms of the IETF's drafts (`limit=100, remaining=0, reset=30` and `"default";r=0;t=30`),
    /// `RateLimit-Reset`, `X-RateLimit-Reset`, `X-RateLimit-Reset-After`, with the `-Remaining` beside them. Above 10^9 a
    /// number is a time in seconds since 1970, above 10^12 in milliseconds, measured as in
    /// [`from_headers`](Self::from_headers). Of several waits the longest holds. What is no number, has passed, or is more than a day away
    /// is no hint.
    #[must_use]
    pub fn from_limits(headers: &HeaderMap, now: SystemTime) -> Option<Self> {
        super::rate_limit::wait(headers, now).map(Self::new)
    }

    /// The wait as it was given.
    #[must_use]
    pub const fn wait(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }
}

/// When an answer was sent, by its own clock, else by ours.
pub(super) fn sent(headers: &HeaderMap, now: SystemTime) -> SystemTime {
    let date = headers.get(DATE).and_then(|value| value.to_str().ok());
    date.and_then(|text| httpdate::parse_http_date(text.trim()).ok()).unwrap_or(now)
}
