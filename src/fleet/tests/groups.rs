//! Who waits for the same, and who does not: nobody stands behind somebody who wants something else.

use super::*;
use crate::exit::Gateway;
use crate::request::{Affinity, OnLoss};

fn once() -> LeaseRequest {
    LeaseRequest::per_request()
}

fn waits(world: &mut World, ask: &LeaseRequest) -> Ticket {
    match world.fleet.lease_or_wait(world.now, ask, &Origin::new("a.test"), world.now + secs(3_000)) {
        Turn::Wait { ticket } => ticket,
        turn => panic!("{turn:?}"),
    }
}

/// Polls all, as tasks that are woken or whose time has come, and answers who has something now.
fn served(world: &mut World, tickets: &[Ticket]) -> Vec<usize> {
    world.fleet.serve(world.now);
    while world.fleet.poll_wake().is_some() {}
    let due = |ticket: &Ticket| world.fleet.wait(world.now, *ticket).is_none();
    let due: Vec<_> = tickets.iter().map(due).collect();
    (0..tickets.len()).filter(|at| due[*at]).collect()
}

fn gateway(world: &mut Setup, slots: u32) {
    let gateway = Gateway::parse("http://u-{session}:p@gw.test:1").unwrap();
    world.exits.clear();
    world.gateways.push(gateway.sessions(NonZeroU32::new(slots).unwrap()));
}

#[test]
fn who_has_a_session_of_its_own_does_not_wait_for_anothers() {
    let mut config = config(1);
    gateway(&mut config, 1);
    let mut world = World::new(config);
    let key = |name: &str| LeaseRequest::new(name);
    // Nothing else is usable: the one slot rests for long, and both sessions.
    world.once(&key("long"), limited(Some(600)));
    world.once(&key("short"), limited(Some(5)));
    world.once(&once(), limited(Some(600)));
    let tickets = [waits(&mut world, &key("long")), waits(&mut world, &key("short"))];
    assert!(world.at("a.test", &key("new")).is_ok());
    let new = world.fleet.lease_or_wait(world.now, &key("newer"), &Origin::new("a.test"), Time::MAX);
    assert!(matches!(new, Turn::Granted(_)), "a new session waits for none: {new:?}");
    world.pass(secs(10));
    assert_eq!(served(&mut world, &tickets), [1]);
}

#[test]
fn who_fails_when_its_exit_is_lost_is_told_though_another_waits_for_it() {
    let mut world = World::of(2);
    let wait = held().on_loss(OnLoss::Wait);
    let fail = held().on_loss(OnLoss::Fail);
    let exit = world.once(&wait, limited(Some(600))).receipt.exit;
    let tickets = [waits(&mut world, &wait), waits(&mut world, &fail)];
    world.fleet.quarantine(exit, true);
    assert_eq!(served(&mut world, &tickets), [1]);
}

#[test]
fn who_has_an_exit_alone_does_not_wait_behind_those_whom_it_keeps_out() {
    let mut world = World::of(1);
    let (other, owner) =
        (held().on_loss(OnLoss::Wait), LeaseRequest::new("owner").granularity(Granularity::Static));
    world.once(&other, Outcome::Ok);
    world.once(&owner.clone().exclusive(), limited(Some(60)));
    let tickets = [waits(&mut world, &other), waits(&mut world, &owner)];
    world.pass(secs(80));
    assert_eq!(served(&mut world, &tickets), [1]);
}

#[test]
fn who_takes_turns_does_not_wait_behind_who_holds_sessions() {
    let mut config = config(1);
    gateway(&mut config, 1);
    let mut world = World::new(config);
    let turn = LeaseRequest::new("t").affinity(Affinity::RoundRobin);
    world.once(&once(), limited(Some(60)));
    let ticket = waits(&mut world, &turn);
    let key =
        world.fleet.lease_or_wait(world.now, &LeaseRequest::new("k"), &Origin::new("a.test"), Time::MAX);
    assert!(matches!(key, Turn::Granted(_)), "a session of its own is to be had: {key:?}");
    world.fleet.leave(world.now, ticket);
}

#[test]
fn who_waits_for_its_exit_takes_another_when_its_window_ends() {
    let ask = LeaseRequest::new("k").windowed(secs(60)).on_loss(OnLoss::Wait);
    for ask in [ask.clone(), ask.exclusive()] {
        let mut world = World::of(2);
        let exit = world.once(&ask, Outcome::Ok).receipt.exit;
        world.fleet.quarantine(exit, true);
        let ticket = waits(&mut world, &ask);
        let until = world.fleet.wait(world.now, ticket).unwrap();
        assert!(until.since(world.now) <= secs(60), "{until:?}");
        world.now = until;
        assert_eq!(world.fleet.wait(world.now, ticket), None);
        let Turn::Granted(grant) = world.fleet.claim(world.now, ticket) else { panic!("its window is over") };
        assert_ne!(grant.receipt.exit, exit);
    }
}

#[test]
fn who_waits_for_its_exit_waits_until_its_window_ends_though_the_rest_is_longer() {
    let mut world = World::of(2);
    let ask = LeaseRequest::new("k").windowed(secs(20)).on_loss(OnLoss::Wait);
    let rest = world.once(&ask, limited(Some(3_000)));
    let Turn::Wait { ticket } =
        world.fleet.lease_or_wait(world.now, &ask, &Origin::new("a.test"), world.now + secs(30))
    else {
        panic!("within its patience it may have another")
    };
    world.now = world.fleet.wait(world.now, ticket).unwrap();
    let Turn::Granted(grant) = world.fleet.claim(world.now, ticket) else { panic!("its window is over") };
    assert_ne!(grant.receipt.exit, rest.receipt.exit);
}

#[test]
fn who_waits_for_its_exit_goes_along_when_its_key_moves() {
    let mut world = World::of(2);
    let wait = held().on_loss(OnLoss::Wait);
    let exit = world.once(&wait, Outcome::Ok).receipt.exit;
    world.fleet.quarantine(exit, true);
    let ticket = waits(&mut world, &wait);
    assert!(served(&mut world, &[ticket]).is_empty());
    assert_ne!(world.lease(&held().on_loss(OnLoss::Move)).receipt.exit, exit);
    assert_eq!(served(&mut world, &[ticket]), [0]);
}

#[test]
fn room_is_for_those_who_were_called_and_goes_on_when_they_go() {
    let mut world = World::new(Setup { bounds: Bounds { leases: 2, ..Bounds::default() }, ..config(1) });
    let long = world.at("b.test", &once()).unwrap();
    world.once(&once(), limited(Some(1)));
    let tried = waits(&mut world, &once());
    let out = world.at("b.test", &once()).unwrap();
    let full = |world: &mut World| match world.fleet.lease_or_wait(
        world.now,
        &once(),
        &Origin::new("b.test"),
        Time::MAX,
    ) {
        Turn::Wait { ticket } => ticket,
        turn => panic!("{turn:?}"),
    };
    let room = full(&mut world);
    // The rest is over: the one place that gets free is for who was called first, and nobody takes it from it.
    world.pass(secs(2));
    assert_eq!(served(&mut world, &[tried]), [0]);
    world.end(&out);
    assert!(served(&mut world, &[room]).is_empty());
    let newcomer = full(&mut world);
    world.fleet.leave(world.now, tried);
    assert_eq!(served(&mut world, &[room, newcomer]), [0]);
    world.end(&long);
}

#[test]
fn the_last_in_line_is_looked_at_though_things_change_without_a_pause() {
    let mut world = World::of(2);
    let own = held();
    let mine = world.once(&own, Outcome::Ok).receipt.exit;
    // Three hundred origins at which it rests for long, and one at which it rests for a moment.
    let mut tickets = Vec::new();
    for site in 0..301 {
        let origin = format!("{site}.test");
        let rest = world.at(&origin, &own).unwrap();
        world.finish(&rest, limited(Some(if site == 300 { 1 } else { 600 })));
        let turn = world.fleet.lease_or_wait(world.now, &own, &Origin::new(&origin), Time::MAX);
        let Turn::Wait { ticket } = turn else { panic!("{turn:?}") };
        tickets.push(ticket);
    }
    let other = exits(2).into_iter().find(|exit| exit.id() != mine).unwrap().id();
    world.pass(secs(2));
    world.fleet.pool.tick(world.now);
    for on in [true, false].repeat(10) {
        world.fleet.quarantine(other, on);
        world.fleet.serve(world.now);
    }
    assert!(world.fleet.wait(world.now, tickets[300]).is_none());
}
