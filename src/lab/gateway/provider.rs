//! What stands behind a gateway when the lab is built.

use super::Mood;
use super::login::Login;
use super::sessions::MAX_ADDRESSES;
use crate::exit::Via;
use std::fmt;
use std::io;

/// Addresses behind a gateway unless told otherwise.
const ADDRESSES: u16 = 10_000;

/// A provider: how its gateway tells sessions apart, and how many addresses it has.
///
/// ```
/// use http::StatusCode;
/// use tower_egress::lab::{Mood, Provider, Reply};
///
/// let plain = Provider::sessions(); // user-{session}:pw
/// let odd = Provider::sessions().login("customer", "pw_session-{session}").addresses(16);
/// let spinning = Provider::rotating(); // user:pw, another address for each connection
/// # let _ = (plain, odd, spinning);
/// ```
#[derive(Clone)]
#[must_use]
pub struct Provider {
    pub(super) login: Login,
    pub(in crate::lab) via: Via,
    pub(super) rotating: bool,
    pub(super) addresses: u16,
    pub(super) mood: Mood,
}

impl Provider {
    /// Sessions by token: the first request with a token has the next address, and each that follows has the same. The
    /// login is `user-{session}` with the password `pw`.
    pub fn sessions() -> Self {
        let login = Login::new("user-{session}", "pw");
        Self { login, via: Via::Http, rotating: false, addresses: ADDRESSES, mood: Mood::fine() }
    }

    /// Another address for each connection, in turn. The login is `user` with the password `pw`.
    pub fn rotating() -> Self {
        Self { login: Login::new("user", "pw"), rotating: true, ..Self::sessions() }
    }

    /// Sets the login that it asks for. With sessions, `{session}` stands once in either part; without, in none.
    pub fn login(mut self, user: &str, password: &str) -> Self {
        self.login = Login::new(user, password);
        self
    }

    /// Sets how it is spoken to. Default an HTTP proxy. What its moods say with a status, SOCKS says as
    /// [`Behaviour::answer_connect`](crate::lab::Behaviour::answer_connect) tells.
    pub fn via(mut self, via: Via) -> Self {
        self.via = via;
        self
    }

    /// Sets how many addresses it has, 1 to 64,516. Default 10,000. More sessions than that share them.
    pub fn addresses(mut self, addresses: u16) -> Self {
        self.addresses = addresses.clamp(1, MAX_ADDRESSES);
        self
    }

    /// Sets the mood that it begins with. Default fine.
    pub fn mood(mut self, mood: Mood) -> Self {
        self.mood = mood;
        self
    }

    pub(in crate::lab) fn begins(&self) -> Mood {
        self.mood.clone()
    }

    pub(super) fn check(login: &Login, rotating: bool) -> io::Result<()> {
        if login.placeholders() != usize::from(!rotating) {
            let what = "with sessions, {session} stands once in a gateway's login; without, not at all";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(())
    }
}

/// Leaves the login out.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("via", &self.via)
            .field("rotating", &self.rotating)
            .field("addresses", &self.addresses)
            .field("mood", &self.mood)
            .finish_non_exhaustive()
    }
}
