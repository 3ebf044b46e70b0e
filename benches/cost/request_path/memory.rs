//! Heap of exits without a connection, and of idle connections: what a child holds when it ends, by memcheck's count. The
//! same child with more and with fewer of one thing, and the difference is the things' alone.

use super::{held, word};
use std::process::{Command, Stdio};

/// Bytes of 10,000 exits without a connection, all in all: the aim, and what the gate holds.
const MOST_EXITS: u64 = 4_000_000;
const GATE_EXITS: u64 = 3_950_000;
/// Bytes of an idle connection over those of hyper's own: the aim, and what the gate holds, a little above what was measured.
const MOST_OVER: u64 = 500;
const GATE_OVER: u64 = 510;

/// Prints the tables; whether the aims are met, which is for a gate: bytes do not move with the load.
pub(crate) fn tables() -> bool {
    println!("\n{:<46}{:>14}{:>14}", "exits without a connection", "bytes, 10,000", "bytes each");
    let exits = held(held::EXITS, 0, 10_000);
    row("Scheduler, EgressLayer and ExitClient", exits.map(|bytes| (bytes, bytes / 10_000)));
    let met = exits.is_some_and(|bytes| bytes <= MOST_EXITS);
    println!("  aim: <= {MOST_EXITS} {}", word(met));
    let small = exits.is_some_and(|bytes| bytes <= GATE_EXITS);
    for (name, what) in held::CLIENTS {
        // Of reqwest's 10,000 would take a while to count.
        row(name, each(what).map(|bytes| (bytes * 10_000, bytes)));
    }
    let mut slim = true;
    for (world, [hyper, exit_client, legacy]) in held::CONNECTIONS {
        println!("\n{:<46}{:>14}{:>14}", format!("idle connections, {world}"), "bytes each", "over hyper's");
        let [hyper, exit_client, legacy] = [hyper, exit_client, legacy].map(each);
        let over = |bytes: Option<u64>| Some((bytes?, bytes?.saturating_sub(hyper?)));
        row("hyper's own", over(hyper));
        row("ExitClient", over(exit_client));
        let met = over(exit_client).is_some_and(|(_, over)| over <= MOST_OVER);
        println!("  aim: <= {MOST_OVER} more {}", word(met));
        row("hyper-util's legacy client", over(legacy));
        slim &= over(exit_client).is_some_and(|(_, over)| over <= GATE_OVER);
    }
    small && slim
}

fn row(name: &str, bytes: Option<(u64, u64)>) {
    let of = |bytes: Option<u64>| bytes.map_or_else(|| "no valgrind".into(), |bytes| bytes.to_string());
    println!("{name:<46}{:>14}{:>14}", of(bytes.map(|bytes| bytes.0)), of(bytes.map(|bytes| bytes.1)));
}

/// Of one of many.
fn each(what: usize) -> Option<u64> {
    Some(held(what, held::MANY, 2 * held::MANY)? / held::MANY as u64)
}

/// What so many hold more than so few.
fn held(what: usize, few: usize, many: usize) -> Option<u64> {
    let few = std::thread::spawn(move || in_use_at_end(what, few));
    in_use_at_end(what, many)?.checked_sub(few.join().ok()??)
}

/// The heap that a child holds when it ends.
fn in_use_at_end(what: usize, many: usize) -> Option<u64> {
    let child = Command::new("valgrind")
        .args(["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"])
        .arg(std::env::current_exe().ok()?)
        .args(["--hold", &what.to_string(), &many.to_string()])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    if !child.status.success() {
        return None;
    }
    let says = String::from_utf8_lossy(&child.stderr).replace(',', "");
    let (_, bytes) = says.rsplit_once("in use at exit: ")?;
    bytes.split(' ').next()?.parse().ok()
}
