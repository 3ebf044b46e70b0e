//! The noun a caller asks for.

use super::{Origin, Trail};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

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

/// How long one exit is held for a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Granularity {
    /// Not at all: every request is placed anew, and the key is a label for logs.
    PerRequest,
    /// For a window, per key and origin, whichever bound comes first.
    Windowed {
        /// The window's length. Windows of different keys begin at different times, so a key's first one may be shorter.
        max_age: Duration,
        /// How many leases a window may serve; unbounded if `None`.
        max_uses: Option<NonZeroU32>,
    },
}

/// What a caller asks for: one attempt through an exit that suits. Put it into a request's extensions for the layers, or
/// hand it to [`Scheduler::lease`](crate::Scheduler::lease). A clone is cheap.
#[derive(Clone, Debug)]
pub struct LeaseRequest {
    pub(crate) key: Key,
    pub(crate) origin: Option<Origin>,
    pub(crate) granularity: Granularity,
    pub(crate) deadline: Duration,
    pub(crate) patience: Duration,
    pub(crate) repeatable: Option<bool>,
    pub(crate) trail: Trail,
}

/// A window's length unless told otherwise.
const WINDOW: Duration = Duration::from_secs(600);
/// The deadline over all attempts and waits unless told otherwise.
const DEADLINE: Duration = Duration::from_secs(120);

/// How long a wait for an exit may be unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

impl LeaseRequest {
    /// An exit held for `key` at each origin, for windows of 600 s.
    #[must_use]
    pub fn new(key: impl Into<Key>) -> Self {
        Self {
            key: key.into(),
            origin: None,
            granularity: Granularity::Windowed { max_age: WINDOW, max_uses: None },
            deadline: DEADLINE,
            patience: PATIENCE,
            repeatable: None,
            trail: Trail::default(),
        }
    }

    /// Another exit for every request, chosen by heat and load. The key is empty.
    #[must_use]
    pub fn per_request() -> Self {
        Self { granularity: Granularity::PerRequest, ..Self::new("") }
    }

    /// Sets the granularity.
    #[must_use]
    pub fn granularity(mut self, granularity: Granularity) -> Self {
        self.granularity = granularity;
        self
    }

    /// Holds an exit for windows of `max_age`. Below 1 ms counts as 1 ms.
    #[must_use]
    pub fn windowed(self, max_age: Duration) -> Self {
        let max_uses = match self.granularity {
            Granularity::Windowed { max_uses, .. } => max_uses,
            Granularity::PerRequest => None,
        };
        self.granularity(Granularity::Windowed { max_age, max_uses })
    }

    /// Holds an exit for at most `uses` leases, within the window.
    #[must_use]
    pub fn max_uses(self, uses: NonZeroU32) -> Self {
        let max_age = match self.granularity {
            Granularity::Windowed { max_age, .. } => max_age,
            Granularity::PerRequest => WINDOW,
        };
        self.granularity(Granularity::Windowed { max_age, max_uses: Some(uses) })
    }

    /// The site. The lease layer takes it from the URI; a plain caller must say it.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<Origin>) -> Self {
        self.origin = Some(origin.into());
        self
    }

    /// Most time for everything up to the answer's head: all attempts and all waits. Default 120 s.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Most time that a retry waits for an exit to come back, when no other may go; within the deadline. Default 30 s. The
    /// first lease of a request never waits.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Whether the request may be sent again although the origin may have acted on it. Unless said, the retry layer goes
    /// by the method (RFC 9110, 9.2.2), and a plain caller's request is not.
    #[must_use]
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = Some(repeatable);
        self
    }
}
