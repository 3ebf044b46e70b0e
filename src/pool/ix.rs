//! Where the records of the pool lie. Each table has a type of its own, so that no index is taken for another's.

use super::slab::Slot;

/// An exit's place in the pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum ExitIx {
    /// In the table that requests are spread over: listed exits, and the slots of gateways.
    Fixed(u32),
    /// A session that one binding holds.
    Minted(Slot),
}

impl ExitIx {
    /// A pool holds fewer exits than a u32 counts.
    pub(crate) fn at(index: usize) -> Self {
        Self::Fixed(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The place in the table, if it has one.
    #[inline]
    pub(super) const fn index(self) -> Option<usize> {
        match self {
            Self::Fixed(index) => Some(index as usize),
            Self::Minted(_) => None,
        }
    }
}

/// Which gateway of the pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct GatewayIx(pub(super) u16);

impl GatewayIx {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A record of an origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct OriginIx(pub(super) Slot);

impl OriginIx {
    /// Its place in the table, which another has after it.
    pub(crate) const fn place(self) -> usize {
        self.0.index()
    }
}

/// A binding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BindingIx(pub(super) Slot);

/// Where an origin's blocks are counted by exit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SpreadIx(pub(super) Slot);

/// What exits share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ParentIx(pub(super) u32);

impl ParentIx {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}
