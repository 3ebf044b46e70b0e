//! The catalogue: what is known of the gateways of providers. [`Gateway::provider`](super::Gateway::provider) makes a
//! gateway of a row; [`providers`] lists them.
//!
//! ```
//! use std::time::Duration;
//! use tower_egress::exit::{Gateway, catalog};
//!
//! let gateway = Gateway::provider("oxylabs")?
//!     .login("acme", "secret") // without what the template puts around it
//!     .country("us")
//!     .ttl(Duration::from_secs(1_800));
//! # assert!(tower_egress::Scheduler::builder().gateway(gateway).build().is_ok());
//!
//! for provider in catalog::providers() {
//!     println!("{provider}"); // name, company, product, template
//! }
//! assert!(Gateway::provider("oxylab").unwrap_err().to_string().contains("`oxylabs`"));
//! # Ok::<(), tower_egress::ConfigError>(())
//! ```
//!
//! A row is as good as its [source](Provider::source), and says by its [confidence](Provider::confidence) how good that is.
//! Where a row is wrong, or yours is not there, write the template yourself: [`Gateway`](super::Gateway) tells how.
//!
//! # Adding a provider
//!
//! 1. A row in `rows.rs`, with its source and confidence: `High` for the provider's own pages or what was measured more than
//!    once, `Medium` for code samples that agree or one page, `Low` for a single sample or hearsay. In brackets stands what
//!    may be left out; how long a session lives may be left out only if the provider's default is known, since leases are
//!    renewed by it. What is not known is left out of the row, never guessed.
//! 2. A line in `facts.tsv`, from the source and not from the row: the test compares the two. Where they must differ, an
//!    entry in `EXCEPTIONS` of `tests.rs` with the reason. A line in `renders.tsv`: the login as the provider's page shows it.
//! 3. If its refusals mean something of their own: a [`Vendor`], its host in `vendor.rs`, and its signals in `classify`.

mod rows;
#[cfg(test)]
mod tests;

use super::template::Port;
use super::token::{Alphabet, SHAPE, Shape};
use super::{Vendor, Via};
use std::fmt;

/// A provider's gateway, as far as it is known. A product with another grammar is another row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Provider {
    pub(super) name: &'static str,
    company: &'static str,
    product: &'static str,
    pub(super) user: &'static str,
    pub(super) password: &'static str,
    pub(super) host: &'static str,
    ports: Ports,
    via: Via,
    /// Other ways to speak to it, and at which port.
    also: &'static [(Via, u16)],
    pub(super) token: Option<Token>,
    pub(super) life: Life,
    pub(super) geo: Geo,
    on_loss: OnLoss,
    pub(super) vendor: Option<Vendor>,
    confidence: Confidence,
    source: &'static str,
    note: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ports {
    One(u16),
    /// Each a session.
    Range(u16, u16),
    /// The user's own: `{port}`.
    Given,
}

/// What the provider takes as a token, and which we make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) shape: Shape,
    pub(super) chars: Chars,
    pub(super) least: u8,
    /// 0 if none is known.
    pub(super) most: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Chars {
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
pub(super) struct Life {
    /// If the template does not say.
    pub(super) default: u32,
    pub(super) least: u32,
    pub(super) most: u32,
    /// Unused.
    pub(super) idle: u32,
    /// Counted from its last use, and not from its first.
    pub(super) from_use: bool,
    /// The units that `{ttl}` may have.
    pub(super) seconds: bool,
}

/// How places are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Geo {
    pub(super) state: Spelling,
    pub(super) city: Spelling,
    /// State and city need a country.
    pub(super) in_country: bool,
    /// A city needs a state.
    pub(super) in_state: bool,
    /// The United Kingdom is `uk`.
    pub(super) uk: bool,
    /// `any` is a country.
    pub(super) any: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spelling {
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

/// All rows, by company.
pub fn providers() -> impl Iterator<Item = &'static Provider> {
    rows::ROWS.iter()
}

pub(super) fn find(name: &str) -> Option<&'static Provider> {
    providers().find(|row| row.name == name)
}

impl Provider {
    /// Its name for [`Gateway::provider`](super::Gateway::provider).
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

    /// Its template, as [`Gateway::parse`](super::Gateway::parse) reads it: to change what the row has and yours has not.
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

    pub(super) const fn default_via(&self) -> Via {
        self.via
    }

    pub(super) fn port(&self) -> Port {
        match self.ports {
            Ports::One(port) => Port::One(port),
            Ports::Range(first, last) => Port::Range(first, last),
            Ports::Given => Port::Field("port".into()),
        }
    }

    /// Where it is spoken to in that way, if it can be. SOCKS5 is the same for the gateway, whoever resolves names.
    pub(super) fn port_for(&self, via: Via) -> Option<Port> {
        let same = |known: Via| known == via || (known.is_socks() && via.is_socks());
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
    pub(super) const fn takes(self, alphabet: Alphabet) -> bool {
        match alphabet {
            Alphabet::Digits => true,
            Alphabet::Hex => !matches!(self, Self::Digits),
            Alphabet::Letters => !matches!(self, Self::Digits | Self::Hex),
        }
    }
}

impl Spelling {
    /// Whether a place is written so; `country` is the one that was given.
    pub(super) fn takes(self, place: &str, country: Option<&str>) -> bool {
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

    pub(super) const fn cure(self) -> &'static str {
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

/// How a row is written.
const fn row(name: &'static str, company: &'static str, product: &'static str) -> Provider {
    Provider {
        name,
        company,
        product,
        user: "",
        password: "",
        host: "",
        ports: Ports::Given,
        via: Via::Http,
        also: &[],
        token: None,
        life: Life { default: 0, least: 0, most: 0, idle: 0, from_use: false, seconds: false },
        geo: Geo {
            state: Spelling::Free,
            city: Spelling::Free,
            in_country: false,
            in_state: false,
            uk: false,
            any: false,
        },
        on_loss: OnLoss::Unknown,
        vendor: None,
        confidence: Confidence::Low,
        source: "",
        note: "",
    }
}

impl Provider {
    const fn login(mut self, user: &'static str, password: &'static str) -> Self {
        (self.user, self.password) = (user, password);
        self
    }

    const fn at(mut self, host: &'static str, port: u16) -> Self {
        (self.host, self.ports) = (host, Ports::One(port));
        self
    }

    /// Each port is a session.
    const fn at_ports(mut self, host: &'static str, first: u16, last: u16) -> Self {
        (self.host, self.ports) = (host, Ports::Range(first, last));
        self
    }

    /// The address is the user's own.
    const fn at_given(mut self, host: &'static str) -> Self {
        (self.host, self.ports) = (host, Ports::Given);
        self
    }

    const fn by(mut self, via: Via) -> Self {
        self.via = via;
        self
    }

    const fn also(mut self, also: &'static [(Via, u16)]) -> Self {
        self.also = also;
        self
    }

    /// Tokens of these characters, and of so many; no limit is 0.
    const fn token(mut self, chars: Chars, least: u8, most: u8) -> Self {
        let shape = match chars {
            Chars::Digits => Shape { alphabet: Alphabet::Digits, length: 8 },
            // 16^8 would collide sooner than the letters do.
            Chars::Hex => Shape { alphabet: Alphabet::Hex, length: 12 },
            _ => SHAPE,
        };
        let length = if least > shape.length { least } else { shape.length };
        self.token = Some(Token { shape: Shape { length, ..shape }, chars, least, most });
        self
    }

    /// Seconds; what is not known is 0.
    const fn lives(mut self, default: u32, most: u32) -> Self {
        (self.life.default, self.life.most) = (default, most);
        self
    }

    const fn at_least(mut self, seconds: u32) -> Self {
        self.life.least = seconds;
        self
    }

    const fn idle(mut self, seconds: u32) -> Self {
        self.life.idle = seconds;
        self
    }

    const fn kept_by_use(mut self) -> Self {
        self.life.from_use = true;
        self
    }

    /// `{ttl}` may be in seconds.
    const fn in_seconds(mut self) -> Self {
        self.life.seconds = true;
        self
    }

    const fn places(mut self, state: Spelling, city: Spelling) -> Self {
        (self.geo.state, self.geo.city) = (state, city);
        self
    }

    const fn in_country(mut self) -> Self {
        self.geo.in_country = true;
        self
    }

    const fn city_in_state(mut self) -> Self {
        self.geo.in_state = true;
        self
    }

    const fn says_uk(mut self) -> Self {
        self.geo.uk = true;
        self
    }

    const fn says_any(mut self) -> Self {
        self.geo.any = true;
        self
    }

    const fn loses(mut self, on_loss: OnLoss) -> Self {
        self.on_loss = on_loss;
        self
    }

    const fn vendor_is(mut self, vendor: Vendor) -> Self {
        self.vendor = Some(vendor);
        self
    }

    const fn source_is(mut self, confidence: Confidence, source: &'static str) -> Self {
        (self.confidence, self.source) = (confidence, source);
        self
    }

    const fn noting(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }
}
