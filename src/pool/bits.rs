//! One bit an exit, read by the word when few are left.

use std::cell::Cell;

/// A set of exits. Holds memory only while there is one, so that an origin that benches nobody costs nothing.
#[derive(Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    ones: u32,
}

impl Bits {
    pub(crate) fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// `len` is the size of the pool.
    pub(crate) fn set(&mut self, index: usize, on: bool, len: usize) {
        if self.contains(index) == on {
            return;
        }
        if self.words.is_empty() {
            self.words = vec![0; len.div_ceil(64)];
        }
        self.words[index / 64] ^= 1 << (index % 64);
        if on {
            self.ones += 1;
            return;
        }
        self.ones -= 1;
        if self.ones == 0 {
            self.words = Vec::new();
        }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.ones
    }
}

/// Sets of exits that are out, and how large the pool is.
#[derive(Clone, Copy)]
pub(crate) struct Out<'a> {
    sets: [&'a [u64]; 4],
    /// How many of them hold anything: mostly one.
    used: usize,
    len: usize,
}

impl<'a> Out<'a> {
    /// `len` is the size of the pool.
    pub(crate) fn new(sets: [&'a Bits; 4], len: usize) -> Self {
        let mut out = Self { sets: [&[]; 4], used: 0, len };
        for set in sets.iter().filter(|set| set.ones > 0) {
            out.sets[out.used] = &set.words;
            out.used += 1;
        }
        out
    }

    /// The exits of a word that are in no set.
    #[inline]
    fn open(self, at: usize) -> u64 {
        let out = self.sets[..self.used].iter().fold(0, |out, set| out | set.get(at).copied().unwrap_or(0));
        let left = self.len - at * 64;
        if left < 64 { !out & !(!0 << left) } else { !out }
    }

    /// One of those that are in no set and suit: the `skip`-th at or after `from`, going round. To skip a few evens out what
    /// the first one alone would have: whoever follows the longest gap would be taken most.
    pub(crate) fn any(self, from: usize, skip: usize, suits: impl Fn(usize) -> bool) -> Option<usize> {
        let met = Cell::new(0);
        let nth = |skip: usize| {
            met.set(0);
            self.first(from, |index| {
                let suits = suits(index);
                met.set(met.get() + usize::from(suits));
                suits && met.get() > skip
            })
        };
        nth(skip).or_else(|| if met.get() == 0 { None } else { nth(skip % met.get()) })
    }

    /// The first at or after `from`, going round, that is in no set and suits.
    pub(crate) fn first(self, from: usize, suits: impl Fn(usize) -> bool) -> Option<usize> {
        let words = self.len.div_ceil(64);
        let (mut at, bit) = (from / 64, from % 64);
        // Its own word comes twice: from the bit on at first, and before the bit at last.
        let mut open = self.open(at) & !0 << bit;
        for left in (0..=words).rev() {
            while open != 0 {
                let index = at * 64 + open.trailing_zeros() as usize;
                if suits(index) {
                    return Some(index);
                }
                open &= open - 1;
            }
            at = if at + 1 == words { 0 } else { at + 1 };
            open = self.open(at);
            if left == 1 {
                open &= !(!0 << bit);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_round_once_and_meets_every_exit_once() {
        for len in [1, 63, 64, 65, 200] {
            let (mut a, b, c) = (Bits::default(), Bits::default(), Bits::default());
            a.set(len / 2, true, len);
            let d = Bits::default();
            let out = Out::new([&a, &b, &c, &d], len);
            for from in 0..len {
                let met = std::cell::RefCell::new(Vec::new());
                let none = out.first(from, |index| {
                    met.borrow_mut().push(index);
                    false
                });
                assert_eq!(none, None);
                let expected: Vec<usize> =
                    (from..len).chain(0..from).filter(|index| *index != len / 2).collect();
                assert_eq!(met.into_inner(), expected, "from {from} of {len}");
            }
        }
    }

    #[test]
    fn a_skip_goes_round_where_few_are_left() {
        let mut a = Bits::default();
        (0..200).filter(|index| ![7, 8, 150].contains(index)).for_each(|index| a.set(index, true, 200));
        let none = Bits::default();
        let out = Out::new([&a, &none, &none, &none], 200);
        let from_9: Vec<_> = (0..7).map(|skip| out.any(9, skip, |_| true).unwrap()).collect();
        assert_eq!(from_9, [150, 7, 8, 150, 7, 8, 150]);
        assert_eq!(out.any(9, 5, |index| index != 150), Some(8), "who does not suit is not counted");
        assert_eq!(out.any(9, 5, |_| false), None);
    }

    #[test]
    fn ones_are_counted_once_and_nothing_is_held_for_none() {
        let mut bits = Bits::default();
        bits.set(70, true, 100);
        bits.set(70, true, 100);
        assert!(bits.contains(70) && !bits.contains(6) && bits.len() == 1);
        bits.set(70, false, 100);
        assert!(!bits.contains(70) && bits.len() == 0 && bits.words.capacity() == 0);
    }
}
