//! Whose rules do the work.

use super::contender::{Contender, Naive, Ours, Parts};
use super::luck::Luck;
use super::scenario::Scenario;

/// A design: this crate's, or what people use today.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Policy {
    /// This crate's fleet with its defaults.
    Ours,
    /// Another random exit at once, eight sends.
    Naive,
}

impl Policy {
    /// All of them, in the order of the table.
    pub const ALL: &'static [Self] = &[Self::Ours, Self::Naive];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Naive => "naive",
        }
    }

    pub(super) fn contender(self, scenario: &Scenario, seed: u64) -> Box<dyn Contender> {
        // Its draws are not the world's.
        let luck = Luck::new(!seed);
        match self {
            Self::Ours => Box::new(Ours::new(scenario, seed, Parts::default())),
            Self::Naive => Box::new(Naive::new(luck, scenario.exits, 8)),
        }
    }
}
