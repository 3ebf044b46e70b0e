//! An origin that admits nobody, or only so many: whatever the exit.

use super::line::Tasks;
use super::*;
use crate::error::HeldBy;
use crate::request::OnLoss;

fn once() -> LeaseRequest {
    LeaseRequest::per_request()
}

fn limit(world: &mut World, most: Option<u32>) {
    let origin = world.fleet.pool.origin(world.now, &Origin::new("a.test")).unwrap();
    world.fleet.pool.set_limit(origin, most);
}

fn shut(world: &mut World, rest: Duration) -> Time {
    let until = world.now + rest;
    world.fleet.pool.shut_for_test(world.now, &Origin::new("a.test"), until);
    until
}

/// Ten exits, of whom none is ever full.
fn limited_to(most: u32) -> (World, Tasks) {
    let mut world = World::of(10);
    limit(&mut world, Some(most));
    (world, Tasks::default())
}

#[test]
fn no_more_are_in_flight_than_may_be_and_other_origins_have_their_own() {
    let (mut world, _) = limited_to(2);
    let (one, two) = (world.lease(&once()), world.lease(&held()));
    let full = Refusal::OriginHeld { retry_at: world.now + secs(1), by: HeldBy::Limit };
    for ask in [once(), held(), LeaseRequest::new("new")] {
        assert_eq!(world.at("a.test", &ask).unwrap_err(), full, "also who holds an exit");
    }
    assert!(world.at("b.test", &once()).is_ok());
    world.end(&one);
    let three = world.lease(&held());
    assert_eq!(world.at("a.test", &once()).unwrap_err(), full);
    limit(&mut world, None);
    let four = world.lease(&once());
    [two, three, four].iter().for_each(|grant| world.end(grant));
    let refusals = world.snapshot().refusals;
    assert_eq!(
        (refusals.origin_held_by_limit, refusals.origin_held_by_failures, refusals.no_usable_exit),
        (4, 0, 0)
    );
}

#[test]
fn a_peak_is_told_once() {
    let mut world = World::of(10);
    let leases: Vec<_> = (0..5).map(|_| world.lease(&once())).collect();
    leases[..3].iter().for_each(|grant| world.end(grant));
    let (_, origin) = leases[0].receipt.at;
    assert_eq!((world.fleet.pool.origin_in_flight(origin), world.fleet.pool.take_peak(origin)), (2, 5));
    assert_eq!(world.fleet.pool.take_peak(origin), 2);
}

#[test]
fn one_free_place_calls_one_and_they_come_in_order() {
    let (mut world, mut tasks) = limited_to(1);
    let mut last = world.lease(&once());
    for task in 0..20 {
        let ask = if task % 2 == 0 { once() } else { LeaseRequest::new(format!("k{task}")) };
        tasks.join(&mut world, task, "a.test", &ask);
    }
    for task in 0..20 {
        assert_eq!(tasks.granted().len(), task);
        world.end(&last);
        world.fleet.serve(world.now);
        world.fleet.check_line(world.now);
        let called: Vec<_> = std::iter::from_fn(|| world.fleet.poll_wake()).collect();
        assert!(
            called.len() <= 3,
            "the one whose turn it is, and perhaps who looks at the clock, and who looks after that one: {called:?}"
        );
        assert!(world.at("a.test", &once()).is_err(), "its place is kept");
        called.into_iter().for_each(|ticket| tasks.poll(&mut world, ticket));
        tasks.wake(&mut world);
        last = tasks.grant(task).clone();
    }
    assert_eq!(tasks.granted(), (0..20).collect::<Vec<_>>());
}

#[test]
fn who_is_called_and_does_not_come_passes_its_place_on() {
    let (mut world, mut tasks) = limited_to(1);
    let lease = world.lease(&once());
    (0..3).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    tasks.stuck = vec![0];
    world.end(&lease);
    let (called, soon) = (world.now, world.now + Duration::from_millis(99));
    tasks.run(&mut world, soon);
    assert!(tasks.granted().is_empty());
    tasks.run(&mut world, called + Duration::from_millis(100));
    assert_eq!(tasks.granted(), [1]);
    world.fleet.check_line(world.now);
}

#[test]
fn a_place_that_is_given_up_goes_to_the_next() {
    let (mut world, mut tasks) = limited_to(1);
    let lease = world.lease(&once());
    (0..3).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    world.end(&lease);
    world.fleet.serve(world.now);
    let first = *tasks.asleep.iter().find(|(_, (task, _))| *task == 0).unwrap().0;
    tasks.asleep.remove(&first);
    world.fleet.leave(world.now, first);
    tasks.wake(&mut world);
    assert_eq!(tasks.granted(), [1]);
}

#[test]
fn a_raised_limit_lets_as_many_more_go_over_half_a_second() {
    let (mut world, mut tasks) = limited_to(1);
    let _lease = world.lease(&once());
    (0..9).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    limit(&mut world, Some(5));
    let raised = world.now;
    tasks.wake(&mut world);
    assert_eq!(tasks.granted(), [0]);
    tasks.run(&mut world, raised + Duration::from_millis(500));
    assert_eq!(tasks.granted(), [0, 1, 2, 3]);
    tasks.run(&mut world, raised + secs(20));
    assert_eq!(tasks.granted().len(), 4);
    world.fleet.check_line(world.now);
}

#[test]
fn while_it_is_shut_nobody_goes_and_then_one_at_a_time() {
    let mut world = World::of(10);
    world.once(&held(), Outcome::Ok);
    let until = shut(&mut world, secs(5));
    let refusal = Refusal::OriginHeld { retry_at: until, by: HeldBy::Failures };
    assert_eq!(world.at("a.test", &once()).unwrap_err(), refusal);
    assert_eq!(world.at("a.test", &held()).unwrap_err(), refusal);
    assert!(world.at("b.test", &once()).is_ok());
    world.now = until;
    let canary = world.lease(&held());
    assert!(canary.trial);
    let taken = Refusal::OriginHeld { retry_at: world.now + secs(1), by: HeldBy::Failures };
    assert_eq!(world.at("a.test", &once()).unwrap_err(), taken);
    world.end(&canary);
    assert!(world.lease(&once()).trial, "it told nothing: another may try");
    assert_eq!(world.snapshot().refusals.origin_held_by_failures, 3);
}

#[test]
fn who_waits_for_a_shut_origin_is_called_at_its_end_and_whose_patience_is_shorter_is_told_when() {
    let mut world = World::of(10);
    let mut tasks = Tasks::default();
    let until = shut(&mut world, secs(5));
    (0..4).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    let short = once().patience(Duration::from_nanos(4_999_999_999));
    tasks.join(&mut world, 4, "a.test", &short);
    let held = Refusal::OriginHeld { retry_at: until, by: HeldBy::Failures };
    assert!(matches!(&tasks.done[..], [(4, _, Err(refusal))] if *refusal == held), "{:?}", tasks.done);
    tasks.run(&mut world, until + secs(2));
    assert_eq!(tasks.granted(), [0], "one tries");
    let canary = tasks.grant(0).clone();
    world.end(&canary);
    tasks.wake(&mut world);
    assert_eq!(tasks.granted(), [0, 1], "the next one tries");
    world.fleet.pool.open_for_test(world.now, &Origin::new("a.test"));
    let later = world.now + secs(10);
    tasks.run(&mut world, later);
    assert_eq!(tasks.granted(), [0, 1, 2, 3]);
}

#[test]
fn who_had_a_place_and_no_exit_waits_for_the_exit_and_lets_others_go() {
    let mut world = World::of(2);
    let mine =
        LeaseRequest::new("mine").granularity(Granularity::Static).on_loss(OnLoss::Wait).patience(secs(60));
    world.once(&mine, limited(Some(30)));
    limit(&mut world, Some(1));
    let lease = world.lease(&once());
    let mut tasks = Tasks::default();
    tasks.join(&mut world, 0, "a.test", &mine);
    tasks.join(&mut world, 1, "a.test", &once());
    world.end(&lease);
    let soon = world.now + secs(1);
    tasks.run(&mut world, soon);
    assert_eq!(tasks.granted(), [1]);
    let other = tasks.grant(1).clone();
    world.end(&other);
    let later = world.now + secs(60);
    tasks.run(&mut world, later);
    assert_eq!(tasks.granted(), [1, 0]);
}

#[test]
fn a_fleet_that_is_drained_says_so_to_who_waits_for_an_origin() {
    let (mut world, mut tasks) = limited_to(1);
    let lease = world.lease(&once());
    (0..3).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    world.fleet.close();
    tasks.wake(&mut world);
    assert_eq!(tasks.done.len(), 3);
    assert!(tasks.done.iter().all(|(_, _, out)| matches!(out, Err(Refusal::Closed))), "{:?}", tasks.done);
    world.end(&lease);
    assert_eq!(world.snapshot().waiting, 0);
}

#[test]
fn a_request_that_fills_its_origin_itself_may_be_sent_again() {
    let (mut world, _) = limited_to(1);
    let lease = world.lease(&once());
    world.report(&lease, REFUSED);
    let mut ask = once().patience(Duration::ZERO);
    ask.trail.record(lease.receipt.exit, &REFUSED.into(), true);
    let question = |world: &mut World| {
        let deadline = world.now + secs(60);
        let (receipt, evidence) = (lease.receipt, REFUSED.into());
        let ask = RetryAsk { receipt, evidence, ask: &ask, repeatable: true, replayable: true, deadline };
        world.fleet.retry(world.now, &ask)
    };
    assert!(matches!(question(&mut world), Verdict::Retry { .. }));
    shut(&mut world, secs(5));
    assert_eq!(question(&mut world), Verdict::Stop(Why::OriginHeld));
}
