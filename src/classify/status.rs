//! What an answer's head shows. One table, pure.

use super::gateway::{self, On, Reply};
use crate::exit::Vendor;
use crate::outcome::{
    AuthReason, BlockedBy, Evidence, Outcome, Phase, ReasonPhrase, RetryAfter, Seen, SocksRefusal,
};
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

/// The head of an answer to a request. `now` is for a `Retry-After` that is a date, where the answer carries none itself.
pub(super) fn head(
    status: StatusCode,
    headers: &HeaderMap,
    carried: Carried<'_>,
    now: SystemTime,
) -> Evidence {
    let Carried { tunnelled, kept, .. } = carried;
    let hint = RetryAfter::from_headers(headers, now);
    if let Some(word) = gateway::own_word(&carried.reply(status, headers)) {
        return word.evidence(hint);
    }
    let outcome = match status.as_u16() {
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

fn is_challenge(headers: &HeaderMap) -> bool {
    headers.get("cf-mitigated").is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"challenge"))
}
