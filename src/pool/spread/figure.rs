//! How an origin's blocks spread over exits: the figures, and the sentence that they allow.

use super::alike::Alike;
use crate::exit::ExitId;
use std::fmt;

/// How many exits are named.
const WORST: usize = 3;

/// What the blocks of an origin point at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum SpreadVerdict {
    /// Some exits are blocked more than others: the pool. Other exits help.
    Pool,
    /// All exits are blocked alike: what the requests look like, or how many they are. Other exits do not help.
    Pattern,
    /// The figures do not say.
    #[default]
    Unclear,
}

/// An exit's part in the blocks of an origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ExitBlocks {
    /// The exit.
    pub exit: ExitId,
    /// Attempts through it that the origin served or blocked.
    pub attempts: u32,
    /// Those that it blocked.
    pub blocked: u32,
}

/// How the blocks of an origin spread over exits, over the last 30 to 60 s. It is a diagnosis for people; nothing acts on it.
///
/// Printed with `{}` it is a sentence, which says "pool" or "pattern" only where the figures allow it, and without
/// reservation only when two looks in a row, 5 s apart, and the figures since say the same. Where each key holds an exit of its
/// own, a block of the key and one of the exit look the same.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BlockedSpread {
    /// Attempts that the origin served or blocked.
    pub attempts: u64,
    /// Those that it blocked.
    pub blocked: u64,
    /// The exits they went through.
    pub exits: u32,
    /// Of the exits, one in so many is counted: 1, and more where an origin is asked through more than 512.
    pub one_in: u32,
    /// The share that was blocked, 0 to 1.
    pub share: f64,
    /// About 0 if the exits are blocked alike, whatever the rate was from second to second; above 3.09 if some are blocked
    /// more: whether an attempt is blocked goes with what became of those before it through the same exit, as standard
    /// deviations, less with age (half after 30 s). `None` below 60 attempts or six blocks, so weighed.
    pub z: Option<f64>,
    /// What that points at.
    pub verdict: SpreadVerdict,
    /// It points at something, and the last two looks said the same.
    pub confirmed: bool,
    /// If it is the pool: the exits with the most blocks above the share of all, and two at least; at most three.
    pub worst: Vec<ExitBlocks>,
}

impl BlockedSpread {
    /// `None` if nothing was blocked.
    pub(super) fn of(
        exits: &[ExitBlocks],
        one_in: u32,
        alike: &Alike,
        confirmed: Option<SpreadVerdict>,
    ) -> Option<Self> {
        let sum = |count: fn(&ExitBlocks) -> u32| exits.iter().map(|exit| u64::from(count(exit))).sum();
        let (attempts, blocked): (u64, u64) = (sum(|exit| exit.attempts), sum(|exit| exit.blocked));
        if blocked == 0 {
            return None;
        }
        #[allow(clippy::cast_precision_loss, reason = "counts of a minute")]
        let (share, verdict) = (blocked as f64 / attempts as f64, alike.verdict());
        Some(Self {
            attempts,
            blocked,
            exits: u32::try_from(exits.len()).unwrap_or(u32::MAX),
            one_in,
            share,
            z: alike.z(),
            verdict,
            confirmed: verdict != SpreadVerdict::Unclear && confirmed == Some(verdict),
            worst: if verdict == SpreadVerdict::Pool { worst(exits, share) } else { Vec::new() },
        })
    }
}

fn worst(exits: &[ExitBlocks], share: f64) -> Vec<ExitBlocks> {
    let above = |exit: &ExitBlocks| f64::from(exit.blocked) - share * f64::from(exit.attempts);
    // A single block names no exit.
    let mut worst: Vec<_> =
        exits.iter().copied().filter(|exit| exit.blocked >= 2 && above(exit) > 0.0).collect();
    worst.sort_unstable_by(|a, b| above(b).total_cmp(&above(a)).then_with(|| a.exit.cmp(&b.exit)));
    worst.truncate(WORST);
    worst
}

impl fmt::Display for BlockedSpread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.confirmed, self.verdict) {
            (true, SpreadVerdict::Pool) => f.write_str("pool: ")?,
            (true, SpreadVerdict::Pattern) => f.write_str("pattern: ")?,
            _ => {}
        }
        write!(f, "{} of {} attempts on {} exits blocked", self.blocked, self.attempts, self.exits)?;
        if self.one_in > 1 {
            write!(f, " (one exit in {} is counted)", self.one_in)?;
        }
        let later = if self.confirmed { "" } else { " so far" };
        match (self.verdict, self.z) {
            (SpreadVerdict::Pool, _) => {
                write!(f, ", some of them more than others{later}{}", Worst(&self.worst))
            }
            (SpreadVerdict::Pattern, _) if self.confirmed => f.write_str(
                ", all alike: the requests, or their rate, are refused; other exits will not help",
            ),
            (SpreadVerdict::Pattern, _) => f.write_str(", all alike so far"),
            (SpreadVerdict::Unclear, Some(_)) => f.write_str(", neither clearly alike nor clearly on some"),
            (SpreadVerdict::Unclear, None) => f.write_str(", too few to say more"),
        }
    }
}

struct Worst<'a>(&'a [ExitBlocks]);

impl fmt::Display for Worst<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = ": ";
        for exit in self.0 {
            write!(f, "{before}{} {} of {}", exit.exit, exit.blocked, exit.attempts)?;
            before = ", ";
        }
        Ok(())
    }
}
