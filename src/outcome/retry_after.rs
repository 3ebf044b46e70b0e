//! `Retry-After` (RFC 9110, 10.2.3).

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// How long an answer asked to be left alone. Kept as it was given; what it costs is clamped where it is charged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RetryAfter(Duration);

impl RetryAfter {
    /// A wait.
    #[must_use]
    pub const fn new(wait: Duration) -> Self {
        Self(wait)
    }

    /// Reads `Retry-After`: whole seconds, or an HTTP date measured against the response's own `Date`, else against `now`.
    ///
    /// A date that has passed is no wait at all. What is negative, fractional or no date is not a hint: `None`. A number
    /// too large to count is the longest wait there is.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap, now: SystemTime) -> Option<Self> {
        let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        if value.is_empty() {
            return None;
        }
        if value.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self(value.parse().map_or(Duration::MAX, Duration::from_secs)));
        }
        let date = |text: &str| httpdate::parse_http_date(text.trim()).ok();
        let at = date(value)?;
        let sent = headers.get(DATE).and_then(|value| value.to_str().ok()).and_then(date).unwrap_or(now);
        Some(Self(at.duration_since(sent).unwrap_or(Duration::ZERO)))
    }

    /// The wait as it was given.
    #[must_use]
    pub const fn wait(self) -> Duration {
        self.0
    }
}
