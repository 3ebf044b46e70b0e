//! A bounded table whose places are named for ever: a slot's turn rises with each tenant, so that an old name finds nothing.

/// A place in a [`Slab`], and which of its tenants is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Slot {
    index: u32,
    turn: u32,
}

impl Slot {
    /// None is before it.
    pub(crate) const FIRST: Self = Self { index: 0, turn: 0 };

    /// The place: below the bound of its slab.
    pub(crate) const fn index(self) -> usize {
        self.index as usize
    }
}

struct Entry<T> {
    turn: u32,
    value: Option<T>,
}

/// At most `cap` values.
pub(crate) struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    cap: usize,
    hand: usize,
}

impl<T> Slab<T> {
    pub(crate) fn new(cap: usize) -> Self {
        Self { entries: Vec::new(), free: Vec::new(), cap: cap.min(u32::MAX as usize), hand: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.cap
    }

    /// `None` if the slab is full.
    pub(crate) fn insert(&mut self, value: T) -> Option<Slot> {
        if let Some(index) = self.free.pop() {
            let entry = &mut self.entries[index as usize];
            entry.value = Some(value);
            return Some(Slot { index, turn: entry.turn });
        }
        if self.entries.len() >= self.cap {
            return None;
        }
        let index = u32::try_from(self.entries.len()).ok()?;
        self.entries.push(Entry { turn: 0, value: Some(value) });
        Some(Slot { index, turn: 0 })
    }

    pub(crate) fn get(&self, at: Slot) -> Option<&T> {
        let entry = self.entries.get(at.index as usize)?;
        if entry.turn == at.turn { entry.value.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, at: Slot) -> Option<&mut T> {
        let entry = self.entries.get_mut(at.index as usize)?;
        if entry.turn == at.turn { entry.value.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, at: Slot) -> Option<T> {
        let entry = self.entries.get_mut(at.index as usize)?;
        if entry.turn != at.turn {
            return None;
        }
        let value = entry.value.take()?;
        entry.turn = entry.turn.wrapping_add(1);
        self.free.push(at.index);
        Some(value)
    }

    /// Takes out, with its place, the value of lowest rank among the next `look` that have one; `None` ranks what must stay.
    pub(crate) fn evict<R: Ord>(&mut self, look: usize, rank: impl Fn(&T) -> Option<R>) -> Option<(Slot, T)> {
        let mut lowest: Option<(R, Slot)> = None;
        for _ in 0..look.min(self.entries.len()) {
            self.hand = (self.hand + 1) % self.entries.len();
            let entry = &self.entries[self.hand];
            let Some(rank) = entry.value.as_ref().and_then(&rank) else { continue };
            if lowest.as_ref().is_none_or(|(least, _)| rank < *least) {
                let index = u32::try_from(self.hand).ok()?;
                lowest = Some((rank, Slot { index, turn: entry.turn }));
            }
        }
        let (_, slot) = lowest?;
        Some((slot, self.remove(slot)?))
    }

    /// Takes out, with their places, all that suit.
    pub(crate) fn take_where(&mut self, suits: impl Fn(&T) -> bool) -> Vec<(Slot, T)> {
        let at = |(index, entry): (u32, &Entry<T>)| {
            entry.value.as_ref().filter(|value| suits(value)).map(|_| Slot { index, turn: entry.turn })
        };
        let slots: Vec<Slot> = (0..).zip(&self.entries).filter_map(at).collect();
        slots.into_iter().filter_map(|slot| Some((slot, self.remove(slot)?))).collect()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().filter_map(|entry| entry.value.as_mut())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().filter_map(|entry| entry.value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_finds_nothing() {
        let mut slab = Slab::new(1);
        let old = slab.insert('a').unwrap();
        assert!(slab.is_full() && slab.insert('b').is_none());
        assert_eq!(slab.remove(old), Some('a'));
        let new = slab.insert('b').unwrap();
        assert_eq!((slab.get(old), slab.get(new)), (None, Some(&'b')));
        assert_eq!(slab.remove(old), None);
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn the_lowest_rank_leaves_and_what_must_stay_stays() {
        let mut slab = Slab::new(4);
        for value in [7, 3, 9, 1] {
            slab.insert(value);
        }
        let rank = |value: &i32| (*value != 1).then_some(*value);
        let out: Vec<_> = (0..4).map(|_| slab.evict(64, rank).map(|(_, value)| value)).collect();
        assert_eq!(out, [Some(3), Some(7), Some(9), None]);
    }
}
