//! Which exits are clean at an origin: served there within the last 30 to 60 s, and not blocked since.

use super::super::bits::Bits;

/// A bit an exit for each of two windows, so that a hit costs no search.
#[derive(Default)]
pub(super) struct Clean([Bits; 2]);

impl Clean {
    pub(super) fn has(&self, exit: usize) -> bool {
        self.0.iter().any(|window| window.contains(exit))
    }

    /// `len` is the size of the pool.
    pub(super) fn served(&mut self, exit: usize, len: usize) {
        self.0[0].set(exit, true, len);
    }

    pub(super) fn blocked(&mut self, exit: usize, len: usize) {
        self.0.iter_mut().for_each(|window| window.set(exit, false, len));
    }

    pub(super) fn turn(&mut self) {
        self.0.swap(0, 1);
        self.0[0] = Bits::default();
    }

    pub(super) fn clear(&mut self) {
        self.0 = Default::default();
    }
}
