//! Bindings: which exit a key holds at an origin, and since when.

use super::exits::ExitIx;
use super::origins::OriginIx;
use super::slab::{Slab, Slot};
use crate::draw::{Stream, draw};
use crate::request::{Key, Time};
use hashbrown::{Equivalent, HashMap};
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
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
    /// The length of its window, and when that window ends.
    pub(super) length: Duration,
    pub(super) until: Time,
    pub(super) placed: Time,
    pub(super) uses: u32,
    last_used: Time,
}

/// What is held: by whom, and at which origin. Found by its borrowed twin.
struct Held(Key, OriginIx);

struct HeldBy<'a>(&'a Key, OriginIx);

impl Hash for HeldBy<'_> {
    /// Two writes where the parts' own would be four.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.0.as_str().as_bytes());
        state.write_u64(self.1.as_u64());
    }
}

impl Hash for Held {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        HeldBy(&self.0, self.1).hash(state);
    }
}

impl Equivalent<Held> for HeldBy<'_> {
    #[inline]
    fn equivalent(&self, held: &Held) -> bool {
        self.1 == held.1 && *self.0 == held.0
    }
}

impl PartialEq for Held {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        HeldBy(&self.0, self.1).equivalent(other)
    }
}

impl Eq for Held {}

/// Where a key is put, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) entity: u64,
    pub(super) exit: ExitIx,
    pub(super) generation: u32,
    pub(super) length: Duration,
    pub(super) until: Time,
}

impl Binding {
    pub(super) const fn touch(&mut self, now: Time) {
        self.uses = self.uses.saturating_add(1);
        self.last_used = now;
    }

    /// Whether its window is the one that a request for windows of `length` means, and has uses left.
    pub(super) fn serves(&self, now: Time, length: Duration, max_uses: Option<NonZeroU32>) -> bool {
        let used_up = max_uses.is_some_and(|most| self.uses >= most.get());
        self.length == length && now < self.until && !self.lost && !used_up
    }
}

pub(crate) struct Bindings {
    by_key: HashMap<Held, BindingIx>,
    slab: Slab<Binding>,
}

impl Bindings {
    pub(super) fn new(cap: usize) -> Self {
        Self { by_key: HashMap::new(), slab: Slab::new(cap) }
    }

    #[inline]
    pub(super) fn find(&self, key: &Key, origin: OriginIx) -> Option<(BindingIx, &Binding)> {
        let ix = *self.by_key.get(&HeldBy(key, origin))?;
        Some((ix, self.slab.get(ix.0)?))
    }

    /// As [`find`](Self::find), to change it.
    #[inline]
    pub(super) fn find_mut(&mut self, key: &Key, origin: OriginIx) -> Option<(BindingIx, &mut Binding)> {
        let ix = *self.by_key.get(&HeldBy(key, origin))?;
        Some((ix, self.slab.get_mut(ix.0)?))
    }

    pub(super) fn get_mut(&mut self, ix: BindingIx) -> Option<&mut Binding> {
        self.slab.get_mut(ix.0)
    }

    #[inline]
    pub(super) fn touch(&mut self, now: Time, ix: BindingIx) {
        if let Some(binding) = self.slab.get_mut(ix.0) {
            binding.touch(now);
        }
    }

    /// Binds the key to an exit, in place of what it held. A full table forgets the least recently used of a few.
    pub(super) fn bind(
        &mut self,
        now: Time,
        key: &Key,
        origin: OriginIx,
        Place { entity, exit, generation, length, until }: Place,
    ) -> Option<BindingIx> {
        let fresh = Binding {
            key: key.clone(),
            origin,
            entity,
            exit,
            lost: false,
            generation,
            length,
            until,
            placed: now,
            uses: 1,
            last_used: now,
        };
        if let Some(ix) = self.by_key.get(&HeldBy(key, origin)) {
            *self.slab.get_mut(ix.0)? = fresh;
            return Some(*ix);
        }
        if self.slab.is_full() {
            let gone = self.slab.evict(16, |binding| Some(binding.last_used))?;
            self.by_key.remove(&HeldBy(&gone.key, gone.origin));
        }
        let ix = BindingIx(self.slab.insert(fresh)?);
        self.by_key.insert(Held(key.clone(), origin), ix);
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

    /// When the window of `now` ends.
    pub(super) const fn end(self, now: Time) -> Time {
        let into = self.offset.saturating_add(now.as_nanos()) % self.length;
        Time::from_nanos(now.as_nanos().saturating_add(self.length - into))
    }
}
