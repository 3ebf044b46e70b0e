//! What exits share: an overloaded gateway, a dead login. Each costs only what it must.

mod hearsay;
mod login;
mod throttle;

use super::*;
use crate::outcome::{AuthReason, GatewayScope, Seen};

const REJECTED: Outcome = Outcome::AuthError { reason: AuthReason::Rejected };

fn gateway() -> Setup {
    let gateway =
        Gateway::parse("http://u-{session}:pw@gw.test:7000").unwrap().sessions(NonZeroU32::new(16).unwrap());
    Setup { exits: Vec::new(), gateways: vec![gateway], ..config(1) }
}

fn two_gateways() -> Setup {
    let second = Gateway::parse("http://v-{session}:pw@other.test:7000").unwrap();
    let mut config = gateway();
    config.gateways.push(second.sessions(NonZeroU32::new(16).unwrap()));
    config
}

fn host(grant: &Grant) -> String {
    grant.route.host().to_owned()
}

fn accepted(outcome: Outcome) -> Evidence {
    Evidence::of(outcome).login_accepted(true)
}

fn overloaded(hint: Option<u64>) -> Evidence {
    let retry_after = hint.map(|seconds| RetryAfter::new(secs(seconds)));
    Outcome::GatewayOverloaded { retry_after, scope: GatewayScope::Gateway }.into()
}

fn per() -> LeaseRequest {
    LeaseRequest::per_request()
}

#[test]
fn c32_an_overloaded_gateway_is_left_alone_as_a_whole_and_its_exits_are_not_charged() {
    let mut world = World::new(gateway());
    let flying: Vec<_> = (0..10).map(|_| world.lease(&per())).collect();
    world.pass(secs(1));
    flying.iter().for_each(|grant| world.finish(grant, overloaded(None)));
    let mut rests = Vec::new();
    for _ in 0..9 {
        let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &per()) else {
            panic!("it is held")
        };
        assert_eq!(counts.held, 16);
        rests.push(retry_at.since(world.now).as_secs_f64());
        world.now = retry_at;
        let probe = world.lease(&per());
        assert!(probe.trial && world.at("b.test", &per()).is_err(), "one lease tries");
        world.finish(&probe, overloaded(None));
    }
    for (rest, expected) in rests.iter().zip([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]) {
        assert!((expected..=expected * 1.25).contains(rest), "{rest} for {expected}: a burst counts once");
    }
    world.pass(secs(20));
    let probe = world.lease(&per());
    world.finish(&probe, Outcome::Ok);
    assert!(!world.lease(&per()).trial);
    let snapshot = world.snapshot();
    assert_eq!((snapshot.exits.dead, snapshot.origins[0].benched), (0, 0));
}

#[test]
fn a_gateways_retry_after_holds_it_and_another_gateway_goes_on() {
    let mut world = World::new(two_gateways());
    let grant = loop {
        let grant = world.lease(&per());
        if host(&grant) == "gw.test" {
            break grant;
        }
        world.finish(&grant, Outcome::Ok);
    };
    world.finish(&grant, overloaded(Some(7)));
    for _ in 0..50 {
        assert_eq!(host(&world.once(&per(), Outcome::Ok)), "other.test");
        assert_eq!(host(&world.once(&LeaseRequest::new("k"), Outcome::Ok)), "other.test");
    }
    world.pass(secs(9));
    let hosts: std::collections::HashSet<_> =
        (0..50).map(|_| host(&world.once(&per(), Outcome::Ok))).collect();
    assert_eq!(hosts.len(), 2);
}

#[test]
fn a_gateway_that_cannot_be_reached_is_one_failure_and_not_sixteen() {
    let mut world = World::new(gateway());
    let mut sent = 0;
    while let Ok(grant) = world.at("a.test", &per()) {
        world.finish(&grant, Evidence::of(REFUSED).seen(Seen::Never));
        sent += 1;
    }
    assert_eq!((sent, world.snapshot().exits.dead), (3, 0));
    let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &per()) else {
        panic!("it is held")
    };
    assert!((5.0..=6.25).contains(&retry_at.since(world.now).as_secs_f64()));
    world.now = retry_at;
    let probe = world.lease(&per());
    world.finish(&probe, Outcome::Ok);
    assert!(!world.lease(&per()).trial, "it is back, with every session as it was");
}

#[test]
fn c12_no_room_behind_a_login_is_not_a_wrong_login() {
    let mut world = World::new(gateway());
    for _ in 0..5 {
        let Ok(grant) = world.at("a.test", &per()) else {
            world.pass(secs(20));
            continue;
        };
        world.finish(&grant, Outcome::AuthError { reason: AuthReason::Capacity });
    }
    assert!(!matches!(world.at("a.test", &per()), Err(Refusal::FleetStopped)));
}

#[test]
fn new_credentials_are_tried_by_one_lease_and_keep_every_session() {
    let mut world = World::new(gateway());
    let held = LeaseRequest::new("k");
    let before = world.lease(&held);
    world.finish(&before, accepted(Outcome::Ok));
    for _ in 0..2 {
        let grant = world.pass(secs(20)).lease(&per());
        world.finish(&grant, REJECTED);
    }
    assert_eq!(world.at("a.test", &per()).unwrap_err(), Refusal::FleetStopped);
    assert_eq!(world.snapshot().exits.stopped, 16);
    let other = Gateway::parse("http://w-{session}:new@gw.test:7000").unwrap();
    assert!(!world.fleet.set_gateway(world.now, &other), "another user name is another gateway");
    let renewed = Gateway::parse("http://u-{session}:new@gw.test:7000").unwrap();
    assert!(world.fleet.set_gateway(world.now, &renewed));
    let probe = world.lease(&per());
    assert!(probe.trial && world.at("a.test", &held).is_err());
    world.finish(&probe, accepted(Outcome::Ok));
    let after = world.once(&held, Outcome::Ok);
    assert_eq!((after.receipt.exit, after.reason), (before.receipt.exit, Reason::Bound));
    assert_eq!(after.route.credential().unwrap().password(), "new");
}

#[test]
fn c12_a_person_keeps_an_exit_out_and_lets_it_back_in() {
    let mut world = World::of(2);
    let ask = LeaseRequest::new("k");
    let held = world.once(&ask, Outcome::Ok).receipt.exit;
    assert!(world.fleet.quarantine(held, true) && world.fleet.quarantine(held, true));
    for _ in 0..20 {
        assert_ne!(world.once(&per(), Outcome::Ok).receipt.exit, held);
    }
    assert_eq!(world.once(&ask, Outcome::Ok).reason, Reason::Moved { from: held });
    let other = world.once(&per(), Outcome::Ok).receipt.exit;
    assert!(world.fleet.quarantine(other, true));
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &per()) else {
        panic!("both are out")
    };
    assert_eq!((counts.quarantined, counts.total(), world.snapshot().exits.quarantined), (2, 2, 2));
    assert!(world.fleet.quarantine(held, false));
    assert_eq!(world.once(&per(), Outcome::Ok).receipt.exit, held);
}

#[test]
fn b22_a_snapshot_reads_as_a_table_with_the_multipliers_band() {
    let mut world = World::of(4);
    for (outcome, count) in [(Outcome::Ok, 10), (BLOCKED, 1)] {
        (0..count).for_each(|_| {
            world.once(&per(), outcome);
        });
    }
    let table = world.snapshot().to_string();
    for line in [
        "exits                 4\n",
        "leases                11, 0 out on 0 exits\n",
        "attempts per success  1.100, healthy\n",
        "outcomes              ok 10, blocked 1\n",
        "refused leases        0\n",
    ] {
        assert!(table.contains(line), "{line:?} is not in\n{table}");
    }
    (0..3).for_each(|_| {
        world.once(&per(), BLOCKED);
    });
    assert!(world.at("a.test", &per()).is_err());
    (0..4).for_each(|_| {
        let grant = world.pass(secs(100)).lease(&per());
        world.finish(&grant, BLOCKED);
    });
    let table = world.snapshot().to_string();
    assert!(table.contains("1.800, alarm") && table.contains(": 1 for want of a usable exit"), "{table}");
}

#[test]
fn an_overloaded_listed_exit_is_left_alone_and_what_holds_it_stays() {
    let mut world = World::of(3);
    let ask = LeaseRequest::identity("account");
    let held = world.once(&ask, Outcome::Ok).receipt.exit;
    for doublings in 0..8 {
        let grant = world.lease(&ask);
        world.finish(&grant, overloaded(None));
        let Err(Refusal::NoUsableExit { counts, retry_at, .. }) = world.at("a.test", &ask) else {
            panic!("an overload is no loss")
        };
        assert_eq!((counts.held, counts.total()), (1, 1));
        let rest = retry_at.since(world.now).as_secs_f64() / (0.25 * f64::from(1 << doublings)).min(15.0);
        assert!((1.0..=1.25).contains(&rest), "{rest}");
        world.now = retry_at;
        assert_eq!(world.snapshot().exits.dead, 0);
    }
    assert_eq!(world.once(&ask, Outcome::Ok).receipt.exit, held);
}

#[test]
fn an_exit_that_wants_a_login_and_has_none_is_not_asked_for_ever() {
    let mut world = World::of(1);
    let mut billed = 0;
    for _ in 0..1_000 {
        if let Ok(grant) = world.at("a.test", &per()) {
            world.finish(&grant, REJECTED);
            billed += 1;
        }
        world.pass(secs(1));
    }
    assert_eq!(billed, 2);
    assert_eq!(world.at("a.test", &per()).unwrap_err(), Refusal::FleetStopped);
}

#[test]
fn that_a_login_works_again_is_told_also_where_the_doubting_session_is_gone() {
    let mut world = World::new(gateway());
    let ask = LeaseRequest::new("k").max_uses(NonZeroU32::MIN);
    let grant = world.lease(&ask);
    world.finish(&grant, REJECTED);
    let trial = world.pass(secs(1)).lease(&ask);
    assert_ne!(trial.receipt.exit, grant.receipt.exit, "one use each");
    world.finish(&trial, accepted(Outcome::Ok));
    let mut notices = world.fleet.events().take();
    let [(_, Event::CredentialResumed { exit })] = &notices.make_contiguous()[..] else {
        panic!("{notices:?}")
    };
    assert_eq!(*exit, grant.receipt.exit);
}

#[test]
fn an_exit_whose_trial_shows_that_its_login_is_right_is_not_dead_again() {
    let mut world = World::new(Setup {
        exits: ExitList::parse("gw.test:1:u:p").unwrap().into_iter().collect(),
        ..config(1)
    });
    for _ in 0..3 {
        world.once(&per(), REFUSED);
    }
    world.pass(secs(6));
    let trial = world.lease(&per());
    assert!(trial.trial);
    world.finish(&trial, REJECTED);
    let trial = world.pass(secs(1)).lease(&per());
    world.finish(&trial, accepted(Outcome::Ok));
    assert_eq!(world.snapshot().exits.dead, 0);
}

#[test]
fn what_this_request_may_not_use_says_nothing_of_when_to_ask_again() {
    let mut world = World::new(two_gateways());
    let grant = world.lease(&per());
    world.finish(&grant, overloaded(Some(20)));
    let mut ask = per();
    for _ in 0..16 {
        let grant = world.lease(&ask);
        ask.trail.record(grant.receipt.exit, &BLOCKED.into(), false);
        world.finish(&grant, Outcome::Ok);
    }
    let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &ask) else {
        panic!("none")
    };
    assert_eq!((counts.avoided, counts.held), (16, 16));
    assert!(retry_at.since(world.now) >= secs(20), "{:?}", retry_at.since(world.now));
}

#[test]
fn a_snapshot_has_a_row_for_each_gateway_with_its_rest_and_what_is_thought_of_its_login() {
    use crate::scheduler::LoginState;
    let row = |world: &World, name: &str| {
        let snapshot = world.snapshot();
        let row = snapshot.gateways.iter().find(|row| row.gateway == name).cloned().unwrap();
        assert!(!snapshot.to_string().contains("u-"), "no login is told");
        let line = snapshot.to_string().lines().find(|line| line.contains(name)).unwrap().to_owned();
        (row, line)
    };
    let mut world = World::new(two_gateways());
    let out: Vec<_> = (0..4).map(|_| world.lease(&per())).collect();
    let behind = out.iter().filter(|grant| host(grant) == "gw.test").count();
    let (calm, line) = row(&world, "gw.test:7000");
    assert_eq!((calm.exits, calm.in_flight as usize, calm.login), (16, behind, LoginState::Works));
    assert_eq!((calm.limit, calm.left_alone, calm.login_rests), (None, None, None));
    assert_eq!(line, format!("gateway               gw.test:7000: 16 exits, {behind} leases out"));
    out.iter().for_each(|grant| world.finish(grant, Outcome::Ok));

    // A login that is refused twice; and the other gateway is overloaded.
    let one = |world: &mut World, name: &str, outcome: Evidence| loop {
        let grant = world.pass(secs(1)).lease(&per());
        let is = host(&grant) == name;
        world.finish(&grant, if is { outcome } else { Evidence::of(Outcome::Ok) });
        if is {
            break;
        }
    };
    one(&mut world, "gw.test", REJECTED.into());
    let (doubted, _) = row(&world, "gw.test:7000");
    assert_eq!(
        (doubted.login, world.snapshot().gateways[0].gateway.as_str()),
        (LoginState::Suspect, "gw.test:7000")
    );
    one(&mut world, "gw.test", REJECTED.into());
    let (stopped, line) = row(&world, "gw.test:7000");
    assert_eq!((stopped.login, stopped.login_rests), (LoginState::Stopped, None));
    assert!(line.ends_with("; its login is stopped until it is resumed"), "{line}");
    one(&mut world, "other.test", overloaded(Some(20)));
    let (held, line) = row(&world, "other.test:7000");
    assert!(
        held.left_alone.is_some_and(|left| left >= secs(20)) && held.login == LoginState::Works,
        "{held:?}"
    );
    assert!(line.contains("; left alone for 2"), "{line}");
}
