//! How much is kept at most.

use crate::error::ConfigError;

/// How much a scheduler keeps at most. Each bound has an end that is told; none is a pool that grows for ever.
///
/// ```
/// use tower_egress::scheduler::{Bounds, Scheduler};
///
/// let bounds = Bounds::default().leases(64).waiters(1_000);
/// # let exits = tower_egress::ExitList::parse("203.0.113.7:8080")?;
/// let scheduler = Scheduler::builder().exits(exits).bounds(bounds).build()?;
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    pub(crate) leases: usize,
    pub(crate) waiters: usize,
    pub(crate) origins: usize,
    pub(crate) pairs: usize,
    pub(crate) bindings: usize,
    pub(crate) minted: usize,
    pub(crate) events: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            leases: 1_000_000,
            waiters: 10_000,
            origins: 65_536,
            pairs: 262_144,
            bindings: 1_000_000,
            minted: 10_000,
            events: 4_096,
        }
    }
}

impl Bounds {
    /// Most leases out at once. Who comes then waits, or is refused with [`LeaseError::Busy`](crate::LeaseError::Busy).
    /// Default 1,000,000; at least 1.
    #[must_use]
    pub const fn leases(mut self, most: u32) -> Self {
        self.leases = most as usize;
        self
    }

    /// Most requests that wait in line. Who comes then is refused with [`LeaseError::Busy`](crate::LeaseError::Busy).
    /// Default 10,000; at least 1.
    #[must_use]
    pub const fn waiters(mut self, most: u32) -> Self {
        self.waiters = most as usize;
        self
    }

    /// Most sites that are known. A new one takes the place of the least recently used of some that are idle for a minute; without any, of
    /// those where nobody is, though they are left alone or exits rest there: then that is forgotten, and counted
    /// ([`Snapshot::uncooled`](crate::scheduler::Snapshot)). Without any, its requests are refused with [`LeaseError::Busy`](crate::LeaseError::Busy). Default 65,536; at least 1.
    #[must_use]
    pub const fn origins(mut self, most: u32) -> Self {
        self.origins = most as usize;
        self
    }

    /// Most pairs of exit and site that were refused. A new one takes the place of one that neither rests nor has been
    /// refused lately; without any, the refusal is counted ([`Snapshot::uncooled`](crate::scheduler::Snapshot)) and not
    /// remembered. Default 262,144; at least 1.
    #[must_use]
    pub const fn pairs(mut self, most: u32) -> Self {
        self.pairs = most as usize;
        self
    }

    /// Most exits that are held for a key, a worker or a site. A new one takes the place of the least recently used of
    /// some, identities last. Default 1,000,000; at least 1.
    #[must_use]
    pub const fn bindings(mut self, most: u32) -> Self {
        self.bindings = most as usize;
        self
    }

    /// Most sessions of gateways that are held. A new one takes the place of an idle one; without any, its request is
    /// refused with [`LeaseError::Busy`](crate::LeaseError::Busy). Default 10,000; at least 1.
    #[must_use]
    pub const fn minted(mut self, most: u32) -> Self {
        self.minted = most as usize;
        self
    }

    /// Most events that wait to be told. The oldest go first, and are counted
    /// ([`Snapshot::events_lost`](crate::scheduler::Snapshot)). Default 4,096; at least 1.
    #[must_use]
    pub const fn events(mut self, most: u32) -> Self {
        self.events = most as usize;
        self
    }

    /// That none of them is 0, which would let nothing happen.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let all = [
            ("bounds.leases", self.leases),
            ("bounds.waiters", self.waiters),
            ("bounds.origins", self.origins),
            ("bounds.pairs", self.pairs),
            ("bounds.bindings", self.bindings),
            ("bounds.minted", self.minted),
            ("bounds.events", self.events),
        ];
        match all.into_iter().find(|(_, most)| *most == 0) {
            Some((field, _)) => Err(ConfigError::new(field, "is 0", "set it to 1 at least, or leave it out")),
            None => Ok(()),
        }
    }
}
