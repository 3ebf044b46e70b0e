//! Gateways: one address, and as many exits behind it as there are session tokens.

mod check;
mod fields;
mod render;
#[cfg(test)]
mod tests;

use super::Via;
use super::catalog::{self, Provider};
use super::template::{Port, Template, Text};
use super::token::{Alphabet, SHAPE, Shape};
use crate::error::{ConfigError, nearest};
use fields::Fields;
use render::Ready;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// The placeholder of the session token.
pub(super) const SESSION: &str = "{session}";

/// A provider's gateway: a proxy spec with placeholders, each session of which is an exit. Cheap to clone.
///
/// Requests that hold nothing ride its slots, [`sessions`](Self::sessions) of them, each picked and burned like a listed exit;
/// after a burn a slot has a new token. What holds an exit has a token of its own.
///
/// # Templates
///
/// | in user name, password or host | is |
/// |---|---|
/// | `{session}` | the session token, not in the host: this crate makes it |
/// | `{country}`, `{COUNTRY}`, `{CountryName}` | [`country`](Self::country): `us`, `US`, `UnitedStates` |
/// | `{state}`, `{city}` | [`state`](Self::state) and [`city`](Self::city) |
/// | `{ttl}`, `{ttl_min}`, `{ttl_s}` | [`ttl`](Self::ttl): `10m`, or `90s` where no whole minutes are meant; `10`; `600` |
/// | `{user}`, `{pass}` | [`login`](Self::login) |
/// | any other `{name}` | a [`field`](Self::field) of your own |
/// | `[-country-{country}]` | is left out if one of the placeholders in it has no value; brackets without one are text |
///
/// The port may be a placeholder too, or a range, `10000-49999`: then each port is a session, and there is no `{session}`.
/// Ports are counted out as digits are, and come again when all were used. A brace that is text goes into a field, since
/// values are taken as they are: `{pass}` may hold whatever it holds.
///
/// Whatever is wrong with a template and its values is an error when the scheduler is built. Half the providers ignore a
/// parameter that they do not know, so a typo would cost money for months: so a placeholder without a value is refused, and a
/// value without a placeholder, and a value with a separator of the grammar in it.
///
/// ```
/// use std::time::Duration;
/// use tower_egress::{Gateway, Scheduler};
///
/// let gateway = Gateway::parse("http://{user}[-cc-{COUNTRY}]-zone-{zone}-sid-{session}-t-{ttl_min}:{pass}@gw.example:7000")?
///     .login("acme", "secret")
///     .country("de")
///     .field("zone", "resi")
///     .ttl(Duration::from_secs(600));
/// assert!(!format!("{gateway:?}").contains("secret"), "secrets never print");
///
/// let typo = Scheduler::builder().gateway(gateway.clone().field("zoen", "resi")).build().unwrap_err();
/// assert!(typo.to_string().contains("did you mean `{zone}`"), "{typo}");
/// assert!(Scheduler::builder().gateway(gateway).build().is_ok());
///
/// assert!(Gateway::parse("http://user:pw@gw.example:7000").is_err(), "without {{session}} it rotates by itself");
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
///
/// Two gateways are the same if their templates with all values are, the password and other secrets left out: two countries of
/// one provider are two gateways, and a new password makes no other one. A secret is a field whose name has `pass`, `pw`, `key`
/// or `secret` in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Gateway(Arc<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    template: Template,
    fields: Fields,
    kind: Kind,
    /// Of the catalogue.
    row: Option<&'static Provider>,
    sessions: Option<NonZeroU32>,
    shape: Shape,
    lifetime: Option<Duration>,
    idle: Option<Duration>,
    #[cfg(feature = "client")]
    tls: Option<super::ProxyTls>,
    ready: Ready,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Sessions,
    Rotating,
}

impl Gateway {
    /// A gateway whose exits are named by session tokens or by ports. Placeholders get their values afterwards.
    ///
    /// # Errors
    /// As [`Exit::parse`](super::Exit::parse); that there is neither `{session}` nor a range of ports, or both; braces and brackets without their
    /// other half.
    pub fn parse(template: &str) -> Result<Self, ConfigError> {
        let template = Template::parse(template)?;
        let by_port = matches!(template.port, Port::Range(..));
        let by_token = template.names().any(|name| name == fields::SESSION);
        let in_port = matches!(&template.port, Port::Field(name) if **name == *fields::SESSION);
        if in_port || template.host.has(fields::SESSION) {
            let cure = "addresses are printed, and a token is half a login; where each port is a session, write the range: \
                        10000-10999";
            return Err(ConfigError::new("gateway", "has {session} in its address", cure));
        }
        match (by_port, by_token) {
            (true, true) => Err(ConfigError::new(
                "gateway",
                "has a {session} and a range of ports",
                "one of them is the session: leave the other out",
            )),
            (false, false) => {
                let near = template.names().find(|name| nearest(name, [fields::SESSION]).is_some());
                let what = match near {
                    Some(near) => format!("has no {{session}} in its login: is `{{{near}}}` meant to be it?"),
                    None => "has no {session} in its login".to_owned(),
                };
                let cure = "put it where the provider wants the session token, or use Gateway::rotating if the gateway rotates \
                            by itself";
                Err(ConfigError::new("gateway", what, cure))
            }
            _ => Ok(Self::of(template, Kind::Sessions, None)),
        }
    }

    /// A gateway that leaves through another exit for each connection, by itself. A fresh connection is made for each lease;
    /// nothing can be held, and no refusal is charged to an exit, since nobody knows which one it was. Placeholders as in a
    /// template with sessions.
    ///
    /// # Errors
    /// As [`Exit::parse`](super::Exit::parse); that there is a `{session}` or a range of ports.
    pub fn rotating(spec: &str) -> Result<Self, ConfigError> {
        let template = Template::parse(spec)?;
        let what = match template.port {
            Port::Range(..) => "has a range of ports, and is said to rotate by itself",
            _ if template.names().any(|name| name == fields::SESSION) => {
                "has a {session}, and is said to rotate by itself"
            }
            _ => return Ok(Self::of(template, Kind::Rotating, None)),
        };
        Err(ConfigError::new("gateway", what, "use Gateway::parse, or leave it out"))
    }

    /// The gateway of a provider that the [catalogue](catalog) knows, by its name there, with its grammar and lifetimes. One
    /// without sessions is [rotating](Self::rotating).
    ///
    /// # Errors
    /// That there is no such provider, with the nearest name.
    pub fn provider(name: &str) -> Result<Self, ConfigError> {
        let Some(row) = catalog::find(name) else {
            let near =
                catalog::now_called(name).or_else(|| nearest(name, catalog::providers().map(|row| row.name)));
            let what = match near {
                Some(near) => format!("is not in the catalogue: did you mean `{near}`?"),
                None => "is not in the catalogue".to_owned(),
            };
            let cure =
                "exit::catalog::providers() lists them; one that is not there is written as a template";
            return Err(ConfigError::new("provider", what, cure));
        };
        let login = [Text::parse(row.user)?, Text::parse(row.password)?];
        let template = Template {
            via: row.default_via(),
            login: (!row.user.is_empty() || !row.password.is_empty()).then_some(login),
            host: Text::parse(row.host)?,
            port: row.port(),
        };
        let by_port = matches!(template.port, Port::Range(..));
        let by_token = template.names().any(|name| name == fields::SESSION);
        let kind = if by_port || by_token { Kind::Sessions } else { Kind::Rotating };
        Ok(Self::of(template, kind, Some(row)))
    }

    fn of(template: Template, kind: Kind, row: Option<&'static Provider>) -> Self {
        let shape = row.and_then(|row| row.token).map_or(SHAPE, |token| token.shape);
        let mut inner = Inner {
            template,
            fields: Fields::default(),
            kind,
            row,
            sessions: None,
            shape,
            lifetime: None,
            idle: None,
            #[cfg(feature = "client")]
            tls: None,
            ready: Ready::default(),
        };
        inner.make_ready();
        Self(Arc::new(inner))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        change(inner);
        inner.make_ready();
        self
    }

    /// Gives `{user}` and `{pass}` their values. What is empty is not given: some providers have no user name, or no password.
    #[must_use]
    pub fn login(self, user: &str, password: &str) -> Self {
        self.with(|inner| {
            for (name, value) in [(fields::USER, user), (fields::PASS, password)] {
                if !value.is_empty() {
                    inner.fields.set(name, value);
                }
            }
        })
    }

    /// Gives a placeholder its value, as it stands: nothing in it is decoded.
    #[must_use]
    pub fn field(self, name: &str, value: &str) -> Self {
        self.with(|inner| inner.fields.set(name, value))
    }

    /// Gives `{country}`, `{COUNTRY}` and `{CountryName}` their value: two letters of ISO 3166, case does not matter. Several
    /// countries, where a provider takes them, are written into the template.
    #[must_use]
    pub fn country(self, country: &str) -> Self {
        self.field(fields::COUNTRY, country)
    }

    /// Gives `{state}` its value, as the provider writes it.
    #[must_use]
    pub fn state(self, state: &str) -> Self {
        self.field(fields::STATE, state)
    }

    /// Gives `{city}` its value, as the provider writes it.
    #[must_use]
    pub fn city(self, city: &str) -> Self {
        self.field(fields::CITY, city)
    }

    /// Asks the provider to keep a session on one exit for so long: `{ttl}`, `{ttl_min}` or `{ttl_s}` of the template. It is
    /// the [`lifetime`](Self::lifetime) too, unless that is set. Whole minutes where the template counts in minutes.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        self.with(|inner| inner.fields.ttl = Some(ttl))
    }

    /// Speaks to a provider of the catalogue in another way than by default, at the port that it has for that.
    #[must_use]
    pub fn via(self, via: Via) -> Self {
        self.with(|inner| {
            inner.template.via = via;
            if let Some(port) = inner.row.and_then(|row| row.port_for(via)) {
                inner.template.port = port;
            }
        })
    }

    /// Sets how many slots requests share that hold nothing: at most 65,536, and no more than there are tokens. Default 256,
    /// or all ports of a range that has fewer.
    #[must_use]
    pub fn sessions(self, sessions: NonZeroU32) -> Self {
        self.with(|inner| inner.sessions = Some(sessions))
    }

    /// Says how long the provider keeps a session on one exit. What holds one for longer is renewed before, and refused if it
    /// must not move. Default: what is asked for by [`ttl`](Self::ttl), else what the catalogue knows.
    #[must_use]
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.with(|inner| inner.lifetime = Some(lifetime))
    }

    /// Says for how long a session may lie unused before the provider gives its exit away. What holds one for longer without
    /// using it has another session then, or is told so if it must not move. Default: what the catalogue knows.
    #[must_use]
    pub fn idle(self, idle: Duration) -> Self {
        self.with(|inner| inner.idle = Some(idle))
    }

    /// Sets the length of tokens, 4 to 32. Default 8, or what the catalogue knows.
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
        self.with(|inner| inner.tls = Some(tls.clone()))
    }

    /// Makes tokens of digits alone, the first no zero, for grammars that take nothing else. They are counted out and not
    /// hashed, since random digits collide: processes do not agree on them.
    #[must_use]
    pub fn digits(self) -> Self {
        self.with(|inner| inner.shape.alphabet = Alphabet::Digits)
    }

    /// The gateway's host: a name in lower case, or an IP literal without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.0.ready.host
    }

    /// The gateway's port, or the first of its range. 0 if it is a placeholder without a value.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.ready.ports.0
    }
}

/// Without any value: they are account names, passwords and what may be found out from them.
impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { template, fields, kind, row, sessions, shape, lifetime, .. } = &*self.0;
        let mut host = String::new();
        template.host.render(&|_| None, &mut host);
        f.debug_struct("Gateway")
            .field("provider", &row.map(|row| row.name))
            .field("via", &template.via)
            .field("host", &host)
            .field("port", &template.port)
            .field("given", &fields.names().collect::<Vec<_>>())
            .field("kind", kind)
            .field("sessions", sessions)
            .field("shape", shape)
            .field("lifetime", lifetime)
            .finish()
    }
}
