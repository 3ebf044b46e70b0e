//! Named pools: which of them serves whom, on which terms.

use super::*;
use crate::exit::Pool;
use crate::outcome::AuthReason;
use crate::request::Affinity;
use crate::site::Site;

fn list(name: &str, count: u16) -> Pool {
    let lines: Vec<String> = (1..=count).map(|n| format!("{name}{n}.test:80")).collect();
    Pool::new(name, ExitList::parse(&lines.join("\n")).unwrap())
}

fn setup(pools: Vec<Pool>, sites: Vec<(&str, Site)>) -> Setup {
    let mut all = Sites::default();
    sites.into_iter().for_each(|(origin, site)| all.insert(origin, site));
    Setup { exits: Vec::new(), pools, sites: all, ..config(1) }
}

fn per() -> LeaseRequest {
    LeaseRequest::per_request()
}

fn pool(world: &World, grant: &Grant) -> String {
    world.fleet.pool_of(&grant.receipt).to_string()
}

fn finish_in(world: &mut World, ask: &LeaseRequest, outcome: Outcome) -> String {
    let grant = world.lease(ask);
    let pool = pool(world, &grant);
    world.finish(&grant, outcome);
    pool
}

#[test]
fn a_filter_takes_what_it_names_and_nothing_else() {
    let pools = vec![
        list("dc", 50).kind("datacenter").country("us"),
        list("resi", 4).kind("residential").country("US"),
        list("de", 2).kind("residential").country("de"),
    ];
    let mut world = World::new(setup(pools, Vec::new()));
    for (ask, expected) in [
        (per().pool("resi"), &["resi"][..]),
        (per().country("DE"), &["de"]),
        (per().kind("residential"), &["resi", "de"]),
        (per().country("us").kind("residential"), &["resi"]),
        (per().pool("dc").pool("de"), &["dc", "de"]),
        (per().pool("de").affinity(Affinity::RoundRobin), &["de"]),
        (LeaseRequest::new("k").country("de"), &["de"]),
        (LeaseRequest::identity("k").kind("residential"), &["resi", "de"]),
    ] {
        let met: std::collections::BTreeSet<_> =
            (0..200).map(|_| finish_in(&mut world, &ask, Outcome::Ok)).collect();
        assert!(met.iter().all(|pool| expected.contains(&pool.as_str())), "{ask:?}: {met:?}");
    }
    for none in [per().pool("nobody"), per().pool("dc").country("de"), LeaseRequest::new("k").kind("mobile")]
    {
        assert!(matches!(world.at("a.test", &none), Err(Refusal::Misuse(_))), "{none:?}");
    }
}

#[test]
fn a_key_has_an_exit_under_each_filter() {
    let mut world =
        World::new(setup(vec![list("us", 20).country("us"), list("de", 20).country("de")], Vec::new()));
    let us = world.once(&LeaseRequest::new("k").country("us"), Outcome::Ok);
    let de = world.once(&LeaseRequest::new("k").country("de"), Outcome::Ok);
    assert_ne!(us.receipt.exit, de.receipt.exit);
    for _ in 0..3 {
        assert_eq!(
            world.once(&LeaseRequest::new("k").country("us"), Outcome::Ok).receipt.exit,
            us.receipt.exit
        );
        assert_eq!(
            world.once(&LeaseRequest::new("k").country("de"), Outcome::Ok).receipt.exit,
            de.receipt.exit
        );
    }
}

#[test]
fn weights_are_of_exits() {
    let mut world = World::new(setup(vec![list("dc", 10), list("resi", 10).weight(3)], Vec::new()));
    let counts = (0..4_000).filter(|_| finish_in(&mut world, &per(), Outcome::Ok) == "resi").count();
    assert!((2_850..3_150).contains(&counts), "{counts} of 4,000, and not three quarters");
    let keys = (0..2_000)
        .filter(|n| finish_in(&mut world, &LeaseRequest::new(format!("k{n}")), Outcome::Ok) == "resi")
        .count();
    assert!((1_400..1_600).contains(&keys), "{keys} of 2,000 keys");
}

#[test]
fn a_site_goes_to_the_dear_pool_while_it_refuses_the_cheap_one_and_comes_back() {
    let pools = vec![list("cheap", 40), list("dear", 40), list("other", 40)];
    let order = Site::order(["cheap", "dear"]).quiet(secs(60));
    let mut world = World::new(setup(pools, vec![("a.test", order)]));
    world.fleet.events().listen(false);
    for _ in 0..50 {
        assert_eq!(finish_in(&mut world, &per(), Outcome::Ok), "cheap");
    }
    // The site begins to refuse the cheap ones. All that it has met there counts.
    let mut blocked = 0;
    while finish_in(&mut world, &per(), BLOCKED) == "cheap" {
        blocked += 1;
        assert!(blocked < 40, "it stays where it is refused");
    }
    let turned = world.notices().into_iter().find(|event| matches!(event, Event::Escalated { .. }));
    let Some(Event::Escalated { origin, from, to, refused }) = turned else { panic!("nobody was told") };
    assert_eq!((origin.as_str(), from.as_str(), to.as_str()), ("a.test", "cheap", "dear"));
    assert!((0.3..0.7).contains(&refused), "{refused}");
    // Elsewhere any pool serves.
    let elsewhere: std::collections::BTreeSet<_> = (0..200)
        .map(|_| {
            let grant = world.at("b.test", &per()).unwrap();
            world.finish(&grant, Outcome::Ok);
            pool(&world, &grant)
        })
        .collect();
    assert_eq!(elsewhere.len(), 3);
    world.pass(secs(30));
    assert!((0..40).all(|_| finish_in(&mut world, &per(), Outcome::Ok) == "dear"), "it is quiet");
    // One in four tries the cheap pool, which is well again; eight answers bring it back.
    world.pass(secs(200));
    let mut tried = 0;
    for _ in 0..28 {
        tried += u32::from(finish_in(&mut world, &per(), Outcome::Ok) == "cheap");
    }
    assert_eq!(tried, 7);
    // The eighth comes within the next four.
    for _ in 0..4 {
        finish_in(&mut world, &per(), Outcome::Ok);
    }
    assert!((0..40).all(|_| finish_in(&mut world, &per(), Outcome::Ok) == "cheap"));
    assert!(
        world
            .notices()
            .iter()
            .any(|event| matches!(event, Event::CameBack { to, .. } if to.as_str() == "cheap"))
    );
}

#[test]
fn who_holds_an_exit_keeps_it_until_it_is_lost_and_then_goes_where_new_work_goes() {
    let order = Site::order(["cheap", "dear"]);
    let mut world = World::new(setup(vec![list("cheap", 40), list("dear", 40)], vec![("a.test", order)]));
    let own = world.once(&LeaseRequest::new("k"), Outcome::Ok);
    let identity = world.once(&LeaseRequest::identity("i"), Outcome::Ok);
    while finish_in(&mut world, &per(), BLOCKED) == "cheap" {}
    let ask = LeaseRequest::new("k");
    if world.lease(&ask).reason == Reason::Bound {
        assert_eq!(world.once(&ask, Outcome::Ok).receipt.exit, own.receipt.exit);
        world.once(&ask, BLOCKED);
    }
    let moved = world.lease(&ask);
    assert!(matches!(moved.reason, Reason::Moved { .. }));
    assert_eq!(pool(&world, &moved), "dear");
    match world.at("a.test", &LeaseRequest::identity("i")) {
        Ok(same) => assert_eq!(same.receipt.exit, identity.receipt.exit, "an identity moves for no price"),
        Err(refusal) => assert!(matches!(refusal, Refusal::Moved { .. }), "{refusal:?}"),
    }
}

#[test]
fn who_finds_nobody_in_the_pool_goes_on_through_a_later_one() {
    let order = Site::order(["cheap", "dear"]);
    let mut world = World::new(setup(vec![list("cheap", 1), list("dear", 3)], vec![("a.test", order)]));
    assert_eq!(finish_in(&mut world, &per(), BLOCKED), "cheap");
    assert_eq!(finish_in(&mut world, &per(), Outcome::Ok), "dear", "the only cheap one rests");
    world.pass(secs(40));
    assert_eq!(finish_in(&mut world, &per(), Outcome::Ok), "cheap", "and is back");
    assert!(!world.notices().iter().any(|event| matches!(event, Event::Escalated { .. })));
}

#[test]
fn an_exit_carries_no_more_than_its_pool_allows_and_the_next_waits() {
    let two = list("dc", 2).in_flight(NonZeroU32::new(3).unwrap());
    let mut world = World::new(setup(vec![two], Vec::new()));
    let out: Vec<_> = (0..6).map(|_| world.lease(&per())).collect();
    let mut by_exit = HashMap::new();
    out.iter().for_each(|grant| *by_exit.entry(grant.receipt.exit).or_insert(0) += 1);
    assert!(by_exit.values().all(|count| *count == 3), "{by_exit:?}");
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &per()) else {
        panic!("all are full")
    };
    assert_eq!((counts.busy, counts.total()), (2, 2));
    let name = Origin::new("a.test");
    let Turn::Wait { ticket } = world.fleet.lease_or_wait(world.now, &per(), &name, world.now + secs(30))
    else {
        panic!("it waits")
    };
    world.end(&out[0]);
    world.fleet.serve(world.now);
    assert_eq!(world.fleet.poll_wake(), Some(ticket), "who waits hears of it at once");
    let Turn::Granted(grant) = world.fleet.claim(world.now, ticket) else { panic!("there is room") };
    assert_eq!(grant.receipt.exit, out[0].receipt.exit);
    world.fleet.pool.check();
}

#[test]
fn who_holds_a_busy_exit_waits_for_it_and_borrows_none() {
    let one = list("dc", 5).in_flight(NonZeroU32::MIN);
    let mut world = World::new(setup(vec![one], Vec::new()));
    let ask = LeaseRequest::new("k");
    let own = world.lease(&ask);
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &ask) else {
        panic!("its exit is busy")
    };
    assert_eq!((counts.busy, counts.total()), (1, 1));
    let others: Vec<_> = (0..4).map(|_| world.lease(&per())).collect();
    assert!(others.iter().all(|grant| grant.receipt.exit != own.receipt.exit));
    world.end(&own);
    assert_eq!(world.lease(&ask).receipt.exit, own.receipt.exit);
}

#[test]
fn a_pair_is_left_alone_for_its_pools_interval_and_other_origins_are_not() {
    let spaced = list("dc", 2).interval(Duration::from_millis(500));
    let mut world = World::new(setup(vec![spaced], Vec::new()));
    let first = world.once(&per(), Outcome::Ok);
    let second = world.once(&per(), Outcome::Ok);
    assert_ne!(first.receipt.exit, second.receipt.exit);
    let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &per()) else {
        panic!("both were used just now")
    };
    assert_eq!((counts.busy, retry_at.since(world.now)), (2, Duration::from_millis(500)));
    let elsewhere = world.at("b.test", &per()).unwrap();
    world.finish(&elsewhere, Outcome::Ok);
    world.now = Time::from_nanos(retry_at.as_nanos() - 1);
    assert!(world.at("a.test", &per()).is_err());
    world.now = retry_at;
    assert!(!world.lease(&per()).trial, "it is no trial");
    world.fleet.pool.check();
}

#[test]
fn a_refusal_outlasts_an_interval() {
    let spaced = list("dc", 1).interval(Duration::from_millis(500));
    let mut world = World::new(setup(vec![spaced], Vec::new()));
    world.once(&per(), limited(Some(20)));
    let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &per()) else {
        panic!("it rests")
    };
    assert!(retry_at.since(world.now) >= secs(20));
    assert_eq!((counts.cooling, counts.busy), (1, 0));
}

#[test]
fn one_dead_login_leaves_the_other_pool_serving() {
    let a = Gateway::parse("http://a-{session}:p@one.test:1").unwrap();
    let b = Gateway::parse("http://b-{session}:p@two.test:1").unwrap();
    let order = Site::order(["a", "b"]);
    let mut world = World::new(setup(vec![Pool::new("a", a), Pool::new("b", b)], vec![("a.test", order)]));
    assert_eq!(finish_in(&mut world, &per(), Outcome::AuthError { reason: AuthReason::Suspended }), "a");
    assert!((0..20).all(|_| finish_in(&mut world, &per(), Outcome::Ok) == "b"));
    assert!(matches!(world.at("a.test", &per().pool("a")), Err(Refusal::FleetStopped)), "nothing of it goes");
}
