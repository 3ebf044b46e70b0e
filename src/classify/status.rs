//! What an answer's head shows. One table, pure.

use super::gateway::{self, On, Reply};
use super::pages::{self, Page, Reach};
use crate::exit::Vendor;
use crate::outcome::{
    AuthReason, BlockedBy, Evidence, Outcome, Phase, ReasonPhrase, RetryAfter, Seen, SocksRefusal,
};
use crate::site::Site;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use std::time::SystemTime;

/// How the answer came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried<'a> {
    /// Through a tunnel: a plain request is answered by the proxy or through it.
    pub(super) tunnelled: bool,
    /// Over a connection that was made for an earlier request.
    pub(super) kept: bool,
    /// Whose proxy it came through.
    pub(super) vendor: Option<Vendor>,
    pub(super) phrase: Option<&'a ReasonPhrase>,
}

impl<'a> Carried<'a> {
    fn reply(self, status: StatusCode, headers: &'a HeaderMap) -> Reply<'a> {
        let Self { tunnelled, vendor, phrase, .. } = self;
        let on = if tunnelled { On::TUNNEL } else { On::PLAIN };
        Reply { on, vendor, status, headers, phrase, body: &[] }
    }
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
    carried: Carried<'_>,
    here: Here<'_>,
    now: SystemTime,
) -> Told {
    let Carried { tunnelled, kept, .. } = carried;
    let hint = hint(status, headers, now);
    // Whoever forwards, or has just opened a tunnel, has let the login in. A kept tunnel outlives its password.
    let accepted = !tunnelled || !kept;
    if let Some(word) = gateway::own_word(&carried.reply(status, headers)) {
        let evidence = word.evidence(gateway::wait(hint));
        let accepted = accepted && evidence.login_accepted;
        return Told { evidence: evidence.login_accepted(accepted).hearsay(!tunnelled), reach: Reach::No };
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
    let evidence = Evidence::of(outcome).seen(seen).login_accepted(accepted).retry_after(hint);
    let evidence = evidence.for_all(status == StatusCode::SERVICE_UNAVAILABLE);
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
pub(super) fn refused_tunnel(answer: &Response<Bytes>, vendor: Option<Vendor>, now: SystemTime) -> Evidence {
    let (status, headers, body) = (answer.status(), answer.headers(), &answer.body()[..]);
    let phrase = gateway::phrase(answer.extensions());
    let word = gateway::own_word(&Reply { on: On::CONNECT, vendor, status, headers, phrase, body });
    let hint = RetryAfter::from_headers(headers, now);
    match word {
        Some(word) => word.evidence(hint),
        // No refusal, though a client calls it one.
        None => Evidence::of(Outcome::ProxyError { phase: Phase::Tunnel }).retry_after(hint),
    }
}

/// The reply with which a SOCKS proxy refused a tunnel. What 3 to 5 say of the way to the target is the exit's word; its
/// network may be down as well, but then it says so for every target, and whoever fails them all is found out by that.
pub(super) fn refused_by_socks(refusal: SocksRefusal) -> Evidence {
    Evidence::of(match refusal {
        SocksRefusal::Method(_) | SocksRefusal::Login(_) => {
            Outcome::AuthError { reason: AuthReason::Rejected }
        }
        SocksRefusal::Reply(2) => Outcome::TargetDenied,
        // 8: it takes no addresses of this kind, or no names. Another exit may, and this one serves other targets.
        SocksRefusal::Reply(3..=5 | 8) => Outcome::TargetUnreachable,
        // Tor's own, of onion services: not found, introduction and rendezvous failed, introduction timed out.
        SocksRefusal::Reply(0xf0 | 0xf2 | 0xf3 | 0xf7) => Outcome::TargetUnreachable,
        // Its descriptor is invalid, the client's key for it missing or wrong, its address wrong.
        SocksRefusal::Reply(0xf1 | 0xf4..=0xf6) => Outcome::TargetFailed,
        // 7 too: a proxy that has no CONNECT, the one command that is sent, serves nobody.
        SocksRefusal::Reply(_) => Outcome::ProxyError { phase: Phase::Tunnel },
    })
}
