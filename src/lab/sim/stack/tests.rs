//! That the layers decide as the engine says, and that nothing is left behind by who goes away.

use super::*;
use crate::lab::sim::Verdicts;
use crate::lab::sim::journal::What;
use crate::lab::sim::policy::Policy;
use crate::lab::sim::run::run_kept;
use crate::lab::sim::scenario::{Exits, FIRST, SECOND};
use crate::lab::sim::world::{ExitRules, Login};
use crate::request::{LeaseRequest, Time};
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::time::Duration;

async fn same(world: &Scenario, seed: u64) {
    let stack = play(world, Client::Egress, seed, Breaks::default()).await;
    let (run, entries) = run_kept(world, Policy::Ours, seed);
    let name = world.name();
    if let Some(at) =
        (0..entries.len().max(stack.entries.len())).find(|at| entries.get(*at) != stack.entries.get(*at))
    {
        let (from, to) = (at.saturating_sub(8), at + 4);
        let some =
            |entries: &[Entry]| format!("{:#?}", &entries[from.min(entries.len())..to.min(entries.len())]);
        let (engine, stack) = (some(&entries), some(&stack.entries));
        panic!(
            "{name}, seed {seed}: decision {at} differs; from {from} on\nengine: {engine}\nstack: {stack}"
        );
    }
    assert_eq!(run.log, stack.run.log);
    // The engine alone sees what rests and why, what its lane admits, and what the fleet expects.
    let run = Run { innocent: None, verdicts: Verdicts::default(), lane: None, forecasts: Vec::new(), ..run };
    assert_eq!(run, stack.run, "{name}, seed {seed}: the books differ");
    assert!(run.decisions > 400, "{name}: {}", run.decisions);
}

/// Under a clock of its own.
fn paused(play: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(play);
}

fn same_for_all(world: &Scenario) {
    for seed in 1..=3 {
        paused(same(world, seed));
    }
}

#[test]
fn the_layers_decide_as_the_engine_in_closed_loads() {
    for name in Scenario::NAMES {
        let world = Scenario::named(name).unwrap();
        if ["T", "H", "P", "Noise"].contains(name) {
            same_for_all(&world.clone().pool(20, 8).jobs(500));
            same_for_all(&world.pool(20, 32).jobs(2_000));
        } else {
            same_for_all(&world.pool(20, 32).jobs(700));
        }
    }
}

#[test]
fn the_layers_decide_as_the_engine_at_full_size() {
    for name in Scenario::NAMES {
        paused(same(&Scenario::named(name).unwrap(), 1));
    }
}

#[test]
fn the_layers_put_the_same_jobs_aside_while_a_site_is_down() {
    let mut world = Scenario::named("Noise").unwrap().pool(20, 32).jobs(1_500);
    world.origins[0].down = Some((Duration::from_secs(10), Duration::from_secs(300)));
    same_for_all(&world);
    assert!(run_kept(&world, Policy::Ours, 1).0.parked > 30, "they are told when to come back");
}

/// With an overload in more detail than the others.
const SURGES: [&str; 3] = ["T", "S", "Esc"];

#[test]
fn the_layers_decide_as_the_engine_in_open_loads() {
    for name in ["S1", "S2"] {
        same_for_all(&Scenario::open(name).unwrap().lasting(Duration::from_secs(90)));
    }
    same_for_all(&outage());
    for name in SURGES {
        let world = Scenario::named(name).unwrap().pool(20, 32).surge().lasting(Duration::from_secs(150));
        same_for_all(&world);
    }
    let world = outage().patience(Duration::from_secs(30));
    let run = run_kept(&world, Policy::Ours, 1).0;
    assert!(run.failed > 20 && run.done > 300, "{} failed, {} done", run.failed, run.done);
    same_for_all(&world);
}

/// The worlds in which gateways refuse logins, and how many stop in a small one.
const REFUSED: [(&str, u64); 7] =
    [("Login", 1), ("Stray5", 0), ("Stray10", 0), ("Key", 1), ("Key2", 1), ("Quota", 1), ("Stray", 0)];

/// A small one in which all happens sooner.
fn refused(name: &str) -> Scenario {
    let secs = Duration::from_secs;
    let mut world = Scenario::find(name).unwrap().pool(20, 32);
    for gateway in &mut world.gateways {
        gateway.login = match gateway.login {
            Login::Dies(_, Duration::MAX) => Login::Dies(secs(10), Duration::MAX),
            Login::Dies(..) => Login::Dies(secs(10), secs(40)),
            Login::Quota(..) => Login::Quota(300, secs(30)),
            Login::Lasts => Login::Lasts,
        };
        // One in 10,000 is none of so few.
        gateway.strays = if gateway.strays > 0.0 { gateway.strays.max(0.01) } else { 0.0 };
    }
    world.horizon = if name == "Login" { secs(40) } else { world.horizon };
    // As many as the second gateway of Key2 serves until the first has another password, and some.
    world.jobs(if name == "Key2" { 2_000 } else { 1_000 })
}

#[test]
fn the_layers_decide_as_the_engine_where_logins_are_refused() {
    for (name, stops) in REFUSED {
        let world = refused(name);
        same_for_all(&world);
        let run = run_kept(&world, Policy::Ours, 1).0;
        assert_eq!(
            (run.stops, run.logins_refused > 0, run.strays > 0),
            (stops, stops > 0, stops == 0),
            "{name}"
        );
        let stands = run.jobs < world.jobs.into() || run.done + run.failed < run.jobs;
        assert_eq!(stands, name == "Login", "{name}: who waits for somebody's act takes no other job");
    }
}

#[test]
fn the_layers_decide_as_the_engine_where_many_workers_meet_a_refused_login() {
    for (name, jobs) in [("Stray10", 3_000), ("Key", 4_000)] {
        paused(same(&refused(name).pool(200, 256).jobs(jobs), 1));
    }
}

#[test]
fn a_route_with_a_password_that_was_replaced_leads_nowhere() {
    let world = refused("Key");
    let gateway = |password| world.sessions(password).remove(0).sessions(NonZeroU32::MIN);
    let lease = |password| {
        let scheduler = Scheduler::builder().gateway(gateway(password)).build().unwrap();
        scheduler.lease(&LeaseRequest::per_request().origin("site0.test")).unwrap().route().clone()
    };
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let (exits, first, second) = (Exits::new(&world), lease(FIRST), lease(SECOND));
    assert!(exits.is_current(at(39), &first) && !exits.is_current(at(39), &second));
    assert!(!exits.is_current(at(40), &first) && exits.is_current(at(40), &second));
}

#[test]
fn the_layers_decide_as_the_engine_where_addresses_change_and_in_classes() {
    let mut world = Scenario::find("Rot").unwrap().pool(20, 32).jobs(900);
    world.exit = |_| ExitRules { rotates: Some(Duration::from_secs(20)), ..ExitRules::GOOD };
    same_for_all(&world);
    for name in Scenario::PRICES {
        let world = Scenario::find(name).unwrap().pool(20, 32).jobs(700);
        same_for_all(&world);
        assert!(run_kept(&world, Policy::Ours, 1).0.price_p50 > 0.0, "{name}");
    }
}

#[test]
fn the_layers_decide_as_the_engine_in_every_world_with_an_overload_that_ends() {
    for name in Scenario::NAMES.iter().filter(|name| !SURGES.contains(name)) {
        let world = Scenario::named(name).unwrap().pool(5, 8).surge().lasting(Duration::from_secs(120));
        paused(same(&world, 1));
    }
}

#[test]
fn the_layers_decide_as_the_engine_behind_gateways() {
    for (name, jobs, refused) in
        [("Full", 3_000, 100), ("Full2", 1_000, 1), ("Out", 5_500, 5), ("Brown", 5_500, 50)]
    {
        let world = Scenario::find(name).unwrap().pool(20, 128).jobs(jobs);
        same_for_all(&world);
        let run = run_kept(&world, Policy::Ours, 1).0;
        assert!(run.overloaded + run.unreached >= refused, "{name}: {}, {}", run.overloaded, run.unreached);
    }
}

#[test]
fn the_layers_decide_as_the_engine_through_exits_that_are_dead_come_and_go_or_break_off() {
    for name in ["Dead", "Gone", "Flap", "Lossy"] {
        let world = Scenario::find(name).unwrap().pool(20, 32).jobs(2_000);
        same_for_all(&world);
        let run = run_kept(&world, Policy::Ours, 1).0;
        assert!(run.attempts > run.done + 20, "{name}: {} attempts, {} done", run.attempts, run.done);
    }
}

#[test]
fn the_layers_send_a_job_as_often_as_the_scenario_says() {
    let world = Scenario::named("P").unwrap().pool(20, 32).jobs(700).sends(2);
    same_for_all(&world);
}

/// S3 in a minute and a half.
fn outage() -> Scenario {
    let mut world = Scenario::open("S3").unwrap().lasting(Duration::from_secs(90));
    world.origins[0].down = Some((Duration::from_secs(30), Duration::from_secs(60)));
    world
}

/// As many as are dropped while they wait in line, before a retry, for the site and for its answer.
const MANY: Breaks = Breaks { at_await: 0.05, in_time: 0.05 };

#[test]
fn who_goes_away_leaves_nothing_behind_and_blames_nobody() {
    let worlds =
        ["T", "H", "S", "U", "G", "Mix"].map(|name| Scenario::named(name).unwrap().pool(20, 32).jobs(1_000));
    for world in worlds.into_iter().chain([outage()]) {
        for seed in 1..=3 {
            paused(broken_off(&world, seed));
        }
    }
}

async fn broken_off(world: &Scenario, seed: u64) {
    let Played { run, scheduler, .. } = play(world, Client::Egress, seed, MANY).await;
    let (name, scheduler) = (world.name(), scheduler.unwrap());
    assert_eq!(run.done + run.failed, run.jobs, "{name} {seed}: all are over");
    assert!(run.failed >= 20, "{name} {seed}: {} were dropped", run.failed);
    let now = scheduler.snapshot();
    assert_eq!((now.in_flight, now.waiting, now.exits_in_use), (0, 0, 0), "{name} {seed}");
    assert_eq!((now.leases, now.outcomes.interrupted), (run.attempts, 0), "{name} {seed}");
    assert!(now.outcomes.total() < now.leases, "{name} {seed}: some were dropped under way");
    // Nor does anything stay shut: in a day all exits that are not dead serve again, all at once.
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    let asks =
        (0..world.exits).map(|_| scheduler.acquire(&LeaseRequest::per_request().origin("another.test")));
    let mut leases = Vec::new();
    for ask in asks {
        leases.push(ask.await.unwrap());
    }
    assert_eq!(scheduler.snapshot().in_flight, world.exits);
    drop(leases);
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

#[test]
fn tower_waits_in_lockstep_unless_each_request_has_a_generator_and_the_same_seed_is_the_same_run() {
    let world = Scenario::named("Noise").unwrap().pool(20, 32).jobs(1_000);
    for client in [Client::Tower, Client::TowerJitter] {
        let mut logs = Vec::new();
        paused(async {
            for seed in [1, 1, 2] {
                let Played { run, entries, .. } = play(&world, client, seed, Breaks::default()).await;
                assert_eq!((run.done + run.failed, run.policy), (1_000, client.name()));
                assert!(
                    run.done > 990 && run.attempts > 1_000,
                    "{} done, {} attempts",
                    run.done,
                    run.attempts
                );
                let waits = first_waits(&entries);
                assert!(waits.iter().all(|wait| (50..100).contains(wait)), "{waits:?}");
                assert_eq!(waits.len() == 1, client == Client::Tower, "{waits:?}");
                logs.push(run.log);
            }
        });
        assert_eq!(logs[0], logs[1]);
        assert_ne!(logs[0], logs[2]);
    }
}

/// How long jobs wait before their second send, in milliseconds: each length once.
fn first_waits(entries: &[Entry]) -> HashSet<u128> {
    let mut since = HashMap::new();
    let mut waits = HashSet::new();
    for entry in entries {
        match entry.what {
            What::Wait => _ = since.entry(entry.job).or_insert(Some(entry.at)),
            What::Send(_) => {
                let began = since.get_mut(&entry.job).and_then(Option::take);
                waits.extend(began.map(|began| entry.at.since(began).as_millis()));
            }
            _ => {}
        }
    }
    waits
}
