//! Bindings: which exit a holder holds, where, and since when.

use super::ix::{BindingIx, ExitIx};
use super::slab::Slab;
use crate::draw::{Stream, draw, mix, text};
use crate::exit::ExitId;
use crate::outcome::Egress;
use crate::request::{Affinity, Filter, Granularity, Key, LeaseRequest, Scope, Time};
use hashbrown::{Equivalent, HashMap};
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// Who holds an exit, and where: the name under which a binding is found.
#[derive(Clone, Copy)]
pub(super) struct Holder<'a> {
    kind: Affinity,
    /// For life: no window of the same name moves it.
    life: bool,
    name: &'a str,
    /// The hash of the origin's name, so that what is held outlives its record; `ALL` if the exit is held at all of them.
    place: u64,
    /// The hash of the filter under which it is held; 0 without one.
    filter: u64,
}

const ALL: u64 = u64::MAX;

impl<'a> Holder<'a> {
    #[inline]
    pub(super) fn of(ask: &'a LeaseRequest, origin: u64) -> Self {
        let name = match ask.affinity {
            Affinity::Key => ask.key.as_str(),
            Affinity::Worker => ask.worker.as_ref().map_or("", Key::as_str),
            Affinity::Origin | Affinity::RoundRobin => "",
        };
        let place = if ask.held_at() == Scope::PerOrigin { origin } else { ALL };
        let life = matches!(ask.granularity, Granularity::Static);
        let filter = ask.filter.as_ref().map_or(0, |filter| hash_of(filter));
        Self { kind: ask.affinity, life, name, place, filter }
    }

    /// A hash that is the same in every process.
    pub(super) fn entity(self) -> u64 {
        let place = if self.place == ALL { 0 } else { self.place };
        let parts = text(self.name) ^ place ^ (self.kind as u64) << 56 ^ u64::from(self.life) << 60;
        mix(parts ^ self.filter)
    }

    fn name(ask: &LeaseRequest) -> Key {
        match ask.affinity {
            Affinity::Key => ask.key.clone(),
            Affinity::Worker => ask.worker.clone().unwrap_or_else(|| Key::from("")),
            Affinity::Origin | Affinity::RoundRobin => Key::from(""),
        }
    }
}

impl Hash for Holder<'_> {
    /// Two writes where the parts' own would be four.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.name.as_bytes());
        state.write_u64(self.place ^ self.filter ^ (self.kind as u64) << 60 ^ u64::from(self.life) << 63);
    }
}

/// The same, owned.
struct Held {
    kind: Affinity,
    life: bool,
    name: Key,
    place: u64,
    filter: u64,
}

impl Held {
    fn holder(&self) -> Holder<'_> {
        let Self { kind, life, place, filter, .. } = *self;
        Holder { kind, life, name: self.name.as_str(), place, filter }
    }
}

impl Hash for Held {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.holder().hash(state);
    }
}

impl Equivalent<Held> for Holder<'_> {
    #[inline]
    fn equivalent(&self, held: &Held) -> bool {
        let name = held.name.as_str();
        // Clones share their text, and most comparisons are of clones.
        self.place == held.place
            && self.filter == held.filter
            && self.kind == held.kind
            && self.life == held.life
            && (std::ptr::eq(self.name, name) || self.name == name)
    }
}

impl PartialEq for Held {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.holder().equivalent(other)
    }
}

impl Eq for Held {}

/// A filter as a number that is the same in every process, and never 0.
#[cold]
pub(crate) fn hash_of(filter: &Filter) -> u64 {
    let Filter { pools, country, kind } = filter;
    // In any order, and said twice is said once.
    let mut names: Vec<u64> = pools.iter().map(|name| text(name)).collect();
    names.sort_unstable();
    names.dedup();
    let tags = [country, kind].map(|tag| tag.as_ref().map_or(0, |tag| text(tag)));
    names.into_iter().chain(tags).fold(1, |hash, part| mix(hash ^ part)).max(1)
}

pub(crate) struct Binding {
    kind: Affinity,
    life: bool,
    name: Key,
    place: u64,
    filter: u64,
    /// A hash of the holder that is the same in every process.
    pub(super) entity: u64,
    pub(super) exit: ExitIx,
    /// The exit that was lost last, for those who have not heard of it.
    pub(super) before: Option<ExitId>,
    /// The exit was burned under it: who may move leaves.
    pub(super) lost: bool,
    pub(super) generation: u32,
    /// The length of its window, and when that window ends.
    pub(super) length: Duration,
    pub(super) until: Time,
    pub(super) placed: Time,
    /// When its session ends by itself, and after how long without use.
    pub(super) ends: Time,
    pub(super) idle: Duration,
    pub(super) uses: u32,
    last_used: Time,
    /// Where its exit left from when that was last said.
    pub(super) egress: Option<Egress>,
}

/// Where a holder is put, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) entity: u64,
    pub(super) generation: u32,
    pub(super) length: Duration,
    pub(super) until: Time,
    /// When its session ends by itself, and after how long without use.
    pub(super) ends: Time,
    pub(super) idle: Duration,
    /// Which window it is.
    pub(super) window: u64,
    /// The exit that was lost.
    pub(super) from: Option<ExitId>,
}

impl Binding {
    pub(super) const fn name(&self) -> &Key {
        &self.name
    }

    fn holder(&self) -> Holder<'_> {
        let Self { kind, life, place, filter, .. } = *self;
        Holder { kind, life, name: self.name.as_str(), place, filter }
    }

    /// What is forgotten first. What is held for life would change its exit silently, and what has lost one could get it back.
    fn worth(&self) -> (bool, Time) {
        (self.life || self.generation > 0, self.last_used)
    }

    pub(super) const fn touch(&mut self, now: Time) {
        self.uses = self.uses.saturating_add(1);
        self.last_used = now;
    }

    /// Whether its window is the one that the request means, and has uses left.
    #[inline]
    pub(super) fn serves(&self, now: Time, granularity: Granularity) -> bool {
        let (length, max_uses) = granularity.window();
        let used_up = max_uses.is_some_and(|most| self.uses >= most.get());
        now < self.until && self.length == length && !self.lost && !used_up && !self.is_stale(now)
    }

    /// Whether its session was left unused for so long that the provider has given its exit away.
    #[inline]
    pub(super) fn is_stale(&self, now: Time) -> bool {
        self.idle < Duration::MAX && now.since(self.last_used) >= self.idle
    }
}

pub(crate) struct Bindings {
    by_holder: HashMap<Held, BindingIx>,
    slab: Slab<Binding>,
}

/// A binding that is no more: its exit, and its holder's hash.
type Gone = (BindingIx, ExitIx, u64);

/// How many bindings an eviction looks at.
const LOOK: usize = 16;

impl Bindings {
    pub(super) fn new(cap: usize) -> Self {
        Self { by_holder: HashMap::new(), slab: Slab::new(cap) }
    }

    #[inline]
    pub(super) fn find(&self, holder: Holder<'_>) -> Option<(BindingIx, &Binding)> {
        let ix = *self.by_holder.get(&holder)?;
        Some((ix, self.slab.get(ix.0)?))
    }

    /// As [`find`](Self::find), to change it.
    #[inline]
    pub(super) fn find_mut(&mut self, holder: Holder<'_>) -> Option<(BindingIx, &mut Binding)> {
        let ix = *self.by_holder.get(&holder)?;
        Some((ix, self.slab.get_mut(ix.0)?))
    }

    pub(super) fn get(&self, ix: BindingIx) -> Option<&Binding> {
        self.slab.get(ix.0)
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Binding> {
        self.slab.iter()
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

    /// Binds the holder to an exit; returns the exit that is bound by one less now, and who held it. A full table forgets the least recently
    /// used of a few.
    pub(super) fn bind(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        origin: u64,
        Place { entity, generation, length, until, ends, idle, from, .. }: Place,
        exit: ExitIx,
    ) -> Option<(BindingIx, Option<Gone>)> {
        let holder = Holder::of(ask, origin);
        let name = Holder::name(ask);
        let mut fresh = Binding {
            kind: holder.kind,
            life: holder.life,
            name: name.clone(),
            place: holder.place,
            filter: holder.filter,
            entity,
            exit,
            before: from,
            lost: false,
            generation,
            length,
            until,
            placed: now,
            ends,
            idle,
            uses: 1,
            last_used: now,
            egress: None,
        };
        if let Some(ix) = self.by_holder.get(&holder).copied() {
            let held = self.slab.get_mut(ix.0)?;
            fresh.before = from.or(held.before);
            let old = std::mem::replace(held, fresh);
            return Some((ix, Some((ix, old.exit, old.entity))));
        }
        let gone = self.make_room();
        let ix = BindingIx(self.slab.insert(fresh)?);
        let Holder { kind, life, place, filter, .. } = holder;
        self.by_holder.insert(Held { kind, life, name, place, filter }, ix);
        Some((ix, gone))
    }

    /// Forgets the least recently used of a few bindings whose exit suits.
    pub(super) fn forget(&mut self, suits: impl Fn(ExitIx) -> bool) -> Option<Gone> {
        // Four looks: where most bindings hold something else, one may see none that suits.
        let rank = |binding: &Binding| suits(binding.exit).then_some(binding.worth());
        let (slot, gone) = (0..4).find_map(|_| self.slab.evict(LOOK * 4, rank))?;
        self.by_holder.remove(&gone.holder());
        Some((BindingIx(slot), gone.exit, gone.entity))
    }

    /// Forgets what is over of what held an exit that suits.
    pub(super) fn forget_over(&mut self, now: Time, suits: impl Fn(ExitIx) -> bool) -> Vec<Gone> {
        let over = |held: &Binding| held.until <= now && suits(held.exit);
        let gone = self.slab.take_where(over);
        gone.into_iter()
            .map(|(slot, held)| {
                self.by_holder.remove(&held.holder());
                (BindingIx(slot), held.exit, held.entity)
            })
            .collect()
    }

    fn make_room(&mut self) -> Option<Gone> {
        if !self.slab.is_full() {
            return None;
        }
        let (slot, gone) = self.slab.evict(LOOK, |binding| Some(binding.worth()))?;
        self.by_holder.remove(&gone.holder());
        Some((BindingIx(slot), gone.exit, gone.entity))
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
        // What never ends has no phase: shifted, it would end within the centuries that a u64 counts.
        let shift = if length == u64::MAX { 0 } else { draw(seed, Stream::Phase, entity, 0) % length };
        Self { offset: epoch.saturating_add(shift), length }
    }

    pub(super) const fn index(self, now: Time) -> u64 {
        self.offset.saturating_add(now.as_nanos()) / self.length
    }

    /// When the window of `now` ends: `Time::MAX` if it has no end.
    pub(super) const fn end(self, now: Time) -> Time {
        if self.length == u64::MAX {
            return Time::MAX;
        }
        let into = self.offset.saturating_add(now.as_nanos()) % self.length;
        Time::from_nanos(now.as_nanos().saturating_add(self.length - into))
    }
}
