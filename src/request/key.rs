//! Whose work it is.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Who the work is for: a product, an account, a city. Requests of one key share an exit as long as the granularity says.
#[derive(Clone, Eq)]
pub struct Key(Arc<str>);

impl Key {
    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Clones share their text, and most comparisons are of clones.
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T: Into<Arc<str>>> From<T> for Key {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// As a string.
#[cfg(feature = "serde")]
impl serde::Serialize for Key {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
