//! What an exit and a gateway have in common: each takes requests as a proxy, on sockets and in memory.

use super::Reply;
use super::tally::Tally;
use http::header::PROXY_AUTHENTICATE;
use http::{HeaderValue, StatusCode};
use std::net::IpAddr;
use std::time::Duration;

pub(super) trait Proxy: Send + Sync {
    fn tally(&self) -> &Tally;

    /// Whether nothing listens.
    fn is_dead(&self) -> bool;

    /// Takes a request, counts it, and says what is to become of it.
    fn meet(&self, ask: Ask<'_>) -> Meeting;
}

/// A request as a proxy sees it.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    /// How many connections there were before this one's.
    pub(super) connection: u64,
    pub(super) connect: bool,
    /// The value of `Proxy-Authorization`.
    pub(super) login: Option<&'a HeaderValue>,
}

/// What becomes of a request at a proxy.
pub(super) struct Meeting {
    /// The address it leaves from.
    pub(super) source: IpAddr,
    pub(super) delay: Duration,
    /// What the proxy says by itself, without asking the origin.
    pub(super) own: Option<Reply>,
    pub(super) cut_after: Option<u64>,
    pub(super) closes_after_answer: bool,
}

/// What a proxy says to a login that it does not know.
pub(super) fn login_refused() -> Reply {
    let challenge = HeaderValue::from_static("Basic realm=\"lab\"");
    Reply::new(StatusCode::PROXY_AUTHENTICATION_REQUIRED).header(PROXY_AUTHENTICATE, challenge)
}

/// What a proxy says when it cannot get through to the origin.
pub(super) fn bad_gateway(why: &'static str) -> Reply {
    Reply::page(why).status(StatusCode::BAD_GATEWAY)
}
