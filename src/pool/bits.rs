//! One bit an exit, read by the word when few are left.

/// A set of exits. Grows on the first insertion, so that an origin that benches nobody costs nothing.
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
        } else {
            self.ones -= 1;
        }
    }

    pub(crate) const fn len(&self) -> u32 {
        self.ones
    }

    fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }
}

/// The first index at or after `from`, going round, that is in neither set and suits. Costs a step for each 64 exits that
/// are out.
pub(crate) fn first_out_of(
    (a, b): (&Bits, &Bits),
    from: usize,
    len: usize,
    suits: impl Fn(usize) -> bool,
) -> Option<usize> {
    let words = len.div_ceil(64);
    for step in 0..=words {
        let at = (from / 64 + step) % words;
        let mut open = !(a.word(at) | b.word(at));
        if step == 0 {
            open &= !0 << (from % 64);
        } else if step == words {
            open &= !(!0 << (from % 64));
        }
        while open != 0 {
            let index = at * 64 + open.trailing_zeros() as usize;
            if index < len && suits(index) {
                return Some(index);
            }
            open &= open - 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scan_goes_round_once_and_meets_every_exit_once() {
        for len in [1, 63, 64, 65, 200] {
            let (mut a, b) = (Bits::default(), Bits::default());
            a.set(len / 2, true, len);
            for from in 0..len {
                let met = std::cell::RefCell::new(Vec::new());
                assert_eq!(
                    first_out_of((&a, &b), from, len, |index| {
                        met.borrow_mut().push(index);
                        false
                    }),
                    None
                );
                let expected: Vec<usize> =
                    (from..len).chain(0..from).filter(|index| *index != len / 2).collect();
                assert_eq!(met.into_inner(), expected, "from {from} of {len}");
            }
        }
    }

    #[test]
    fn ones_are_counted_once() {
        let mut bits = Bits::default();
        bits.set(70, true, 100);
        bits.set(70, true, 100);
        assert!(bits.contains(70) && !bits.contains(6) && bits.len() == 1);
        bits.set(70, false, 100);
        assert!(!bits.contains(70) && bits.len() == 0);
    }
}
