//! Those who waited for the end of a hold go back one after the other.

use super::super::line::Tasks;
use super::*;

#[test]
fn who_waits_is_let_go_one_after_the_other_over_eight_seconds_and_newcomers_behind_them() {
    let (mut world, ends) = held_world();
    let mut tasks = Tasks::default();
    (0..101).for_each(|task| {
        let ask = if task % 3 == 0 { LeaseRequest::new(format!("w{task}")) } else { once() };
        tasks.join(&mut world, task, "a.test", &ask.patience(secs(60)));
    });
    assert_eq!(world.snapshot().origins[0].outcomes.total(), 3, "who waits spends no attempt");
    tasks.run(&mut world, ends + secs(1));
    assert_eq!(tasks.granted(), [0]);
    let canary = tasks.grant(0).clone();
    world.finish(&canary, Outcome::Ok);
    let opened = world.now;
    tasks.wake(&mut world);
    tasks.join(&mut world, 101, "a.test", &once());
    assert_eq!(tasks.granted(), [0, 1]);
    tasks.run(&mut world, opened + secs(4));
    let half = tasks.granted().len();
    assert!((49..=53).contains(&half), "{half}");
    tasks.run(&mut world, opened + Duration::from_millis(8_200));
    assert_eq!(tasks.granted(), (0..102).collect::<Vec<_>>());
    let gaps = tasks.done[1..].windows(2).map(|two| two[1].1.since(two[0].1));
    assert!(gaps.clone().all(|gap| gap >= Duration::from_millis(70)), "{:?}", gaps.min());
}

#[test]
fn many_who_come_while_a_few_go_back_are_let_go_as_slowly() {
    let (mut world, ends) = held_world();
    let mut tasks = Tasks::default();
    (0..4).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    world.now = ends;
    tasks.run(&mut world, ends);
    let canary = tasks.grant(0).clone();
    world.finish(&canary, Outcome::Ok);
    tasks.wake(&mut world);
    (4..84).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    tasks.run(&mut world, ends + secs(2));
    assert!((17..=24).contains(&tasks.granted().len()), "{:?}", tasks.granted().len());
    tasks.run(&mut world, ends + secs(9));
    assert_eq!(tasks.granted(), (0..84).collect::<Vec<_>>());
}

#[test]
fn who_waited_for_an_exit_before_stands_with_the_others_then() {
    let knobs = Knobs { spacing: None, ..Knobs::default() };
    let mut world = World::new(Setup { knobs, ..config(10) });
    let mut tasks = Tasks::default();
    // Each of these has wants of its own, and so a queue of its own; and no exit before 3 s.
    let late: Vec<_> = (0..3).map(|exit| lease(&mut world, exit)).collect();
    for exit in 0..10 {
        let grant = lease(&mut world, exit);
        world.finish(&grant, limited(Some(3 + exit as u64 % 2)));
    }
    for task in 0..33 {
        let mut ask = once();
        ask.trail.record(exits(1)[0].id(), &BLOCKED.into(), true);
        ask.trail.record(exits(60)[50].id(), &BLOCKED.into(), false);
        tasks.join(&mut world, task, "a.test", &ask);
    }
    assert_eq!(world.snapshot().waiting, 33);
    world.pass(secs(1));
    late.iter().for_each(|grant| world.finish(grant, DOWN));
    let ends = until(&mut world).unwrap();
    tasks.run(&mut world, ends + TICK);
    assert_eq!(tasks.granted().len(), 1);
    let canary = tasks.done[0].2.as_ref().unwrap().clone();
    world.finish(&canary, Outcome::Ok);
    world.fleet.serve(world.now);
    world.fleet.check_line(world.now);
    tasks.run(&mut world, ends + secs(1));
    let gone = tasks.granted().len();
    assert!((4..=7).contains(&gone), "{gone} of 33 in the first second");
    tasks.run(&mut world, ends + secs(9));
    assert_eq!(tasks.granted(), (0..33).collect::<Vec<_>>());
}

#[test]
fn a_few_who_wait_go_a_quarter_of_a_second_apart() {
    let (mut world, ends) = held_world();
    let mut tasks = Tasks::default();
    (0..4).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    world.now = ends;
    tasks.wake(&mut world);
    tasks.run(&mut world, ends);
    let canary = tasks.grant(0).clone();
    world.finish(&canary, Outcome::Ok);
    tasks.run(&mut world, ends + Duration::from_millis(499));
    assert_eq!(tasks.granted(), [0, 1, 2]);
    tasks.run(&mut world, ends + Duration::from_millis(500));
    assert_eq!(tasks.granted(), [0, 1, 2, 3]);
}

/// Callers who ask again as soon as they are served are a line that never ends.
#[test]
fn those_who_come_back_at_once_are_let_go_as_they_were_a_few_seconds_after_the_return() {
    let (mut world, ends) = held_world();
    let mut tasks = Tasks::default();
    (0..20).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    tasks.run(&mut world, ends + secs(1));
    let (mut over, mut served) = (0, Vec::new());
    let opened = world.now;
    for _ in 0..300 {
        let done: Vec<_> = tasks.done[over..].iter().map(|(_, _, told)| told.clone().unwrap()).collect();
        over = tasks.done.len();
        for grant in done {
            world.finish(&grant, Outcome::Ok);
            served.push(world.now.since(opened));
            let task = 20 + served.len();
            tasks.join(&mut world, task, "a.test", &once());
        }
        let next = world.now + Duration::from_millis(50);
        tasks.run(&mut world, next);
    }
    let within = |from, to| served.iter().filter(|at| (secs(from)..secs(to)).contains(*at)).count();
    assert!(within(1, 8) <= 7 * 5, "four a second: {}", within(1, 8));
    assert!(within(13, 14) >= 300, "twenty each 50 ms: {}", within(13, 14));
}

#[test]
fn a_drained_fleet_says_so_to_who_waits_for_the_end_of_a_hold() {
    let (mut world, _) = held_world();
    let mut tasks = Tasks::default();
    (0..3).for_each(|task| tasks.join(&mut world, task, "a.test", &once()));
    world.fleet.close();
    tasks.wake(&mut world);
    assert!(
        tasks.done.iter().all(|(_, _, out)| matches!(out, Err(Refusal::Closed))) && tasks.done.len() == 3
    );
}

/// The exits' uses are kept apart for seconds then, but no 429 has asked for it.
#[test]
fn no_limit_is_told_of_where_a_site_is_only_back_from_a_hold() {
    let mut world = World::of(10);
    tell(&mut world, &failures(&[0, 1, 2], Duration::ZERO));
    world.now = until(&mut world).unwrap();
    let canary = world.lease(&once());
    world.finish(&canary, Outcome::Ok);
    assert!(world.snapshot().origins[0].gap.is_some());
    for _ in 0..300 {
        if let Ok(grant) = world.pass(Duration::from_millis(50)).at("a.test", &once()) {
            world.finish(&grant, Outcome::Ok);
        }
    }
    assert_eq!(world.snapshot().origins[0].gap, None);
    let spaced = |event: &Event| matches!(event, Event::Spaced { .. });
    assert_eq!(told(&mut world).iter().filter(|event| spaced(event)).count(), 0);
}
