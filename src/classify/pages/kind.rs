//! Which pages are searched.

use super::SMALL;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, SERVER};
use http::{HeaderMap, StatusCode};
use std::time::Duration;

/// Longest that an answer is kept back for its page.
const WAIT: Duration = Duration::from_millis(100);
/// The same for a page that may be any page of the site, of unknown length.
const GLANCE: Duration = Duration::from_millis(10);

/// What a page is. What does not say so is not searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Html,
    Text,
    Json,
}

impl Kind {
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(CONTENT_TYPE)?.as_bytes();
        let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
        let name = value[..end].trim_ascii();
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("text/html") || is("application/xhtml+xml") {
            Some(Self::Html)
        } else if is("text/plain") {
            Some(Self::Text)
        } else if is("application/json") {
            Some(Self::Json)
        } else {
            None
        }
    }
}

/// How far the search of an answer may go: what its head leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::classify) enum Reach {
    /// The head has said all.
    No,
    /// A wall has named itself, and its page may say whom it means.
    Whom,
    /// The page may be a wall's.
    Any,
}

impl Reach {
    /// What the status leaves open. 404 and 410 are answers, whose pages may hold any form of the site.
    pub(in crate::classify) const fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            404 | 407 | 410 => Self::No,
            200 | 247 | 400.. => Self::Any,
            _ => Self::No,
        }
    }

    /// How long the answer may be kept back for its page; `None` if that is not to be searched.
    pub(in crate::classify) fn wait(self, status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
        if self == Self::No {
            return None;
        }
        let kind = Kind::of(headers)?;
        if status.as_u16() >= 400 {
            let searched = match kind {
                Kind::Html => true,
                // Of Cloudflare alone texts are known.
                Kind::Text => server_is(headers, "cloudflare"),
                // An API's error is no wall's, unless a wall has named itself.
                Kind::Json => self == Self::Whom,
            };
            return searched.then_some(WAIT);
        }
        if kind != Kind::Html {
            return None;
        }
        match headers.get(CONTENT_LENGTH) {
            None => Some(GLANCE),
            // Packed it may be smaller than it is.
            Some(length) => {
                let length: usize = length.to_str().ok()?.trim().parse().ok()?;
                (length <= SMALL).then_some(WAIT)
            }
        }
    }
}

/// Whether `Server` begins with a name.
pub(super) fn server_is(headers: &HeaderMap, name: &str) -> bool {
    let server = headers.get(SERVER).map_or(&b""[..], |value| value.as_bytes());
    server.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
}
