//! What walls in front of sites say: by a header, or by the page that they show instead of the site's.
//!
//! Two tables, `heads` and `marks`, a row for each signal. A header decides at once. A page is searched only where its marks
//! can matter, and what it says needs two proofs: a mark and a refusal's status, or a mark and a small page of HTML, since
//! whole pages embed a wall's scripts and login forms a captcha.

mod heads;
mod kind;
mod marks;
mod search;
mod unpack;

#[cfg(test)]
mod tests;

pub(super) use kind::Reach;
pub(super) use unpack::unpack;

use crate::outcome::{BlockedBy, Outcome, RetryAfter};
use http::{HeaderMap, StatusCode};
use kind::Kind;

/// Most bytes of a page that are read ahead, unpacked and searched.
pub(super) const MAX_BYTES: usize = 16 << 10;

/// A page that is not longer is small: block pages are, and the pages of shops are not.
const SMALL: usize = 10 << 10;

/// What a signal says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Says {
    Blocked(BlockedBy),
    RateLimited,
    /// The site, or its zone behind the wall, is broken: no exit's fault.
    Broken,
    /// Nothing but another request, or money, helps.
    Fatal,
}

impl Says {
    const fn outcome(self, status: StatusCode, hint: Option<RetryAfter>) -> Outcome {
        match self {
            Self::Blocked(by) => Outcome::Blocked { by },
            Self::RateLimited => Outcome::RateLimited { retry_after: hint },
            Self::Broken => Outcome::OriginError { status },
            Self::Fatal => Outcome::Fatal,
        }
    }
}

/// From, to.
type Statuses = &'static [(u16, u16)];

fn covers(statuses: Statuses, status: u16) -> bool {
    statuses.iter().any(|(from, to)| (*from..=*to).contains(&status))
}

/// What the head says of a wall, if it does.
pub(super) fn by_header(
    status: StatusCode,
    headers: &HeaderMap,
    hint: Option<RetryAfter>,
) -> Option<Outcome> {
    let row = heads::find(status.as_u16(), headers)?;
    told(row.vendor, status);
    Some(row.says.outcome(status, hint))
}

/// Outcomes do not say whose wall it was; this does.
fn told(vendor: &str, status: StatusCode) {
    tracing::debug!(target: "tower_egress", wall = vendor, status = status.as_u16(), "a wall has answered");
}

/// The start of a page, unpacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page<'a> {
    /// At most [`MAX_BYTES`].
    pub(super) text: &'a [u8],
    /// That is all of it.
    pub(super) whole: bool,
}

impl Page<'_> {
    const fn is_small(&self) -> bool {
        self.whole && self.text.len() <= SMALL
    }
}

/// What the page says of a wall, if it does. `hint` is the answer's own.
pub(super) fn by_page(
    status: StatusCode,
    headers: &HeaderMap,
    page: Page<'_>,
    hint: Option<RetryAfter>,
) -> Option<Outcome> {
    let kind = Kind::of(headers)?;
    let code = status.as_u16();
    if code < 400 && (kind != Kind::Html || !page.is_small()) {
        return None;
    }
    let found = search::search(page.text);
    let mut rows = marks::PAGES.iter().zip(search::rows());
    let (row, _) = rows.find(|(row, wanted)| {
        wanted.are_in(found) && covers(row.on, code) && row.fits(kind, headers, page)
    })?;
    told(row.vendor, status);
    Some(row.says.outcome(status, hint))
}
