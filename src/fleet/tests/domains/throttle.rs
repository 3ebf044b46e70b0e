//! A gateway that has too much to do, and bears so many at once.

use super::*;

/// Waits of those who were refused a place end, and no more are out than it bears for long.
#[test]
fn a_gateway_that_bears_so_many_is_asked_for_no_more_and_does_not_rest() {
    let mut world = World::new(gateway());
    let mut out = std::collections::VecDeque::new();
    let mut refused = [0; 2];
    for step in 0..4_000 {
        world.pass(Duration::from_millis(10));
        while out.len() < 100 {
            let Ok(grant) = world.at("a.test", &per()) else { break };
            out.push_back(grant);
        }
        assert!(!out.is_empty(), "it does not rest");
        let over = out.len() > 20 && step % 4 > 0;
        let grant = out.pop_front().unwrap();
        refused[usize::from(step >= 2_000)] += u32::from(over);
        world.finish(&grant, if over { overloaded(None) } else { Outcome::Ok.into() });
    }
    assert!(refused[1] < 600, "of 2,000: {refused:?}");
    let told: Vec<_> = world.fleet.events().take().into_iter().map(|(_, event)| event).collect();
    assert!(matches!(told.first(), Some(Event::GatewaySlowed { to, from, .. }) if to < from), "{told:?}");
    out.drain(..).for_each(|grant| world.finish(&grant, Outcome::Ok));
    for _ in 0..40 {
        let grant = world.pass(secs(1)).lease(&per());
        world.finish(&grant, Outcome::Ok);
    }
    let free: Vec<_> = (0..200).map(|_| world.lease(&per())).collect();
    assert_eq!(free.len(), 200, "what was not met for half a minute is no limit");
}

#[test]
fn who_waits_for_a_place_behind_a_gateway_gets_the_next_one() {
    let mut world = World::new(gateway());
    let flying: Vec<_> = (0..40).map(|_| world.lease(&per())).collect();
    flying[..12].iter().for_each(|grant| world.finish(grant, overloaded(None)));
    let mut held: Vec<_> = flying[12..].iter().collect();
    let name = Origin::new("a.test");
    let until = world.now + secs(30);
    let Turn::Wait { ticket } = world.fleet.lease_or_wait(world.now, &per(), &name, until) else {
        panic!("it is full")
    };
    assert!(world.fleet.wait(world.now, ticket).is_some());
    while let Some(grant) = held.pop() {
        world.finish(grant, Outcome::Ok);
        world.fleet.serve(world.now);
        if world.fleet.poll_wake() == Some(ticket) {
            break;
        }
    }
    assert!(!held.is_empty(), "it is called as soon as there is a place");
    assert!(matches!(world.fleet.claim(world.now, ticket), Turn::Granted(_)));
}
