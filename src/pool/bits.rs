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
        if self.words.len() <= index / 64 {
            // The pool may have grown since.
            self.words.resize(len.div_ceil(64), 0);
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

    /// How many of its exits are in none of the others.
    pub(super) fn count_without<const N: usize>(&self, others: [&Self; N]) -> usize {
        let out = |at: usize| others.iter().fold(0, |out, set| out | set.words.get(at).copied().unwrap_or(0));
        self.words.iter().enumerate().map(|(at, word)| (word & !out(at)).count_ones() as usize).sum()
    }
}

/// Sets of exits that are out, and how large the pool is.
#[derive(Clone, Copy)]
pub(crate) struct Out<'a> {
    sets: [&'a [u64]; SETS],
    /// How many of them hold anything: mostly one.
    used: usize,
    /// Those that are not in one of these are out as well; all are in, if there is none.
    within: [&'a [u64]; WITHIN],
    parts: usize,
    len: usize,
}

/// How many sets of exits may be out.
const SETS: usize = 5;
/// How many parts of the pool a walk keeps to at most; more are walked one after the other.
pub(crate) const WITHIN: usize = 4;

impl<'a> Out<'a> {
    /// `len` is the size of the pool.
    pub(crate) fn new(sets: [&'a Bits; SETS], len: usize) -> Self {
        let mut out = Self { sets: [&[]; SETS], used: 0, within: [&[]; WITHIN], parts: 0, len };
        for set in sets.iter().filter(|set| set.ones > 0) {
            out.sets[out.used] = &set.words;
            out.used += 1;
        }
        out
    }

    /// Keeps to this part of the pool, too.
    pub(crate) fn within(mut self, part: &'a Bits) -> Self {
        if self.parts < WITHIN {
            self.within[self.parts] = &part.words;
            self.parts += 1;
        }
        self
    }

    /// The exits of a word that are in no set.
    #[inline]
    fn open(self, at: usize) -> u64 {
        let word = |set: &&[u64]| set.get(at).copied().unwrap_or(0);
        let mut out = self.sets[..self.used].iter().fold(0, |out, set| out | word(set));
        if self.parts > 0 {
            out |= !self.within[..self.parts].iter().fold(0, |part, set| part | word(set));
        }
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
    fn those_in_none_of_the_others_are_counted() {
        let bits = |on: &[usize]| {
            let mut bits = Bits::default();
            on.iter().for_each(|index| bits.set(*index, true, 200));
            bits
        };
        let all = bits(&[0, 1, 63, 64, 199]);
        assert_eq!(all.count_without([&bits(&[]), &bits(&[])]), 5);
        assert_eq!(all.count_without([&bits(&[1, 2, 199]), &bits(&[1, 64])]), 2);
        assert_eq!(bits(&[]).count_without([&all]), 0);
    }

    #[test]
    fn a_walk_goes_round_once_and_meets_every_exit_once() {
        for len in [1, 63, 64, 65, 200] {
            let (mut a, b, c) = (Bits::default(), Bits::default(), Bits::default());
            a.set(len / 2, true, len);
            let (d, e) = (Bits::default(), Bits::default());
            let out = Out::new([&a, &b, &c, &d, &e], len);
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
        let out = Out::new([&a, &none, &none, &none, &none], 200);
        let from_9: Vec<_> = (0..7).map(|skip| out.any(9, skip, |_| true).unwrap()).collect();
        assert_eq!(from_9, [150, 7, 8, 150, 7, 8, 150]);
        assert_eq!(out.any(9, 5, |index| index != 150), Some(8), "who does not suit is not counted");
        assert_eq!(out.any(9, 5, |_| false), None);
    }

    #[test]
    fn a_walk_keeps_to_its_parts_and_a_set_grows_with_the_pool() {
        let (mut down, mut some, mut more) = (Bits::default(), Bits::default(), Bits::default());
        let none = Bits::default();
        [3, 70].into_iter().for_each(|index| some.set(index, true, 100));
        [5, 199].into_iter().for_each(|index| more.set(index, true, 200));
        down.set(70, true, 100);
        let out = Out::new([&down, &none, &none, &none, &none], 200).within(&some).within(&more);
        let met = std::cell::RefCell::new(Vec::new());
        out.first(4, |index| {
            met.borrow_mut().push(index);
            false
        });
        assert_eq!(met.into_inner(), [5, 199, 3]);
        some.set(150, true, 200);
        assert!(some.contains(150) && some.contains(3));
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
