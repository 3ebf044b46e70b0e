//! A gateway that has too much to do, and bears so many at once.

use super::*;
use crate::draw::{Stream, draw, unit};
use std::collections::BTreeMap;

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

/// What so many workers get in a minute from a gateway that refuses such a share of the tunnels, by the time and by how many are out,
/// and says so after 0.1 s. A page takes 0.2 s.
fn minute(workers: usize, seed: u64, share: impl Fn(u64, usize) -> f64) -> Minute {
    let mut world = World::new(Setup { seed, ..gateway() });
    let mut out: BTreeMap<(u64, u64), (Grant, bool)> = BTreeMap::new();
    let (mut drawn, mut pages, mut refusals) = (0, [0; 60], [0; 60]);
    for step in 0..6_000_u64 {
        world.pass(Duration::from_millis(10));
        let second = usize::try_from(step / 100).unwrap();
        while out.first_key_value().is_some_and(|((due, _), _)| *due <= step) {
            let Some((_, (grant, refused))) = out.pop_first() else { break };
            let told = if refused { &mut refusals } else { &mut pages };
            told[second] += 1;
            world.finish(&grant, if refused { overloaded(None) } else { Outcome::Ok.into() });
        }
        while out.len() < workers {
            let Ok(grant) = world.at("a.test", &per()) else { break };
            drawn += 1;
            let refused = unit(draw(seed, Stream::Cooldown, 7, drawn)) < share(step / 100, out.len() + 1);
            out.insert((step + if refused { 10 } else { 20 }, drawn), (grant, refused));
        }
    }
    let told = world.fleet.events().take().into_iter().map(|(_, event)| event).collect();
    Minute { pages, refusals, told }
}

/// By the second.
struct Minute {
    pages: [u32; 60],
    refusals: [u32; 60],
    told: Vec<Event>,
}

#[test]
fn a_gateway_that_refuses_by_chance_is_asked_for_as_much_as_before() {
    let shares = [0.05, 0.15, 0.3, 0.5];
    for (workers, share) in [4_u8, 8, 50].into_iter().flat_map(|n| shares.map(|share| (n, share))) {
        for seed in 1..=2 {
            let Minute { pages, told, .. } = minute(workers.into(), seed, |_, _| share);
            let rate = f64::from(pages[10..].iter().sum::<u32>()) / 50.0;
            let bound = f64::from(workers) / (0.2 + 0.1 * share / (1.0 - share));
            let least = if workers == 50 { 0.9 } else { 0.6 };
            assert!(rate > least * bound, "{workers}, {share}, {seed}: {rate} a second of {bound}, {told:?}");
            let falls = |event: &Event| match event {
                Event::GatewaySlowed { gateway, from, to } => to < from && gateway == "gw.test:7000",
                _ => true,
            };
            assert!(told.iter().all(falls), "{told:?}");
        }
    }
}

#[test]
fn a_gateway_that_refused_by_chance_and_then_has_too_much_to_do_is_limited() {
    let bears = |out: usize| 1.0 - 15.0 / out.max(15) as f64;
    let minute = minute(50, 1, |second, out| if second < 30 { 0.3 } else { bears(out) });
    let sum = |of: &[u32; 60], from: usize| of[from..].iter().sum::<u32>();
    let (pages, refusals) = (sum(&minute.pages, 40), sum(&minute.refusals, 40));
    assert!(pages > 1_000 && refusals * 5 < pages, "{pages}, {refusals}: {:?}", minute.told);
}

#[test]
fn a_gateway_that_serves_nobody_any_more_rests_though_all_were_served_before() {
    let minute = minute(50, 1, |second, _| f64::from(u8::from(second >= 30)));
    assert_eq!(minute.pages[..30].iter().sum::<u32>() / 30, 248);
    let refused: u32 = minute.refusals.iter().sum();
    assert!((50..=250).contains(&refused), "{:?}", minute.refusals);
}
