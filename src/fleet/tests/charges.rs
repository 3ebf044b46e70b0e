//! Who is charged, and for what.

use super::*;
use crate::outcome::Seen;

#[test]
fn a_target_and_a_request_charge_no_exit() {
    let status = http::StatusCode::BAD_GATEWAY;
    let uncharged =
        [Outcome::TargetDenied, Outcome::TargetUnreachable, Outcome::Fatal, Outcome::OriginError { status }];
    for outcome in uncharged {
        let mut world = World::unheld(1);
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
        ask.trail.record(grant.receipt.exit, &BLOCKED.into(), grant.receipt.charged);
    }
    assert_eq!(world.snapshot().origins[0].benched, 2);
    assert_eq!(world.snapshot().outcomes.blocked, 4, "all are counted");
}

#[test]
fn c37_an_exit_that_was_refused_uncharged_is_not_used_again_for_the_request() {
    let mut world = World::of(3);
    let mut ask = LeaseRequest::per_request();
    for _ in 0..3 {
        let grant = world.lease(&ask);
        world.finish(&grant, BLOCKED);
        ask.trail.record(grant.receipt.exit, &BLOCKED.into(), grant.receipt.charged);
    }
    let Err(Refusal::NoUsableExit { counts, .. }) = world.at("a.test", &ask) else {
        panic!("all three have refused it")
    };
    assert_eq!((counts.cooling, counts.avoided), (2, 1));
    world.once(&LeaseRequest::per_request(), Outcome::Ok);
}

#[test]
fn c15_a_burn_moves_its_key_and_a_rate_limit_lends_another_exit() {
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
fn c07_what_shares_a_burned_exit_leaves_it_too_and_other_origins_keep_it() {
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
    world.once(&LeaseRequest::per_request(), Outcome::Ok);
    let broken = Evidence::of(Outcome::Interrupted { phase: Phase::Body }).seen(Seen::Seen);
    for sent in 1..=6 {
        let grant = world.lease(&LeaseRequest::per_request());
        world.report(&grant, Outcome::Ok);
        world.report(&grant, broken);
        world.end(&grant);
        let snapshot = world.snapshot();
        assert_eq!((snapshot.outcomes.ok, snapshot.outcomes.interrupted), (1, sent));
        assert_eq!(snapshot.origins[0].outcomes, snapshot.outcomes);
        assert_eq!(snapshot.exits.dead, u32::from(sent == 6), "six halves make three faults");
    }
}

#[test]
fn c08_c34_one_broken_site_kills_no_exit() {
    let bad_gateway =
        Evidence::of(Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY }).seen(Seen::Unknown);
    for evidence in [
        Evidence::of(Outcome::Interrupted { phase: Phase::Head }),
        Evidence::of(Outcome::Interrupted { phase: Phase::Body }).seen(Seen::Seen),
        Evidence::of(Outcome::ProxyError { phase: Phase::OriginTls }).seen(Seen::Never),
        bad_gateway,
    ] {
        let mut world = World::unheld(20);
        for _ in 0..400 {
            let grant = world.at("broken.test", &LeaseRequest::per_request()).unwrap();
            world.finish(&grant, evidence);
            world.pass(Duration::from_millis(10));
        }
        assert_eq!(world.snapshot().exits.dead, 0, "{evidence:?}");
    }
}

#[test]
fn an_exit_that_breaks_what_works_elsewhere_dies() {
    let bad_gateway =
        Evidence::of(Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY }).seen(Seen::Unknown);
    for evidence in
        [Evidence::of(Outcome::ProxyError { phase: Phase::OriginTls }).seen(Seen::Never), bad_gateway]
    {
        let mut world = World::of(4);
        let bad = exits(4)[0].id();
        let mut through_bad = 0;
        for n in 0..2_000 {
            let grant = world.at(&format!("{}.test", n % 20), &LeaseRequest::per_request()).unwrap();
            let is_bad = grant.receipt.exit == bad;
            through_bad += u32::from(is_bad);
            world.finish(&grant, if is_bad { evidence } else { Outcome::Ok.into() });
            world.pass(Duration::from_millis(100));
        }
        assert!(through_bad < 100, "{through_bad} of 2000 through the bad exit");
    }
}

#[test]
fn what_is_blameless_is_counted_and_charges_nobody() {
    let mut world = World::of(1);
    world.once(&LeaseRequest::per_request(), Outcome::Ok);
    for outcome in [REFUSED, Outcome::Interrupted { phase: Phase::Send }] {
        for _ in 0..20 {
            let grant = world.lease(&LeaseRequest::per_request());
            world.finish(&grant, Evidence::of(outcome).blameless(true));
        }
    }
    let snapshot = world.snapshot();
    assert_eq!(
        (snapshot.exits.dead, snapshot.outcomes.proxy_error, snapshot.outcomes.interrupted),
        (0, 20, 20)
    );
}

#[test]
fn a_key_leaves_an_exit_that_answers_for_the_gateway() {
    let mut world = World::of(10);
    let bad_gateway =
        Evidence::of(Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY }).seen(Seen::Unknown);
    let first = world.lease(&LeaseRequest::new("k"));
    world.finish(&first, bad_gateway);
    for _ in 0..30 {
        let mut ask = LeaseRequest::new("k");
        ask.trail.record(first.receipt.exit, &bad_gateway, true);
        assert_ne!(world.pass(secs(10)).once(&ask, Outcome::Ok).receipt.exit, first.receipt.exit);
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
    let ok = Evidence::of(Outcome::Ok);
    let taken = world.fleet.report(world.now, &grant.receipt, &ok, None);
    world.fleet.release(&grant.receipt, Release::Done, Some(&ok));
    world.pass(secs(1));
    world.fleet.report(world.now, &grant.receipt, &Evidence::of(BLOCKED), taken.as_ref());
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
