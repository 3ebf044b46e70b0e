//! Bindings: which exit a key holds at an origin, and since when.

use super::exits::ExitIx;
use super::origins::OriginIx;
use super::slab::{Slab, Slot};
use crate::draw::{Stream, draw};
use crate::request::{Key, Time};
use hashbrown::HashMap;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BindingIx(Slot);

pub(crate) struct Binding {
    key: Key,
    origin: OriginIx,
    /// A hash of key and origin that is the same in every process.
    pub(super) entity: u64,
    pub(super) exit: ExitIx,
    /// The exit was lost: the next lease moves.
    pub(super) lost: bool,
    pub(super) generation: u32,
    pub(super) placed: Time,
    pub(super) uses: u32,
    last_used: Time,
}

/// Where a key is put.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) entity: u64,
    pub(super) exit: ExitIx,
    pub(super) generation: u32,
}

pub(crate) struct Bindings {
    by_key: HashMap<(Key, OriginIx), BindingIx>,
    slab: Slab<Binding>,
}

impl Bindings {
    pub(super) fn new(cap: usize) -> Self {
        Self { by_key: HashMap::new(), slab: Slab::new(cap) }
    }

    pub(super) fn find(&self, key: &Key, origin: OriginIx) -> Option<(BindingIx, &Binding)> {
        let ix = *self.by_key.get(&(key.clone(), origin))?;
        Some((ix, self.slab.get(ix.0)?))
    }

    pub(super) fn get_mut(&mut self, ix: BindingIx) -> Option<&mut Binding> {
        self.slab.get_mut(ix.0)
    }

    pub(super) fn touch(&mut self, now: Time, ix: BindingIx) {
        if let Some(binding) = self.slab.get_mut(ix.0) {
            binding.uses = binding.uses.saturating_add(1);
            binding.last_used = now;
        }
    }

    /// Binds the key to an exit, in place of what it held. A full table forgets the least recently used of a few.
    pub(super) fn bind(
        &mut self,
        now: Time,
        key: &Key,
        origin: OriginIx,
        Place { entity, exit, generation }: Place,
    ) -> Option<BindingIx> {
        let fresh = Binding {
            key: key.clone(),
            origin,
            entity,
            exit,
            lost: false,
            generation,
            placed: now,
            uses: 1,
            last_used: now,
        };
        if let Some(ix) = self.by_key.get(&(key.clone(), origin)) {
            *self.slab.get_mut(ix.0)? = fresh;
            return Some(*ix);
        }
        if self.slab.is_full() {
            let gone = self.slab.evict(16, |binding| Some(binding.last_used))?;
            self.by_key.remove(&(gone.key, gone.origin));
        }
        let ix = BindingIx(self.slab.insert(fresh)?);
        self.by_key.insert((key.clone(), origin), ix);
        Some(ix)
    }
}

/// The windows of one binding: wall time cut into lengths, shifted so that bindings do not change together.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    /// Wall time at `Time::ZERO`, plus the shift, in nanoseconds. The sum with `now` lasts until the year 2554.
    offset: u64,
    length: u64,
}

impl Windows {
    /// Processes that share a seed, and whose clocks agree, agree on windows.
    pub(super) fn new(seed: u64, epoch: u64, entity: u64, length: Duration) -> Self {
        let length = u64::try_from(length.max(Duration::from_millis(1)).as_nanos()).unwrap_or(u64::MAX);
        let shift = draw(seed, Stream::Phase, entity, 0) % length;
        Self { offset: epoch.saturating_add(shift), length }
    }

    pub(super) const fn index(self, now: Time) -> u64 {
        self.offset.saturating_add(now.as_nanos()) / self.length
    }
}
