//! What is left of a limit (the IETF's drafts of `RateLimit`, and the `X-` headers before them).

use super::retry_after::sent;
use http::HeaderMap;
use std::time::{Duration, SystemTime};

/// A longer wait is no limit's window, and more likely another unit.
const MOST: f64 = 86_400.0;
/// From here on a number is a time, in seconds since 1970.
const EPOCH: f64 = 1e9;
/// And from here on in milliseconds.
const EPOCH_MILLIS: f64 = 1e12;

const RATE_LIMIT: &str = "ratelimit";

/// When there is more, and what is left.
const FAMILIES: [(&[&str], &str); 2] = [
    (&["ratelimit-reset"], "ratelimit-remaining"),
    (&["x-ratelimit-reset", "x-ratelimit-reset-after"], "x-ratelimit-remaining"),
];

/// The longest wait of those that are said where nothing is left.
pub(super) fn wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let mut longest = None;
    let mut said = |reset: Option<f64>| {
        longest = longest.max(reset.and_then(|reset| until(reset, headers, now)));
    };
    for value in headers.get_all(RATE_LIMIT) {
        for limit in Limits::of(value.as_bytes()) {
            if !limit.remaining.is_some_and(|left| left > 0.0) {
                said(limit.reset);
            }
        }
    }
    for (resets, remaining) in FAMILIES {
        let left = |value: &http::HeaderValue| number(value.as_bytes()).is_some_and(|left| left > 0.0);
        if !headers.get_all(remaining).iter().any(left) {
            for &reset in resets {
                headers.get_all(reset).iter().for_each(|value| said(number(value.as_bytes())));
            }
        }
    }
    longest
}

/// How long it is until a reset: a span as it is, a time as it is seen from the answer's own clock.
fn until(reset: f64, headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let seconds = if reset < EPOCH {
        reset
    } else {
        let at = if reset < EPOCH_MILLIS { reset } else { reset / 1e3 };
        let sent = sent(headers, now).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        at - sent.as_secs_f64()
    };
    (seconds > 0.0 && seconds <= MOST).then(|| Duration::from_secs_f64(seconds))
}

/// Digits, with a point among them at most: `f64` alone would read `nan`, `inf`, `-1` and `1e3`.
fn number(text: &[u8]) -> Option<f64> {
    let text = text.trim_ascii();
    let plain = text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let text = std::str::from_utf8(text).ok().filter(|text| plain && text.len() <= 32)?;
    text.parse().ok()
}

/// One limit.
#[derive(Default)]
struct Limit {
    remaining: Option<f64>,
    reset: Option<f64>,
}

/// The limits in a value of `RateLimit`: in the older form one, by name in a list; in the newer one a list of them, with
/// parameters. Not a parser of structured fields: what is malformed must be nothing, and both forms are found by their names.
struct Limits<'a> {
    rest: &'a [u8],
}

impl<'a> Limits<'a> {
    const fn of(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// Up to one of these bytes outside quotes, which is left out, and whether it was there.
    fn part(&mut self, ends: &[u8]) -> (&'a [u8], Option<u8>) {
        let mut quoted = false;
        let mut escaped = false;
        let end = self.rest.iter().position(|byte| {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ => {}
            }
            !quoted && ends.contains(byte)
        });
        let part = &self.rest[..end.unwrap_or(self.rest.len())];
        let by = end.map(|end| self.rest[end]);
        self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
        (part, by)
    }
}

impl Iterator for Limits<'_> {
    type Item = Limit;

    fn next(&mut self) -> Option<Limit> {
        if self.rest.is_empty() {
            return None;
        }
        let mut limit = Limit::default();
        loop {
            let (part, by) = self.part(b",;");
            let mut sides = part.splitn(2, |byte| *byte == b'=');
            let name = sides.next().unwrap_or_default().trim_ascii();
            let value = sides.next().and_then(number);
            // A member of the older form is no limit of its own.
            let member = match name {
                b"r" => {
                    limit.remaining = value;
                    false
                }
                b"t" => {
                    limit.reset = value;
                    false
                }
                b"remaining" => {
                    limit.remaining = value;
                    true
                }
                b"reset" => {
                    limit.reset = value;
                    true
                }
                b"limit" => true,
                _ => false,
            };
            match by {
                None => return Some(limit),
                Some(b',') if !member => return Some(limit),
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    /// By lines of `name: value`.
    fn read(lines: &str) -> Option<f64> {
        let mut headers = HeaderMap::new();
        for line in lines.split('\n') {
            let (name, value) = line.split_once(": ").unwrap();
            headers.append(HeaderName::try_from(name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        wait(&headers, now).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn what_is_left_of_a_limit_is_read_in_all_forms() {
        for (lines, expected) in [
            // The drafts up to 07: one limit, as a dictionary.
            ("ratelimit: limit=100, remaining=0, reset=30", Some(30.0)),
            ("ratelimit: limit=100,remaining=0,reset=30", Some(30.0)),
            ("ratelimit: reset=30", Some(30.0)),
            ("ratelimit: limit=100, remaining=1, reset=30", None),
            // From 08 on: a list of limits, each with parameters.
            ("ratelimit: \"default\";r=0;t=30", Some(30.0)),
            ("ratelimit: \"a\";r=5;t=9, \"b\"; r=0; t=30 , \"c\";r=0;t=20", Some(30.0)),
            ("ratelimit: \"a, b; t=7\";r=0;t=3", Some(3.0)),
            ("ratelimit: \"a\\\"\";r=0;t=3", Some(3.0)),
            ("ratelimit: \"a\";r=0", None),
            ("ratelimit: \"a\";r=1;t=30\nratelimit: \"b\";r=0;t=4", Some(4.0)),
            // A span.
            ("ratelimit-remaining: 0\nratelimit-reset: 12", Some(12.0)),
            ("ratelimit-remaining: 3\nratelimit-reset: 12", None),
            ("ratelimit-reset: 12", Some(12.0)),
            ("x-ratelimit-reset: 12", Some(12.0)),
            ("x-ratelimit-reset-after: 1.5", Some(1.5)),
            ("x-ratelimit-remaining: 2\nx-ratelimit-reset-after: 1.5", None),
            // A time, in seconds and in milliseconds.
            ("x-ratelimit-reset: 1700000060", Some(60.0)),
            ("x-ratelimit-reset: 1700000060.5", Some(60.5)),
            ("x-ratelimit-reset: 1700000060000", Some(60.0)),
            ("x-ratelimit-reset: 1700000060\ndate: Tue, 14 Nov 2023 22:13:00 GMT", Some(80.0)),
            ("x-ratelimit-reset: 1699999999", None),
            // Longer than any window.
            ("x-ratelimit-reset: 86400", Some(86_400.0)),
            ("x-ratelimit-reset: 86401", None),
            ("x-ratelimit-reset: 1800000000", None),
            // No numbers.
            ("x-ratelimit-reset: 0", None),
            ("x-ratelimit-reset: -5", None),
            ("x-ratelimit-reset: nan", None),
            ("x-ratelimit-reset: inf", None),
            ("x-ratelimit-reset: 1e3", None),
            ("x-ratelimit-reset: 99999999999999999999999999999999999999999999", None),
            ("x-ratelimit-reset: soon", None),
            ("ratelimit: ", None),
            ("ratelimit: ;;;,,,=", None),
            ("ratelimit: \"default", None),
        ] {
            assert_eq!(read(lines), expected, "{lines}");
        }
    }

    proptest! {
        #[test]
        fn no_value_makes_it_panic_or_wait_longer_than_a_day(
            values in proptest::collection::vec("[ -~]{0,40}|[0-9]{1,20}(\\.[0-9]{0,4})?|(\"a\";)?[rt]=-?[0-9]{1,12}([,;][rt]=[0-9.e]{1,9}){0,4}", 5),
            now in 0..4_000_000_000_u64,
        ) {
            let names = ["ratelimit", "ratelimit-reset", "x-ratelimit-reset", "x-ratelimit-reset-after", "x-ratelimit-remaining"];
            let mut headers = HeaderMap::new();
            for (name, value) in names.iter().zip(&values) {
                headers.append(*name, HeaderValue::from_str(value).unwrap());
            }
            let wait = wait(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(now));
            prop_assert!(wait.is_none_or(|wait| wait <= Duration::from_secs(86_400)));
        }
    }
}
