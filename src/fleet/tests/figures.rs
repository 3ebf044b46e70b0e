//! What the fleet says of itself: counters, the gauge of exits in use.

use super::*;

fn per() -> LeaseRequest {
    LeaseRequest::per_request()
}

#[test]
fn a25_leases_and_reports_are_counted_by_origin_and_in_all() {
    let mut world = World::of(10);
    for (origin, outcome, count) in [
        ("a.test", Outcome::Ok, 5),
        ("a.test", BLOCKED, 1),
        ("b.test", Outcome::Ok, 2),
        ("b.test", limited(None), 1),
    ] {
        for _ in 0..count {
            let grant = world.at(origin, &per()).unwrap();
            world.finish(&grant, outcome);
        }
    }
    world.at("b.test", &per()).unwrap();
    let snapshot = world.snapshot();
    assert_eq!((snapshot.leases, snapshot.outcomes.total()), (10, 9), "one is still out");
    let [a, b] = &snapshot.origins[..] else { panic!("two origins: {snapshot:?}") };
    assert_eq!((a.origin.as_str(), a.leases, a.outcomes.ok, a.outcomes.blocked), ("a.test", 6, 5, 1));
    assert_eq!((b.origin.as_str(), b.leases, b.outcomes.ok, b.outcomes.rate_limited), ("b.test", 4, 2, 1));
    assert_eq!(snapshot.forgotten, OriginTotals::default());
}

#[test]
fn a25_the_counters_are_bounded_and_no_total_shrinks() {
    let bounds = Bounds { origins: 4, ..Bounds::default() };
    let mut world = World::new(Setup { bounds, ..config(3) });
    for round in 1..=100 {
        let grant = world.pass(secs(1)).at(&format!("{round}.test"), &per()).unwrap();
        world.finish(&grant, Outcome::Ok);
        let snapshot = world.snapshot();
        assert!(snapshot.origins.len() <= 4);
        assert_eq!((snapshot.leases, snapshot.outcomes.ok), (round, round));
    }
    let snapshot = world.snapshot();
    let forgotten = snapshot.forgotten;
    assert_eq!((forgotten.origins, forgotten.leases, forgotten.outcomes.ok), (96, 96, 96));
    assert_eq!(snapshot.origins.iter().map(|origin| origin.leases).sum::<u64>(), 4);
}

#[test]
fn a25_exits_in_use_are_distinct_from_lease_to_release() {
    let mut world = World::of(2);
    let in_use = |world: &World| world.snapshot().exits_in_use;
    let held = LeaseRequest::new("k");
    let (one, again) = (world.lease(&held), world.lease(&held));
    assert_eq!((one.receipt.exit == again.receipt.exit, in_use(&world)), (true, 1), "two leases of one exit");
    let other = world.at("b.test", &LeaseRequest::identity("x").exclusive()).unwrap();
    assert_ne!(other.receipt.exit, one.receipt.exit);
    assert_eq!(in_use(&world), 2, "whatever the origin");
    world.report(&one, Outcome::Ok);
    assert_eq!(in_use(&world), 2, "a report ends no lease");
    world.end(&one);
    assert_eq!(in_use(&world), 2);
    world.end(&again);
    world.finish(&other, REFUSED);
    assert_eq!(in_use(&world), 0);
}

#[test]
fn a25_a_held_session_of_a_gateway_is_an_exit_in_use_and_listed_while_it_lives() {
    let gateway = Gateway::parse("http://user-{session}:pw@gw.test:7000").unwrap();
    let gateway = gateway.sessions(NonZeroU32::new(4).unwrap());
    let mut world = World::new(Setup { exits: Vec::new(), gateways: vec![gateway], ..config(1) });
    let counts = |world: &World| {
        let snapshot = world.snapshot();
        (snapshot.exits.total, snapshot.exits.sessions, snapshot.exits_in_use)
    };
    assert_eq!(counts(&world), (4, 0, 0));
    let (held, ask) = (world.lease(&LeaseRequest::new("k")), LeaseRequest::new("k"));
    assert_eq!(counts(&world), (4, 1, 1));
    let slot = world.lease(&per());
    assert_eq!(counts(&world), (4, 1, 2));
    world.finish(&held, Outcome::Ok);
    world.finish(&slot, Outcome::Ok);
    assert_eq!(counts(&world), (4, 1, 0), "it is held, and nobody rides it");
    // A burn retires the session, but not under the lease that still rides it.
    let (burns, rides) = (world.lease(&ask), world.lease(&ask));
    world.finish(&burns, BLOCKED);
    let next = world.lease(&ask);
    assert_ne!(next.receipt.exit, rides.receipt.exit);
    assert_eq!(counts(&world), (4, 2, 2));
    world.end(&rides);
    assert_eq!(counts(&world), (4, 1, 1));
    world.end(&next);
    assert_eq!(counts(&world), (4, 1, 0));
}

/// `attempts` without anything held, one in 100 ms, ten at once; those through each exit are blocked at its own rate.
fn blocked_at(world: &mut World, attempts: u64, rate: impl Fn(ExitId) -> f64) {
    use crate::draw::{mix, unit};
    let mut out = std::collections::VecDeque::new();
    for attempt in 0..attempts {
        if let Ok(grant) = world.pass(Duration::from_millis(100)).at("a.test", &per()) {
            out.push_back(grant);
        }
        if out.len() == 10 || attempt + 1 == attempts {
            let Some(grant) = out.pop_front() else { continue };
            let blocked = unit(mix(mix(attempt) ^ 5)) < rate(grant.receipt.exit);
            world.finish(&grant, if blocked { BLOCKED } else { Outcome::Ok });
        }
    }
    out.iter().for_each(|grant| world.finish(grant, Outcome::Ok));
}

#[test]
fn a27_a_snapshot_says_that_the_pattern_is_refused() {
    let mut confirmed = 0;
    for seed in 0..40 {
        // Ten are out at once, however many fail.
        let knobs = Knobs { governor: None, ..Knobs::default() };
        let mut world = World::new(Setup { seed, knobs, ..config(200) });
        blocked_at(&mut world, 1_000, |_| 0.3);
        let spread = world.snapshot().origins[0].spread.clone().unwrap();
        assert_ne!(spread.verdict, SpreadVerdict::Pool, "{spread}");
        assert_eq!(spread.confirmed, spread.to_string().starts_with("pattern: "), "{spread}");
        confirmed += u32::from(spread.confirmed);
    }
    assert!(confirmed >= 28, "{confirmed} of 40");
}

#[test]
fn a26_a27_a_snapshot_never_takes_a_bad_pool_for_a_pattern() {
    for bad in [2, 3, 5] {
        let mut world = World::of(200);
        for step in 0..40 {
            blocked_at(&mut world, 50, |exit| if exit.as_u64() % bad == 0 { 0.9 } else { 0.0 });
            let Some(spread) = world.snapshot().origins[0].spread.clone() else { continue };
            assert_ne!(spread.verdict, SpreadVerdict::Pattern, "1 in {bad} bad, step {step}: {spread}");
        }
    }
}

#[test]
fn a27_only_blocks_of_this_origin_count_and_not_those_behind_a_gateway_that_rotates() {
    let gateways = vec![Gateway::rotating("http://user:pw@gw.test:7001").unwrap()];
    let mut world = World::new(Setup { exits: Vec::new(), gateways, ..config(1) });
    (0..200).for_each(|_| {
        world.once(&per(), BLOCKED);
    });
    assert_eq!(world.snapshot().origins[0].spread, None, "nobody knows which exit it was");
    let mut world = World::of(100);
    for outcome in [Outcome::Ok, BLOCKED, Outcome::Ok, limited(None), REFUSED] {
        world.once(&per(), outcome);
    }
    let other = world.at("b.test", &per()).unwrap();
    world.finish(&other, Outcome::Ok);
    let snapshot = world.snapshot();
    let spread = snapshot.origins[0].spread.clone().unwrap();
    assert_eq!((spread.attempts, spread.blocked, spread.z), (2, 1, None), "from its first block on");
    assert_eq!(snapshot.origins[1].spread, None);
}

#[test]
fn a27_a_page_that_turns_out_to_be_a_block_is_counted_as_one() {
    let mut world = World::of(2);
    let grants = [world.lease(&per()), world.lease(&per())];
    grants.iter().for_each(|grant| world.report(grant, Outcome::Ok));
    let spread = |world: &World| world.snapshot().origins[0].spread.clone();
    assert_eq!(spread(&world), None);
    world.report(&grants[0], BLOCKED);
    let said = spread(&world).unwrap();
    assert_eq!((said.attempts, said.blocked), (1, 1));
    world.report(&grants[0], Outcome::Ok);
    assert_eq!(spread(&world), None, "it was none after all");
}

#[test]
fn a25_the_table_has_every_figure_and_no_heat_where_nothing_was_refused() {
    let gateway = Gateway::parse("http://user-{session}:pw@gw.test:7000").unwrap();
    let mut world = World::new(Setup { gateways: vec![gateway], ..config(20) });
    for (origin, outcome, count) in [
        ("fine.test", Outcome::Ok, 8),
        ("shop-with-a-long-name.test", Outcome::Ok, 30),
        ("shop.test", BLOCKED, 1),
    ] {
        for _ in 0..count {
            let grant = world.at(origin, &per()).unwrap();
            world.finish(&grant, outcome);
        }
    }
    for key in 0..40 {
        let grant = world.at("held.test", &LeaseRequest::new(key.to_string())).unwrap();
        world.finish(&grant, Outcome::Ok);
    }
    let snapshot = world.snapshot();
    let sessions = snapshot.exits.sessions;
    assert!(sessions > 20, "most hold one: {sessions}");
    let table = snapshot.to_string();
    for line in [
        "exits                 276\n",
        &format!("held sessions         {sessions}\n"),
        "leases                79, 0 out on 0 exits\n",
        "  fine.test           8 leases: ok 8\n",
        "  shop-with-a-long-name.test 30 leases: ok 30\n",
        "  shop.test           1 leases: blocked 1; heat 0.14; 1 cooling or on trial\n",
        "    blocks            1 of 1 attempts on 1 exits blocked, too few to say more\n",
    ] {
        assert!(table.contains(line), "{line:?} is not in\n{table}");
    }
    assert!(!table.contains("benched") && !table.contains("alarm"), "{table}");
}

#[test]
fn a25_the_table_of_many_origins_is_still_a_table() {
    let bounds = Bounds { origins: 50, ..Bounds::default() };
    let mut world = World::new(Setup { bounds, ..config(3) });
    for round in 0..60 {
        let grant = world.at(&format!("{round}.test"), &per()).unwrap();
        world.finish(&grant, Outcome::Ok);
    }
    let table = world.snapshot().to_string();
    assert_eq!(table.lines().filter(|line| line.contains(".test ")).count(), 32);
    assert!(table.contains("  28 others           28 leases: ok 28\n"), "{table}");
}
