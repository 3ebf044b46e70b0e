//! How an exit behaves.

use super::proxy::Login;
use super::{Reply, SocksReply};
use crate::exit::Credential;
use std::time::Duration;

/// How an exit behaves. Begin with [`fine`](Self::fine), [`slow`](Self::slow) or [`dead`](Self::dead), then add.
///
/// ```
/// use http::StatusCode;
/// use tower_egress::exit::Credential;
/// use tower_egress::lab::{Behaviour, Reply, SocksReply};
///
/// let picky = Behaviour::fine().login(Credential::new("user", "secret")?);
/// let busy = Behaviour::fine().answer_connect(Reply::new(StatusCode::SERVICE_UNAVAILABLE));
/// let mute = Behaviour::fine().answer_connect(Reply::hang());
/// let flaky = Behaviour::fine().cut_after(100);
/// let curt = Behaviour::fine().closes_after_answer();
/// let walled = Behaviour::fine().answer_socks(SocksReply::code(0x02)); // not allowed by its rules
/// # let _ = (picky, busy, mute, flaky, curt, walled);
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Behaviour {
    pub(super) dead: bool,
    pub(super) delay: Duration,
    pub(super) login: Option<Credential>,
    pub(super) on_connect: Option<Reply>,
    pub(super) on_request: Option<Reply>,
    pub(super) on_socks: Option<SocksReply>,
    pub(super) cut_after: Option<u64>,
    pub(super) closes_after_answer: bool,
}

impl Behaviour {
    /// An honest open proxy.
    pub fn fine() -> Self {
        Self {
            dead: false,
            delay: Duration::ZERO,
            login: None,
            on_connect: None,
            on_request: None,
            on_socks: None,
            cut_after: None,
            closes_after_answer: false,
        }
    }

    /// Nothing listens: connections to it are refused.
    pub fn dead() -> Self {
        Self { dead: true, ..Self::fine() }
    }

    /// An honest open proxy that waits this long over each request and CONNECT before it does anything.
    pub fn slow(delay: Duration) -> Self {
        Self { delay, ..Self::fine() }
    }

    /// Asks for this login, and refuses any other or none: with 407, or as RFC 1929 does with status 1, and who offers no
    /// login with method 0xff.
    pub fn login(mut self, login: Credential) -> Self {
        self.login = Some(login);
        self
    }

    /// Answers every CONNECT with this instead of opening a tunnel. [`Reply::hang`] and [`Reply::reset`] serve as well; a
    /// 2xx opens a tunnel that leads nowhere and is closed at once. A SOCKS exit says a 2xx as code 0, 403 and 407 as 2, and
    /// any other status as 1; for a code of your own there is [`answer_socks`](Self::answer_socks).
    pub fn answer_connect(mut self, reply: Reply) -> Self {
        self.on_connect = Some(reply);
        self
    }

    /// Answers every SOCKS client with this. Exits that do not speak SOCKS take no notice, nor does the world in memory.
    pub fn answer_socks(mut self, reply: SocksReply) -> Self {
        self.on_socks = Some(reply);
        self
    }

    /// Answers every absolute-form request with this instead of forwarding it. SOCKS exits are asked for none.
    pub fn answer_requests(mut self, reply: Reply) -> Self {
        self.on_request = Some(reply);
        self
    }

    /// Closes the connection once this many bytes have come back from the origin: of the body of a forwarded request, or
    /// of all that came through a tunnel.
    pub fn cut_after(mut self, bytes: u64) -> Self {
        self.cut_after = Some(bytes);
        self
    }

    /// Closes a client's connection right after the answer to an absolute-form request, and does not say so in the answer
    /// (no `Connection: close`), as some proxies do. A client that keeps connections will use a dead one if it is quick.
    /// In memory there is no connection to close.
    pub fn closes_after_answer(mut self) -> Self {
        self.closes_after_answer = true;
        self
    }

    /// Whether it does what an exit should, at once, and for everybody.
    pub(super) const fn is_plain(&self) -> bool {
        let Self { dead, delay, login, on_connect, on_request, on_socks, cut_after, closes_after_answer } =
            self;
        !*dead
            && delay.is_zero()
            && login.is_none()
            && on_connect.is_none()
            && on_request.is_none()
            && on_socks.is_none()
            && cut_after.is_none()
            && !*closes_after_answer
    }

    /// Whether this login, or none, will do.
    pub(super) fn lets_in(&self, login: Option<&Login>) -> bool {
        self.login.as_ref().is_none_or(|asked| login.is_some_and(|login| login.is(asked)))
    }

    /// What the exit answers to everybody, without asking the origin.
    pub(super) fn own_answer(&self, connect: bool) -> Option<Reply> {
        if connect { self.on_connect.clone() } else { self.on_request.clone() }
    }
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::fine()
    }
}
