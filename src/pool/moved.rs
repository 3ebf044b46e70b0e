//! Where somebody who waits may have become able to go.

use super::Pool;
use super::ix::OriginIx;
use crate::request::Time;

/// Changes since they were last asked for.
#[derive(Default, Debug)]
pub(crate) struct Moved {
    /// Of what all origins share.
    pub(crate) everywhere: bool,
    /// Of what one origin has for itself. Few, else it is everywhere.
    pub(crate) at: Vec<OriginIx>,
    /// Of what is held: who holds another exit now, or none. Few, else all may.
    pub(crate) holders: Vec<u64>,
    pub(crate) all_holders: bool,
}

/// How many are told apart.
const MOST: usize = 8;

impl Moved {
    pub(super) fn everywhere(&mut self) {
        self.everywhere = true;
        self.at.clear();
    }

    pub(super) fn at(&mut self, origin: OriginIx) {
        if self.everywhere || self.at.contains(&origin) {
            return;
        }
        if self.at.len() == MOST {
            return self.everywhere();
        }
        self.at.push(origin);
    }

    pub(super) fn holder(&mut self, holder: u64) {
        if self.all_holders {
            return;
        }
        if self.holders.len() == MOST {
            self.holders.clear();
            self.all_holders = true;
            return;
        }
        self.holders.push(holder);
    }
}

impl Pool {
    pub(crate) fn take_moved(&mut self) -> Moved {
        std::mem::take(&mut self.moved)
    }

    /// When the next timer is due; `Time::MAX` if none is set.
    pub(crate) const fn next_timer(&self) -> Time {
        self.timers.next()
    }
}
