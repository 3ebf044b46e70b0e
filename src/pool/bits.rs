//! One bit an exit, read by the word when few are left.

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

/// Sets of exits that are out, and how large the pool is.
#[derive(Clone, Copy)]
pub(crate) struct Out<'a> {
    pub(crate) sets: [&'a Bits; 3],
    pub(crate) len: usize,
}

impl Out<'_> {
    /// The exits of a word that are in no set.
    fn open(self, at: usize) -> u64 {
        let [a, b, c] = self.sets;
        let left = self.len - at * 64;
        let inside = if left < 64 { !(!0 << left) } else { !0 };
        !(a.word(at) | b.word(at) | c.word(at)) & inside
    }

    /// A uniform one of those in no set, by `pick` of how many there are; else the next after it that suits. Costs two
    /// steps for each 64 exits.
    pub(crate) fn any(self, pick: impl Fn(usize) -> usize, suits: impl Fn(usize) -> bool) -> Option<usize> {
        let words = self.len.div_ceil(64);
        let open: usize = (0..words).map(|at| self.open(at).count_ones() as usize).sum();
        if open == 0 {
            return None;
        }
        let mut rank = pick(open);
        for at in 0..words {
            let mut word = self.open(at);
            let ones = word.count_ones() as usize;
            if rank >= ones {
                rank -= ones;
                continue;
            }
            (0..rank).for_each(|_| word &= word - 1);
            return self.first(at * 64 + word.trailing_zeros() as usize, suits);
        }
        None
    }

    /// The first at or after `from`, going round, that is in no set and suits.
    pub(crate) fn first(self, from: usize, suits: impl Fn(usize) -> bool) -> Option<usize> {
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
            let (mut a, b, c) = (Bits::default(), Bits::default(), Bits::default());
            a.set(len / 2, true, len);
            let out = Out { sets: [&a, &b, &c], len };
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
    fn each_rank_is_another_exit() {
        let (mut a, mut b, c) = (Bits::default(), Bits::default(), Bits::default());
        (0..200).filter(|index| index % 7 != 0).for_each(|index| a.set(index, true, 200));
        b.set(14, true, 200);
        let out = Out { sets: [&a, &b, &c], len: 200 };
        let all: Vec<_> = (0..28).map(|rank| out.any(|open| rank.min(open - 1), |_| true).unwrap()).collect();
        let expected: Vec<usize> = (0..200).filter(|index| index % 7 == 0 && *index != 14).collect();
        assert_eq!(all, expected);
        assert_eq!(out.any(|_| 1, |index| index != 7), Some(21), "the next one that suits");
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
