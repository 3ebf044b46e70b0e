//! The same, for callers who lease by hand.

use super::pages::{self, Page, Reach};
use super::status::{self, Carried, Here};
use crate::exit::Vendor;
use crate::outcome::{Connection, Evidence, Outcome};
use crate::site::Site;
use http::{HeaderMap, StatusCode};
use std::time::SystemTime;

/// What an answer's head shows by the [table](crate::classify), for a caller without layers: what
/// [`Lease::report`](crate::Lease::report) takes.
///
/// `vendor` is whose proxy it came through, as [`Route::vendor`](crate::exit::Route::vendor) says. `over` is what carried it: [tunnelled](Connection::tunnelled) for `https://`, SOCKS and an own address, where no proxy can
/// have answered. `site` is what was said of the origin, if anything was; `now` is for waits that are dates.
///
/// ```
/// use http::{Response, StatusCode};
/// use std::time::SystemTime;
/// use tower_egress::outcome::{BlockedBy, Connection, Outcome};
/// use tower_egress::{ExitList, LeaseRequest, Scheduler, classify};
///
/// let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
/// let lease = scheduler.lease(&LeaseRequest::new("sku-42").origin("shop.example"))?;
/// // The answer of a client of your own, through `lease.route()`.
/// let answer = Response::builder().status(451).body(())?;
/// let over = Connection::new().tunnelled(true);
/// let shown = classify::head(answer.status(), answer.headers(), lease.route().vendor(), &over, None, SystemTime::UNIX_EPOCH);
/// assert_eq!(shown.outcome, Outcome::Blocked { by: BlockedBy::Country });
/// lease.report(shown);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn head(
    status: StatusCode,
    headers: &HeaderMap,
    vendor: Option<Vendor>,
    over: &Connection,
    site: Option<&Site>,
    now: SystemTime,
) -> Evidence {
    let carried = Carried { tunnelled: over.is_tunnelled(), kept: over.is_kept(), vendor, phrase: None };
    status::head(status, headers, carried, Here { site, pages: true }, now).evidence
}

/// What the start of a page says of a [wall](crate::classify#walls), if it is one's: at most 16 KiB of it are looked at,
/// unpacked; `whole` says that there is no more. It goes before what the [head](head()) shows, unless the site has a word of
/// its own on the status.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
/// use tower_egress::classify;
///
/// let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/html"))]);
/// let page = |text: &str| classify::page(StatusCode::OK, &headers, text.as_bytes(), true);
/// assert!(page("<title>Robot Check</title>").is_some());
/// assert!(page("<title>9.99</title>").is_none());
/// ```
#[must_use]
pub fn page(status: StatusCode, headers: &HeaderMap, start: &[u8], whole: bool) -> Option<Outcome> {
    Reach::of(status).wait(status, headers)?;
    let text = &start[..start.len().min(pages::MAX_BYTES)];
    pages::by_page(status, headers, Page { text, whole: whole && text.len() == start.len() }, None)
}
