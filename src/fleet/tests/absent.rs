//! Who waits and is polled no more, though its place is kept, holds up those behind it for a moment, however many they are.

use super::line::Tasks;
use super::*;

const LIVE: usize = 1_000_000;

fn per() -> LeaseRequest {
    LeaseRequest::per_request()
}

fn patient() -> LeaseRequest {
    LeaseRequest::per_request().patience(secs(3_000)).deadline(secs(3_000))
}

/// One exit that rests at the site for so long, and so many who wait for it and are polled no more.
fn kept(rest: u64, many: usize) -> (World, Tasks) {
    let mut world = World::of(1);
    world.once(&patient(), limited(Some(rest)));
    let mut tasks = Tasks { stuck: (0..many).collect(), ..Tasks::default() };
    (0..many).for_each(|task| tasks.join(&mut world, task, "a.test", &patient()));
    (world, tasks)
}

/// How long after the rest the live one has its lease, which joins so long after the others. `serves`: others ask for something
/// meanwhile, every 10 ms.
fn delay(rest: u64, many: usize, joins: Duration, serves: bool) -> Duration {
    let (mut world, mut tasks) = kept(rest, many);
    let back = world.fleet.pool.next_timer();
    world.pass(joins);
    tasks.join(&mut world, LIVE, "a.test", &patient());
    while tasks.granted().is_empty() {
        assert!(world.now.since(back) < secs(60), "{many} hold it up");
        let next = world.now + Duration::from_millis(10);
        tasks.run(&mut world, next);
        if serves && tasks.granted().is_empty() {
            let other = world.at("b.test", &per()).unwrap();
            world.finish(&other, Outcome::Ok);
            tasks.wake(&mut world);
        }
    }
    world.fleet.check_line(world.now);
    assert_eq!(tasks.granted(), [LIVE]);
    tasks.done[0].1.since(back)
}

#[test]
fn who_is_not_polled_holds_up_the_first_that_is_for_a_moment_however_many_they_are() {
    for many in [1, 10, 100, 1_000] {
        for (rest, joins) in [(1, 0), (1, 3_000), (20, 0), (20, 10_000)] {
            for serves in [false, true] {
                let after = |many| delay(rest, many, Duration::from_millis(joins), serves);
                let after = after(many).saturating_sub(after(0));
                let most = if serves { 1_000 } else { 3_000 };
                let told = format!("{many} of them, {rest} s, {serves}: {after:?}");
                assert!(after <= Duration::from_millis(most), "{told}");
            }
        }
    }
}

#[test]
fn where_all_are_polled_they_look_but_seldom_and_go_in_order() {
    let (mut world, mut tasks) = kept(20, 0);
    (0..1_000).for_each(|task| tasks.join(&mut world, task, "a.test", &patient()));
    let before = tasks.polls;
    let back = world.fleet.pool.next_timer();
    tasks.run(&mut world, back);
    let polls = tasks.polls - before;
    assert!(polls <= 12_000, "{polls} of a thousand in 20 s");
    let trial = tasks.grant(0).clone();
    world.finish(&trial, Outcome::Ok);
    tasks.run(&mut world, back + secs(2));
    assert_eq!(tasks.granted(), (0..1_000).collect::<Vec<_>>());
}

#[test]
fn who_was_passed_over_and_comes_after_all_has_its_old_place() {
    let (mut world, mut tasks) = kept(2, 3);
    (3..6).for_each(|task| tasks.join(&mut world, task, "a.test", &patient()));
    let back = world.fleet.pool.next_timer();
    tasks.run(&mut world, back + secs(3));
    assert_eq!(tasks.granted(), [3]);
    // The first two are there again, while the trial is out.
    tasks.stuck = vec![2];
    let tickets: Vec<_> = tasks.asleep.iter().filter(|(_, (task, _))| *task < 2).map(|(at, _)| *at).collect();
    tickets.into_iter().for_each(|ticket| tasks.poll(&mut world, ticket));
    let trial = tasks.grant(3).clone();
    world.finish(&trial, Outcome::Ok);
    let opened = world.now;
    tasks.run(&mut world, opened + secs(2));
    assert_eq!(tasks.granted(), [3, 0, 1, 4, 5]);
}
