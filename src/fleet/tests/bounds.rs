//! Every table is bounded, and each bound has an end.

use super::*;

fn world(count: u16, bounds: Bounds) -> World {
    World::new(Setup { bounds, ..config(count) })
}

#[test]
fn leases_beyond_the_bound_are_refused_with_a_time() {
    let mut world = world(1, Bounds { leases: 2, ..Bounds::default() });
    let out = [world.lease(&LeaseRequest::per_request()), world.lease(&LeaseRequest::per_request())];
    let refused = world.at("a.test", &LeaseRequest::per_request()).unwrap_err();
    assert!(matches!(refused, Refusal::Full { retry_at } if retry_at == world.now + secs(1)));
    world.end(&out[0]);
    world.lease(&LeaseRequest::per_request());
    assert_eq!((world.snapshot().in_flight, world.snapshot().refusals.busy), (2, 1));
}

#[test]
fn c20_the_least_recently_used_binding_is_forgotten() {
    for ask in [LeaseRequest::new, LeaseRequest::identity] {
        let mut world = world(50, Bounds { bindings: 2, ..Bounds::default() });
        for key in ["a", "b", "c"] {
            world.pass(secs(1)).once(&ask(key), Outcome::Ok);
        }
        assert_eq!(world.once(&ask("b"), Outcome::Ok).reason, Reason::Bound);
        assert_eq!(world.once(&ask("a"), Outcome::Ok).reason, Reason::Placed);
    }
}

#[test]
fn an_origin_in_use_is_never_forgotten() {
    let mut world = world(2, Bounds { origins: 2, ..Bounds::default() });
    let one = world.at("1.test", &LeaseRequest::per_request()).unwrap();
    let two = world.at("2.test", &LeaseRequest::per_request()).unwrap();
    let refused = world.at("3.test", &LeaseRequest::per_request()).unwrap_err();
    assert!(matches!(refused, Refusal::Busy { .. }));
    world.finish(&one, BLOCKED);
    world.pass(secs(1)).finish(&two, Outcome::Ok);
    let again = world.pass(secs(60)).at("1.test", &LeaseRequest::per_request()).unwrap();
    world.finish(&again, BLOCKED);
    world.at("3.test", &LeaseRequest::per_request()).unwrap();
    world.report(&two, BLOCKED);
    let names: Vec<_> = world.snapshot().origins.iter().map(|origin| origin.origin.to_string()).collect();
    assert_eq!(names, ["1.test", "3.test"], "a late report brings nothing back");
}

#[test]
fn sites_that_are_left_alone_make_room_for_others_and_those_in_use_stay() {
    let mut world = world(1, Bounds { origins: 1_000, ..Bounds::default() });
    let down = Evidence::of(Outcome::RateLimited { retry_after: Some(RetryAfter::new(secs(3_600))) });
    let per = LeaseRequest::per_request();
    for site in 0..10_000 {
        // One that serves, now and then.
        if site % 50 == 0 {
            let well = world.at("well.test", &per).unwrap();
            world.finish(&well, Outcome::Ok);
        }
        let name = format!("{site}.test");
        let grants: Vec<_> = (0..3).map(|_| world.at(&name, &per).expect("there is room")).collect();
        grants.iter().for_each(|grant| world.finish(grant, down.for_all(true)));
        assert!(matches!(world.at(&name, &per), Err(Refusal::OriginHeld { .. })));
        world.pass(Duration::from_millis(10));
    }
    world.fleet.pool.check();
    let snapshot = world.snapshot();
    assert_eq!(snapshot.origins.len(), 1_000);
    let well = snapshot.origins.iter().find(|origin| origin.origin.to_string() == "well.test");
    assert_eq!(well.map(|well| well.leases), Some(200), "it was never forgotten");
    assert!(snapshot.uncooled > 0, "rests that were forgotten are counted: {}", snapshot.uncooled);
    // Who was forgotten is known anew, and an old one that rests is not.
    assert!(world.at("0.test", &per).is_ok());
    assert!(world.at("9999.test", &per).is_err());
}

#[test]
fn c36_a_pair_that_rests_is_never_forgotten_and_what_cannot_be_kept_is_counted() {
    let mut world = world(3, Bounds { pairs: 2, ..Bounds::default() });
    for _ in 0..3 {
        world.once(&LeaseRequest::per_request(), BLOCKED);
    }
    let snapshot = world.snapshot();
    assert_eq!((snapshot.hottest.len(), snapshot.origins[0].benched, snapshot.uncooled), (2, 2, 1));
}

#[test]
fn many_timers_at_once_refuse_nobody() {
    let mut world = World::of(500);
    for _ in 0..500 {
        world.once(&LeaseRequest::per_request(), BLOCKED);
    }
    assert_eq!(world.snapshot().origins[0].benched, 500);
    world.pass(secs(13));
    let trials: Vec<_> = (0..500).map(|_| world.lease(&LeaseRequest::per_request())).collect();
    assert!(trials.iter().all(|grant| grant.trial));
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &LeaseRequest::per_request()) else {
        panic!("every place is taken")
    };
    assert_eq!(counts.on_trial, 500);
}

#[test]
fn pairs_that_rest_no_more_and_those_of_forgotten_origins_make_room() {
    let mut world = world(2, Bounds { pairs: 8, ..Bounds::default() });
    for site in 0..8 {
        let grant = world.at(&format!("{site}.test"), &LeaseRequest::per_request()).unwrap();
        world.finish(&grant, limited(None));
        world.pass(secs(5));
    }
    world.pass(secs(86_400)).once(&LeaseRequest::per_request(), BLOCKED);
    assert_eq!(world.snapshot().uncooled, 0);

    let mut world = self::world(2, Bounds { pairs: 4, origins: 2, ..Bounds::default() });
    for site in 0..40 {
        let grant = world.at(&format!("{site}.test"), &LeaseRequest::per_request()).unwrap();
        world.finish(&grant, BLOCKED);
        world.pass(secs(86_400));
    }
    assert_eq!(world.snapshot().uncooled, 0);
}

#[test]
fn no_duration_is_too_long_or_too_short() {
    for age in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        for deadline in [Duration::ZERO, Duration::MAX] {
            let mut world = World::of(3);
            let ask = LeaseRequest::new("k").windowed(age).deadline(deadline);
            for _ in 0..4 {
                let grant = world.lease(&ask);
                world.finish(&grant, limited(Some(u64::MAX)));
                world.pass(secs(5_000));
            }
            world.now = Time::MAX;
            let _ = world.at("a.test", &ask);
            assert_eq!(world.snapshot().exits.total, 3);
        }
    }
}
