//! What an exit and a gateway have in common: each takes requests as a proxy, on sockets and in memory.

use super::tally::Tally;
use super::{Reply, SocksReply};
use crate::exit::Credential;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::PROXY_AUTHENTICATE;
use http::{HeaderValue, StatusCode};
use std::net::IpAddr;
use std::time::Duration;

pub(super) trait Proxy: Send + Sync {
    fn tally(&self) -> &Tally;

    /// Whether nothing listens.
    fn is_dead(&self) -> bool;

    /// What a SOCKS client meets before its request.
    fn socks(&self) -> Socks;

    /// Takes a request, counts it, and says what is to become of it.
    fn meet(&self, ask: Ask<'_>) -> Meeting;
}

/// A request as a proxy sees it.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    /// How many connections there were before this one's.
    pub(super) connection: u64,
    pub(super) connect: bool,
    pub(super) login: Option<&'a Login>,
}

/// Whether a proxy asks SOCKS clients for a login, and what it was told to answer them.
pub(super) struct Socks {
    pub(super) asks_login: bool,
    pub(super) reply: Option<SocksReply>,
}

/// A login as a client gave it, by whichever protocol.
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: String,
}

impl Login {
    /// From the value of `Proxy-Authorization`; `None` if it is none of the Basic kind.
    pub(super) fn basic(value: &HeaderValue) -> Option<Self> {
        let (scheme, login) = value.to_str().ok()?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let login = String::from_utf8(STANDARD.decode(login.trim()).ok()?).ok()?;
        let (user, password) = login.split_once(':')?;
        Some(Self { user: user.to_owned(), password: password.to_owned() })
    }

    pub(super) fn is(&self, asked: &Credential) -> bool {
        (&*self.user, &*self.password) == (asked.user(), asked.password())
    }
}

/// As a client in memory would give it.
impl From<&Credential> for Login {
    fn from(login: &Credential) -> Self {
        Self { user: login.user().to_owned(), password: login.password().to_owned() }
    }
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
