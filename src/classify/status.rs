//! What an answer's head shows. One table, pure.

use super::proxies;
use crate::outcome::{
    AuthReason, BlockedBy, Evidence, GatewayScope, Outcome, Phase, RetryAfter, Seen, SocksRefusal,
};
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

/// The head of an answer to a request. `now` is for a `Retry-After` that is a date, where the answer carries none itself.
pub(super) fn head(status: StatusCode, headers: &HeaderMap, carried: Carried, now: SystemTime) -> Evidence {
    let Carried { tunnelled, kept } = carried;
    let hint = RetryAfter::from_headers(headers, now);
    if let Some((outcome, seen)) = proxies::own_word(status, headers).filter(|_| !tunnelled) {
        // Who says what it thinks of the target has let the login in.
        let accepted = !matches!(outcome, Outcome::AuthError { .. });
        return Evidence::of(outcome).seen(seen).login_accepted(accepted).retry_after(hint);
    }
    let outcome = match status.as_u16() {
        407 if !tunnelled => {
            return Evidence::of(login_refused(headers)).seen(Seen::Never).retry_after(hint);
        }
        0..400 | 404 | 410 => Outcome::Ok,
        _ if is_challenge(headers) => Outcome::Blocked { by: BlockedBy::Unknown },
        403 => Outcome::Blocked { by: BlockedBy::Unknown },
        429 => Outcome::RateLimited { retry_after: hint },
        451 => Outcome::TargetDenied,
        408 | 500.. => Outcome::OriginError { status },
        _ => Outcome::Fatal,
    };
    // In the absolute form a gateway's status may be the proxy's own word for a request that did arrive, or did not.
    let by_proxy = !tunnelled && matches!(status.as_u16(), 502..=504);
    let seen = if by_proxy { Seen::Unknown } else { Seen::Seen };
    // Whoever forwards, or has just opened a tunnel, has let the login in. A kept tunnel outlives its password.
    let accepted = !tunnelled || !kept;
    Evidence::of(outcome).seen(seen).login_accepted(accepted).retry_after(hint)
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

fn is_challenge(headers: &HeaderMap) -> bool {
    headers.get("cf-mitigated").is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"challenge"))
}
