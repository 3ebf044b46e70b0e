//! Who is charged, and for what.

use super::*;
use crate::outcome::{AuthReason, GatewayScope, Seen};

#[test]
fn a_login_a_gateway_and_a_target_charge_no_exit() {
    let status = http::StatusCode::BAD_GATEWAY;
    let uncharged = [
        Outcome::AuthError { reason: AuthReason::Rejected },
        Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway },
        Outcome::TargetDenied,
        Outcome::TargetUnreachable,
        Outcome::Fatal,
        Outcome::OriginError { status },
    ];
    for outcome in uncharged {
        let mut world = World::of(1);
        for _ in 0..20 {
            world.once(&LeaseRequest::per_request(), outcome);
        }
        let snapshot = world.snapshot();
        assert_eq!((snapshot.exits.dead, snapshot.origins[0].benched), (0, 0), "{outcome}");
        assert!(snapshot.hottest.is_empty(), "{outcome}");
    }
}

#[test]
fn one_request_burns_two_exits_and_no_more() {
    let mut world = World::of(10);
    let mut ask = LeaseRequest::per_request();
    for _ in 0..4 {
        let grant = world.lease(&ask);
        world.finish(&grant, BLOCKED);
        ask.trail.record(grant.receipt.exit, &BLOCKED);
    }
    assert_eq!(world.snapshot().origins[0].benched, 2);
    assert_eq!(world.snapshot().outcomes.blocked, 4, "all are counted");
}

#[test]
fn a_burn_moves_its_key_and_a_rate_limit_lends_another_exit() {
    let mut world = World::of(5);
    let ask = LeaseRequest::new("k");
    let held = world.once(&ask, limited(Some(10))).receipt.exit;
    let lent = world.once(&ask, Outcome::Ok);
    assert_eq!(lent.reason, Reason::Borrowed { from: held });
    assert_eq!(lent.receipt.generation(), Some(0));
    world.pass(secs(13));
    let back = world.once(&ask, Outcome::Ok);
    assert_eq!((back.receipt.exit, back.trial), (held, true));
    world.once(&ask, BLOCKED);
    let moved = world.once(&ask, Outcome::Ok);
    assert_eq!(moved.reason, Reason::Moved { from: held });
    assert_eq!(moved.receipt.generation(), Some(1));
    world.pass(secs(40));
    let stays = world.once(&ask, Outcome::Ok);
    assert_eq!(
        (stays.receipt.exit, stays.reason),
        (moved.receipt.exit, Reason::Bound),
        "it stays where it went"
    );
}

#[test]
fn what_shares_a_burned_exit_leaves_it_too_and_other_origins_keep_it() {
    let mut world = World::of(1);
    let (one, two) = (LeaseRequest::new("one"), LeaseRequest::new("two"));
    world.once(&one, Outcome::Ok);
    world.once(&two, Outcome::Ok);
    let elsewhere = world.at("b.test", &two).unwrap();
    world.finish(&elsewhere, Outcome::Ok);
    world.once(&one, BLOCKED);
    assert!(world.at("a.test", &two).is_err());
    assert_eq!(world.at("b.test", &two).unwrap().reason, Reason::Bound);
}

#[test]
fn a_broken_body_amends_its_own_report_and_counts_once() {
    let mut world = World::of(1);
    let broken = Evidence::of(Outcome::Interrupted { phase: Phase::Body }).seen(Seen::Seen);
    for sent in 1..=6 {
        let grant = world.lease(&LeaseRequest::per_request());
        world.report(&grant, Outcome::Ok);
        world.report(&grant, broken);
        world.end(&grant);
        let snapshot = world.snapshot();
        assert_eq!((snapshot.outcomes.ok, snapshot.outcomes.interrupted), (0, sent));
        assert_eq!(snapshot.origins[0].outcomes, snapshot.outcomes);
        assert_eq!(snapshot.exits.dead, u32::from(sent == 6), "six halves make three faults");
    }
}

#[test]
fn a_broken_body_does_not_make_a_block_less() {
    let mut world = World::of(1);
    let grant = world.lease(&LeaseRequest::per_request());
    world.report(&grant, BLOCKED);
    let broken = Evidence::of(Outcome::Interrupted { phase: Phase::Body });
    world.report(&grant, broken);
    world.end(&grant);
    assert_eq!((world.snapshot().outcomes.blocked, world.snapshot().outcomes.interrupted), (1, 0));
}

#[test]
fn a_parser_may_say_later_that_a_page_was_a_block() {
    let mut world = World::of(2);
    let grant = world.lease(&LeaseRequest::per_request());
    world.finish(&grant, Outcome::Ok);
    world.pass(secs(1));
    world.fleet.report(world.now, &grant.receipt, &Evidence::of(BLOCKED), Some(&Evidence::of(Outcome::Ok)));
    let snapshot = world.snapshot();
    assert_eq!((snapshot.outcomes.ok, snapshot.outcomes.blocked), (0, 1));
    assert_eq!(snapshot.hottest[0].exit, grant.receipt.exit);
    for _ in 0..50 {
        assert_ne!(world.once(&LeaseRequest::per_request(), Outcome::Ok).receipt.exit, grant.receipt.exit);
    }
}

#[test]
fn who_goes_away_blames_nobody_unless_he_had_waited() {
    for (after, interrupted) in [(9, 0), (10, 1)] {
        let mut world = World::of(1);
        let grant = world.lease(&LeaseRequest::per_request());
        world.pass(secs(after));
        world.fleet.release(&grant.receipt, Release::Dropped { after: secs(after) }, None);
        let snapshot = world.snapshot();
        assert_eq!((snapshot.in_flight, snapshot.outcomes.interrupted), (0, interrupted));
    }
}
