//! Which exit serves whom.

use super::*;

#[test]
fn a06_a12_a_key_keeps_its_exit_for_the_window_and_keys_spread() {
    let mut world = World::of(50);
    let mut seen = HashMap::<ExitId, u32>::new();
    for key in 0..500 {
        let ask = LeaseRequest::new(format!("sku-{key}"));
        let first = world.once(&ask, Outcome::Ok);
        assert_eq!(first.reason, Reason::Placed);
        let again = world.pass(Duration::from_millis(1)).once(&ask, Outcome::Ok);
        assert_eq!((again.receipt.exit, again.reason), (first.receipt.exit, Reason::Bound));
        *seen.entry(first.receipt.exit).or_default() += 1;
    }
    assert_eq!(seen.len(), 50);
    assert!(seen.values().all(|keys| (2..=25).contains(keys)), "{seen:?}");
}

#[test]
fn c03_a_window_ends_and_its_key_is_placed_anew() {
    let mut world = World::of(50);
    let mut exits = Vec::new();
    let ask = LeaseRequest::new("k").windowed(secs(60));
    for _ in 0..20 {
        exits.push(world.once(&ask, Outcome::Ok).receipt.exit);
        world.pass(secs(60));
    }
    exits.sort_unstable();
    exits.dedup();
    assert!(exits.len() > 10, "20 windows over 50 exits use many of them: {}", exits.len());
}

#[test]
fn c03_no_exit_is_held_longer_than_the_window() {
    let mut world = World::of(50);
    let ask = LeaseRequest::new("k").windowed(secs(60));
    let (mut held, mut since) = (world.once(&ask, Outcome::Ok).receipt.exit, world.now);
    let mut changes = 0;
    for _ in 0..600 {
        let exit = world.pass(secs(1)).once(&ask, Outcome::Ok).receipt.exit;
        if exit != held {
            (held, since, changes) = (exit, world.now, changes + 1);
        }
        assert!(
            world.now.since(since) <= secs(120),
            "two windows in a row may draw one exit, three hardly do"
        );
    }
    assert!((8..=10).contains(&changes), "{changes}");
}

#[test]
fn a_window_of_n_uses_ends_after_n_and_takes_another_exit() {
    let mut world = World::of(5);
    let ask = LeaseRequest::new("k").max_uses(NonZeroU32::new(3).unwrap());
    let used: Vec<_> = (0..12).map(|_| world.once(&ask, Outcome::Ok).receipt.exit).collect();
    for turn in used.chunks(3) {
        assert!(turn.iter().all(|exit| *exit == turn[0]), "{used:?}");
    }
    for turns in used.chunks(3).collect::<Vec<_>>().windows(2) {
        assert_ne!(turns[0][0], turns[1][0], "rotation means another exit");
    }
}

#[test]
fn the_same_seed_places_the_same_whatever_the_order_of_the_list() {
    let mut backwards = config(100);
    backwards.exits.reverse();
    let (mut one, mut other) = (World::of(100), World::new(backwards));
    for key in 0..200 {
        let ask = LeaseRequest::new(format!("k{key}"));
        assert_eq!(one.once(&ask, Outcome::Ok).receipt.exit, other.once(&ask, Outcome::Ok).receipt.exit);
    }
}

#[test]
fn one_exit_more_moves_about_its_share_of_the_keys() {
    let (mut small, mut large) = (World::of(100), World::of(101));
    let moved = (0..1_000)
        .filter(|key| {
            let ask = LeaseRequest::new(format!("k{key}"));
            small.once(&ask, Outcome::Ok).receipt.exit != large.once(&ask, Outcome::Ok).receipt.exit
        })
        .count();
    assert!(moved <= 60, "{moved} of 1000 keys moved for one exit in a hundred");
}

#[test]
fn a_lost_exit_moves_only_its_own_keys_and_over_all_others() {
    let mut world = World::of(10);
    let asks: Vec<_> = (0..1_000).map(|key| LeaseRequest::new(format!("k{key}"))).collect();
    let before: Vec<_> = asks.iter().map(|ask| world.once(ask, Outcome::Ok).receipt.exit).collect();
    let lost = before[0];
    for _ in 0..3 {
        let grant = world.through("a.test", lost);
        world.finish(&grant, REFUSED);
    }
    let mut landed = HashMap::<ExitId, u32>::new();
    for (ask, before) in asks.iter().zip(&before) {
        let after = world.once(ask, Outcome::Ok);
        if *before == lost {
            assert_eq!(after.reason, Reason::Moved { from: lost });
            assert_eq!(after.receipt.generation(), Some(1));
            *landed.entry(after.receipt.exit).or_default() += 1;
        } else {
            assert_eq!(after.receipt.exit, *before);
        }
    }
    let moved: u32 = landed.values().sum();
    assert_eq!(landed.len(), 9);
    assert!(landed.values().all(|keys| f64::from(*keys) <= 0.25 * f64::from(moved)), "{landed:?}");
}

#[test]
fn per_request_spreads_evenly_and_prefers_the_idle() {
    let mut world = World::of(10);
    let mut seen = HashMap::<ExitId, u32>::new();
    for _ in 0..5_000 {
        *seen.entry(world.once(&LeaseRequest::per_request(), Outcome::Ok).receipt.exit).or_default() += 1;
    }
    assert!(seen.values().all(|uses| (400..=600).contains(uses)), "{seen:?}");
    let out: Vec<_> = (0..20).map(|_| world.lease(&LeaseRequest::per_request())).collect();
    assert_eq!(world.snapshot().in_flight, 20);
    assert!(
        world.snapshot().exits_in_use >= 9,
        "the idle one of two is taken: {}",
        world.snapshot().exits_in_use
    );
    out.iter().for_each(|grant| world.end(grant));
    assert_eq!((world.snapshot().in_flight, world.snapshot().exits_in_use), (0, 0));
}

#[test]
fn b06_c26_a_hot_exit_is_chosen_less_until_it_has_cooled() {
    let mut world = World::of(2);
    let ask = LeaseRequest::per_request();
    let hot = world.once(&ask, limited(None)).receipt.exit;
    world.pass(secs(2));
    let through_hot =
        |world: &mut World| (0..200).filter(|_| world.once(&ask, Outcome::Ok).receipt.exit == hot).count();
    assert!(through_hot(&mut world) < 20);
    world.pass(secs(300));
    assert!(through_hot(&mut world) > 60, "what is nearly cold is used like the others");
}

#[test]
fn few_usable_of_many_are_all_found() {
    let mut world = World::of(1_000);
    let mut left: Vec<ExitId> = Vec::new();
    for exit in exits(1_000) {
        if left.len() < 3 {
            left.push(exit.id());
            continue;
        }
        world.fleet.pool.kill_for_test(exit.id(), world.now);
    }
    let mut seen = HashMap::<ExitId, u32>::new();
    for _ in 0..300 {
        *seen.entry(world.once(&LeaseRequest::per_request(), Outcome::Ok).receipt.exit).or_default() += 1;
    }
    let mut found: Vec<_> = seen.keys().copied().collect();
    found.sort_unstable();
    left.sort_unstable();
    assert_eq!(found, left);
    assert!(
        seen.values().all(|uses| *uses > 60),
        "each as often as the others, wherever it stands: {seen:?}"
    );
    assert!(left.contains(&world.once(&LeaseRequest::new("k"), Outcome::Ok).receipt.exit));
}

#[test]
fn neighbours_share_the_load_where_all_others_are_out() {
    let mut world = World::of(1_000);
    let mut ids: Vec<ExitId> = exits(1_000).iter().map(Exit::id).collect();
    ids.sort_unstable();
    for id in ids[..500].iter().chain(&ids[502..]) {
        world.fleet.pool.kill_for_test(*id, world.now);
    }
    let through =
        (0..200).filter(|_| world.lease(&LeaseRequest::per_request()).receipt.exit == ids[501]).count();
    assert!((80..=120).contains(&through), "{through} of 200 that are all still out");
}
