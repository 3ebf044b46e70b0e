//! What stands in place of a template's placeholders.

use super::super::catalog::Provider;
use super::super::country;
use sha1::{Digest, Sha1};
use std::borrow::Cow;
use std::time::Duration;

/// The placeholder of the token.
pub(super) const SESSION: &str = "session";
pub(super) const USER: &str = "user";
pub(super) const PASS: &str = "pass";
pub(super) const COUNTRY: &str = "country";
pub(super) const STATE: &str = "state";
pub(super) const CITY: &str = "city";
/// A country in capitals, and by its name.
const UPPER: &str = "COUNTRY";
pub(super) const NAME: &str = "CountryName";
/// A lifetime with its unit, in minutes and in seconds.
const TTL: &str = "ttl";
const TTL_MIN: &str = "ttl_min";
const TTL_S: &str = "ttl_s";
/// What a placeholder may be called without being a field of the user's own.
pub(super) const KNOWN: [&str; 11] =
    [SESSION, COUNTRY, UPPER, NAME, STATE, CITY, TTL, TTL_MIN, TTL_S, USER, PASS];

/// The values, by name, and the lifetime.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Fields {
    /// In order of their names.
    values: Vec<(Box<str>, Box<str>)>,
    pub(super) ttl: Option<Duration>,
}

/// How a lifetime is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Any,
    Minutes,
    Seconds,
}

impl Unit {
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            TTL => Some(Self::Any),
            TTL_MIN => Some(Self::Minutes),
            TTL_S => Some(Self::Seconds),
            _ => None,
        }
    }
}

/// Whether it is a secret that may change while the account stays.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pass", "key", "secret", "pw"].iter().any(|word| name.contains(word))
}

/// Under which name a placeholder's value is given.
pub(super) fn given_as(name: &str) -> &str {
    match name {
        UPPER | NAME => COUNTRY,
        name if Unit::of(name).is_some() => TTL,
        name => name,
    }
}

impl Fields {
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let (name, value) = match name {
            COUNTRY | UPPER => (COUNTRY, Cow::Owned(value.to_ascii_lowercase())),
            name => (name, Cow::Borrowed(value)),
        };
        match self.values.binary_search_by_key(&name, |(name, _)| name) {
            Ok(at) => self.values[at].1 = value.into(),
            Err(at) => self.values.insert(at, (name.into(), value.into())),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let at = self.values.binary_search_by_key(&name, |(name, _)| name).ok()?;
        Some(&self.values[at].1)
    }

    /// The names of what was given as fields.
    pub(super) fn own_names(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(name, _)| &**name)
    }

    /// The names of all that was given, the lifetime's too.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.own_names().chain(self.ttl.map(|_| TTL))
    }

    /// What stands in a placeholder's place; the token does not come from here.
    pub(super) fn value(&self, name: &str, row: Option<&Provider>) -> Option<Cow<'_, str>> {
        let country = || {
            let country = self.get(COUNTRY)?;
            Some(if country == "gb" && row.is_some_and(|row| row.geo.uk) { "uk" } else { country })
        };
        match name {
            SESSION => None,
            COUNTRY => country().map(Cow::Borrowed),
            UPPER => country().map(|country| country.to_ascii_uppercase().into()),
            NAME => self.get(NAME).or_else(|| country::name(self.get(COUNTRY)?)).map(Cow::Borrowed),
            name => match Unit::of(name) {
                Some(unit) => self.ttl.map(|ttl| written(ttl, unit).into()),
                None => self.get(name).map(Cow::Borrowed),
            },
        }
    }

    /// The country as two letters, if it is one.
    pub(super) fn country(&self) -> Option<&str> {
        let country = self.get(COUNTRY)?;
        if country == "uk" { Some("gb") } else { Some(country).filter(|country| country::is(country)) }
    }

    /// A number of what the provider is told beside token and login; `None` if that is nothing.
    pub(super) fn geo(&self) -> Option<u64> {
        let told = |name: &str| name != USER && !is_secret(name);
        if !self.names().any(told) {
            return None;
        }
        let mut sha = Sha1::new();
        for (name, value) in self.values.iter().filter(|(name, _)| told(name)) {
            for part in [name, value] {
                sha.update(part.as_bytes());
                sha.update([0]);
            }
        }
        if let Some(ttl) = self.ttl {
            sha.update(ttl.as_secs().to_be_bytes());
        }
        let digest: [u8; 20] = sha.finalize().into();
        Some(digest[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Whole minutes in minutes, everything else in seconds; every provider takes minutes that takes a unit.
fn written(ttl: Duration, unit: Unit) -> String {
    let seconds = ttl.as_secs();
    match unit {
        Unit::Seconds => seconds.to_string(),
        Unit::Minutes => (seconds / 60).to_string(),
        Unit::Any if seconds % 60 == 0 => format!("{}m", seconds / 60),
        Unit::Any => format!("{seconds}s"),
    }
}
