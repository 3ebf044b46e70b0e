//! Whose rules do the work.

use super::contender::{Contender, Endless, Naive, Oracle, Ours, Parts};
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
    /// The same with one send: a reference line.
    NoRetry,
    /// Each attempt through an address that nobody has used: a reference line. No limit of an address binds it.
    Endless,
    /// Sees the world as it is, but not what will be: a reference line.
    Oracle,
}

impl Policy {
    /// All of them, in the order of the table.
    pub const ALL: &'static [Self] = &[Self::Ours, Self::Naive, Self::NoRetry, Self::Endless, Self::Oracle];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Naive => "naive",
            Self::NoRetry => "no-retry",
            Self::Endless => "endless",
            Self::Oracle => "oracle",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|policy| policy.name() == name)
    }

    /// Whether it is no design, but a line to compare designs with.
    #[must_use]
    pub const fn is_reference(self) -> bool {
        matches!(self, Self::NoRetry | Self::Endless | Self::Oracle)
    }

    pub(super) fn contender(self, scenario: &Scenario, seed: u64) -> Box<dyn Contender> {
        // Its draws are not the world's.
        let luck = Luck::new(!seed);
        match self {
            Self::Ours => Box::new(Ours::new(scenario, seed, Parts::default())),
            Self::Naive => Box::new(Naive::new(luck, scenario.exits, 8)),
            Self::NoRetry => Box::new(Naive::new(luck, scenario.exits, 1)),
            Self::Endless => Box::new(Endless::default()),
            Self::Oracle => Box::new(Oracle::new(scenario)),
        }
    }
}
