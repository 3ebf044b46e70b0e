//! What a fleet owner wants to know. It goes to standard error, so that results can be piped.

use crate::crawl::Crawl;
use crate::world::World;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use tower_egress::outcome::OutcomeCounts;
use tower_egress::scheduler::Snapshot;
use tower_egress::{Exit, ExitId, Gateway};

/// Pairs and exits that are told.
const HOTTEST: usize = 5;
const BUSIEST: usize = 3;

pub(crate) fn print(world: &World, crawl: &Crawl, took: Duration) {
    let now = world.scheduler.snapshot();
    let ended = if crawl.interrupted { ", interrupted" } else { "" };
    row(
        "pages",
        format!("{} of {} fetched in {:.1} s{ended}", crawl.fetched, crawl.wanted, took.as_secs_f64()),
    );
    for missed in &crawl.missed {
        row("", missed);
    }
    let told = crawl.missed.len() + crawl.fetched;
    if crawl.done > told {
        row("", format!("and {} more", crawl.done - told));
    }
    if let Some(why) = &crawl.unwritten {
        row("results", format!("could not be written: {why}"));
    }
    let healthy = "healthy up to 1.2, asking too hard above 1.5";
    match now.outcomes.retry_multiplier() {
        Some(multiplier) => row("attempts per success", format!("{multiplier:.3} ({healthy})")),
        None => row("attempts per success", "no success"),
    }
    row("outcomes", outcomes(&now.outcomes));
    for origin in now.origins.iter().take(10) {
        row(&format!("  {}", origin.origin), outcomes(&origin.outcomes));
    }
    row("exits", format!("{}, of them {} dead", now.exits.total, now.exits.dead));
    if world.config.is_some() {
        pools(&now);
    }
    gateways(world);
    let names = Names::new(world, &now);
    hottest(&now, &names);
    row("refused leases", refusals(&now));
    billed(&now, &names, crawl.bytes);
    if let Some(lab) = &world.lab {
        let peers = lab.origin().peers();
        let is_exit = |peer: &IpAddr| lab.exit_at(*peer).is_some() || lab.gateway_at(*peer).is_some();
        let direct = peers.keys().filter(|peer| !is_exit(peer)).count();
        let own = peers.get(&IpAddr::V4(Ipv4Addr::LOCALHOST)).map_or(0, |counts| counts.requests);
        row(
            "the site saw",
            format!("{} exits, {direct} other addresses, {own} direct requests", peers.len() - direct),
        );
    }
}

/// What crossed the wire, as most providers bill it, and through which exits most of it went.
fn billed(now: &Snapshot, names: &Names, bodies: u64) {
    let (sent, received) = (now.wire.sent, now.wire.received);
    let all = now.wire.total();
    row("bytes billed", format!("{all} ({sent} sent, {received} received), {bodies} of them bodies"));
    for (at, exit) in now.busiest.iter().take(BUSIEST).enumerate() {
        let name = if at == 0 { "most through" } else { "" };
        let (id, bytes) = (exit.exit, exit.wire.total());
        row(name, format!("{id} ({}) {bytes} ({:.0} %)", names.of(id), 100.0 * exit.share));
    }
}

/// Where the exits are that are told.
struct Names(HashMap<ExitId, String>);

impl Names {
    fn new(world: &World, now: &Snapshot) -> Self {
        let hottest = now.hottest.iter().take(HOTTEST).map(|pair| pair.exit);
        let told: HashSet<_> =
            hottest.chain(now.busiest.iter().take(BUSIEST).map(|exit| exit.exit)).collect();
        let name = |exit: Exit| {
            let (host, port) = (exit.route().host(), exit.route().port());
            let line = world.exits.line_of(exit.id()).map(|line| format!(", line {line}"));
            (exit.id(), format!("{host}:{port}{}", line.unwrap_or_default()))
        };
        Self(world.exits.iter().filter(|exit| told.contains(&exit.id())).map(name).collect())
    }

    fn of(&self, exit: ExitId) -> &str {
        self.0.get(&exit).map_or("a gateway's", String::as_str)
    }
}

/// What went through each pool of the file, and what it cost at the pool's price.
fn pools(now: &Snapshot) {
    for pool in &now.pools {
        let cost = pool.cost.map_or(String::new(), |cost| format!(", cost {cost:.4}"));
        let (exits, leases, bytes) = (pool.exits, pool.leases, pool.wire.total());
        row(&format!("  pool {}", pool.name), format!("{exits} exits, {leases} leases, {bytes} bytes{cost}"));
    }
}

fn row(name: &str, value: impl std::fmt::Display) {
    eprintln!("{name:<22}{value}");
}

fn outcomes(counts: &OutcomeCounts) -> String {
    let some: Vec<_> = counts.named().into_iter().filter(|(_, count)| *count > 0).collect();
    if some.is_empty() {
        return "none".into();
    }
    some.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// What the crate knows of gateways, and what the lab's saw itself.
fn gateways(world: &World) {
    let names: Vec<_> = world.gateways.iter().map(address).collect();
    if !names.is_empty() {
        row("gateways", names.join(", "));
    }
    for gateway in world.lab.iter().flat_map(|lab| lab.gateways()) {
        let refused: u64 = gateway.refusals().values().sum();
        let (sessions, passed) = (gateway.sessions().len(), gateway.passed());
        row(
            &format!("  {}", gateway.address()),
            format!("{sessions} sessions, {passed} requests passed on, {refused} refused"),
        );
    }
}

fn address(gateway: &Gateway) -> String {
    format!("{}:{}", gateway.host(), gateway.port())
}

fn hottest(now: &Snapshot, names: &Names) {
    for (at, pair) in now.hottest.iter().take(HOTTEST).enumerate() {
        let address = names.of(pair.exit);
        let rest = match pair.cooling.as_secs() {
            0 => String::new(),
            seconds => format!(", rests {seconds} s more"),
        };
        let name = if at == 0 { "hottest pairs" } else { "" };
        row(name, format!("{:.2}  {} ({address}) at {}{rest}", pair.heat, pair.exit, pair.origin));
    }
}

fn refusals(now: &Snapshot) -> String {
    let (none, busy) = (now.refusals.no_usable_exit, now.refusals.busy);
    match (none, busy) {
        (0, 0) => "none".into(),
        (_, 0) => format!("{none} for want of a usable exit; at the last one: {}", now.refusals.last),
        _ => format!("{none} for want of a usable exit, {busy} at a bound"),
    }
}
