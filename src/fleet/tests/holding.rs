//! How long an exit is held, by whom, where; and what happens when it is lost. Each cell of the table of [`crate::request`].

use super::*;
use crate::request::{Affinity, Granularity, OnLoss, Scope};
use std::collections::HashSet;

fn per(affinity: Affinity) -> LeaseRequest {
    LeaseRequest::new("k").worker("w").affinity(affinity).granularity(Granularity::PerRequest)
}

fn windowed(affinity: Affinity) -> LeaseRequest {
    LeaseRequest::new("k").worker("w").affinity(affinity).windowed(secs(600))
}

fn fixed(affinity: Affinity) -> LeaseRequest {
    LeaseRequest::new("k").worker("w").affinity(affinity).granularity(Granularity::Static)
}

fn exit_of(world: &mut World, origin: &str, ask: &LeaseRequest) -> ExitId {
    let grant = world.at(origin, ask).unwrap();
    world.finish(&grant, Outcome::Ok);
    grant.receipt.exit
}

/// How many exits twenty leases at one origin use.
fn spread(world: &mut World, ask: impl Fn(usize) -> LeaseRequest) -> usize {
    (0..20).map(|n| exit_of(world, "a.test", &ask(n))).collect::<HashSet<_>>().len()
}

#[test]
fn a06_a12_per_request_holds_nothing_whoever_asks() {
    for affinity in [Affinity::Key, Affinity::Worker, Affinity::Origin] {
        let mut world = World::of(50);
        assert!(spread(&mut world, |_| per(affinity)) > 10, "{affinity:?}");
    }
}

#[test]
fn a03_round_robin_takes_exact_turns_and_leaves_nobody_out() {
    let mut world = World::of(7);
    let turns: Vec<_> = (0..21).map(|_| exit_of(&mut world, "a.test", &per(Affinity::RoundRobin))).collect();
    assert_eq!(turns[..7].iter().collect::<HashSet<_>>().len(), 7);
    assert_eq!((&turns[..7], &turns[..7]), (&turns[7..14], &turns[14..]));
    let burned = world.once(&per(Affinity::RoundRobin), BLOCKED).receipt.exit;
    let after: Vec<_> = (0..12).map(|_| exit_of(&mut world, "a.test", &per(Affinity::RoundRobin))).collect();
    assert_eq!(after[..6], after[6..], "the turns go on without the burned one");
    assert!(!after.contains(&burned));
}

#[test]
fn a03_c22_a_window_is_held_per_key_worker_or_origin() {
    let mut world = World::of(50);
    let key = |n: usize| LeaseRequest::new(format!("k{n}")).worker("w");
    assert_eq!(spread(&mut world, |_| windowed(Affinity::Key)), 1);
    assert!(spread(&mut world, |n| key(n).affinity(Affinity::Key)) > 10, "each key its own");
    assert_eq!(
        spread(&mut world, |n| key(n).affinity(Affinity::Worker)),
        1,
        "the worker's, whatever the key"
    );
    assert!(spread(&mut world, |n| key(0).worker(format!("w{n}"))) > 10);
    assert_eq!(
        spread(&mut world, |n| key(n).affinity(Affinity::Origin)),
        1,
        "the origin's, whatever the key"
    );
    let sites = |n: usize| format!("{n}.test");
    let of_sites: HashSet<_> =
        (0..20).map(|n| exit_of(&mut world, &sites(n), &windowed(Affinity::Origin))).collect();
    assert!(of_sites.len() > 10, "each origin its own");
}

#[test]
fn a03_a_window_of_the_whole_pool_takes_turns() {
    let mut world = World::of(5);
    let ask = LeaseRequest::new("any").affinity(Affinity::RoundRobin).windowed(secs(60));
    let mut turns = Vec::new();
    for _ in 0..10 {
        let first = exit_of(&mut world, "a.test", &ask);
        let other = LeaseRequest::new("other").affinity(Affinity::RoundRobin).windowed(secs(60));
        assert_eq!(exit_of(&mut world, "b.test", &other), first, "one exit for everybody");
        turns.push(first);
        world.pass(secs(60));
    }
    assert_eq!(turns[..5], turns[5..]);
    assert_eq!(turns[..5].iter().collect::<HashSet<_>>().len(), 5);
}

#[test]
fn a06_a12_static_is_held_for_life_per_key_worker_or_origin() {
    for affinity in [Affinity::Key, Affinity::Worker, Affinity::Origin] {
        let mut world = World::of(50);
        let first = exit_of(&mut world, "a.test", &fixed(affinity));
        for _ in 0..20 {
            world.pass(secs(86_400));
            assert_eq!(exit_of(&mut world, "a.test", &fixed(affinity)), first, "{affinity:?}");
        }
    }
}

#[test]
fn what_cannot_be_meant_is_named() {
    let cases = [
        (fixed(Affinity::RoundRobin), "cannot take turns"),
        (LeaseRequest::new("k").affinity(Affinity::Worker), "names no worker"),
        (LeaseRequest::per_request().exclusive(), "not held cannot be exclusive"),
        (windowed(Affinity::RoundRobin).exclusive(), "whole pool cannot be exclusive"),
    ];
    for (ask, expected) in cases {
        assert!(ask.contradiction().is_some_and(|said| said.contains(expected)), "{expected}");
    }
    assert_eq!(windowed(Affinity::Key).exclusive().contradiction(), None);
}

#[test]
fn a04_a11_scope_is_its_own_axis() {
    let mut world = World::of(50);
    let sites = |world: &mut World, ask: &LeaseRequest| {
        (0..20).map(|n| exit_of(world, &format!("{n}.test"), ask)).collect::<HashSet<_>>().len()
    };
    assert!(sites(&mut world, &windowed(Affinity::Key)) > 10, "windows: per origin");
    assert_eq!(sites(&mut world, &windowed(Affinity::Key).scope(Scope::AllOrigins)), 1);
    assert_eq!(sites(&mut world, &fixed(Affinity::Key)), 1, "for life: at all origins");
    assert!(sites(&mut world, &fixed(Affinity::Key).scope(Scope::PerOrigin)) > 10);
}

#[test]
fn c03_a_window_by_uses_alone_has_no_age() {
    let mut world = World::of(50);
    let two = NonZeroU32::new(2).unwrap();
    let ask = LeaseRequest::per_request().max_uses(two);
    let first = exit_of(&mut world, "a.test", &ask);
    assert_eq!(exit_of(world.pass(secs(86_400)), "a.test", &ask), first);
    assert_ne!(exit_of(&mut world, "a.test", &ask), first);
}

#[test]
fn c05_a_lost_exit_moves_waits_or_fails_as_asked() {
    let lose = |world: &mut World, ask: &LeaseRequest| {
        let held = world.once(ask, BLOCKED).receipt.exit;
        (held, world.at("a.test", ask))
    };
    let mut world = World::of(5);
    let (held, moved) = lose(&mut world, &fixed(Affinity::Key).on_loss(OnLoss::Move));
    assert_eq!(moved.unwrap().reason, Reason::Moved { from: held });

    let mut world = World::of(5);
    let ask = fixed(Affinity::Key);
    let (held, waits) = lose(&mut world, &ask);
    let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = waits else {
        panic!("it waits for its own exit")
    };
    assert_eq!((counts.cooling, counts.total()), (1, 1));
    assert!((secs(10)..=secs(13)).contains(&retry_at.since(world.now)));
    assert_eq!(exit_of(&mut world, "b.test", &ask), held, "other origins go on");
    world.now = retry_at;
    let back = world.once(&ask, Outcome::Ok);
    assert_eq!((back.receipt.exit, back.trial, back.receipt.generation()), (held, true, Some(0)));

    let mut world = World::of(5);
    let ask = LeaseRequest::identity("account");
    let (held, fails) = lose(&mut world, &ask);
    let Err(Refusal::Moved { from, to, generation: 1 }) = fails else { panic!("it does not move unasked") };
    assert_eq!(from, held);
    let to = to.unwrap();
    assert!(world.at("a.test", &ask).is_err() && world.at("a.test", &ask.clone().generation(2)).is_err());
    let moved = world.lease(&ask.clone().generation(1));
    assert_eq!((moved.receipt.exit, moved.receipt.generation()), (to, Some(1)));
    // Who shares the key and has not heard of it is told too, whatever else it believes.
    for other in [ask.clone(), ask.clone().generation(2), ask.clone().generation(7)] {
        let told = Refusal::Moved { from: held, to: Some(to), generation: 1 };
        assert_eq!(world.at("a.test", &other).unwrap_err(), told);
    }
    assert_eq!(world.lease(&ask.clone().generation(1)).receipt.exit, to, "from then on it is held");
    // After a restart it begins where it was.
    let again = World::of(5).lease(&ask.generation(1));
    assert_eq!((again.receipt.generation(), again.reason), (Some(1), Reason::Placed));
}

#[test]
fn nobody_gets_a_generation_that_it_does_not_know_when_a_window_has_ended_either() {
    let mut world = World::of(5);
    let ask = LeaseRequest::identity("account").windowed(secs(600)).on_loss(OnLoss::Fail);
    let knows = ask.clone().generation(1);
    world.once(&ask, BLOCKED);
    assert!(matches!(world.at("a.test", &ask), Err(Refusal::Moved { generation: 1, .. })));
    assert_eq!(world.once(&knows, Outcome::Ok).receipt.generation(), Some(1));
    world.pass(secs(600));
    let Err(Refusal::Moved { to, generation: 1, .. }) = world.at("a.test", &ask) else {
        panic!("the other worker has not heard of it yet")
    };
    let next = world.lease(&knows);
    assert_eq!((next.receipt.generation(), Some(next.receipt.exit)), (Some(1), to));
    assert!(matches!(world.at("a.test", &ask), Err(Refusal::Moved { generation: 1, .. })));
}

#[test]
fn c06_a_dead_exit_is_never_served_whoever_asks() {
    let keep = [Affinity::Key, Affinity::Worker, Affinity::Origin];
    let moves = keep.map(per).into_iter().chain(keep.map(windowed));
    let moves =
        moves.chain([per(Affinity::RoundRobin), windowed(Affinity::RoundRobin)]).map(|ask| (ask, true));
    for (ask, moves) in moves.chain(keep.map(fixed).map(|ask| (ask, false))) {
        let mut world = World::of(5);
        let dead = exit_of(&mut world, "a.test", &ask);
        world.fleet.pool.kill_for_test(dead, world.now);
        for _ in 0..50 {
            match world.at("a.test", &ask) {
                Ok(grant) => assert!(moves && grant.receipt.exit != dead, "{ask:?}"),
                Err(Refusal::NoUsableExit { counts, .. }) => assert!(!moves && counts.dead == 1, "{ask:?}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn who_does_not_move_is_lent_nothing() {
    let mut world = World::of(5);
    let mut ask = LeaseRequest::identity("account");
    let held = world.once(&ask, REFUSED).receipt.exit;
    ask.trail.record(held, &REFUSED.into(), true);
    assert_eq!(world.lease(&ask).receipt.exit, held, "one fault is no loss");
    world.once(&ask, limited(Some(20)));
    let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &ask) else { panic!("it waits") };
    assert!(retry_at.since(world.now) >= secs(20));
}

#[test]
fn an_exclusive_exit_is_nobody_elses() {
    let mut world = World::of(4);
    let own = |key: &str| LeaseRequest::identity(key.to_owned()).exclusive();
    let (one, two) = (exit_of(&mut world, "a.test", &own("one")), exit_of(&mut world, "a.test", &own("two")));
    assert_ne!(one, two);
    let others: HashSet<_> =
        (0..50).map(|_| exit_of(&mut world, "b.test", &LeaseRequest::per_request())).collect();
    assert_eq!(others.len(), 2, "the two that are left");
    let keys: HashSet<_> =
        (0..50).map(|n| exit_of(&mut world, "a.test", &LeaseRequest::new(format!("k{n}")))).collect();
    assert!(!keys.contains(&one) && !keys.contains(&two));
    let mut taken =
        vec![exit_of(&mut world, "a.test", &own("three")), exit_of(&mut world, "a.test", &own("four"))];
    taken.extend([one, two]);
    assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 4);
    let Err(Refusal::NoUsableExit { counts, retry_at, .. }) =
        world.at("a.test", &LeaseRequest::per_request())
    else {
        panic!("every exit is somebody's")
    };
    assert_eq!((counts.reserved, counts.total()), (4, 4));
    assert_eq!(retry_at, world.now + secs(1), "no time frees what is held for life: one looks again soon");
    assert_eq!(exit_of(&mut world, "c.test", &own("one")), one, "its own it keeps");
}

#[test]
fn an_exclusive_window_gives_its_exit_back_when_it_ends() {
    let mut world = World::of(1);
    let ask = LeaseRequest::new("k").windowed(secs(60)).exclusive();
    exit_of(&mut world, "a.test", &ask);
    assert!(world.at("a.test", &LeaseRequest::per_request()).is_err());
    world.pass(secs(60));
    exit_of(&mut world, "a.test", &LeaseRequest::per_request());
}

#[test]
fn who_wants_an_exit_alone_takes_one_that_nobody_holds() {
    let mut world = World::of(10);
    let before: Vec<_> =
        (0..5).map(|n| exit_of(&mut world, "a.test", &LeaseRequest::new(format!("k{n}")))).collect();
    for n in 0..5 {
        exit_of(&mut world, "a.test", &LeaseRequest::identity(format!("id{n}")).exclusive());
    }
    let after: Vec<_> =
        (0..5).map(|n| exit_of(&mut world, "a.test", &LeaseRequest::new(format!("k{n}")))).collect();
    assert_eq!(before, after, "nobody had to leave");
}

#[test]
fn a19_price_checks_a_crawl_and_logins_share_one_scheduler_and_one_burn_list() {
    let mut world = World::of(40);
    let price = |n: usize| LeaseRequest::new(format!("sku-{n}"));
    let held: Vec<_> = (0..10).map(|n| exit_of(&mut world, "a.test", &price(n))).collect();
    let login = exit_of(&mut world, "a.test", &LeaseRequest::identity("account"));
    // The crawl burns an exit; whoever holds it leaves it, and nobody takes it.
    let burned = loop {
        let grant = world.lease(&LeaseRequest::per_request());
        if grant.receipt.exit == held[3] {
            world.finish(&grant, BLOCKED);
            break held[3];
        }
        world.finish(&grant, Outcome::Ok);
    };
    for (n, exit) in held.iter().enumerate() {
        let now = exit_of(&mut world, "a.test", &price(n));
        assert_eq!(now == *exit, *exit != burned, "only those on the burned exit move");
    }
    let crawl: HashSet<_> =
        (0..200).map(|_| exit_of(&mut world, "a.test", &LeaseRequest::per_request())).collect();
    assert!(!crawl.contains(&burned) && crawl.len() > 30);
    if login != burned {
        assert_eq!(exit_of(&mut world, "a.test", &LeaseRequest::identity("account")), login);
    }
}

#[test]
fn a_window_never_moves_an_exit_for_life_of_the_same_key() {
    let mut world = World::of(50);
    let life = LeaseRequest::identity("k");
    let window = LeaseRequest::new("k").scope(Scope::AllOrigins).windowed(secs(60));
    let first = exit_of(&mut world, "a.test", &life);
    for _ in 0..20 {
        exit_of(world.pass(secs(60)), "a.test", &window);
        assert_eq!(exit_of(&mut world, "a.test", &life), first);
    }
}

#[test]
fn an_exit_for_life_is_held_for_life() {
    let mut world = World::of(50);
    let ask = |n: usize| LeaseRequest::identity(format!("k{n}"));
    let before: Vec<_> = (0..500).map(|n| exit_of(&mut world, "a.test", &ask(n))).collect();
    for _ in 0..10 {
        world.pass(secs(5 * 365 * 86_400));
        let after: Vec<_> = (0..500).map(|n| exit_of(&mut world, "a.test", &ask(n))).collect();
        assert_eq!(before.iter().zip(&after).filter(|(before, after)| before != after).count(), 0);
    }
}

#[test]
fn an_exclusive_exit_is_nobody_elses_whatever_the_length_of_the_window() {
    let mut world = World::of(1);
    let ask = |length| LeaseRequest::new("k").windowed(secs(length)).exclusive();
    exit_of(&mut world, "a.test", &ask(1));
    world.pass(secs(2));
    exit_of(&mut world, "a.test", &ask(36_000));
    world.pass(secs(1));
    let other = world.at("a.test", &LeaseRequest::per_request());
    assert!(matches!(other, Err(Refusal::NoUsableExit { counts, .. }) if counts.reserved == 1), "{other:?}");
}

#[test]
fn who_waits_for_an_exit_that_a_person_keeps_out_is_told_so() {
    let mut world = World::of(3);
    let ask = fixed(Affinity::Key);
    let held = exit_of(&mut world, "a.test", &ask);
    world.fleet.quarantine(held, true);
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &ask) else { panic!("it is out") };
    assert_eq!((counts.quarantined, counts.total()), (1, 1));
}

#[test]
fn a_forgotten_origin_leaves_no_exit_reserved() {
    let mut config = config(4);
    config.bounds.origins = 2;
    let mut world = World::new(config);
    let ask = fixed(Affinity::Origin).exclusive();
    let first = exit_of(&mut world, "a.test", &ask);
    for n in 0..20 {
        exit_of(world.pass(secs(1)), &format!("{n}.test"), &LeaseRequest::per_request());
        exit_of(world.pass(secs(1)), &format!("x{n}.test"), &LeaseRequest::per_request());
        assert_eq!(exit_of(&mut world, "a.test", &ask), first, "after {n} others");
    }
}

#[test]
fn a_refusal_counts_each_exit_under_its_own_reason_and_waits_for_no_longer_than_it_must() {
    let mut world = World::of(3);
    let own = LeaseRequest::new("k").windowed(secs(60)).exclusive();
    exit_of(&mut world, "a.test", &own);
    let mut ask = LeaseRequest::per_request();
    ask.trail.record(Exit::parse("gone.test:1").unwrap().id(), &BLOCKED.into(), false);
    for _ in 0..2 {
        world.once(&LeaseRequest::per_request(), limited(Some(3_000)));
    }
    let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &ask) else {
        panic!("none")
    };
    assert_eq!((counts.avoided, counts.cooling, counts.reserved), (0, 2, 1));
    assert!(retry_at.since(world.now) <= secs(60), "{:?}", retry_at.since(world.now));
}

#[test]
fn a03_a_lost_turn_is_a_turn() {
    let mut world = World::of(5);
    let ask = LeaseRequest::new("any").affinity(Affinity::RoundRobin).windowed(secs(60));
    let mut turns = Vec::new();
    for _ in 0..5 {
        turns.push(world.once(&ask, BLOCKED).receipt.exit);
        turns.push(world.once(&ask, Outcome::Ok).receipt.exit);
        world.pass(secs(3_600));
    }
    assert_eq!(turns[..5].iter().collect::<HashSet<_>>().len(), 5, "{turns:?}");
    assert_eq!(turns[..5], turns[5..]);
}
