//! A snapshot as a table for people.

use super::Snapshot;
use crate::outcome::{Multiplier, OutcomeCounts};
use std::fmt;

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        row(f, "exits", format_args!("{}{}", self.exits.total, Shares(&self.shares())))?;
        row(
            f,
            "leases",
            format_args!("{}, {} out on {} exits", self.leases, self.in_flight, self.exits_in_use),
        )?;
        row(f, "attempts per success", Maybe(self.multiplier))?;
        row(f, "outcomes", Outcomes(&self.outcomes))?;
        for origin in &self.origins {
            let rest = format_args!("heat {:.2}, {} benched", origin.heat, origin.benched);
            row(f, &format!("  {}", origin.origin), format_args!("{}; {rest}", Outcomes(&origin.outcomes)))?;
        }
        for pair in &self.hottest {
            let rests = pair.cooling.as_secs();
            row(
                f,
                "hot pair",
                format_args!("{:.2} {} at {}, rests {rests} s", pair.heat, pair.exit, pair.origin),
            )?;
        }
        let refused = [
            (self.refusals.no_usable_exit, "for want of a usable exit"),
            (self.refusals.busy, "at a bound"),
            (self.refusals.moved, "because an identity's exit was lost"),
            (self.refusals.stopped, "because every login was stopped"),
        ];
        row(
            f,
            "refused leases",
            format_args!("{}{}", refused.iter().map(|(n, _)| n).sum::<u64>(), Shares(&refused)),
        )
    }
}

impl Snapshot {
    fn shares(&self) -> [(u64, &'static str); 3] {
        let exits = &self.exits;
        [
            (exits.dead.into(), "dead"),
            (exits.quarantined.into(), "kept out"),
            (exits.stopped.into(), "with a stopped login"),
        ]
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{name:<22}{value}")
}

/// `: 4 dead, 1 kept out`; nothing if there is nothing to tell.
struct Shares<'a>(&'a [(u64, &'static str)]);

impl fmt::Display for Shares<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = ": ";
        for (count, name) in self.0.iter().filter(|(count, _)| *count > 0) {
            write!(f, "{before}{count} {name}")?;
            before = ", ";
        }
        Ok(())
    }
}

struct Outcomes<'a>(&'a OutcomeCounts);

impl fmt::Display for Outcomes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.total() == 0 {
            return f.write_str("none");
        }
        let mut before = "";
        for (name, count) in self.0.named().into_iter().filter(|(_, count)| *count > 0) {
            write!(f, "{before}{name} {count}")?;
            before = ", ";
        }
        Ok(())
    }
}

/// With the word for its band.
struct Maybe(Option<Multiplier>);

impl fmt::Display for Maybe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("no success yet"),
            Some(multiplier) => multiplier.fmt(f),
        }
    }
}
