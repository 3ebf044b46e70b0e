//! What an origin's blocks depend on, in words.

use super::figure::ExitBlocks;
use super::subnet::SubnetBlocks;
use std::fmt;

/// What the blocks of an origin depend on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Cause {
    /// The request: what is blocked through one exit is blocked through others, where other requests pass. While that holds, a
    /// block on an exit that serves others is laid to the request, which stops at the second. If it passes elsewhere, the
    /// exit is burned after all.
    Request,
    /// The subnet: neighbours are blocked together. Exits elsewhere help.
    Subnet,
    /// The exit: some are blocked more than others. Other exits help.
    Pool,
    /// None of them: all are blocked alike, for what the requests look like, or how many they are. Other exits do not help.
    Pattern,
    /// The figures do not say.
    #[default]
    Unclear,
}

/// What an origin's blocks depend on, from the moment when two looks in a row have said so to when two say otherwise. The
/// figures are those of that moment.
///
/// Printed with `{}` it is a sentence.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Diagnosis {
    /// What they depend on.
    pub cause: Cause,
    /// Attempts that the origin served or blocked, over the last 30 to 60 s.
    pub attempts: u64,
    /// Those that it blocked.
    pub blocked: u64,
    /// The exits they went through. Of more than 512, a sample.
    pub exits: u32,
    /// Those that it blocked.
    pub blocked_exits: u32,
    /// If it is the request: the share of the requests that are refused through whatever exit, 0 to 1.
    pub requests: Option<f64>,
    /// If it is the pool: the worst exits, at most three.
    pub worst: Vec<ExitBlocks>,
    /// If it is the subnet: the worst, at most three.
    pub subnets: Vec<SubnetBlocks>,
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            Cause::Request => {
                let percent = 100.0 * self.requests.unwrap_or(0.0);
                write!(
                    f,
                    "blocks follow the request and not the exit: {percent:.0} % of requests are refused through every exit"
                )
            }
            Cause::Subnet => {
                f.write_str("blocks follow the subnet: ")?;
                let net =
                    |net: &SubnetBlocks| format!("{} of {} exits in {}", net.blocked, net.exits, net.subnet);
                list(f, self.subnets.iter().map(net))
            }
            Cause::Pool => {
                f.write_str(
                    "blocks fall on some exits and spare others: the pool, not your request pattern; ",
                )?;
                let exit = |exit: &ExitBlocks| {
                    format!("{} was blocked {} of {} times", exit.exit, exit.blocked, exit.attempts)
                };
                list(f, self.worst.iter().map(exit))
            }
            Cause::Pattern => write!(
                f,
                "blocks spread evenly over {} of {} exits: your request pattern, not the pool",
                self.blocked_exits, self.exits
            ),
            Cause::Unclear => f.write_str("blocks point at nothing any more"),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = String>) -> fmt::Result {
    let mut before = "";
    for item in items {
        write!(f, "{before}{item}")?;
        before = ", ";
    }
    Ok(())
}
