//! The site being asked.

use http::Uri;
use http::uri::Authority;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The site being asked: its host in lower case, with the port if it is not the scheme's own. What one exit does at a site
/// is remembered under this name.
#[derive(Clone)]
pub struct Origin(Name);

#[derive(Clone)]
enum Name {
    Text(Arc<str>),
    /// A short URI's own, where that is the name as it stands: most are, and nothing is allocated. It keeps the whole URI.
    Host(Authority),
}

/// The longest path and query that a name may keep.
const SHORT: usize = 1_024;

impl Origin {
    /// An origin by name. Any text serves, so that a group of hosts can share one; letters are put in lower case.
    #[must_use]
    pub fn new(name: &str) -> Self {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Self(Name::Text(name.to_ascii_lowercase().into()));
        }
        Self(Name::Text(name.into()))
    }

    /// The origin of a URI; `None` if it names no host. `https://Shop.example:443/p` and `http://shop.example` are one
    /// origin, `http://shop.example:8080` is another.
    #[must_use]
    pub fn of(uri: &Uri) -> Option<Self> {
        let authority = uri.authority()?;
        let short = uri.path_and_query().is_none_or(|path| path.as_str().len() <= SHORT);
        if short && is_name(authority.as_str()) {
            return Some(Self(Name::Host(authority.clone())));
        }
        let host = authority.host();
        let host = host.strip_suffix('.').unwrap_or(host);
        if host.is_empty() {
            return None;
        }
        let own = if uri.scheme() == Some(&http::uri::Scheme::HTTP) { 80 } else { 443 };
        match uri.port_u16() {
            Some(port) if port != own => Some(Self::new(&format!("{host}:{port}"))),
            _ => Some(Self::new(host)),
        }
    }

    /// The name.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Name::Text(text) => text,
            Name::Host(authority) => authority.as_str(),
        }
    }

    /// The same name in a text of its own, for who keeps it longer than the request.
    pub(crate) fn to_kept(&self) -> Self {
        match &self.0 {
            Name::Text(text) => Self(Name::Text(Arc::clone(text))),
            Name::Host(authority) => Self(Name::Text(authority.as_str().into())),
        }
    }
}

/// Whether a URI's authority is an origin as it stands: lower case, without a login, a port or a dot at the end.
fn is_name(authority: &str) -> bool {
    let plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_');
    let bytes = authority.as_bytes();
    bytes.iter().all(plain) && bytes.last().is_some_and(|last| *last != b'.')
}

impl Hash for Origin {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialEq for Origin {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Clones share their text, and most comparisons are of clones.
        let (one, two) = (self.as_str(), other.as_str());
        std::ptr::eq(one, two) || one == two
    }
}

impl Eq for Origin {}

impl PartialOrd for Origin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Origin {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl From<&String> for Origin {
    fn from(name: &String) -> Self {
        Self::new(name)
    }
}

impl From<String> for Origin {
    fn from(name: String) -> Self {
        Self::new(&name)
    }
}

impl From<&str> for Origin {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// As a string.
#[cfg(feature = "serde")]
impl serde::Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
