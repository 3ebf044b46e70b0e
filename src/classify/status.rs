//! What an answer's head shows. One table, pure.

use super::pages::{self, Page, Reach};
use super::proxies;
use crate::outcome::{
    AuthReason, BlockedBy, Evidence, GatewayScope, Outcome, Phase, RetryAfter, Seen, SocksRefusal,
};
use crate::site::Site;
use http::header::PROXY_AUTHENTICATE;
use http::{HeaderMap, StatusCode};
use std::time::SystemTime;

/// How the answer came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// Through a tunnel: a plain request is answered by the proxy or through it.
    pub(super) tunnelled: bool,
    /// Over a connection that was made for an earlier request.
    pub(super) kept: bool,
}

/// What is known of walls and of the site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here<'a> {
    /// What holds at the site alone.
    pub(super) site: Option<&'a Site>,
    /// Whether what walls say is listened to.
    pub(super) pages: bool,
}

/// What a head shows, and what it leaves to the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) evidence: Evidence,
    pub(super) reach: Reach,
}

/// The head of an answer to a request. `now` is for a wait that is a date, where the answer carries none itself.
pub(super) fn head(
    status: StatusCode,
    headers: &HeaderMap,
    carried: Carried,
    here: Here<'_>,
    now: SystemTime,
) -> Told {
    let Carried { tunnelled, kept } = carried;
    let hint = hint(status, headers, now);
    let by_proxy = |evidence: Evidence| Told { evidence: evidence.retry_after(hint), reach: Reach::No };
    if let Some((outcome, seen)) = (!tunnelled).then(|| proxies::own_word(status, headers)).flatten() {
        // Who says what it thinks of the target has let the login in.
        let accepted = !matches!(outcome, Outcome::AuthError { .. });
        return by_proxy(Evidence::of(outcome).seen(seen).login_accepted(accepted));
    }
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED && !tunnelled {
        return by_proxy(Evidence::of(login_refused(headers)).seen(Seen::Never));
    }
    // In the absolute form a gateway's status may be the proxy's own word for a request that did arrive, or did not.
    let by_proxy = !tunnelled && matches!(status.as_u16(), 502..=504);
    let unless_named = if by_proxy { Seen::Unknown } else { Seen::Seen };
    let (outcome, seen, reach) = if let Some(outcome) = by_wall(status, headers, here, hint) {
        let whom = matches!(outcome, Outcome::Blocked { by: BlockedBy::Unknown });
        (outcome, Seen::Seen, if whom { Reach::Whom } else { Reach::No })
    } else if let Some(outcome) = here.site.and_then(|site| by_site(site, status, hint)) {
        (outcome, unless_named, Reach::No)
    } else {
        let open = here.pages && !here.site.is_some_and(Site::is_api);
        let reach = if open { Reach::of(status) } else { Reach::No };
        (by_status(status, hint, tunnelled), unless_named, reach)
    };
    // Whoever forwards, or has just opened a tunnel, has let the login in. A kept tunnel outlives its password.
    let accepted = !tunnelled || !kept;
    let evidence = Evidence::of(outcome).seen(seen).login_accepted(accepted).retry_after(hint);
    Told { evidence, reach }
}

/// How long the answer asks to be left alone. What is left of a limit is told with good answers too, and is no request then.
fn hint(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Option<RetryAfter> {
    let asked = RetryAfter::from_headers(headers, now);
    let limited = matches!(status.as_u16(), 429 | 503);
    if limited { asked.or_else(|| RetryAfter::from_limits(headers, now)) } else { asked }
}

fn by_wall(
    status: StatusCode,
    headers: &HeaderMap,
    here: Here<'_>,
    hint: Option<RetryAfter>,
) -> Option<Outcome> {
    here.pages.then(|| pages::by_header(status, headers, hint)).flatten()
}

/// What was said of the site: of its status, or that its 4xx are answers.
fn by_site(site: &Site, status: StatusCode, hint: Option<RetryAfter>) -> Option<Outcome> {
    if let Some(outcome) = site.outcome_of(status.as_u16()) {
        let limited = matches!(outcome, Outcome::RateLimited { retry_after: None });
        return Some(if limited { Outcome::RateLimited { retry_after: hint } } else { outcome });
    }
    (site.is_api() && status.is_client_error()).then(|| match asks_for_time(hint) {
        true => Outcome::RateLimited { retry_after: hint },
        false => Outcome::Ok,
    })
}

/// A wait that has passed asks for nothing.
fn asks_for_time(hint: Option<RetryAfter>) -> bool {
    hint.is_some_and(|hint| !hint.wait().is_zero())
}

/// The table.
fn by_status(status: StatusCode, hint: Option<RetryAfter>, tunnelled: bool) -> Outcome {
    match status.as_u16() {
        0..400 | 404 | 410 => Outcome::Ok,
        403 => Outcome::Blocked { by: BlockedBy::Unknown },
        429 => Outcome::RateLimited { retry_after: hint },
        // Who says when to come back is not broken.
        503 if asks_for_time(hint) => Outcome::RateLimited { retry_after: hint },
        // The site's own word of where it may be read; outside a tunnel perhaps the provider's.
        451 if tunnelled => Outcome::Blocked { by: BlockedBy::Country },
        451 => Outcome::TargetDenied,
        // No status of HTTP: LinkedIn's for networks and clients that it does not want.
        999 => Outcome::Blocked { by: BlockedBy::Unknown },
        408 | 500.. => Outcome::OriginError { status },
        _ => Outcome::Fatal,
    }
}

/// What the page adds to what the head has shown.
pub(super) fn with_page(told: Told, status: StatusCode, headers: &HeaderMap, page: Page<'_>) -> Evidence {
    let Told { evidence, reach } = told;
    if reach == Reach::No {
        return evidence;
    }
    let said = pages::by_page(status, headers, page, evidence.retry_after);
    let said = said.filter(|said| reach == Reach::Any || matches!(said, Outcome::Blocked { .. }));
    said.map_or(evidence, |outcome| Evidence { outcome, seen: Seen::Seen, ..evidence })
}

/// The answer with which a proxy refused a tunnel.
pub(super) fn refused_tunnel(status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Evidence {
    let hint = RetryAfter::from_headers(headers, now);
    if let Some((outcome, _)) = proxies::own_word(status, headers) {
        return Evidence::of(outcome).retry_after(hint);
    }
    let outcome = match status.as_u16() {
        // Some proxies refuse a login with the origin's status; a tunnel that is not there has no origin behind it.
        401 => Outcome::AuthError { reason: AuthReason::Rejected },
        407 => login_refused(headers),
        429 | 500 | 503 | 509 => {
            Outcome::GatewayOverloaded { retry_after: hint, scope: GatewayScope::Gateway }
        }
        502 | 504 => Outcome::TargetUnreachable,
        403 | 451 => Outcome::TargetDenied,
        _ => Outcome::ProxyError { phase: Phase::Tunnel },
    };
    Evidence::of(outcome).retry_after(hint)
}

/// The reply with which a SOCKS proxy refused a tunnel. What 3 to 6 say of the way to the target is the exit's word; its
/// network may be down as well, but then it says so for every target, and whoever fails them all is found out by that.
pub(super) fn refused_by_socks(refusal: SocksRefusal) -> Evidence {
    Evidence::of(match refusal {
        SocksRefusal::Method(_) | SocksRefusal::Login(_) => {
            Outcome::AuthError { reason: AuthReason::Rejected }
        }
        SocksRefusal::Reply(2) => Outcome::TargetDenied,
        SocksRefusal::Reply(3..=5) => Outcome::TargetUnreachable,
        // Tor's own: an onion service that cannot be had.
        SocksRefusal::Reply(0xf0..=0xf7) => Outcome::TargetUnreachable,
        SocksRefusal::Reply(_) => Outcome::ProxyError { phase: Phase::Tunnel },
    })
}

/// Without a challenge a 407 asks for no other login: some providers say so that they have no room.
fn login_refused(headers: &HeaderMap) -> Outcome {
    let asked = headers.contains_key(PROXY_AUTHENTICATE);
    Outcome::AuthError { reason: if asked { AuthReason::Rejected } else { AuthReason::Capacity } }
}
