//! How often a subnet is called refused, rightly and wrongly.

use super::super::subnet::{Subnet, refused};
use super::*;

/// Exits by subnet, each blocked at its own rate.
fn draw_nets(seed: u64, nets: u8, exits: usize, bad: impl Fn(u8, &mut Dice) -> bool) -> Vec<(Subnet, bool)> {
    let mut dice = Dice(mix(seed));
    let net = |net: u8| Subnet::of([203, 0, net, 1].into());
    (0..nets).flat_map(|at| (0..exits).map(|_| (net(at), bad(at, &mut dice))).collect::<Vec<_>>()).collect()
}

fn share(trials: u64, trial: impl Fn(u64) -> Vec<(Subnet, bool)>) -> f64 {
    let hits = (0..trials).filter(|seed| !refused(trial(*seed).into_iter()).is_empty()).count();
    hits as f64 / trials as f64
}

#[test]
fn a27_bad_exits_that_lie_anywhere_are_hardly_ever_called_a_subnet() {
    for (nets, exits, bad) in
        [(10, 20, 0.2), (50, 4, 0.2), (40, 5, 0.4), (5, 4, 0.3), (100, 2, 0.5), (20, 10, 0.9)]
    {
        let wrong = share(2_000, |seed| draw_nets(seed, nets, exits, |_, dice| dice.unit() < bad));
        assert!(wrong <= 0.01, "{nets} subnets of {exits}, {bad} bad: {wrong}");
    }
}

#[test]
fn a27_subnets_that_are_refused_are_found_beside_noise() {
    for (nets, exits, refused, least) in
        [(10, 20, 1, 0.99), (50, 4, 5, 0.9), (20, 10, 2, 0.99), (10, 4, 1, 0.5)]
    {
        let bad = |net, dice: &mut Dice| dice.unit() < if net < refused { 0.9 } else { 0.05 };
        let right = share(500, |seed| draw_nets(seed, nets, exits, bad));
        assert!(right >= least, "{refused} of {nets} subnets of {exits}: {right}");
    }
    let nets = draw_nets(1, 10, 20, |net, dice| dice.unit() < if net == 3 { 0.9 } else { 0.05 });
    let named = refused(nets.into_iter());
    assert_eq!((named.len(), named[0].subnet.to_string().as_str()), (1, "203.0.3.0/24"));
    assert_eq!(Subnet::of("2001:db8:1:2::7".parse().unwrap()).to_string(), "2001:db8:1::/48");
}
