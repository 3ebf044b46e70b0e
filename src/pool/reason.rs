//! Why an exit was chosen.

use crate::exit::ExitId;

/// Why this exit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "name", rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Reason {
    /// The key holds it.
    Bound,
    /// The key holds it from now on.
    Placed,
    /// The key holds it from now on, because this exit was lost.
    Moved {
        /// The exit that was lost.
        from: ExitId,
    },
    /// The key holds another session of the gateway from now on: the provider would have given the old one's exit away about
    /// now, without a word.
    Renewed {
        /// The session before.
        from: ExitId,
    },
    /// For this attempt alone, because the held exit may not be used.
    Borrowed {
        /// The exit that stays held.
        from: ExitId,
    },
    /// It was its turn.
    Turn,
    /// Nothing is held: the better of two drawn at random.
    Picked,
    /// Nothing is held: few exits were usable, and this was the first one found.
    Found,
}

impl Reason {
    /// The reason's name in logs: one of a closed set.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::Placed => "placed",
            Self::Moved { .. } => "moved",
            Self::Renewed { .. } => "renewed",
            Self::Borrowed { .. } => "borrowed",
            Self::Turn => "turn",
            Self::Picked => "picked",
            Self::Found => "found",
        }
    }
}
