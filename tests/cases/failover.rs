//! What happens to requests, and to keys, when an exit breaks.

use crate::shop::*;
use std::collections::HashSet;
use std::num::NonZeroU32;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::outcome::Phase;
use tower_egress::scheduler::Reason;
use tower_egress::verdict::RetryRules;
use tower_egress::{Granularity, LeaseError, LeaseRequest, OnLoss, Outcome};

/// A key whose window does not end.
fn key() -> LeaseRequest {
    LeaseRequest::new("k").granularity(Granularity::Windowed { max_age: None, max_uses: None })
}

#[tokio::test(start_paused = true)]
async fn te_045_a_key_that_waits_for_its_exit_uses_no_other() {
    let shop = Shop::of(Lab::builder().fine(4));
    let ask = key().on_loss(OnLoss::Wait).patience(secs(0));
    let held = shop.place(shop.fetch(ask.clone()).await.unwrap().1.exit());
    shop.world.exit(held).kill();
    let first = shop.fetch(ask.clone()).await.unwrap_err();
    assert_eq!(first.outcome(), Some(Outcome::ProxyError { phase: Phase::ExitTcp }));
    assert!(first.attempts().iter().all(|attempt| shop.place(attempt.exit) == held), "{first:?}");
    for _ in 1..10 {
        let error = shop.fetch(ask.clone()).await.unwrap_err();
        let Some(LeaseError::NoUsableExit { counts, .. }) = error.refusal() else { panic!("{error:?}") };
        assert_eq!((counts.dead, counts.total()), (1, 1));
    }
    assert_eq!(shop.seen(), [held], "nothing more was sent");
}

#[tokio::test(start_paused = true)]
async fn te_045_a_key_that_may_move_leaves_a_broken_exit() {
    // Chosen: it leaves when the exit is dead, after three faults in a row, and not at the first, which may be a hiccup; until
    // then each request is lent another exit after its failure on the held one.
    let shop = Shop::of(Lab::builder().fine(4));
    let held = shop.fetch(key()).await.unwrap().1.exit();
    shop.world.exit(shop.place(held)).kill();
    let mut exits = HashSet::new();
    for number in 1..=10 {
        let (status, served) = shop.fetch(key()).await.unwrap();
        assert_eq!((status, served.attempts()), (200, if number <= 3 { 2 } else { 1 }), "request {number}");
        assert_ne!(served.exit(), held);
        if number > 3 {
            exits.insert(served.exit());
        }
    }
    assert_eq!(exits.len(), 1, "it stays where it went");
}

#[tokio::test(start_paused = true)]
async fn te_049_a_failing_site_moves_no_key() {
    let shop = Shop::of(Lab::builder().fine(8));
    let unavailable = || Reply::new(http::StatusCode::SERVICE_UNAVAILABLE);
    shop.world
        .origin()
        .respond(move |seen| if seen.number() == 0 { unavailable() } else { Reply::page("in") });
    let (status, served) = shop.fetch(key()).await.unwrap();
    assert_eq!((status, served.attempts()), (200, 2));
    let seen = shop.seen();
    assert_eq!(seen, [shop.place(served.exit()); 2]);
    let lease = shop.scheduler.lease(&key().origin("shop.test")).unwrap();
    assert_eq!(
        (shop.place(lease.exit()), lease.generation(), lease.reason()),
        (seen[0], Some(0), Reason::Bound)
    );
}

#[tokio::test(start_paused = true)]
async fn te_049_only_an_exit_that_fails_moves_its_key_and_the_lease_says_from_where() {
    let shop = Shop::of(Lab::builder().fine(8));
    let held = shop.fetch(key()).await.unwrap().1.exit();
    shop.world.exit(shop.place(held)).kill();
    let (_, served) = shop.fetch(key()).await.unwrap();
    let trail: Vec<_> = served.trail().iter().map(|attempt| attempt.exit).collect();
    assert_eq!(trail, [held, served.exit()]);
    assert_ne!(served.exit(), held);
    let lease = || shop.scheduler.lease(&key().origin("shop.test")).unwrap();
    for _ in 0..2 {
        let lease = lease();
        assert_eq!((lease.exit(), lease.reason()), (held, Reason::Bound), "lent for one attempt, not moved");
        lease.report(Outcome::ProxyError { phase: Phase::ExitTcp });
    }
    let moved = lease();
    assert_eq!((moved.reason(), moved.generation()), (Reason::Moved { from: held }, Some(1)));
    assert_eq!(lease().exit(), moved.exit());
}

#[tokio::test(start_paused = true)]
async fn te_088_no_call_meets_a_broken_exit_twice() {
    for seed in 0..20 {
        let shop = Shop::with(Lab::builder().dead(1).fine(2), seed, RetryRules::default().max_attempts(3));
        let broken = shop.world.exit(0).exit().id();
        for _ in 0..30 {
            let (status, served) = shop.fetch(LeaseRequest::per_request()).await.unwrap();
            let met = served.trail().iter().filter(|attempt| attempt.exit == broken).count();
            assert!(status == 200 && met <= 1, "{:?}", served.trail());
        }
        assert!(shop.scheduler.snapshot().outcomes.proxy_error >= 3, "it was met");
    }
}

#[tokio::test(start_paused = true)]
async fn te_099_a_broken_exit_takes_one_attempt_of_a_call() {
    let three = NonZeroU32::new(3).unwrap();
    for broken in [Behaviour::dead(), Behaviour::fine().answer_connect(Reply::reset())] {
        let mut met = 0;
        for seed in 0..40 {
            let lab = Lab::builder().exit(broken.clone()).fine(2);
            let shop = Shop::with(lab, seed, RetryRules::default());
            let (status, served) = shop.fetch(LeaseRequest::per_request().attempts(three)).await.unwrap();
            assert!(status == 200 && served.attempts() <= 2, "{:?}", served.trail());
            met += served.attempts() - 1;
        }
        assert!((5..=35).contains(&met), "some begin with the broken one: {met}");
    }
}

#[tokio::test(start_paused = true)]
async fn te_112_a_key_stays_where_it_went_when_its_first_exit_is_back() {
    let shop = Shop::of(Lab::builder().fine(5));
    let held = shop.fetch(key()).await.unwrap().1.exit();
    let first = shop.world.exit(shop.place(held)).clone();
    first.kill();
    for _ in 0..3 {
        shop.fetch(key()).await.unwrap();
    }
    let before = shop.seen().len();
    for _ in 0..20 {
        shop.fetch(key()).await.unwrap();
    }
    first.heal().unwrap();
    tokio::time::advance(secs(10)).await;
    while shop.scheduler.snapshot().exits.dead > 0 {
        let _ = shop
            .scheduler
            .lease(&LeaseRequest::per_request().origin("other.test"))
            .map(|lease| lease.report(Outcome::Ok));
    }
    for _ in 0..20 {
        shop.fetch(key()).await.unwrap();
    }
    let asked = shop.seen().split_off(before);
    assert_eq!(asked.len(), 40);
    assert!(asked.iter().all(|exit| *exit == asked[0] && *exit != shop.place(held)), "{asked:?}");
    let lease = shop.scheduler.lease(&key().origin("shop.test")).unwrap();
    assert_eq!((lease.reason(), lease.generation()), (Reason::Bound, Some(1)), "it moved once");
}

#[tokio::test(start_paused = true)]
async fn te_045_an_identity_fails_and_uses_no_other_exit() {
    let shop = Shop::of(Lab::builder().fine(4));
    let ask = LeaseRequest::identity("k");
    let held = shop.place(shop.fetch(ask.clone()).await.unwrap().1.exit());
    shop.world.exit(held).kill();
    let first = shop.fetch(ask.clone()).await.unwrap_err();
    assert_eq!(first.outcome(), Some(Outcome::ProxyError { phase: Phase::ExitTcp }));
    assert!(first.attempts().iter().all(|attempt| shop.place(attempt.exit) == held), "{first:?}");
    for _ in 1..10 {
        let error = shop.fetch(ask.clone()).await.unwrap_err();
        let Some(LeaseError::Moved { from, generation, .. }) = error.refusal() else { panic!("{error:?}") };
        assert_eq!((shop.place(*from), *generation), (held, 1));
    }
    assert_eq!(shop.seen(), [held], "nothing more was sent");
}
