//! Waits that an origin asks for.

use super::*;

#[test]
fn a_503_that_says_when_to_come_back_counts_and_is_believed_for_an_hour_at_most_if_three_say_so() {
    let wait = |seconds| Evidence::of(limited(Some(seconds))).for_all(true);
    for (hints, least) in [
        ([None, Some(1), Some(1)], 5),
        ([None, Some(50), Some(50)], 50),
        ([None, Some(3_600), Some(3_600)], 60),
        ([Some(3_600), Some(3_600), None], 5),
        ([Some(90), Some(100), Some(300)], 90),
        ([Some(300), Some(100), Some(90)], 90),
        ([Some(100_000), Some(100_000), Some(100_000)], 3_600),
    ] {
        let mut world = World::of(10);
        let attempt = |(exit, hint): (usize, &Option<u64>)| {
            (exit, Duration::ZERO, hint.map_or_else(|| DOWN.into(), wait))
        };
        tell(&mut world, &hints.iter().enumerate().map(attempt).collect::<Vec<_>>());
        let rest = until(&mut world).unwrap().since(world.now);
        assert!(rest >= secs(least) && rest <= secs(least).mul_f64(1.25), "{hints:?}: {rest:?}");
    }
}

#[test]
fn what_one_exit_is_told_late_holds_for_a_minute_at_most_and_what_three_are_told_as_they_are() {
    let mut world = World::of(10);
    let late: Vec<_> = (5..8).map(|exit| lease(&mut world, exit)).collect();
    tell(&mut world, &failures(&[0, 1, 2], Duration::ZERO));
    let wait = |seconds| Evidence::of(limited(Some(seconds))).for_all(true);
    world.finish(&late[0], wait(3_600));
    assert_eq!(until(&mut world), Some(world.now + secs(60)));
    world.finish(&late[1], wait(3_600));
    assert_eq!(until(&mut world), Some(world.now + secs(60)));
    world.finish(&late[2], wait(300));
    assert_eq!(until(&mut world), Some(world.now + secs(300)), "as far as all three say so");
}

#[test]
fn a_503_that_asks_for_an_hour_alone_holds_nothing_while_the_site_is_up_nor_after_it_was_down() {
    let hour = Evidence::of(limited(Some(3_600))).for_all(true);
    let mut world = World::of(10);
    tell(&mut world, &[(0, Duration::ZERO, hour)]);
    assert_eq!(until(&mut world), None);
    let (mut world, ends) = held_world();
    let flying = until(&mut world);
    world.now = ends;
    let canary = world.lease(&once());
    world.finish(&canary, Outcome::Ok);
    tell(&mut world, &[(5, Duration::ZERO, hour)]);
    assert!(flying.is_some() && until(&mut world).is_none());
}

#[test]
fn canaries_that_are_told_the_like_are_believed_once_there_are_three() {
    let (mut world, mut ends) = held_world();
    let back = world.now + secs(3_600);
    let mut seen = Vec::new();
    for told in 1..=3 {
        world.now = ends;
        let canary = loop {
            let canary = world.lease(&once());
            if !seen.contains(&canary.receipt.exit) {
                break canary;
            }
            world.end(&canary);
        };
        seen.push(canary.receipt.exit);
        let left = back.since(world.now).as_secs();
        world.finish(&canary, Evidence::of(limited(Some(left))).for_all(true));
        ends = until(&mut world).unwrap();
        let rest = ends.since(world.now);
        assert_eq!(rest > secs(75), told == 3, "{rest:?} after {told}");
    }
    assert!(ends >= Time::from_nanos(back.as_nanos() - 2_000_000_000));
}

#[test]
fn what_a_canary_is_told_rests_no_exit_there() {
    let (mut world, ends) = held_world();
    world.now = ends;
    let canary = world.lease(&once());
    world.finish(&canary, Evidence::of(limited(Some(3_600))).for_all(true));
    assert_eq!(world.snapshot().origins[0].benched, 0);
}

#[test]
fn in_a_pool_of_one_three_words_are_enough() {
    let mut world = World::of(1);
    let hour = Evidence::of(limited(Some(3_600))).for_all(true);
    let grants: Vec<_> = (0..3).map(|_| world.lease(&once())).collect();
    grants.iter().for_each(|grant| world.finish(grant, hour));
    assert!(until(&mut world).unwrap().since(world.now) >= secs(3_600));
}

#[test]
fn the_same_wait_for_many_exits_is_that_of_each_and_the_others_go_on() {
    // Three who ask alike, each through an exit of its own, meet the site's limit for an address together.
    for (count, told, apart) in
        [(3, 2, Duration::ZERO), (9, 3, Duration::ZERO), (9, 6, secs(1)), (30, 29, Duration::ZERO)]
    {
        let mut world = World::of(count);
        let attempts: Vec<_> = (0..told).map(|exit| (exit, apart, limited(Some(60)).into())).collect();
        tell(&mut world, &attempts);
        assert_eq!(until(&mut world), None, "{told} of {count}, {apart:?} apart");
    }
}
