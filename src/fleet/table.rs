//! A snapshot as a table for people.

use super::snapshot::COLD;
use super::{
    ClassSnapshot, GatewaySnapshot, LoginState, OriginSnapshot, OriginTotals, PoolSnapshot, Snapshot,
};
use crate::exit::ExitId;
use crate::outcome::{Multiplier, OutcomeCounts, WireBytes};
use std::fmt;

/// How many origins have a row of their own; the rest share one.
const ROWS: usize = 32;
/// How many of the exits with most bytes have one.
const BUSIEST: usize = 3;

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        row(f, "exits", format_args!("{}{}", self.exits.total, Shares(&self.shares())))?;
        if self.exits.sessions > 0 {
            row(f, "held sessions", self.exits.sessions)?;
        }
        let leases = format_args!("{}, {} out on {} exits", self.leases, self.in_flight, self.exits_in_use);
        row(f, "leases", leases)?;
        if self.waiting > 0 {
            row(f, "waiting in line", self.waiting)?;
        }
        row(f, "attempts per success", Maybe(self.multiplier))?;
        if let Some(lately) = self.lately {
            row(f, "  lately", lately)?;
        }
        if self.alarm {
            row(
                f,
                "  alarm",
                "lower the fleet's concurrency; over when lately is healthy three times in a row",
            )?;
        }
        row(f, "outcomes", Outcomes(&self.outcomes))?;
        if self.wire.total() > 0 {
            let WireBytes { sent, received } = self.wire;
            row(f, "bytes on the wire", format_args!("{} sent, {} received", Size(sent), Size(received)))?;
        }
        if self.pools.len() > 1 || self.pools.iter().any(|pool| pool.cost.is_some()) {
            for pool in &self.pools {
                let PoolSnapshot { name, exits, leases, wire, cost } = pool;
                let size = Size(wire.total());
                match cost {
                    Some(cost) => row(
                        f,
                        "pool",
                        format_args!("{name}: {exits} exits, {leases} leases, {size}, {cost:.2}"),
                    )?,
                    None => row(f, "pool", format_args!("{name}: {exits} exits, {leases} leases, {size}"))?,
                }
            }
        }
        for gateway in &self.gateways {
            row(f, "gateway", GatewayRow(gateway))?;
        }
        for ClassSnapshot { class, weight, share, waiting } in &self.classes {
            let share = 100.0 * share;
            row(
                f,
                "class",
                format_args!("{class}: weight {weight}, {share:.0} % of turns, {waiting} waiting"),
            )?;
        }
        for exit in self.busiest.iter().take(BUSIEST) {
            let (size, share) = (Size(exit.wire.total()), 100.0 * exit.share);
            row(f, "  most through", format_args!("{}: {size}, {share:.0} %", Named(exit.exit, exit.line)))?;
        }
        if self.parked > 0 {
            row(f, "parked", format_args!("{} requests, too many retries before them", self.parked))?;
        }
        self.origins(f)?;
        for pair in &self.hottest {
            let text = format_args!("{} at {}", Named(pair.exit, pair.line), pair.origin);
            let rests = pair.cooling.as_secs_f64();
            match (pair.heat >= COLD, rests > 0.0) {
                (false, _) => row(f, "cooling pair", format_args!("{text}, for {rests:.1} s"))?,
                (true, false) => row(f, "hot pair", format_args!("{text}, heat {:.2}", pair.heat))?,
                (true, true) => {
                    row(
                        f,
                        "hot pair",
                        format_args!("{text}, heat {:.2}, cooling for {rests:.1} s", pair.heat),
                    )?;
                }
            }
        }
        let refused = [
            (self.refusals.no_usable_exit, "for want of a usable exit"),
            (self.refusals.origin_held_by_failures, "because a site failed everybody"),
            (self.refusals.origin_held_by_limit, "because a site bore no more at once"),
            (self.refusals.behind, "behind others in line"),
            (self.refusals.busy, "at a bound"),
            (self.refusals.moved, "because an identity's exit was lost"),
            (self.refusals.stopped, "because every login was stopped"),
            (self.refusals.closed, "because the fleet was drained"),
        ];
        let all: u64 = refused.iter().map(|(count, _)| count).sum();
        row(f, "refused leases", format_args!("{all}{}", Shares(&refused)))
    }
}

impl Snapshot {
    fn shares(&self) -> [(u64, &'static str); 5] {
        let exits = &self.exits;
        [
            (exits.dead.into(), "dead"),
            (exits.quarantined.into(), "kept out"),
            (exits.held.into(), "behind a gateway that is left alone"),
            (exits.suspect.into(), "with a login in doubt"),
            (exits.stopped.into(), "with a stopped login"),
        ]
    }

    fn origins(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for origin in self.origins.iter().take(ROWS) {
            row(f, &format!("  {}", origin.origin), OriginRow(origin))?;
            if let Some(spread) = &origin.spread {
                row(f, "    blocks", spread)?;
            }
            if let Some(diagnosis) = &origin.diagnosis {
                row(f, "    diagnosis", diagnosis)?;
            }
        }
        let others = self.origins.iter().skip(ROWS).fold(self.forgotten, |sum, origin| {
            let mut outcomes = sum.outcomes;
            outcomes += origin.outcomes;
            let (leases, wire) = (sum.leases + origin.leases, sum.wire + origin.wire);
            OriginTotals { origins: sum.origins + 1, leases, outcomes, wire }
        });
        if others.origins == 0 {
            return Ok(());
        }
        let text = format_args!("{} leases: {}", others.leases, Outcomes(&others.outcomes));
        row(f, &format!("  {} others", others.origins), text)
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "{name:<21} {value}")
}

/// An exit by its id, and where it stands in its list.
struct Named(ExitId, Option<u32>);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(exit, line) = self;
        write!(f, "{exit}")?;
        line.map_or(Ok(()), |line| write!(f, " (line {line})"))
    }
}

struct GatewayRow<'a>(&'a GatewaySnapshot);

impl fmt::Display for GatewayRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(GatewaySnapshot { gateway, exits, in_flight, limit, refused, attempts, .. }) = self;
        write!(f, "{gateway}: {exits} exits, {in_flight} leases out")?;
        if let Some(limit) = limit {
            write!(f, "; at most {limit} at once")?;
        }
        if *refused > 0 {
            write!(f, "; too busy for {refused} of {attempts} lately")?;
        }
        match self.0.left_alone {
            Some(left) if left.is_zero() => f.write_str("; left alone until one has tried it")?,
            Some(left) => write!(f, "; left alone for {:.1} s", left.as_secs_f64())?,
            None => {}
        }
        match (self.0.login, self.0.login_rests) {
            (LoginState::Works, _) => Ok(()),
            (LoginState::Suspect, _) => f.write_str("; its login is in doubt, and one tries it"),
            (LoginState::Held, _) => f.write_str("; its login is overloaded, and left alone"),
            (LoginState::Stopped, None) => f.write_str("; its login is stopped until it is resumed"),
            (LoginState::Stopped, Some(left)) => {
                write!(f, "; its login is stopped, and tried in {:.1} s", left.as_secs_f64())
            }
        }
    }
}

struct OriginRow<'a>(&'a OriginSnapshot);

impl fmt::Display for OriginRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(origin) = self;
        write!(f, "{} leases: {}", origin.leases, Outcomes(&origin.outcomes))?;
        // Where nothing was refused it is but what is assumed of every origin.
        if origin.outcomes.blocked + origin.outcomes.rate_limited > 0 {
            write!(f, "; heat {:.2}", origin.heat)?;
        }
        if origin.benched > 0 {
            write!(f, "; {} cooling or on trial", origin.benched)?;
        }
        if let Some(limit) = origin.limit {
            write!(f, "; at most {limit} at once")?;
            if let Some(lately) = origin.lately {
                write!(f, ", attempts per success lately {lately}")?;
            }
        }
        match origin.held {
            Some(left) if left.is_zero() => f.write_str("; left alone until one has tried it")?,
            Some(left) => write!(f, "; left alone for {:.1} s", left.as_secs_f64())?,
            None => {}
        }
        if let Some(gap) = origin.gap {
            write!(f, "; uses of one exit {:.1} s apart", gap.as_secs_f64())?;
        }
        Ok(())
    }
}

/// Bytes in decimal units, as providers bill them.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} B", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kB", bytes / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} MB", bytes / 1e6),
            _ => write!(f, "{:.2} GB", bytes / 1e9),
        }
    }
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
