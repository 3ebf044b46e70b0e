//! From a template and a session to an exit; and what the pool asks of a gateway.

use super::super::template::Port;
use super::super::token::Session;
use super::super::{Credential, Exit, ExitId};
use super::fields;
use super::{Gateway, Inner, Kind, SESSION};
use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Slots for requests that hold nothing, unless told otherwise or there are fewer tokens.
const SESSIONS: u32 = 256;

/// What all its exits have in common, worked out when something is set.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Ready {
    pub(super) id: u64,
    pub(super) host: Box<str>,
    /// First and last.
    pub(super) ports: (u16, u16),
    /// What tokens are a hash of, beside the session.
    pub(super) geo: Option<u64>,
    pub(super) country: Option<Box<str>>,
}

impl Gateway {
    pub(crate) fn is_rotating(&self) -> bool {
        self.0.kind == Kind::Rotating
    }

    /// The same gateway with the password of another; `None` if the other is of another kind, or cannot be.
    pub(crate) fn with_login_of(&self, other: &Self) -> Option<Self> {
        if self.0.kind != other.0.kind || other.check().is_err() {
            return None;
        }
        let mut renewed = self.clone();
        let held = self.held_at_most();
        let (inner, other) = (Arc::make_mut(&mut renewed.0), &other.0);
        inner.template = other.template.clone();
        inner.fields = other.fields.clone();
        #[cfg(feature = "client")]
        {
            inner.tls = other.tls.clone();
        }
        // One may have given what the other wrote into its template: that makes the same gateway, whose tokens stay, and
        // whatever else is known of it. So it is not made ready again.
        inner.lifetime = held;
        Some(renewed)
    }

    pub(crate) fn slots(&self) -> u32 {
        if self.is_rotating() {
            return 1;
        }
        let most = u32::try_from(self.tokens()).unwrap_or(u32::MAX).max(1);
        self.0.sessions.map_or_else(|| SESSIONS.min(most), NonZeroU32::get)
    }

    /// How long a session keeps its exit, from its first use on.
    pub(crate) fn held_at_most(&self) -> Option<Duration> {
        let known = || {
            let life = self.0.row?.life;
            let seconds = if life.default > 0 { life.default } else { life.most };
            (seconds > 0 && !life.from_use).then(|| Duration::from_secs(seconds.into()))
        };
        self.0.lifetime.or(self.0.fields.ttl).or_else(known)
    }

    /// How long a session may lie unused before the provider gives its exit away.
    pub(crate) fn idle_at_most(&self) -> Option<Duration> {
        let known = self.0.row.map(|row| Duration::from_secs(row.life.idle.into()));
        self.0.idle.or_else(|| known.filter(|idle| !idle.is_zero()))
    }

    /// Where its exits are, if that is asked for: two letters in lower case.
    pub(crate) fn where_from(&self) -> Option<&str> {
        self.0.ready.country.as_deref()
    }

    /// A number that is the same in every process: of the template with its values, but without its password.
    pub(crate) fn id(&self) -> u64 {
        self.0.ready.id
    }

    /// How many sessions it can tell apart.
    pub(super) fn tokens(&self) -> u64 {
        match self.0.template.port {
            Port::Range(first, last) => u64::from(last - first) + 1,
            _ => self.0.shape.tokens(),
        }
    }

    /// The exit of a session; `count` is how many tokens there were before.
    pub(crate) fn exit(&self, session: &Session, count: u64) -> Exit {
        let Inner { template, ready, .. } = &*self.0;
        let (first, last) = ready.ports;
        let by_port = matches!(template.port, Port::Range(..));
        let token = match self.0.kind {
            Kind::Rotating => None,
            Kind::Sessions if by_port => {
                let at = count % (u64::from(last - first) + 1);
                Some(u64::from(first).saturating_add(at).to_string())
            }
            Kind::Sessions => Some(self.0.shape.token(session, ready.geo, count)),
        };
        let port = token.as_ref().filter(|_| by_port).and_then(|port| port.parse().ok()).unwrap_or(first);
        // A login with a token in place of its placeholder is a login.
        let login = self
            .0
            .login(token.as_deref())
            .and_then(|[user, password]| Credential::of(template.via, &user, &password).ok());
        let exit =
            Exit::session(template.via, &ready.host, port, login, token.as_deref(), self.is_rotating());
        #[cfg(feature = "client")]
        let exit = match &self.0.tls {
            Some(tls) => exit.proxy_tls(tls),
            None => exit,
        };
        match self.0.row.and_then(|row| row.vendor) {
            Some(vendor) if exit.route().vendor() != Some(vendor) => exit.vendor(vendor),
            _ => exit,
        }
    }
}

impl Inner {
    pub(super) fn value<'a>(&'a self, name: &str, token: Option<&'a str>) -> Option<Cow<'a, str>> {
        match name {
            fields::SESSION => token.map(Cow::Borrowed),
            name => self.fields.value(name, self.row),
        }
    }

    /// User name and password of a session.
    pub(super) fn login(&self, token: Option<&str>) -> Option<[String; 2]> {
        let login = self.template.login.as_ref()?;
        Some(login.each_ref().map(|text| {
            let mut rendered = String::new();
            text.render(&|name| self.value(name, token), &mut rendered);
            rendered
        }))
    }

    pub(super) fn make_ready(&mut self) {
        let mut host = String::new();
        self.template.host.render(&|name| self.value(name, None), &mut host);
        let ports = match &self.template.port {
            Port::One(port) => (*port, *port),
            Port::Range(first, last) => (*first, *last),
            Port::Field(name) => {
                let port = self.fields.get(name).and_then(|port| port.parse().ok()).unwrap_or(0);
                (port, port)
            }
        };
        let host: Box<str> = host.to_ascii_lowercase().into();
        let user = self.login(Some(SESSION)).map_or(String::new(), |[user, _]| user);
        let told = self.told_in_password(ports);
        let id = ExitId::of(self.template.via, &host, ports.0, &user, told.as_deref()).as_u64();
        let country = self.fields.country().map(Box::from);
        self.ready = Ready { id, host, ports, geo: self.fields.geo(), country };
    }

    /// What the password says beside secrets, and the last port.
    pub(super) fn told_in_password(&self, (first, last): (u16, u16)) -> Option<String> {
        let mut told = String::new();
        if let Some([_, password]) = &self.template.login {
            for name in password.names().filter(|name| !fields::is_secret(name)) {
                if let Some(value) = self.value(name, None) {
                    told.extend([name, "=", &value, "\n"]);
                }
            }
        }
        if first != last {
            told.push_str(&last.to_string());
        }
        (!told.is_empty()).then_some(told)
    }
}
