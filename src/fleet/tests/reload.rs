//! Another configuration: who stays, who leaves, who joins.

use super::chaos::{Dice, ask, evidence};
use super::clock::overloaded;
use super::*;
use crate::exit::Pool;
use crate::request::OnLoss;

fn exits_of(list: &str) -> Vec<Pool> {
    let lines: Vec<String> = list.split(' ').map(|name| format!("{name}.test:80")).collect();
    vec![Pool::new("dc", ExitList::parse(&lines.join("\n")).unwrap())]
}

fn world(list: &str) -> World {
    World::new(Setup { exits: Vec::new(), pools: exits_of(list), ..config(1) })
}

fn reload(world: &mut World, pools: Vec<Pool>) -> (usize, usize, usize) {
    let done = world.fleet.reload(world.now, pools, Arc::default(), RetryRules::default()).unwrap();
    world.fleet.pool.check();
    (done.added, done.kept, done.removed)
}

fn id(name: &str) -> ExitId {
    Exit::parse(&format!("{name}.test:80")).unwrap().id()
}

fn per() -> LeaseRequest {
    LeaseRequest::per_request()
}

#[test]
fn te_129_a_reload_adds_keeps_and_retires() {
    let mut world = world("a b");
    let burned = world.through("a.test", id("b"));
    world.finish(&burned, BLOCKED);
    let under_way = world.through("a.test", id("a"));
    assert_eq!(reload(&mut world, exits_of("b c c")), (1, 1, 1));
    // C serves, A gets nothing new, and B still rests.
    for _ in 0..20 {
        let grant = world.lease(&per());
        assert_eq!(grant.receipt.exit, id("c"));
        world.finish(&grant, Outcome::Ok);
    }
    assert_eq!(world.snapshot().exits.total, 2);
    world.pass(secs(60));
    assert!(world.fleet.quarantine(id("c"), true));
    let back = world.lease(&per());
    assert!(back.receipt.exit == id("b") && back.trial, "a rest that began before ends as a rest does");
    // What was under way ends as it would have.
    world.finish(&under_way, Outcome::Ok);
    assert_eq!(world.snapshot().in_flight, 1);
    assert_eq!(world.snapshot().outcomes.ok, 21);
}

#[test]
fn who_holds_an_exit_that_stays_keeps_it_and_who_holds_one_that_leaves_goes() {
    let mut world = world("a b c d e f g h");
    let asks: Vec<_> = (0..40).map(|n| LeaseRequest::new(format!("k{n}"))).collect();
    let before: Vec<_> = asks.iter().map(|ask| world.once(ask, Outcome::Ok).receipt.exit).collect();
    let life = LeaseRequest::new("w").granularity(Granularity::Static);
    let waits = world.once(&life, Outcome::Ok).receipt.exit;
    let identity = world.once(&LeaseRequest::identity("i"), Outcome::Ok).receipt.exit;
    assert_eq!(reload(&mut world, exits_of("a b c d x y")), (2, 4, 4));
    let stays = |exit: ExitId| ["a", "b", "c", "d"].iter().any(|name| id(name) == exit);
    for (ask, before) in asks.iter().zip(before) {
        let after = world.once(ask, Outcome::Ok);
        if stays(before) {
            assert_eq!((after.receipt.exit, after.reason), (before, Reason::Bound));
        } else {
            assert_eq!(after.reason, Reason::Moved { from: before });
        }
    }
    let again = world.at("a.test", &life);
    assert_eq!(again.is_ok(), stays(waits), "who waits does so until its exit is back: {again:?}");
    match world.at("a.test", &LeaseRequest::identity("i")) {
        Ok(same) => assert_eq!(same.receipt.exit, identity),
        Err(told) => assert!(matches!(told, Refusal::Moved { from, .. } if from == identity && !stays(from))),
    }
    // One that left comes back as itself.
    assert_eq!(reload(&mut world, exits_of("a b c d e f g h")), (4, 4, 2));
    assert_eq!(world.once(&life, Outcome::Ok).receipt.exit, waits);
}

#[test]
fn a_thousand_reloads_of_a_list_that_turns_over_hold_no_more_than_two_lists() {
    let mut world = world("a b");
    for n in 0..1_000 {
        let names: Vec<String> = (0..8).map(|k| format!("x{}", n * 4 + k)).collect();
        reload(&mut world, exits_of(&names.join(" ")));
        for key in 0..8 {
            world.once(&LeaseRequest::new(format!("k{key}")), if key == 0 { BLOCKED } else { Outcome::Ok });
        }
        world.pass(secs(700));
    }
    assert_eq!(world.snapshot().exits.total, 8);
    // Those of the last hour are remembered.
    assert!(world.fleet.pool.places() <= 80, "{} places for eight exits", world.fleet.pool.places());
    assert!(world.snapshot().hottest.len() <= 10);
}

#[test]
fn a_new_password_keeps_burns_and_a_new_gateway_joins() {
    let pools = |password: &str, more: bool| {
        let exits = ExitList::parse(&format!("a.test:80:u:{password}\nb.test:80")).unwrap();
        let gateway = Gateway::parse(&format!("http://g-{{session}}:{password}@gw.test:1")).unwrap();
        let gateway = gateway.sessions(NonZeroU32::new(4).unwrap());
        let pool = Pool::new("dc", exits).and(gateway);
        let second = Gateway::parse("http://h-{session}:p@gw2.test:1").unwrap();
        vec![if more { pool.and(second.sessions(NonZeroU32::new(2).unwrap())) } else { pool }]
    };
    let mut world = World::new(Setup { exits: Vec::new(), pools: pools("old", false), ..config(1) });
    let own = Exit::parse("a.test:80:u:old").unwrap().id();
    let burned = world.through("a.test", own);
    world.finish(&burned, BLOCKED);
    let session = LeaseRequest::new("k").pool("dc").on_loss(OnLoss::Wait);
    let held = world.once(&session, Outcome::Ok);
    assert_eq!(reload(&mut world, pools("new", true)), (2, 6, 0));
    let same = world.once(&session, Outcome::Ok);
    assert_eq!((same.receipt.exit, same.reason), (held.receipt.exit, Reason::Bound));
    if let Some(login) = same.route.credential() {
        assert_eq!(login.password(), "new");
    }
    assert!((0..50).all(|_| world.once(&per(), Outcome::Ok).receipt.exit != own), "it still rests");
    assert_eq!(reload(&mut world, pools("new", false)), (0, 6, 2), "the second gateway leaves");
}

#[test]
fn more_or_fewer_slots_come_and_go_and_the_others_stay() {
    let pools = |slots: u32| {
        let gateway = Gateway::parse("http://g-{session}:p@gw.test:1").unwrap();
        vec![Pool::new("dc", gateway.sessions(NonZeroU32::new(slots).unwrap()))]
    };
    let mut world = World::new(Setup { exits: Vec::new(), pools: pools(8), ..config(1) });
    assert_eq!(reload(&mut world, pools(12)), (4, 8, 0));
    assert_eq!(reload(&mut world, pools(3)), (0, 3, 9));
    let met: std::collections::HashSet<_> =
        (0..200).map(|_| world.once(&per(), Outcome::Ok).receipt.exit).collect();
    assert_eq!(met.len(), 3);
    world.once(&per(), overloaded());
    assert!(world.at("a.test", &per()).is_err(), "all stand behind one address");
    assert_eq!(reload(&mut world, pools(5)), (2, 3, 0));
    let after = world.at("a.test", &per());
    assert!(after.is_err(), "new ones too: {after:?}");
}

#[test]
fn who_waits_hears_of_an_exit_that_joins() {
    let mut world = world("a");
    world.once(&per(), limited(Some(20)));
    let name = Origin::new("a.test");
    let Turn::Wait { ticket } = world.fleet.lease_or_wait(world.now, &per(), &name, world.now + secs(30))
    else {
        panic!("it waits")
    };
    reload(&mut world, exits_of("a b"));
    world.fleet.serve(world.now);
    assert_eq!(world.fleet.poll_wake(), Some(ticket));
    assert!(
        matches!(world.fleet.claim(world.now, ticket), Turn::Granted(grant) if grant.receipt.exit == id("b"))
    );
}

/// Some of 24 exits and three gateways, in one to three pools on whatever terms.
fn anything(dice: &mut Dice) -> Vec<Pool> {
    let count = dice.roll(3) + 1;
    let mut pools: Vec<Pool> = Vec::new();
    let (mut exits, mut gateways): (Vec<usize>, Vec<usize>) = ((0..24).collect(), (0..3).collect());
    for n in 0..count {
        let mut lines = vec![format!("p{n}.test:80")];
        for _ in 0..dice.roll(8) {
            let at = dice.roll(exits.len());
            lines.push(format!("x{}.test:80:u:p{}", exits.swap_remove(at), dice.roll(2)));
        }
        let mut pool = Pool::new(dice.of(&["a", "b", "c", "d"]), ExitList::parse(&lines.join("\n")).unwrap());
        if pools.iter().any(|other| other.name() == pool.name()) {
            continue;
        }
        if dice.roll(2) == 0 {
            pool = pool.in_flight(NonZeroU32::new(1 + dice.roll(3) as u32).unwrap());
        }
        if dice.roll(2) == 0 {
            pool = pool.interval(dice.of(&[Duration::from_millis(3), secs(1), secs(30)]));
        }
        if dice.roll(2) == 0 && !gateways.is_empty() {
            let at = dice.roll(gateways.len());
            let gateway = gateways.swap_remove(at);
            let user = if gateway == 2 { "rot".into() } else { format!("g{gateway}-{{session}}") };
            let spec = format!("http://{user}:p{}@gw.test:1", dice.roll(2));
            let gateway =
                if gateway == 2 { Gateway::rotating(&spec) } else { Gateway::parse(&spec) }.unwrap();
            let slots = NonZeroU32::new(1 + dice.roll(6) as u32).unwrap();
            pool = pool.and(gateway.sessions(slots).lifetime(secs(90)));
        }
        pools.push(pool.country(dice.of(&["us", "de"])).weight(1 + dice.roll(3) as u32));
    }
    pools
}

fn sites(dice: &mut Dice) -> Sites {
    let mut sites = Sites::default();
    let order = dice.of(&[&["a", "b"][..], &["c"], &["d", "a", "nobody"], &[]]);
    let site = crate::site::Site::order(order.iter().copied()).quiet(secs(5));
    sites.insert(dice.of(&["0.test", "*.test", "*"]), site);
    sites
}

#[test]
fn whatever_is_reloaded_the_tables_agree_and_nothing_leaks() {
    for round in 0..60 {
        let mut dice = Dice(round);
        let dice = &mut dice;
        let pools = anything(dice);
        let setup = Setup { exits: Vec::new(), pools, sites: sites(dice), ..config(1) };
        let mut world = World::new(setup);
        let mut out: Vec<Grant> = Vec::new();
        for step in 0..1_500 {
            match dice.roll(8) {
                0..=2 => {
                    let mut ask = ask(dice);
                    if dice.roll(3) == 0 {
                        ask = ask.country(dice.of(&["us", "de", "fr"]));
                    }
                    if ask.contradiction().is_none() {
                        out.extend(world.at(&format!("{}.test", dice.roll(3)), &ask));
                    }
                }
                3 | 4 if !out.is_empty() => {
                    let grant = out.swap_remove(dice.roll(out.len()));
                    let said = evidence(dice);
                    world.report(&grant, said);
                    world.end(&grant);
                }
                5 => {
                    let (pools, sites) = (anything(dice), Arc::new(sites(dice)));
                    if step % 3 == 0 {
                        let total: usize = {
                            let done = world.fleet.reload(world.now, pools, sites, RetryRules::default());
                            let done = done.expect("there is room for four names");
                            done.added + done.kept
                        };
                        assert_eq!(
                            world.snapshot().exits.total as usize,
                            total,
                            "round {round}, step {step}"
                        );
                    }
                }
                _ => {
                    world.pass(dice.of(&[Duration::ZERO, Duration::from_millis(10), secs(1), secs(40)]));
                }
            }
            world.fleet.serve(world.now);
            if step % 16 == 0 {
                world.fleet.pool.check();
            }
        }
        out.iter().for_each(|grant| world.end(grant));
        world.fleet.pool.check();
        let snapshot = world.snapshot();
        assert_eq!((snapshot.in_flight, snapshot.exits_in_use), (0, 0), "round {round}");
        assert!(world.fleet.pool.places() <= 200, "round {round}: {} places", world.fleet.pool.places());
    }
}
