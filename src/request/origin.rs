//! The site being asked.

use http::Uri;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The site being asked: its host in lower case, with the port if it is not the scheme's own. What one exit does at a site
/// is remembered under this name.
#[derive(Clone, Eq, PartialOrd, Ord)]
pub struct Origin(Arc<str>);

impl Origin {
    /// An origin by name. Any text serves, so that a group of hosts can share one; letters are put in lower case.
    #[must_use]
    pub fn new(name: &str) -> Self {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Self(name.to_ascii_lowercase().into());
        }
        Self(name.into())
    }

    /// The origin of a URI; `None` if it names no host. `https://Shop.example:443/p` and `http://shop.example` are one
    /// origin, `http://shop.example:8080` is another.
    #[must_use]
    pub fn of(uri: &Uri) -> Option<Self> {
        let host = uri.host()?;
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
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Hash for Origin {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Origin {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Clones share their text, and most comparisons are of clones.
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
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
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
