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

    fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }
}

/// Two sets, and how large the pool is.
#[derive(Clone, Copy)]
pub(crate) struct Out<'a> {
    pub(crate) sets: (&'a Bits, &'a Bits),
    pub(crate) len: usize,
}

impl Out<'_> {
    /// The exits of a word that are in neither set.
    fn open(self, at: usize) -> u64 {
        let (a, b) = self.sets;
        let left = self.len - at * 64;
        let inside = if left < 64 { !(!0 << left) } else { !0 };
        !(a.word(at) | b.word(at)) & inside
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

    /// The first at or after `from`, going round, that is in neither set and suits.
    fn first(self, from: usize, suits: impl Fn(usize) -> bool) -> Option<usize> {
        let words = self.len.div_ceil(64);
        for step in 0..=words {
            let at = (from / 64 + step) % words;
            let mut open = self.open(at);
            if step == 0 {
                open &= !0 << (from % 64);
            } else if step == words {
                open &= !(!0 << (from % 64));
            }
            while open != 0 {
                let index = at * 64 + open.trailing_zeros() as usize;
                if suits(index) {
                    return Some(index);
                }
                open &= open - 1;
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
            let (mut a, b) = (Bits::default(), Bits::default());
            a.set(len / 2, true, len);
            let out = Out { sets: (&a, &b), len };
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
        let out = Out { sets: (&a, &Bits::default()), len: 200 };
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
