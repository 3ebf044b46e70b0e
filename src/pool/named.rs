//! Named pools: exits on the same terms. What a request may use is a set of them.

use super::bits::Bits;
use super::ring::Ring;
use crate::exit::Terms;
use crate::outcome::WireBytes;
use crate::request::Filter;
use std::sync::Arc;
use std::time::Duration;

/// Which named pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct NamedIx(pub(super) u8);

impl NamedIx {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Most named pools: one bit each, and not all of them, which means that none was named.
pub(crate) const MOST: usize = 63;

/// A set of named pools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Among(u64);

impl Among {
    pub(super) const ALL: Self = Self(u64::MAX);
    pub(super) const NONE: Self = Self(0);

    pub(super) const fn only(ix: NamedIx) -> Self {
        Self(1 << ix.0)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, ix: NamedIx) -> bool {
        self.0 >> ix.0 & 1 == 1
    }

    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// Exits on the same terms.
pub(super) struct Named {
    pub(super) name: Arc<str>,
    pub(super) terms: Terms,
    /// Where its exits stand in the table, for draws; and the same as bits, for walks.
    pub(super) members: Vec<u32>,
    pub(super) set: Bits,
    /// Those of them that may be held.
    pub(super) ring: Ring,
    pub(super) leases: u64,
    /// What its exits have carried, those that are gone included.
    pub(super) wire: WireBytes,
}

impl Named {
    pub(super) fn new(name: Arc<str>, terms: Terms) -> Self {
        Self {
            name,
            terms,
            members: Vec::new(),
            set: Bits::default(),
            ring: Ring::new(&[]),
            leases: 0,
            wire: WireBytes::default(),
        }
    }

    /// How much of all draws is its own.
    pub(super) fn share(&self) -> usize {
        self.members.len() * self.terms.weight as usize
    }

    /// Whether its exits are what a filter wants.
    pub(super) fn suits(&self, filter: &Filter) -> bool {
        let Filter { pools, country, kind } = filter;
        let is = |wanted: &Option<Arc<str>>, own: &Option<Arc<str>>| wanted.is_none() || wanted == own;
        (pools.is_empty() || pools.contains(&self.name))
            && is(country, &self.terms.country)
            && is(kind, &self.terms.kind)
    }

    /// What of a filter no pool has, in words; nothing if each part is there, but in no one pool.
    pub(super) fn lacks(all: &[Self], filter: &Filter) -> Option<&'static str> {
        let Filter { pools, country, kind } = filter;
        let has = |wanted: &Option<Arc<str>>, own: fn(&Terms) -> &Option<Arc<str>>| {
            wanted.is_none()
                || all.iter().any(|named| !named.members.is_empty() && own(&named.terms) == wanted)
        };
        if !pools.is_empty()
            && !all.iter().any(|named| !named.members.is_empty() && pools.contains(&named.name))
        {
            return Some("no pool has the name that the request asks for with LeaseRequest::pool");
        }
        if !has(country, |terms| &terms.country) {
            return Some(
                "no pool is said to be in the country that the request asks for with LeaseRequest::country: say it with \
                 Pool::country, or to its gateway",
            );
        }
        if !has(kind, |terms| &terms.kind) {
            return Some(
                "no pool is said to be of the kind that the request asks for with LeaseRequest::kind",
            );
        }
        None
    }

    /// Most leases of one of its exits at once.
    pub(super) fn most(&self) -> u32 {
        self.terms.in_flight.map_or(u32::MAX, Into::into)
    }

    /// From one lease of an exit to its next at the same origin, in milliseconds.
    pub(super) fn spacing(&self) -> u32 {
        let up = self.terms.interval + Duration::from_nanos(999_999);
        u32::try_from(up.as_millis()).unwrap_or(u32::MAX)
    }
}
