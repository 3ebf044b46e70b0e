//! Who may use a connection again.

use super::*;
use crate::request::Freshness;

fn reuse(world: &mut World, ask: &LeaseRequest) -> Reuse {
    world.once(ask, Outcome::Ok).route.reuse()
}

#[test]
fn what_a_request_asks_for_is_said_by_its_route() {
    let mut world = World::of(4);
    let ask = |key: &str| LeaseRequest::new(key);
    assert_eq!(reuse(&mut world, &ask("a")), Reuse::Anybody);
    assert_eq!(reuse(&mut world, &ask("a").freshness(Freshness::Fresh)), Reuse::Nobody);
    let spread = LeaseRequest::per_request();
    assert_eq!(
        reuse(&mut world, &spread.clone().freshness(Freshness::PerLease)),
        Reuse::Nobody,
        "nothing is held"
    );
    let own = |key: &str| ask(key).freshness(Freshness::PerLease);
    let held = reuse(&mut world, &own("a"));
    assert!(matches!(held, Reuse::Holder(_)));
    assert_eq!(reuse(&mut world, &own("a")), held);
    assert_ne!(reuse(&mut world, &own("b")), held, "another holder, perhaps of the same exit");
}

#[test]
fn another_generation_is_another_holder() {
    let mut world = World::of(4);
    let own = LeaseRequest::new("a").freshness(Freshness::PerLease);
    let first = world.lease(&own);
    world.finish(&first, BLOCKED);
    let second = world.lease(&own);
    assert_ne!((first.receipt.exit, first.route.reuse()), (second.receipt.exit, second.route.reuse()));
    assert_ne!(first.route.reuse(), second.route.reuse());
}

#[test]
fn a_gateway_that_rotates_has_a_connection_a_request_whatever_is_asked() {
    let gateway = Gateway::rotating("http://u:p@rot.test:1").unwrap();
    let mut world = World::new(Setup { exits: Vec::new(), gateways: vec![gateway], ..config(1) });
    for freshness in [Freshness::Keep, Freshness::PerLease, Freshness::Fresh] {
        let ask = LeaseRequest::per_request().freshness(freshness);
        assert_eq!(reuse(&mut world, &ask), Reuse::Nobody, "{freshness:?}");
    }
}
