//! What may be an exit's fault or its origin's: exits that tell the same of one origin are its witnesses.

use super::*;
use crate::outcome::Seen;

/// Over plain http the proxy may have said it.
fn plain() -> Evidence {
    Evidence::of(DOWN).seen(Seen::Unknown)
}

/// What came of a site's outage of five minutes, beside a site that is well.
#[derive(Debug, Default)]
struct Story {
    failed: u32,
    held_after: Option<Duration>,
    recovered_after: Option<Duration>,
    most_dead: u32,
    refused_beside: u32,
}

fn outage(setup: Setup, down: Evidence) -> Story {
    let mut world = World::new(setup);
    let mut story = Story::default();
    let (from, to) = (world.now + secs(60), world.now + secs(360));
    while world.now < to + secs(120) {
        for _ in 0..4 {
            world.pass(secs(1) / 15);
            if let Ok(grant) = world.at("a.test", &once()) {
                let fails = world.now >= from && world.now < to;
                story.failed += u32::from(fails);
                if world.now >= to {
                    story.recovered_after.get_or_insert_with(|| world.now.since(to));
                }
                world.finish(&grant, if fails { down } else { Evidence::of(Outcome::Ok) });
            } else if world.now >= from {
                story.held_after.get_or_insert_with(|| world.now.since(from));
            }
        }
        world.pass(secs(1) / 15);
        match world.at("b.test", &once()) {
            Ok(grant) => world.finish(&grant, Outcome::Ok),
            Err(_) => story.refused_beside += 1,
        }
        let exits = world.snapshot().exits;
        story.most_dead = story.most_dead.max(exits.dead);
    }
    story
}

#[test]
fn a_site_that_is_down_over_plain_http_is_held_and_costs_no_exit_elsewhere() {
    let busy = Evidence::of(limited(Some(7))).for_all(true).seen(Seen::Unknown);
    for count in [1, 2, 5, 20, 200] {
        for down in [plain(), busy, Outcome::TargetUnreachable.into()] {
            let story = outage(config(count), down);
            assert!(story.held_after.is_some_and(|after| after < secs(2)), "{count} {down:?}: {story:?}");
            // One or two exits rest there alone, as they are asked to or for a second, before it is held.
            let most = if count <= 2 { 80 } else { 45 };
            assert!(story.failed <= most && story.most_dead == 0, "{count} {down:?}: {story:?}");
            assert!(
                story.recovered_after.is_some_and(|after| after < secs(25)),
                "{count} {down:?}: {story:?}"
            );
            assert_eq!(story.refused_beside, 0, "{count} {down:?}");
        }
    }
}

#[test]
fn a_site_that_breaks_every_exchange_costs_no_exit_elsewhere_either_and_is_not_held() {
    let broken = Evidence::of(Outcome::ProxyError { phase: Phase::OriginTls }).seen(Seen::Never);
    for count in [5, 20, 200] {
        for down in [Outcome::Interrupted { phase: Phase::Head }.into(), broken] {
            let story = outage(config(count), down);
            assert!(story.held_after.is_none() && story.refused_beside == 0, "{count} {down:?}: {story:?}");
            assert_eq!(story.most_dead, 0, "{count} {down:?}: {story:?}");
        }
    }
}

#[test]
fn exits_of_one_gateway_are_one_witness_and_all_there_is_is_enough() {
    // Two gateways: one of them says it for whatever site.
    let gateway = |host: &str| {
        Gateway::parse(&format!("http://u-{{session}}:p@{host}:7000"))
            .unwrap()
            .sessions(NonZeroU32::new(8).unwrap())
    };
    let mut setup = Setup { exits: Vec::new(), ..config(1) };
    setup.gateways = vec![gateway("one.test"), gateway("two.test")];
    let mut world = World::new(setup);
    let grants: Vec<_> = (0..60).map(|_| world.lease(&once())).collect();
    let first = grants[0].receipt.gateway;
    let (ours, theirs): (Vec<_>, Vec<_>) = grants.iter().partition(|grant| grant.receipt.gateway == first);
    ours[..6].iter().for_each(|grant| world.finish(grant, plain()));
    assert_eq!(until(&mut world), None, "six exits, and one gateway");
    theirs[..2].iter().for_each(|grant| world.finish(grant, plain()));
    assert!(until(&mut world).is_some(), "both gateways say so");

    let mut setup = Setup { exits: Vec::new(), ..config(1) };
    setup.gateways = vec![gateway("one.test")];
    let story = outage(setup, plain());
    assert!(story.held_after.is_some_and(|after| after < secs(2)) && story.most_dead == 0, "{story:?}");
}

#[test]
fn what_it_cost_exits_in_faults_is_taken_back_and_what_they_owe_is_not() {
    let mut world = World::new(Setup { knobs: Knobs { spacing: None, ..Knobs::default() }, ..config(4) });
    let good = exits(4)[3].id();
    let beside = |world: &mut World, outcome: Outcome| {
        let grant = world.through("c.test", exits(4)[0].id());
        world.finish(&grant, outcome);
    };
    // Two faults of its own; with half a one of each outage it would be dead at the second.
    beside(&mut world, REFUSED);
    beside(&mut world, REFUSED);
    world.pass(secs(31));
    for outage in 0..4 {
        let well = world.through("a.test", good);
        world.finish(&well, Outcome::Ok);
        tell(&mut world, &[0, 1, 2].map(|exit| (exit, Duration::ZERO, plain())));
        world.now = until(&mut world).expect("it is held");
        let canary = world.through("a.test", good);
        world.finish(&canary, BAD_GATEWAY);
        world.now = until(&mut world).expect("it is held");
        let canary = world.through("a.test", good);
        world.finish(&canary, Outcome::Ok);
        world.pass(secs(31));
        assert_eq!(world.snapshot().exits.dead, 0, "after {outage}");
    }
    beside(&mut world, REFUSED);
    assert_eq!(world.snapshot().exits.dead, 1, "its third own fault");
}

#[test]
fn a_canary_that_breaks_and_what_was_in_flight_cost_their_exits_nothing() {
    let mut world = World::of(10);
    world.once(&once(), Outcome::Ok);
    let late: Vec<_> = (0..200).map(|_| world.lease(&once())).collect();
    tell(&mut world, &[0, 1, 2].map(|exit| (exit, Duration::ZERO, plain())));
    late[..100].iter().for_each(|grant| world.finish(grant, plain()));
    world.now = until(&mut world).unwrap();
    for _ in 0..40 {
        let canary = world.lease(&once());
        world.finish(&canary, Outcome::Interrupted { phase: Phase::Head });
    }
    let canary = world.lease(&once());
    world.finish(&canary, Outcome::Ok);
    assert_eq!(until(&mut world), None);
    late[100..].iter().for_each(|grant| world.finish(grant, plain()));
    assert_eq!(world.snapshot().exits.dead, 0, "they were sent before it was well again");
}

#[test]
fn an_exit_that_is_alone_with_it_dies_as_before() {
    for evidence in [plain(), Outcome::Interrupted { phase: Phase::Head }.into()] {
        let mut world = World::of(10);
        let bad = exits(10)[0].id();
        let mut through = 0;
        for _ in 0..2_000 {
            let grant = world.pass(Duration::from_millis(20)).lease(&once());
            let is_bad = grant.receipt.exit == bad;
            through += u32::from(is_bad);
            world.finish(&grant, if is_bad { evidence } else { Outcome::Ok.into() });
        }
        assert!((6..60).contains(&through), "{through} of 2,000 through it: {evidence:?}");
        assert_eq!(world.snapshot().origins[0].held, None);
    }
}

/// More than half of what it says are failures, and never as many in a row as were no chance: it is not held.
#[test]
fn a_site_that_fails_most_of_the_time_costs_no_exit_what_serves_others() {
    let mut world = World::of(20);
    let plain = Evidence::of(BAD_GATEWAY).seen(Seen::Unknown);
    let mut most = 0;
    for n in 0..6_000_u64 {
        world.pass(Duration::from_millis(30));
        if let Ok(grant) = world.at("flaky.test", &once()) {
            let fails = crate::draw::mix(n) % 3 > 0;
            world.finish(&grant, if fails { plain } else { Outcome::Ok.into() });
        }
        most = most.max(world.snapshot().exits.dead);
    }
    assert!(most <= 1, "{most} of 20 were dead");
    assert!(world.at("good.test", &once()).is_ok());
}

#[test]
fn what_exits_may_have_said_themselves_holds_a_site_for_a_minute_at_most() {
    let hour = Outcome::RateLimited { retry_after: Some(RetryAfter::new(secs(3_600))) };
    let held = |seen| {
        let mut world = World::of(50);
        let three: Vec<_> = exits(3).iter().map(|exit| world.through("a.test", exit.id())).collect();
        three.iter().for_each(|grant| world.finish(grant, Evidence::of(hour).for_all(true).seen(seen)));
        let Err(Refusal::OriginHeld { retry_at, .. }) = world.at("a.test", &once()) else {
            panic!("three exits are told the same")
        };
        retry_at.since(world.now)
    };
    assert!(held(Seen::Unknown) <= secs(75), "{:?}", held(Seen::Unknown));
    assert!(held(Seen::Seen) >= secs(3_600));
}
