//! What a site serves in the long run, and what is told of it. How near it comes: `lab/sim/tests.rs`.

use super::*;
use crate::outcome::AuthReason;

fn once() -> LeaseRequest {
    LeaseRequest::per_request()
}

fn told(world: &World) -> Forecast {
    world.fleet.forecast(world.now, &Origin::new("a.test"))
}

/// Twenty leases a second, each out for 100 ms: two at once.
fn serve(world: &mut World, seconds: u32) -> Vec<Grant> {
    let mut out = vec![world.lease(&once()), world.lease(&once())];
    for _ in 0..20 * seconds {
        world.pass(Duration::from_millis(50));
        let done = out.remove(0);
        world.finish(&done, Outcome::Ok);
        out.push(world.lease(&once()));
    }
    out
}

#[test]
fn of_what_nobody_has_asked_nothing_is_known() {
    let forecast = told(&World::of(3));
    assert_eq!((forecast.per_second, forecast.limited_by), (None, LimitedBy::Unknown));
    assert_eq!(forecast.to_string(), "unknown at a.test: nothing was served there lately");
}

#[test]
fn what_was_never_limited_serves_what_it_serves() {
    let mut world = World::of(30);
    serve(&mut world, 30);
    let forecast = told(&world);
    assert_eq!(forecast.limited_by, LimitedBy::Nothing);
    assert!((forecast.per_second.unwrap() - 20.0).abs() < 2.0, "{forecast}");
    let said = "requests a second at a.test: what it serves now, and nothing has limited it yet";
    assert!(forecast.to_string().ends_with(said), "{forecast}");
}

#[test]
fn where_few_may_be_out_each_serves_as_many_as_before() {
    let mut world = World::of(30);
    let out = serve(&mut world, 30);
    let (_, origin) = out[0].receipt.at;
    world.fleet.pool.set_limit(origin, Some(6));
    let forecast = told(&world);
    assert_eq!(forecast.limited_by, LimitedBy::Concurrency { limit: 6 });
    assert!((forecast.per_second.unwrap() - 60.0).abs() < 6.0, "three times as many may be out: {forecast}");
    out.iter().for_each(|grant| world.finish(grant, Outcome::Ok));
    let forecast = told(&world);
    assert_eq!((forecast.per_second, forecast.limited_by), (None, LimitedBy::Concurrency { limit: 6 }));
}

#[test]
fn a_pools_limits_are_told() {
    let with = |change: fn(exit::Pool) -> exit::Pool| {
        let mut setup = config(4);
        let exits = std::mem::take(&mut setup.exits);
        setup.pools.push(change(exit::Pool::new("dc", exits.into_iter().collect::<ExitList>())));
        World::new(setup)
    };
    let spaced = told(&with(|pool| pool.interval(Duration::from_millis(500))));
    assert_eq!((spaced.per_second, spaced.limited_by), (Some(8.0), LimitedBy::Exits { exits: 4 }));
    let mut few = with(|pool| pool.in_flight(NonZeroU32::new(3).unwrap()));
    serve(&mut few, 30);
    let few = told(&few);
    assert_eq!(few.limited_by, LimitedBy::Exits { exits: 4 });
    assert!((few.per_second.unwrap() - 120.0).abs() < 12.0, "twelve at once: {few}");
}

#[test]
fn what_admits_nobody_serves_nothing() {
    let mut world = World::of(1);
    serve(&mut world, 1);
    let until = world.now + secs(7);
    world.fleet.pool.shut_for_test(world.now, &Origin::new("a.test"), until);
    let held = told(&world);
    assert_eq!((held.per_second, held.limited_by), (Some(0.0), LimitedBy::Held { left: secs(7) }));
    assert_eq!(held.to_string(), "none at a.test: it fails everybody, and is left alone for 7.0 s");

    let mut world = World::of(1);
    for _ in 0..2 {
        let grant = world.lease(&once());
        world.finish(&grant, Outcome::AuthError { reason: AuthReason::Suspended });
        if world.fleet.pool.is_shut() {
            break;
        }
    }
    assert_eq!(told(&world).limited_by, LimitedBy::Stopped);

    let mut world = World::of(2);
    for exit in exits(2) {
        world.fleet.quarantine(exit.id(), true);
    }
    let none = told(&world);
    assert_eq!((none.per_second, none.limited_by), (Some(0.0), LimitedBy::Stopped));
    assert!(none.to_string().starts_with("none at a.test: every login is stopped, or"), "{none}");
    world.fleet.close();
    assert_eq!(told(&world).to_string(), "none at a.test: the fleet is drained");
}

#[test]
fn what_is_soon_back_serves_in_the_long_run() {
    let busy = |wait| Outcome::GatewayOverloaded {
        retry_after: Some(RetryAfter::new(secs(wait))),
        scope: crate::outcome::GatewayScope::Gateway,
    };
    let gateway = Gateway::parse("http://u-{session}:p@gw.test:1").unwrap();
    let pool = exit::Pool::new("resi", gateway).in_flight(NonZeroU32::new(3).unwrap());
    let mut world = World::new(Setup { exits: Vec::new(), pools: vec![pool], ..config(1) });
    serve(&mut world, 30).iter().for_each(|grant| world.finish(grant, Outcome::Ok));
    let before = told(&world);
    for wait in [0, 20] {
        let grant = world.lease(&once());
        world.finish(&grant, busy(wait));
        assert!(world.at("a.test", &once()).is_err(), "the gateway rests");
        let now = told(&world);
        assert_eq!(now.limited_by, before.limited_by, "after a wait of {wait} s: {now}");
        assert_ne!(now.per_second, Some(0.0), "{now}");
        world.pass(secs(30));
        let grant = world.lease(&once());
        world.finish(&grant, Outcome::Ok);
    }
    let grant = world.lease(&once());
    world.finish(&grant, busy(600));
    let rests = told(&world);
    let LimitedBy::Resting { left } = rests.limited_by else { panic!("{rests}") };
    assert!((600.0..=750.0).contains(&left.as_secs_f64()) && rests.per_second == Some(0.0), "{rests}");
    assert!(
        rests.to_string().starts_with("none at a.test: every exit rests, and the first is back in "),
        "{rests}"
    );
}

#[test]
fn the_only_exit_serves_though_it_rests_for_a_moment() {
    let mut world = World::of(1);
    serve(&mut world, 30).iter().for_each(|grant| world.finish(grant, Outcome::Ok));
    world.once(&once(), limited(Some(5)));
    assert!(world.at("a.test", &once()).is_err());
    let short = told(&world);
    assert!(short.per_second.is_some_and(|rate| rate > 0.0), "{short}");
    world.pass(secs(10));
    world.once(&once(), limited(Some(900)));
    assert!(matches!(told(&world).limited_by, LimitedBy::Resting { .. }), "{}", told(&world));
}

#[test]
fn an_exit_that_was_limited_a_moment_ago_serves_as_the_others_do_and_one_that_was_refused_does_not() {
    let list = exits(4).into_iter().collect::<ExitList>();
    let pools = vec![exit::Pool::new("dc", list).interval(secs(1))];
    let mut world = World::new(Setup { exits: Vec::new(), pools, ..config(1) });
    world.once(&once(), Outcome::Ok);
    for _ in 0..2 {
        world.once(&once(), limited(None));
    }
    let LimitedBy::Exits { exits } = told(&world).limited_by else { panic!("{}", told(&world)) };
    assert_eq!(exits, 4, "{}", told(&world));
    world.once(&once(), limited(Some(20)));
    let LimitedBy::Exits { exits } = told(&world).limited_by else { panic!("{}", told(&world)) };
    assert_eq!(exits, 3, "{}", told(&world));
}
