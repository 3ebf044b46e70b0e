//! Placing what is held. Exits stand in a sparse table at the hash of their ids; a key walks a sequence of places drawn from
//! its own seed and takes the first exit that suits. So placement costs O(1), does not depend on the order of the list, one
//! exit's loss moves only its own keys, spread over all others, and one exit more moves one share.

use super::ix::ExitIx;
use crate::draw::{below, mix};

const EMPTY: u32 = u32::MAX;
/// Places a key tries before the caller scans for what is left.
const TRIES: u64 = 64;

pub(crate) struct Ring {
    places: Vec<u32>,
}

impl Ring {
    /// A quarter to a half of the places are taken.
    /// `ids` names each exit of the table that may be held: where it stands, and a hash of its name.
    pub(super) fn new(ids: &[(u32, u64)]) -> Self {
        let size = (ids.len() * 2).next_power_of_two().max(2);
        let mut places = vec![EMPTY; size];
        for (index, id) in ids.iter().copied() {
            let mut at = below(mix(id), size);
            while places[at] != EMPTY {
                at = (at + 1) % size;
            }
            places[at] = index;
        }
        Self { places }
    }

    /// The first exit of the seed's sequence that suits.
    #[inline]
    pub(super) fn place(&self, seed: u64, suits: impl Fn(ExitIx) -> bool) -> Option<ExitIx> {
        (0..TRIES).find_map(|step| {
            let index = self.places[below(mix(seed ^ mix(step)), self.places.len())];
            (index != EMPTY && suits(ExitIx::Fixed(index))).then_some(ExitIx::Fixed(index))
        })
    }
}
