//! Who may serve whom, and how far each loss reaches.

use super::*;
use crate::outcome::{AuthReason, GatewayScope};
use crate::request::OnLoss;

const BROKEN: Outcome = Outcome::ProxyError { phase: Phase::Tunnel };
const OVERLOADED: Outcome = Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway };
const REJECTED: Outcome = Outcome::AuthError { reason: AuthReason::Rejected };

/// Two logins at one address, a third at another; four sessions each.
fn three_logins() -> World {
    let slots = |spec: &str| Gateway::parse(spec).unwrap().sessions(NonZeroU32::new(4).unwrap());
    let gateways = vec![
        slots("http://u-{session}:pw@gw.test:7000"),
        slots("http://w-{session}:pw@gw.test:7000"),
        slots("http://v-{session}:pw@other.test:7000"),
    ];
    World::new(Setup { exits: Vec::new(), gateways, ..config(1) })
}

fn user(grant: &Grant) -> String {
    grant.route.credential().unwrap().user().to_owned()
}

/// How many sessions of each login may serve a site now, in turn, however hot they are.
fn usable(world: &mut World, origin: &str) -> [usize; 3] {
    let mut users = HashSet::new();
    for _ in 0..12 {
        let Ok(grant) = world.at(origin, &turns()) else { break };
        users.insert(user(&grant));
        world.end(&grant);
    }
    ["u-", "w-", "v-"].map(|login| users.iter().filter(|user| user.starts_with(login)).count())
}

/// One session of the first login meets this, so many times.
fn meet(world: &mut World, outcome: Outcome, times: u32) {
    let mut met = None;
    for _ in 0..times {
        world.pass(Duration::from_millis(1));
        let grant = loop {
            let grant = world.at("a.test", &per()).unwrap();
            if met.as_ref().map_or_else(|| user(&grant).starts_with("u-"), |met| *met == grant.receipt.exit) {
                break grant;
            }
            world.end(&grant);
        };
        met = Some(grant.receipt.exit);
        world.finish(&grant, outcome);
    }
}

#[test]
fn a05_each_failure_domain_is_lost_as_far_as_it_reaches_and_no_farther() {
    const ALL: [usize; 3] = [4, 4, 4];
    let (mute, spent) = ([0, 0, 4], [0, 4, 4]);
    for (what, outcome, times, here, elsewhere, back) in [
        ("burned exit", BLOCKED, 1, [3, 4, 4], ALL, Some((10_000, 12_500))),
        ("dead exit", BROKEN, 3, [3, 4, 4], [3, 4, 4], Some((4_500, 5_500))),
        ("overloaded gateway", OVERLOADED, 1, mute, mute, Some((250, 313))),
        ("dead login", REJECTED, 2, spent, spent, None),
    ] {
        let mut world = three_logins();
        let both = |world: &mut World| [usable(world, "a.test"), usable(world, "b.test")];
        assert_eq!(both(&mut world), [ALL, ALL]);
        meet(&mut world, outcome, times);
        assert_eq!(both(&mut world), [here, elsewhere], "{what}");
        let Some((earliest, latest)) = back else {
            world.pass(secs(86_400));
            assert_eq!(both(&mut world), [here, elsewhere], "{what}: no time heals it");
            world.fleet.resume(world.now);
            assert_eq!(both(&mut world), [ALL, ALL], "{what}: a person does");
            continue;
        };
        world.pass(Duration::from_millis(earliest - 1));
        assert_eq!(both(&mut world), [here, elsewhere], "{what}: too early");
        world.pass(Duration::from_millis(latest + 1 - earliest));
        assert_eq!(both(&mut world), [ALL, ALL], "{what}: it is over");
    }
}

#[test]
fn a08_healthy_burned_dead_and_quarantined_exits_are_told_apart() {
    let mut world = World::of(4);
    let [burned, dead, kept_out, healthy] = [0, 1, 2, 3].map(|at| exits(4)[at].id());
    let grant = world.through("a.test", burned);
    world.finish(&grant, BLOCKED);
    for _ in 0..3 {
        let grant = world.through("a.test", dead);
        world.finish(&grant, REFUSED);
    }
    assert!(world.fleet.quarantine(kept_out, true));
    for _ in 0..50 {
        assert_eq!(world.once(&per(), Outcome::Ok).receipt.exit, healthy);
    }
    let mut ask = per();
    ask.trail.record(healthy, &BLOCKED.into(), false);
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &ask) else { panic!("none is left") };
    assert_eq!((counts.cooling, counts.dead, counts.quarantined, counts.avoided), (1, 1, 1, 1));
    let snapshot = world.snapshot();
    assert_eq!((snapshot.exits.total, snapshot.exits.dead, snapshot.exits.quarantined), (4, 1, 1));
    assert_eq!((snapshot.origins[0].benched, snapshot.hottest[0].exit), (1, burned));
}

#[test]
fn a09_an_exit_begins_clean_and_keeps_a_record_of_each_site() {
    let mut world = World::of(2);
    let snapshot = world.snapshot();
    assert_eq!((snapshot.exits.total, snapshot.exits.dead, snapshot.hottest.len()), (2, 0, 0));
    for origin in ["a.test", "b.test"] {
        let grant = world.pass(secs(6)).at(origin, &held()).unwrap();
        assert!(!grant.trial && grant.route.host() == "gw.test");
        world.finish(&grant, BLOCKED);
    }
    let rests = ["a.test", "b.test"].map(|origin| rest(&mut world, origin).as_secs_f64());
    assert!((4.0..=6.5).contains(&rests[0]) && (10.0..=12.5).contains(&rests[1]), "{rests:?}");
    assert!(!world.at("c.test", &held()).unwrap().trial);
}

/// A pool of one exit, which one has held who waits for it, and which may be burned at a.test and dead everywhere.
fn pool_of_one(burned: bool, dead: bool) -> World {
    let mut world = World::of(1);
    world.once(&waits(), Outcome::Ok);
    if burned {
        world.once(&per(), BLOCKED);
    }
    for _ in 0..if dead { 3 } else { 0 } {
        let grant = world.at("b.test", &per()).unwrap();
        world.finish(&grant, REFUSED);
    }
    world
}

fn waits() -> LeaseRequest {
    LeaseRequest::identity("account").on_loss(OnLoss::Wait)
}

#[test]
fn a13_an_exit_serves_where_it_is_alive_unburned_and_rested_to_the_nanosecond() {
    let asks = [per(), waits(), LeaseRequest::new("k")];
    for (burned, dead) in [(false, false), (false, true), (true, false), (true, true)] {
        for (origin, lost) in [("a.test", burned || dead), ("b.test", dead)] {
            for ask in &asks {
                let case = format!("{origin}, burned {burned}, dead {dead}: {ask:?}");
                let mut world = pool_of_one(burned, dead);
                let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at(origin, ask) else {
                    assert!(!lost, "{case}");
                    continue;
                };
                assert!(lost && counts.total() == 1, "{case}");
                world.now = Time::from_nanos(retry_at.as_nanos() - 1);
                assert!(world.at(origin, ask).is_err(), "a nanosecond early: {case}");
                world.now = retry_at;
                assert!(world.at(origin, ask).unwrap().trial, "{case}");
            }
        }
    }
}

#[test]
fn a14_b13_by_the_articles_rules_a_burned_pair_rests_five_to_six_minutes_each_time() {
    let mut world = World::new(by_the_article(2));
    let mut rests = Vec::new();
    for _ in 0..200 {
        world.once(&held(), BLOCKED);
        let rest = rest(&mut world, "a.test");
        rests.push(rest.as_secs_f64());
        world.pass(rest);
    }
    let (least, most) =
        (rests.iter().copied().fold(f64::MAX, f64::min), rests.iter().copied().fold(0.0, f64::max));
    let mean = rests.iter().sum::<f64>() / 200.0;
    assert!((300.0..303.0).contains(&least) && (357.0..=360.0).contains(&most), "{least} to {most}");
    assert!((mean - 330.0).abs() < 4.0, "{mean}");
}

#[test]
fn a14_a22_without_a_report_nothing_is_learned() {
    let mut world = World::of(3);
    let ends = [Release::Done, Release::NotAttempted, Release::Dropped { after: secs(9) }];
    for how in ends.into_iter().cycle().take(60) {
        let grant = world.lease(&LeaseRequest::new("k"));
        world.fleet.release(&grant.receipt, how, None);
    }
    let snapshot = world.snapshot();
    assert_eq!((snapshot.leases, snapshot.in_flight, snapshot.outcomes), (60, 0, Default::default()));
    assert_eq!((snapshot.exits.dead, snapshot.origins[0].benched, snapshot.hottest.len()), (0, 0, 0));
    world.once(&LeaseRequest::new("k"), BLOCKED);
    let snapshot = world.snapshot();
    assert_eq!((snapshot.outcomes.blocked, snapshot.origins[0].benched, snapshot.hottest.len()), (1, 1, 1));
}

#[test]
fn c07_one_record_of_an_exit_serves_all_who_lease_it() {
    let asks = [per(), LeaseRequest::new("k"), LeaseRequest::new("k").worker("w"), waits()];
    let mut world = World::of(1);
    let all = |world: &mut World| -> Vec<bool> {
        let sites = ["a.test", "b.test"].into_iter().flat_map(|site| asks.iter().map(move |ask| (site, ask)));
        let served = sites.map(|(site, ask)| match world.at(site, ask) {
            Ok(grant) => {
                world.finish(&grant, Outcome::Ok);
                true
            }
            Err(Refusal::NoUsableExit { counts, .. }) => {
                assert_eq!((counts.dead, counts.total()), (1, 1));
                false
            }
            Err(other) => panic!("{other:?}"),
        });
        served.collect()
    };
    assert_eq!(all(&mut world), [true; 8]);
    for _ in 0..3 {
        world.once(&asks[1], REFUSED);
    }
    assert_eq!(all(&mut world), [false; 8], "dead for one is dead for all, everywhere");
    let back = rest(&mut world, "b.test");
    let probe = world.pass(back).at("b.test", &asks[3]).unwrap();
    assert!(probe.trial && world.at("a.test", &asks[0]).is_err(), "one probe");
    world.finish(&probe, Outcome::Ok);
    assert_eq!(all(&mut world), [true; 8]);
}

#[test]
fn c14_a_late_answer_opens_no_pair_that_is_on_trial() {
    let mut world = World::of(1);
    let slow = world.lease(&per());
    world.once(&per(), BLOCKED);
    let back = rest(&mut world, "a.test");
    world.pass(back);
    assert!(!world.fleet.pool.tick(world.now), "the rest is over");
    world.finish(&slow, Outcome::Ok);
    let trial = world.lease(&per());
    assert!(trial.trial, "it was sent before the burn");
    world.finish(&trial, Outcome::Ok);
    assert!(!world.lease(&per()).trial, "this one after");
}
