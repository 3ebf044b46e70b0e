//! The line: who waits is called in turn, and nobody waits for what concerns others.

use super::*;
use crate::exit::Gateway;
use crate::outcome::{AuthReason, GatewayScope};
use crate::request::OnLoss;
use std::collections::{BTreeMap, BTreeSet};

/// Tasks that wait, each with the time at which it wakes by itself. They are polled when they are woken or it is time.
#[derive(Default)]
pub(super) struct Tasks {
    pub(super) asleep: BTreeMap<Ticket, (usize, Time)>,
    /// The same by time; those that are asleep no more as well.
    pub(super) alarms: BTreeSet<(Time, Ticket)>,
    /// What came of each: a grant or a refusal, and when.
    pub(super) done: Vec<(usize, Time, Result<Grant, Refusal>)>,
    /// Nobody polls these.
    pub(super) stuck: Vec<usize>,
    /// How often one was polled.
    pub(super) polls: usize,
}

impl Tasks {
    pub(super) fn join(&mut self, world: &mut World, task: usize, origin: &str, ask: &LeaseRequest) {
        let patience = world.now + ask.patience;
        let turn = world.fleet.lease_or_wait(world.now, ask, &Origin::new(origin), patience);
        self.turn(world, task, turn);
        self.wake(world);
    }

    fn turn(&mut self, world: &mut World, task: usize, turn: Turn) {
        match turn {
            Turn::Granted(grant) => self.done.push((task, world.now, Ok(grant))),
            Turn::Refused(refusal) => self.done.push((task, world.now, Err(refusal))),
            Turn::Wait { ticket } => {
                let until = world.fleet.wait(world.now, ticket).unwrap_or(world.now);
                self.asleep.insert(ticket, (task, until));
                self.alarms.insert((until, ticket));
            }
        }
    }

    pub(super) fn poll(&mut self, world: &mut World, ticket: Ticket) {
        let Some((task, _)) = self.asleep.get(&ticket).copied() else { return };
        if self.stuck.contains(&task) {
            return;
        }
        self.asleep.remove(&ticket);
        self.polls += 1;
        let turn = match world.fleet.wait(world.now, ticket) {
            Some(_) => Turn::Wait { ticket },
            None => world.fleet.claim(world.now, ticket),
        };
        self.turn(world, task, turn);
    }

    /// Polls whoever is woken, until nobody is.
    pub(super) fn wake(&mut self, world: &mut World) {
        world.fleet.serve(world.now);
        while let Some(ticket) = world.fleet.poll_wake() {
            self.poll(world, ticket);
            world.fleet.serve(world.now);
        }
    }

    /// Lets time pass, and polls everybody when it is time.
    pub(super) fn run(&mut self, world: &mut World, until: Time) {
        loop {
            self.wake(world);
            let Some((at, ticket)) = self.alarms.first().copied().filter(|(at, _)| *at <= until) else {
                break;
            };
            self.alarms.pop_first();
            if self.asleep.get(&ticket).is_some_and(|(task, due)| *due == at && !self.stuck.contains(task)) {
                world.now = world.now.max(at);
                self.poll(world, ticket);
            }
        }
        world.now = until;
    }

    /// Tasks that have a lease, in the order in which they got it.
    pub(super) fn granted(&self) -> Vec<usize> {
        self.done.iter().filter(|(_, _, out)| out.is_ok()).map(|(task, ..)| *task).collect()
    }

    pub(super) fn grant(&self, task: usize) -> &Grant {
        let of = |(at, _, out): &'_ (usize, Time, Result<Grant, Refusal>)| (*at == task).then(|| out.is_ok());
        assert!(self.done.iter().any(|done| of(done) == Some(true)), "{task} waits");
        self.done.iter().find(|(at, ..)| *at == task).and_then(|(_, _, out)| out.as_ref().ok()).unwrap()
    }
}

fn once() -> LeaseRequest {
    LeaseRequest::per_request()
}

/// A pool of one that rests for a second.
fn resting() -> (World, Tasks) {
    let mut world = World::of(1);
    world.once(&once(), limited(None));
    (world, Tasks::default())
}

#[test]
fn the_first_to_come_tries_and_the_others_follow_in_order_over_half_a_second() {
    let (mut world, mut tasks) = resting();
    (0..11).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    assert_eq!(world.snapshot().waiting, 11);
    let rested = world.now + secs(2);
    tasks.run(&mut world, rested);
    assert_eq!(tasks.granted(), [0], "one at a time tries");
    let trial = tasks.grant(0).clone();
    assert!(trial.trial);
    world.finish(&trial, Outcome::Ok);
    let opened = world.now;
    tasks.run(&mut world, opened + secs(1));
    assert_eq!(tasks.granted(), (0..11).collect::<Vec<_>>());
    let gaps: Vec<_> = tasks.done[1..].windows(2).map(|two| two[1].1.since(two[0].1)).collect();
    assert!(gaps.iter().all(|gap| *gap == Duration::from_millis(50)), "{gaps:?}");
    assert_eq!(world.snapshot().waiting, 0);
}

#[test]
fn who_comes_later_does_not_overtake() {
    let (mut world, mut tasks) = resting();
    (0..3).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    let rested = world.now + secs(2);
    tasks.run(&mut world, rested);
    let trial = tasks.grant(0).clone();
    world.finish(&trial, Outcome::Ok);
    tasks.join(&mut world, 3, "a.test", &once());
    assert_eq!(tasks.granted(), [0, 1], "it stands behind the two");
    let later = world.now + secs(1);
    tasks.run(&mut world, later);
    assert_eq!(tasks.granted(), [0, 1, 2, 3]);
}

#[test]
fn nobody_waits_for_what_concerns_others() {
    let mut world = World::of(2);
    let own = held();
    let mine = world.once(&own, limited(Some(20))).receipt.exit;
    let mut tasks = Tasks::default();
    tasks.join(&mut world, 0, "a.test", &own);
    assert!(tasks.granted().is_empty(), "it waits for the exit that it holds");
    tasks.join(&mut world, 1, "a.test", &once());
    tasks.join(&mut world, 2, "b.test", &own);
    assert_eq!(tasks.granted(), [1, 2], "another exit is free here, and the same one elsewhere");
    assert_ne!(tasks.grant(1).receipt.exit, mine);
    let later = world.now + secs(25);
    tasks.run(&mut world, later);
    assert_eq!((tasks.granted(), tasks.grant(0).receipt.exit), (vec![1, 2, 0], mine));
}

#[test]
fn te_094_who_is_called_and_does_not_come_passes_its_turn_on_and_keeps_its_place() {
    let (mut world, mut tasks) = resting();
    (0..3).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    // Nobody polls the first, which is also the one that looks at the clock for all.
    tasks.stuck.push(0);
    let start = world.now;
    tasks.run(&mut world, start + secs(2));
    assert_eq!(tasks.granted(), [1]);
    let (_, at, _) = tasks.done[0];
    let rest = Duration::from_millis(1_250);
    assert!(at.since(start) <= rest + Duration::from_millis(200), "called late, and passed on: {at:?}");
    let trial = tasks.grant(1).clone();
    tasks.stuck.clear();
    let polled = tasks.asleep.keys().copied().min().unwrap();
    tasks.poll(&mut world, polled);
    assert_eq!(tasks.granted(), [1], "it comes while the other is on trial, and waits on");
    world.finish(&trial, Outcome::Ok);
    let later = world.now + secs(1);
    tasks.run(&mut world, later);
    assert_eq!(tasks.granted(), [1, 0, 2], "before those who came after it");
}

#[test]
fn who_leaves_leaves_no_trace() {
    let (mut world, mut tasks) = resting();
    (0..3).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    let waiting: Vec<_> = tasks.asleep.keys().copied().collect();
    world.fleet.leave(world.now, waiting[1]);
    world.pass(secs(2));
    world.fleet.serve(world.now);
    world.fleet.pool.tick(world.now);
    world.fleet.serve(world.now);
    assert_eq!(world.fleet.poll_wake(), Some(waiting[0]), "called");
    // The place of the trial is kept for it.
    assert!(world.at("a.test", &once()).is_err());
    world.fleet.leave(world.now, waiting[0]);
    assert_eq!(world.fleet.poll_wake(), Some(waiting[2]), "the next one is called at once");
    let Turn::Granted(grant) = world.fleet.claim(world.now, waiting[2]) else { panic!("it is its turn") };
    world.finish(&grant, Outcome::Ok);
    assert_eq!(world.snapshot().waiting, 0);
    world.fleet.pool.check();
}

#[test]
fn patience_has_an_end_and_where_it_would_end_too_soon_nobody_waits() {
    let mut world = World::of(1);
    world.once(&once(), limited(Some(5)));
    let mut tasks = Tasks::default();
    let start = world.now;
    tasks.join(&mut world, 0, "a.test", &once().patience(secs(4)));
    let (_, _, Err(Refusal::NoUsableExit { retry_at, .. })) = &tasks.done[0] else {
        panic!("refused at once")
    };
    assert!(retry_at.since(start) >= secs(5));
    // On trial: nobody knows how long.
    world.pass(secs(7));
    let trial = world.lease(&once());
    tasks.join(&mut world, 1, "a.test", &once().patience(secs(4)));
    let joined = world.now;
    tasks.run(&mut world, joined + secs(10));
    let (task, at, Err(Refusal::NoUsableExit { counts, .. })) = &tasks.done[1] else {
        panic!("{:?}", tasks.done)
    };
    assert_eq!((*task, at.since(joined), counts.on_trial), (1, secs(4), 1));
    assert_eq!(world.snapshot().refusals.no_usable_exit, 2);
    world.finish(&trial, Outcome::Ok);
    tasks.join(&mut world, 2, "a.test", &once().patience(Duration::ZERO));
    assert_eq!(tasks.granted(), [2], "who does not wait is not kept from what is free");
}

#[test]
fn a_full_line_says_so() {
    let mut world = World::new(Setup { bounds: Bounds { waiters: 2, ..Bounds::default() }, ..config(1) });
    world.once(&once(), limited(None));
    let mut tasks = Tasks::default();
    (0..3).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    let (2, _, Err(Refusal::Busy { bound, .. })) = &tasks.done[0] else { panic!("{:?}", tasks.done) };
    assert!(bound.contains("wait for an exit"), "{bound}");
    assert_eq!((world.snapshot().waiting, world.snapshot().refusals.busy), (2, 1));
}

#[test]
fn at_the_bound_of_leases_who_may_wait_waits() {
    let mut world = World::new(Setup { bounds: Bounds { leases: 1, ..Bounds::default() }, ..config(3) });
    let out = world.lease(&once());
    let mut tasks = Tasks::default();
    (0..2).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    assert!(tasks.done.is_empty());
    world.finish(&out, Outcome::Ok);
    tasks.wake(&mut world);
    assert_eq!(tasks.granted(), [0]);
    let grant = tasks.grant(0).clone();
    world.finish(&grant, Outcome::Ok);
    tasks.wake(&mut world);
    assert_eq!(tasks.granted(), [0, 1]);
}

#[test]
fn who_waits_is_told_that_the_fleet_is_stopped() {
    let mut world = World::of(1);
    let refused = Outcome::AuthError { reason: AuthReason::Rejected };
    world.once(&once(), refused);
    let trial = world.lease(&once());
    let mut tasks = Tasks::default();
    (0..100).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    assert!(tasks.done.is_empty(), "one lease tries the login");
    world.finish(&trial, refused);
    tasks.wake(&mut world);
    assert_eq!(tasks.done.len(), 100);
    assert!(tasks.done.iter().all(|(_, _, out)| matches!(out, Err(Refusal::FleetStopped))));
    assert_eq!(world.snapshot().refusals.stopped, 100);
}

#[test]
fn an_overloaded_gateway_lets_those_go_first_who_came_first_whatever_their_site() {
    let gateway = Gateway::parse("http://u-{session}:p@gw.test:1").unwrap();
    let mut world = World::new(Setup { exits: Vec::new(), gateways: vec![gateway], ..config(1) });
    let overloaded = Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway };
    world.once(&once(), overloaded);
    let mut tasks = Tasks::default();
    let sites = ["a.test", "b.test", "a.test", "c.test"];
    sites
        .iter()
        .enumerate()
        .for_each(|(task, site)| tasks.join(&mut world, task, site, &once().patience(secs(90))));
    for round in 0..4 {
        let later = world.now + secs(20);
        tasks.run(&mut world, later);
        let granted = tasks.granted();
        assert_eq!(granted, (0..=round).collect::<Vec<_>>(), "one at a time tries, in order");
        let grant = tasks.grant(round).clone();
        world.finish(&grant, overloaded);
    }
}

#[test]
fn who_does_not_move_unasked_is_told_when_its_exit_is_lost() {
    let mut world = World::of(2);
    let own = held().on_loss(OnLoss::Fail);
    let mine = world.once(&own, limited(Some(20))).receipt.exit;
    let mut tasks = Tasks::default();
    tasks.join(&mut world, 0, "a.test", &own);
    assert!(tasks.done.is_empty(), "a rest is no loss");
    world.fleet.quarantine(mine, true);
    tasks.wake(&mut world);
    assert!(
        matches!(&tasks.done[0].2, Err(Refusal::Moved { from, .. }) if *from == mine),
        "{:?}",
        tasks.done
    );
}

#[test]
fn a_request_that_every_exit_refused_waits_for_none() {
    let mut world = World::of(2);
    let mut ask = once();
    for _ in 0..2 {
        let grant = world.lease(&ask);
        ask.trail.record(grant.receipt.exit, &Evidence::of(BLOCKED), false);
        world.end(&grant);
    }
    let mut tasks = Tasks::default();
    tasks.join(&mut world, 0, "a.test", &ask);
    assert!(matches!(&tasks.done[0].2, Err(Refusal::NoUsableExit { counts, .. }) if counts.avoided == 2));
}

#[test]
fn ten_thousand_wait_and_each_is_called_once() {
    let (mut world, mut tasks) = resting();
    (0..10_000).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    assert_eq!(world.snapshot().waiting, 10_000);
    let rested = world.now + secs(2);
    tasks.run(&mut world, rested);
    let trial = tasks.grant(0).clone();
    world.finish(&trial, Outcome::Ok);
    let opened = world.now;
    tasks.run(&mut world, opened + secs(1));
    assert_eq!(tasks.granted(), (0..10_000).collect::<Vec<_>>());
    let last = tasks.done.last().unwrap().1;
    assert!(last.since(opened) <= Duration::from_millis(510), "{:?}", last.since(opened));
}

#[test]
fn a_drained_fleet_refuses_all_and_is_idle_when_the_last_lease_ends() {
    let (mut world, mut tasks) = resting();
    let other = world.at("b.test", &once()).unwrap();
    tasks.join(&mut world, 0, "a.test", &once());
    world.fleet.close();
    tasks.wake(&mut world);
    tasks.join(&mut world, 1, "b.test", &once());
    assert!(tasks.done.iter().all(|(_, _, out)| matches!(out, Err(Refusal::Closed))), "{:?}", tasks.done);
    assert_eq!(tasks.done.len(), 2);
    let Reached::NotYet { ticket, .. } = world.fleet.reach(world.now, State::Idle, None) else {
        panic!("one is out")
    };
    let parked = world.fleet.reach(world.now, State::Running, None);
    let Reached::NotYet { ticket: parked, .. } = parked else { panic!("nothing may run") };
    world.finish(&other, Outcome::Ok);
    world.fleet.serve(world.now);
    assert_eq!(world.fleet.poll_wake(), Some(ticket));
    assert_eq!(world.fleet.reach(world.now, State::Idle, Some(ticket)), Reached::Yes);
    world.fleet.resume(world.now);
    world.fleet.serve(world.now);
    assert_eq!(world.fleet.poll_wake(), Some(parked));
    assert_eq!(world.fleet.reach(world.now, State::Running, Some(parked)), Reached::Yes);
    assert_eq!(world.snapshot().waiting, 0);
    assert!(world.at("b.test", &once()).is_ok());
}

#[test]
fn who_parks_while_all_logins_are_stopped_goes_on_when_one_is_mended() {
    let mut world = World::of(1);
    let refused = Outcome::AuthError { reason: AuthReason::Rejected };
    assert_eq!(world.fleet.reach(world.now, State::Running, None), Reached::Yes);
    world.once(&once(), refused);
    assert_eq!(world.fleet.reach(world.now, State::Running, None), Reached::Yes, "one lease may try it");
    world.once(&once(), refused);
    let Reached::NotYet { ticket, until } = world.fleet.reach(world.now, State::Running, None) else {
        panic!("it is stopped")
    };
    assert_eq!(until, Time::MAX, "nobody looks at the clock");
    world.fleet.resume(world.now);
    world.fleet.serve(world.now);
    assert_eq!(world.fleet.poll_wake(), Some(ticket));
    assert_eq!(world.fleet.reach(world.now, State::Running, Some(ticket)), Reached::Yes);
}
