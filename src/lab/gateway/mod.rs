//! Gateways: one socket, and as many addresses behind it as there are sessions.

mod login;
mod mood;
mod provider;
mod sessions;

pub use mood::Mood;
pub use provider::Provider;
pub use sessions::{LabSession, MAX_SESSIONS};

use super::door::Door;
use super::lock::Lock;
use super::proxy::{Ask, Meeting, Proxy, Socks, login_refused};
use super::tally::Tally;
use super::{Reply, Traffic};
use crate::exit::{Gateway, Via};
use http::StatusCode;
use login::{Found, Login};
use mood::Current;
use sessions::{Addresses, Sessions};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Most gateways of one lab.
pub const MAX_GATEWAYS: usize = 100;

/// A gateway of the lab: a proxy on one socket, of the kind that [`Provider::via`] says, that asks for a login and leaves from the
/// address of the session in it. A clone is a handle on the same gateway, and its moods can be changed while requests run.
///
/// The gateway's mood comes first, then the login, then the session's mood.
#[derive(Clone)]
pub struct LabGateway(Arc<Inner>);

struct Inner {
    via: Via,
    listens: SocketAddr,
    rotating: bool,
    addresses: Addresses,
    state: Lock<State>,
    tally: Tally,
    /// `None` in memory.
    door: Option<Arc<Door>>,
}

struct State {
    login: Login,
    mood: Current,
    sessions: Sessions,
    refusals: BTreeMap<StatusCode, u64>,
    passed: u64,
}

impl LabGateway {
    /// The address that a gateway listens at: 127.1.0.1, the next one 127.2.0.1.
    pub(super) fn ip(at: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(127, number(at), 0, 1))
    }

    /// A gateway whose door, if it has one, is shut.
    pub(super) fn new(
        at: usize,
        provider: &Provider,
        listens: SocketAddr,
        door: Option<Arc<Door>>,
    ) -> io::Result<Self> {
        let addresses = Addresses { gateway: number(at), count: provider.addresses };
        let state = State {
            login: provider.login.clone(),
            mood: Current::new(if door.is_some() { Mood::dead() } else { provider.mood.clone() }),
            sessions: Sessions::new(addresses),
            refusals: BTreeMap::new(),
            passed: 0,
        };
        let (via, rotating) = (provider.via, provider.rotating);
        let inner = Inner {
            via,
            listens,
            rotating,
            addresses,
            state: Lock::new(state),
            tally: Tally::default(),
            door,
        };
        let gateway = Self(Arc::new(inner));
        gateway.check(&provider.login)?;
        Ok(gateway)
    }

    fn check(&self, login: &Login) -> io::Result<()> {
        Provider::check(login, self.0.rotating)?;
        let spec = self.spec(login);
        let read = if self.0.rotating { Gateway::rotating(&spec) } else { Gateway::parse(&spec) };
        read.map(drop).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
    }

    fn spec(&self, login: &Login) -> String {
        format!("{}://{}@{}", self.0.via.scheme(), login.in_spec(), self.0.listens)
    }

    /// The gateway as [`Gateway::parse`] takes it, or [`Gateway::rotating`]: like `http://user-{session}:pw@127.1.0.1:40123`.
    /// It holds the login.
    #[must_use]
    pub fn template(&self) -> String {
        self.spec(&self.0.state.lock().login)
    }

    /// Where it listens. In memory nothing does, and this only names it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.listens
    }

    /// Changes its mood. Requests that have begun keep the mood they met, except that a dead gateway drops its
    /// connections. When this returns, a dead one refuses connections and any other accepts them.
    ///
    /// # Errors
    /// The lab has stopped, or the system gives no socket. Nothing has changed then.
    pub fn behave(&self, mood: Mood) -> io::Result<()> {
        let mut state = self.0.state.lock();
        match &self.0.door {
            Some(door) if mood.dead => door.shut(),
            Some(door) => door.open()?,
            None => {}
        }
        state.mood = Current::new(mood);
        Ok(())
    }

    /// Changes the mood of one session, which may be one that nobody has used yet. Without effect if the gateway remembers
    /// [`MAX_SESSIONS`] others, or rotates.
    pub fn behave_session(&self, token: &str, mood: Mood) {
        if self.0.rotating {
            return;
        }
        if let Some((_, current)) = self.0.state.lock().sessions.of(token) {
            *current = Current::new(mood);
        }
    }

    /// Changes the login that it asks for from now on. Tunnels that are open stay open, as they do at real gateways.
    ///
    /// # Errors
    /// That the login is none, or has not the placeholder that the gateway needs. Nothing has changed then.
    pub fn set_login(&self, user: &str, password: &str) -> io::Result<()> {
        let login = Login::new(user, password);
        self.check(&login)?;
        self.0.state.lock().login = login;
        Ok(())
    }

    /// What it did so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.0.tally.traffic()
    }

    /// How many CONNECTs and requests it answered by itself with which status.
    #[must_use]
    pub fn refusals(&self) -> BTreeMap<StatusCode, u64> {
        self.0.state.lock().refusals.clone()
    }

    /// How many CONNECTs and requests it passed on: what a provider would bill.
    #[must_use]
    pub fn passed(&self) -> u64 {
        self.0.state.lock().passed
    }

    /// The sessions in the order of their first use: which token leaves from which address. None if it rotates.
    #[must_use]
    pub fn sessions(&self) -> Vec<LabSession> {
        self.0.state.lock().sessions.all()
    }

    /// The address that a token leaves from; `None` if it was never used.
    #[must_use]
    pub fn address_of(&self, token: &str) -> Option<IpAddr> {
        self.0.state.lock().sessions.find(token).map(LabSession::address)
    }

    /// The address of the session that is the `at`th to be used, counted from 0, or of the `at`th connection if it rotates.
    #[must_use]
    pub fn egress(&self, at: usize) -> IpAddr {
        self.0.addresses.at(at as u64)
    }

    /// Whether this is one of its addresses: whose request an origin has seen.
    #[must_use]
    pub fn owns(&self, address: IpAddr) -> bool {
        self.0.addresses.hold(address)
    }
}

fn number(at: usize) -> u8 {
    u8::try_from(at + 1).expect("a lab has at most 100 gateways")
}

/// Where a request leaves from, how long it waits first, and what the gateway answers if it does so itself.
type Met = (IpAddr, Duration, Option<Reply>);

impl State {
    fn meet(&mut self, inner: &Inner, ask: Ask<'_>) -> Met {
        let first = inner.addresses.at(ask.connection);
        let delay = self.mood.mood.delay;
        if let Some(own) = self.mood.meet() {
            return (first, delay, Some(own));
        }
        let token = match self.login.read(ask.login) {
            Found::Wrong => {
                inner.tally.refused_login();
                return (first, delay, Some(login_refused()));
            }
            Found::Right => return (first, delay, None),
            Found::Session(token) => token,
        };
        match self.sessions.of(&token) {
            Some((session, mood)) => {
                session.count();
                (session.address(), delay + mood.mood.delay, mood.meet())
            }
            None => (first, delay, Some(Reply::new(StatusCode::SERVICE_UNAVAILABLE))),
        }
    }
}

impl Proxy for LabGateway {
    fn tally(&self) -> &Tally {
        &self.0.tally
    }

    fn is_dead(&self) -> bool {
        self.0.state.lock().mood.mood.dead
    }

    fn socks(&self) -> Socks {
        Socks { asks_login: true, reply: None }
    }

    fn meet(&self, ask: Ask<'_>) -> Meeting {
        self.0.tally.request(ask.connect);
        let mut state = self.0.state.lock();
        let (source, delay, own) = state.meet(&self.0, ask);
        match own.as_ref().map(Reply::told) {
            None => state.passed += 1,
            Some(Some(status)) => *state.refusals.entry(status).or_default() += 1,
            // It hangs, or resets.
            Some(None) => {}
        }
        drop(state);
        Meeting { source, delay, own, cut_after: None, closes_after_answer: false }
    }
}

/// Leaves the login and the tokens out.
impl fmt::Debug for LabGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabGateway")
            .field("address", &self.0.listens)
            .field("rotating", &self.0.rotating)
            .field("traffic", &self.traffic())
            .field("refusals", &self.refusals())
            .finish_non_exhaustive()
    }
}
