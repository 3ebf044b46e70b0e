//! Gateways: one address, and as many exits behind it as there are session tokens.

use super::token::{Alphabet, SHAPE, Session, Shape};
use super::{Credential, Exit, spec};
use crate::error::ConfigError;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Slots are made when the pool is built; as many again serve nobody better.
const MOST_SESSIONS: u32 = 65_536;
/// The placeholder of the session token.
pub(super) const SESSION: &str = "{session}";
/// Slots for requests that hold nothing, unless told otherwise.
const SESSIONS: u32 = 256;

/// A provider's gateway: a proxy spec with `{session}` in the user name or password, each token of which is an exit. Cheap to
/// clone.
///
/// Requests that hold nothing ride its slots, [`sessions`](Self::sessions) of them, each picked and burned like a listed exit;
/// after a burn a slot has a new token. What holds an exit has a token of its own.
///
/// ```
/// use tower_egress::exit::Gateway;
///
/// let gateway = Gateway::parse("http://user-{session}:pw@gw.example:7000")?;
/// assert!(!format!("{gateway:?}").contains("pw"), "secrets never print");
/// assert!(Gateway::parse("http://user:pw@gw.example:7000").is_err(), "without {{session}} it rotates by itself");
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Gateway(Arc<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    /// The spec with its placeholder, as if it were an exit.
    template: Exit,
    kind: Kind,
    sessions: NonZeroU32,
    shape: Shape,
    lifetime: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Sessions,
    Rotating,
}

impl Gateway {
    /// A gateway whose exits are named by session tokens.
    ///
    /// # Errors
    /// As [`Exit::parse`]; that there is no `{session}`, or another placeholder.
    pub fn parse(template: &str) -> Result<Self, ConfigError> {
        let gateway = Self::of(template, Kind::Sessions)?;
        let login = gateway.0.template.route().credential();
        if !login.is_some_and(|login| login.user().contains(SESSION) || login.password().contains(SESSION)) {
            return Err(ConfigError::new(
                "gateway",
                "has no {session} in its login",
                "put it where the provider wants the session token, or use Gateway::rotating if the gateway rotates by itself",
            ));
        }
        Ok(gateway)
    }

    /// A gateway that leaves through another exit for each connection, by itself. A fresh connection is made for each lease;
    /// nothing can be held, and no refusal is charged to an exit, since nobody knows which one it was.
    ///
    /// # Errors
    /// As [`Exit::parse`]; that there is a placeholder.
    pub fn rotating(spec: &str) -> Result<Self, ConfigError> {
        let gateway = Self::of(spec, Kind::Rotating)?;
        if spec.contains(SESSION) {
            return Err(ConfigError::new(
                "gateway",
                "has a {session}, and is said to rotate by itself",
                "use Gateway::parse, or leave the placeholder out",
            ));
        }
        Ok(gateway)
    }

    /// The gateway of a provider that the catalogue knows, by its name there.
    ///
    /// # Errors
    /// That there is no such provider, with the nearest name.
    pub fn provider(name: &str) -> Result<Self, ConfigError> {
        let _ = name;
        Err(ConfigError::new("provider", "is not there yet", "write the template"))
    }

    /// Gives `{user}` and `{pass}` of the template their values.
    #[must_use]
    pub fn login(self, user: &str, password: &str) -> Self {
        self.field("user", user).field("pass", password)
    }

    /// Gives a placeholder of the template its value.
    #[must_use]
    pub fn field(self, name: &str, value: &str) -> Self {
        let _ = (name, value);
        self
    }

    /// Gives `{country}` its value: two letters, case does not matter.
    #[must_use]
    pub fn country(self, country: &str) -> Self {
        self.field("country", country)
    }

    /// Gives `{state}` its value.
    #[must_use]
    pub fn state(self, state: &str) -> Self {
        self.field("state", state)
    }

    /// Gives `{city}` its value.
    #[must_use]
    pub fn city(self, city: &str) -> Self {
        self.field("city", city)
    }

    /// Asks the provider to keep a session on one exit for so long: `{ttl}`, `{ttl_min}` or `{ttl_s}` of the template.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        let _ = ttl;
        self
    }

    fn of(template: &str, kind: Kind) -> Result<Self, ConfigError> {
        let exit = spec::parse(template)?;
        let login = exit.route().credential();
        let parts = login.map_or(["", ""], |login| [login.user(), login.password()]);
        for part in parts {
            if part.replace(SESSION, "").contains(['{', '}']) {
                return Err(ConfigError::new(
                    "gateway",
                    "has a placeholder that is not {session}",
                    "write the value itself: half the gateways swallow a parameter that they do not know",
                ));
            }
        }
        let sessions = NonZeroU32::new(SESSIONS).unwrap_or(NonZeroU32::MIN);
        Ok(Self(Arc::new(Inner { template: exit, kind, sessions, shape: SHAPE, lifetime: None })))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Sets how many slots requests share that hold nothing: at most 65,536, and no more than there are tokens. Default 256.
    #[must_use]
    pub fn sessions(self, sessions: NonZeroU32) -> Self {
        self.with(|inner| inner.sessions = sessions)
    }

    /// Says how long the provider keeps a session on one exit. What asks to hold an exit for longer is refused.
    #[must_use]
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.with(|inner| inner.lifetime = Some(lifetime))
    }

    /// Sets the length of tokens, 4 to 32. Default 8.
    ///
    /// # Errors
    /// That the length is out of range.
    pub fn token_length(self, length: u8) -> Result<Self, ConfigError> {
        if !(4..=32).contains(&length) {
            return Err(ConfigError::new(
                "token length",
                "is not 4 to 32",
                "give what the provider's grammar takes",
            ));
        }
        Ok(self.with(|inner| inner.shape.length = length))
    }

    /// Sets how TLS to the gateway works, if it is an `https://` one.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn proxy_tls(self, tls: &super::ProxyTls) -> Self {
        self.with(|inner| inner.template = inner.template.clone().proxy_tls(tls))
    }

    /// Makes tokens of digits alone, for grammars that take nothing else. They are counted out and not hashed, since random
    /// digits collide: processes do not agree on them.
    #[must_use]
    pub fn digits(self) -> Self {
        self.with(|inner| inner.shape.alphabet = Alphabet::Digits)
    }

    /// The gateway's host: a name in lower case, or an IP literal without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.template.route().host()
    }

    /// The gateway's port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.template.route().port()
    }

    /// What its setters cannot refuse: more slots than a pool should hold or a grammar has tokens for, and a session that
    /// lasts no time.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let Inner { sessions, shape, lifetime, .. } = &*self.0;
        if sessions.get() > MOST_SESSIONS {
            let cure = "set at most 65,536: what holds an exit has a session of its own beside them";
            return Err(ConfigError::new("gateway sessions", format!("are {sessions}"), cure));
        }
        if u64::from(sessions.get()) > shape.tokens() {
            let cure = "ask for fewer sessions, or for longer tokens";
            return Err(ConfigError::new("gateway sessions", "are more than there are tokens", cure));
        }
        // What a token makes too long for the protocol would be dialled without a login.
        let login = self.0.template.route().credential();
        let filler = "0".repeat(shape.length.into());
        if let Some(login) = login {
            let fill = |part: &str| part.replace(SESSION, &filler);
            Credential::of(self.0.template.route().via(), &fill(login.user()), &fill(login.password()))?;
        }
        if lifetime.is_some_and(|lifetime| lifetime.is_zero()) {
            let cure = "give what the provider says, or Gateway::rotating if each connection is another exit";
            return Err(ConfigError::new("gateway lifetime", "is zero", cure));
        }
        Ok(())
    }

    pub(crate) fn is_rotating(&self) -> bool {
        self.0.kind == Kind::Rotating
    }

    /// The same gateway with the password of another; `None` if the other is of another kind.
    pub(crate) fn with_login_of(&self, other: &Self) -> Option<Self> {
        (self.0.kind == other.0.kind)
            .then(|| self.clone().with(|inner| inner.template = other.0.template.clone()))
    }

    pub(crate) fn slots(&self) -> u32 {
        if self.is_rotating() { 1 } else { self.0.sessions.get() }
    }

    pub(crate) fn held_at_most(&self) -> Option<Duration> {
        self.0.lifetime
    }

    /// How long a session may lie unused before the provider gives its exit away.
    pub(crate) fn idle_at_most(&self) -> Option<Duration> {
        None
    }

    /// Where its exits are, if the template says so: two letters in lower case.
    pub(crate) fn where_from(&self) -> Option<&str> {
        None
    }

    /// A number that is the same in every process: of the template without its password.
    pub(crate) fn id(&self) -> u64 {
        self.0.template.id().as_u64()
    }

    /// The exit of a session; `count` is how many tokens there were before.
    pub(crate) fn exit(&self, session: &Session, count: u64) -> Exit {
        let template = &self.0.template;
        let login = template.route().credential();
        if self.is_rotating() {
            return Exit::session(template, login.cloned(), None, true);
        }
        let (token, via) = (self.0.shape.token(session, count), template.route().via());
        let fill = |part: &str| part.replace(SESSION, &token);
        // A login with a token in place of its placeholder is a login.
        let login =
            login.and_then(|login| Credential::of(via, &fill(login.user()), &fill(login.password())).ok());
        Exit::session(template, login, Some(&token), false)
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { template, kind, sessions, shape, lifetime } = &*self.0;
        f.debug_struct("Gateway")
            .field("route", template.route())
            .field("kind", kind)
            .field("sessions", sessions)
            .field("shape", shape)
            .field("lifetime", lifetime)
            .finish()
    }
}
