//! What a row holds, and what it can be asked.

use crate::exit::template::Port;
use crate::exit::token::{Alphabet, Shape};
use crate::exit::{Vendor, Via};
use std::fmt;

/// A provider's gateway, as far as it is known. A product with another grammar is another row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Provider {
    pub(in crate::exit) name: &'static str,
    pub(super) company: &'static str,
    pub(super) product: &'static str,
    pub(in crate::exit) user: &'static str,
    pub(in crate::exit) password: &'static str,
    pub(in crate::exit) host: &'static str,
    pub(super) ports: Ports,
    pub(super) via: Via,
    /// Other ways to speak to it, and at which port.
    pub(super) also: &'static [(Via, u16)],
    pub(in crate::exit) token: Option<Token>,
    pub(in crate::exit) life: Life,
    pub(in crate::exit) geo: Geo,
    pub(super) on_loss: OnLoss,
    pub(in crate::exit) vendor: Option<Vendor>,
    pub(super) confidence: Confidence,
    pub(super) source: &'static str,
    pub(super) note: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ports {
    One(u16),
    /// Each a session.
    Range(u16, u16),
    /// The user's own: `{port}`.
    Given,
}

/// What the provider takes as a token, and which we make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exit) struct Token {
    pub(in crate::exit) shape: Shape,
    pub(in crate::exit) chars: Chars,
    pub(in crate::exit) least: u8,
    /// 0 if none is known.
    pub(in crate::exit) most: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exit) enum Chars {
    Digits,
    Hex,
    Lower,
    Alnum,
    /// And `_`.
    Word,
    /// And `.`, `_` and `~`.
    Unreserved,
    Any,
}

/// How long a session keeps its exit, in seconds; 0 where it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exit) struct Life {
    /// If the template does not say.
    pub(in crate::exit) default: u32,
    pub(in crate::exit) least: u32,
    pub(in crate::exit) most: u32,
    /// Unused.
    pub(in crate::exit) idle: u32,
    /// Counted from its last use, and not from its first.
    pub(in crate::exit) from_use: bool,
    /// The units that `{ttl}` may have.
    pub(in crate::exit) seconds: bool,
}

/// How places are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exit) struct Geo {
    pub(in crate::exit) state: Spelling,
    pub(in crate::exit) city: Spelling,
    /// State and city need a country.
    pub(in crate::exit) in_country: bool,
    /// A city needs a state.
    pub(in crate::exit) in_state: bool,
    /// The United Kingdom is `uk`.
    pub(in crate::exit) uk: bool,
    /// `any` is a country.
    pub(in crate::exit) any: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exit) enum Spelling {
    /// Not known, or as it likes.
    Free,
    /// `sanfrancisco`.
    Joined,
    /// `st_petersburg`.
    Underscored,
    /// `new+york`.
    Plussed,
    /// `us_texas`.
    AfterCountry,
}

/// What a provider does when the exit of a session is lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum OnLoss {
    /// It gives the session another and says nothing.
    NewExit,
    /// It refuses the session, some for ever and some until it has another exit.
    Refuses,
    /// Not known.
    Unknown,
}

/// How sure a row is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Confidence {
    /// A single sample, or hearsay.
    Low,
    /// Code samples that agree, or one page.
    Medium,
    /// The provider's own pages, or measured more than once.
    High,
}

impl Provider {
    /// Its name for [`Gateway::provider`](crate::exit::Gateway::provider).
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Who sells it.
    #[must_use]
    pub const fn company(&self) -> &'static str {
        self.company
    }

    /// What is sold.
    #[must_use]
    pub const fn product(&self) -> &'static str {
        self.product
    }

    /// Its template, as [`Gateway::parse`](crate::exit::Gateway::parse) reads it: to change what the row has and yours has not.
    /// One so read knows nothing of the row's limits and lifetimes.
    #[must_use]
    pub fn template(&self) -> String {
        let login = match (self.user, self.password) {
            ("", "") => String::new(),
            (user, password) => format!("{user}:{password}@"),
        };
        let port = match self.ports {
            Ports::One(port) => port.to_string(),
            Ports::Range(first, last) => format!("{first}-{last}"),
            Ports::Given => "{port}".to_owned(),
        };
        format!("{}://{login}{}:{port}", self.via.scheme(), self.host)
    }

    /// What it does when the exit of a session is lost.
    #[must_use]
    pub const fn on_loss(&self) -> OnLoss {
        self.on_loss
    }

    /// Whose signals it sends, if they are known.
    #[must_use]
    pub const fn vendor(&self) -> Option<Vendor> {
        self.vendor
    }

    /// How sure the row is.
    #[must_use]
    pub const fn confidence(&self) -> Confidence {
        self.confidence
    }

    /// Where it is from.
    #[must_use]
    pub const fn source(&self) -> &'static str {
        self.source
    }

    /// What else to know; may be empty.
    #[must_use]
    pub const fn note(&self) -> &'static str {
        self.note
    }

    pub(in crate::exit) const fn default_via(&self) -> Via {
        self.via
    }

    pub(in crate::exit) fn port(&self) -> Port {
        match self.ports {
            Ports::One(port) => Port::One(port),
            Ports::Range(first, last) => Port::Range(first, last),
            Ports::Given => Port::Field("port".into()),
        }
    }

    /// Where it is spoken to in that way, if it can be. SOCKS5 is the same for the gateway, whoever resolves names.
    pub(in crate::exit) fn port_for(&self, via: Via) -> Option<Port> {
        let five = |via: Via| matches!(via, Via::Socks5 | Via::Socks5h);
        let same = |known: Via| known == via || (five(known) && five(via));
        if same(self.via) {
            return Some(self.port());
        }
        self.also.iter().find(|(known, _)| same(*known)).map(|(_, port)| Port::One(*port))
    }
}

/// A line to read: name, company and product, template.
impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, company, product, .. } = self;
        write!(f, "{name}: {company} ({product}), {}", self.template())
    }
}

impl Chars {
    pub(in crate::exit) const fn takes(self, alphabet: Alphabet) -> bool {
        match alphabet {
            Alphabet::Digits => true,
            Alphabet::Hex => !matches!(self, Self::Digits),
            Alphabet::Letters => !matches!(self, Self::Digits | Self::Hex),
        }
    }
}

impl Spelling {
    /// Whether a place is written so; `country` is the one that was given.
    pub(in crate::exit) fn takes(self, place: &str, country: Option<&str>) -> bool {
        let of = |more: &str| {
            place.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || more.contains(c))
        };
        match self {
            Self::Free => true,
            Self::Joined => of(""),
            Self::Underscored => of("_"),
            Self::Plussed => of("+"),
            Self::AfterCountry => {
                let after = country.and_then(|country| place.strip_prefix(country));
                of("_") && after.is_some_and(|after| after.len() > 1 && after.starts_with('_'))
            }
        }
    }

    pub(in crate::exit) const fn cure(self) -> &'static str {
        match self {
            Self::Free => "",
            Self::Joined => "write it in lower case and without spaces: `sanfrancisco`",
            Self::Underscored => "write it in lower case, with `_` for a space: `st_petersburg`",
            Self::Plussed => "write it in lower case, with `+` for a space: `new+york`",
            Self::AfterCountry => {
                "write it in lower case after its country, with `_` for a space: `us_new_york`"
            }
        }
    }
}
