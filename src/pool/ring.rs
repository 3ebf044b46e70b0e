//! Placing what is held. Exits stand in a sparse table at the hash of their ids; a key walks a sequence of places drawn from
//! its own seed and takes the first exit that suits. So placement costs O(1), does not depend on the order of the list, one
//! exit's loss moves only its own keys, spread over all others, and one exit more moves one share.

use super::exits::ExitIx;
use crate::draw::{below, mix};
use crate::exit::ExitId;

const EMPTY: u32 = u32::MAX;
/// Places a key tries before the caller scans for what is left.
const TRIES: u64 = 64;

pub(crate) struct Ring {
    places: Vec<u32>,
}

impl Ring {
    /// A quarter to a half of the places are taken.
    pub(super) fn new(ids: impl ExactSizeIterator<Item = ExitId>) -> Self {
        let size = (ids.len() * 2).next_power_of_two().max(2);
        let mut places = vec![EMPTY; size];
        for (index, id) in (0_u32..).zip(ids) {
            let mut at = below(mix(id.as_u64()), size);
            while places[at] != EMPTY {
                at = (at + 1) % size;
            }
            places[at] = index;
        }
        Self { places }
    }

    /// The first exit of the seed's sequence that suits.
    pub(super) fn place(&self, seed: u64, suits: impl Fn(ExitIx) -> bool) -> Option<ExitIx> {
        (0..TRIES).find_map(|step| {
            let index = self.places[below(mix(seed ^ mix(step)), self.places.len())];
            (index != EMPTY && suits(ExitIx(index))).then_some(ExitIx(index))
        })
    }
}
