//! What a provider says of the exit it used.

use http::HeaderMap;
use std::fmt;
use std::sync::Arc;

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
    /// What the headers of an answer, or of the reply to a CONNECT, say; `None` if they say nothing. Nothing is allocated then.
    #[must_use]
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let _ = headers;
        None
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
