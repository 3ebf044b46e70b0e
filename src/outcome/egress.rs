//! What a provider says of the exit it used.

use http::{HeaderMap, HeaderValue};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Headers that carry an address, or the provider's own name for it; the first that can be read counts.
const ADDRESSES: [&str; 7] = [
    // Bright Data, its name until 2026, and that of before 2018.
    "x-brd-ip",
    "x-luminati-ip",
    "x-hola-ip",
    // NodeMaven: one back end says the one, others the other.
    "x-proxy-exit-ip",
    "x-exit-ip",
    // ProxyMesh.
    "x-proxymesh-ip",
    // Crawlera, as it was.
    "x-crawlera-slave",
];

/// Headers that carry a country.
const COUNTRIES: [&str; 1] = ["x-exit-country"];

/// Most bytes of a name that is no address.
const MAX_NAME: usize = 64;

/// What an answer revealed of the exit that served it: the address it left from, its country. Where a provider says nothing
/// that is unknown, and never unchanged. A clone is a reference count.
#[derive(Clone, PartialEq, Eq)]
pub struct Egress(Arc<Inner>);

#[derive(PartialEq, Eq)]
struct Inner {
    address: Option<Box<str>>,
    country: Option<Box<str>>,
}

impl Egress {
    /// What the headers of an answer, or of the reply to a CONNECT, say; `None` if they say nothing, or nothing that can be
    /// read. Nothing is allocated then.
    ///
    /// An address is given as it is written by RFC 5952, without a port. A name that is none has up to 64 letters, digits,
    /// `.`, `_` and `-`. A country has two letters.
    ///
    /// ```
    /// use tower_egress::outcome::Egress;
    ///
    /// let mut headers = http::HeaderMap::new();
    /// assert_eq!(Egress::from_headers(&headers), None);
    /// headers.insert("x-exit-ip", "203.0.113.7".parse()?);
    /// headers.insert("x-exit-country", "DE".parse()?);
    /// let egress = Egress::from_headers(&headers).expect("says both");
    /// assert_eq!((egress.address(), egress.country()), (Some("203.0.113.7"), Some("de")));
    /// # Ok::<(), http::header::InvalidHeaderValue>(())
    /// ```
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        // One look at each name: few answers carry any, and each look-up would cost more than that.
        if !headers.keys().any(|name| may_be(name.as_str())) {
            return None;
        }
        Self::read(headers, &ADDRESSES, &COUNTRIES)
    }

    /// The same of the reply to a CONNECT, where no origin can speak: what SOAX was asked for comes under plain names.
    #[cfg(feature = "client")]
    pub(crate) fn from_connect(headers: &HeaderMap) -> Option<Self> {
        Self::from_headers(headers).or_else(|| Self::read(headers, &["ip"], &["country"]))
    }

    fn read(headers: &HeaderMap, addresses: &[&str], countries: &[&str]) -> Option<Self> {
        let address = addresses.iter().filter_map(|name| headers.get(*name)).find_map(address);
        let country = countries.iter().filter_map(|name| headers.get(*name)).find_map(country);
        (address.is_some() || country.is_some()).then(|| Self(Arc::new(Inner { address, country })))
    }

    /// The address, or the provider's own name for it.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        self.0.address.as_deref()
    }

    /// The country, as two letters in lower case.
    #[must_use]
    pub fn country(&self) -> Option<&str> {
        self.0.country.as_deref()
    }

    /// Whether it is certainly another one: what only one of the two says is not compared.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        let differ = |one: Option<&str>, two: Option<&str>| one.is_some() && two.is_some() && one != two;
        differ(self.address(), other.address()) || differ(self.country(), other.country())
    }
}

/// Whether a header may be one that is read.
fn may_be(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("x-") else { return false };
    rest.ends_with("-ip") || matches!(rest, "exit-country" | "crawlera-slave")
}

fn address(value: &HeaderValue) -> Option<Box<str>> {
    let text = value.to_str().ok()?.trim();
    let own = || text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if let Ok(address) = text.parse::<IpAddr>() {
        Some(address.to_string().into())
    } else if let Ok(address) = text.parse::<SocketAddr>() {
        Some(address.ip().to_string().into())
    } else {
        ((1..=MAX_NAME).contains(&text.len()) && own()).then(|| text.into())
    }
}

fn country(value: &HeaderValue) -> Option<Box<str>> {
    let text = value.to_str().ok()?.trim();
    let two = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    two.then(|| text.to_ascii_lowercase().into())
}

/// As its address and country; null where they are unknown.
#[cfg(feature = "serde")]
impl serde::Serialize for Egress {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut both = serializer.serialize_struct("Egress", 2)?;
        both.serialize_field("address", &self.address())?;
        both.serialize_field("country", &self.country())?;
        both.end()
    }
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress").field("address", &self.address()).field("country", &self.country()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{ADDRESSES, COUNTRIES, Egress, may_be};
    use http::{HeaderMap, HeaderName, HeaderValue};

    fn of(headers: &[(&'static str, &str)]) -> Option<(Option<String>, Option<String>)> {
        let value = |value: &str| HeaderValue::from_bytes(value.as_bytes()).unwrap();
        let pairs = headers.iter().map(|(name, text)| (HeaderName::from_static(name), value(text)));
        let egress = Egress::from_headers(&HeaderMap::from_iter(pairs))?;
        let text = |text: Option<&str>| text.map(str::to_owned);
        Some((text(egress.address()), text(egress.country())))
    }

    #[test]
    fn what_reveals_an_exit_is_read_and_nothing_else() {
        let at = |address: &str| Some((Some(address.to_owned()), None));
        for name in ADDRESSES {
            assert_eq!(of(&[(name, "203.0.113.7")]), at("203.0.113.7"), "{name}");
        }
        assert_eq!(of(&[("x-brd-ip", "r5f3c0a")]), at("r5f3c0a"), "a name of its own");
        assert_eq!(of(&[("x-exit-ip", "2001:DB8:0::7")]), at("2001:db8::7"), "one address, one spelling");
        assert_eq!(of(&[("x-crawlera-slave", "203.0.113.7:3128")]), at("203.0.113.7"));
        assert_eq!(of(&[("x-crawlera-slave", "[2001:db8::7]:3128")]), at("2001:db8::7"));
        let both = Some((Some("203.0.113.7".to_owned()), Some("de".to_owned())));
        assert_eq!(of(&[("x-exit-ip", "203.0.113.7"), ("x-exit-country", " DE ")]), both);
        assert_eq!(of(&[("x-exit-country", "us")]), Some((None, Some("us".to_owned()))));
        // What cannot be read leaves the next one its turn.
        assert_eq!(of(&[("x-brd-ip", "?"), ("x-luminati-ip", "r1")]), at("r1"));
        let long = "a".repeat(65);
        for (name, value) in [
            ("x-brd-ip", ""),
            ("x-brd-ip", "user:password"),
            ("x-brd-ip", "a b"),
            ("x-brd-ip", &*long),
            ("x-brd-ip", "\u{e9}"),
            ("x-exit-country", "Germany"),
            ("x-exit-country", "d1"),
            // They name a hop, a session, a place in time.
            ("via", "1.1 203.0.113.7 (squid)"),
            ("x-crawlera-session", "12345"),
            ("x-exit-timezone", "Europe/Berlin"),
            ("x-real-ip", "203.0.113.7"),
            ("ip", "203.0.113.7"),
            ("country", "de"),
        ] {
            assert_eq!(of(&[(name, value)]), None, "{name}: {value}");
        }
        assert_eq!(of(&[("x-brd-ip", &"a".repeat(64))]), at(&"a".repeat(64)));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn every_header_is_looked_at() {
        for name in ADDRESSES.iter().chain(&COUNTRIES) {
            assert!(may_be(name), "{name}");
        }
    }

    #[test]
    #[cfg(feature = "client")]
    fn a_reply_to_a_connect_says_more() {
        let pairs = [("ip", "203.0.113.7"), ("country", "DE"), ("city", "berlin")];
        let pair = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        let egress = Egress::from_connect(&HeaderMap::from_iter(pairs.map(pair))).unwrap();
        assert_eq!((egress.address(), egress.country()), (Some("203.0.113.7"), Some("de")));
        assert_eq!(Egress::from_connect(&HeaderMap::new()), None);
    }

    #[test]
    fn only_what_both_say_is_compared() {
        let one = |name: &'static str, value: &'static str| {
            let pair = (HeaderName::from_static(name), HeaderValue::from_static(value));
            Egress::from_headers(&HeaderMap::from_iter([pair])).unwrap()
        };
        let (seven, eight) = (one("x-exit-ip", "203.0.113.7"), one("x-exit-ip", "203.0.113.8"));
        assert!(seven.differs(&eight) && !seven.differs(&seven.clone()));
        assert!(!seven.differs(&one("x-exit-country", "de")));
        assert!(one("x-exit-country", "us").differs(&one("x-exit-country", "de")));
    }
}
