//! Exits that rest: for how long, how many, and who comes back.

use crate::shop::*;
use std::collections::HashSet;
use std::num::NonZeroU32;
use std::time::Duration;
use tower_egress::error::HeldBy;
use tower_egress::lab::Lab;
use tower_egress::outcome::{AuthReason, BlockedBy, Phase, RetryAfter};
use tower_egress::{LeaseError, LeaseRequest, Outcome, Scheduler};

const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };

fn pool(exits: usize) -> Scheduler {
    Scheduler::builder()
        .exits(Lab::builder().fine(exits).in_memory().unwrap().exits())
        .seed(7)
        .build()
        .unwrap()
}

fn ask() -> LeaseRequest {
    LeaseRequest::per_request().origin("shop.test").patience(Duration::ZERO)
}

/// One attempt that ends so.
fn once(scheduler: &Scheduler, outcome: Outcome) -> bool {
    scheduler.lease(&ask()).map(|lease| lease.report(outcome)).is_ok()
}

fn refused(scheduler: &Scheduler) -> (Duration, tower_egress::error::UnusableCounts) {
    match scheduler.lease(&ask()) {
        Err(LeaseError::NoUsableExit { retry_in, counts, .. }) => (retry_in, counts),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn te_066_requests_succeed_again_after_the_site_has_recovered() {
    let shop = Shop::of(Lab::builder().refused(4));
    while shop.fetch(ask()).await.is_ok() {}
    assert_eq!(shop.scheduler.snapshot().origins[0].benched, 4);
    tokio::time::advance(secs(5)).await;
    (0..4).for_each(|exit| shop.world.origin().pardon(shop.world.exit(exit).source()));
    let start = now();
    while let Err(error) = shop.fetch(ask()).await {
        tokio::time::advance(error.retry_after().unwrap()).await;
    }
    assert!(now() - start <= secs(8), "a first rest is at most 12.5 s, of which five are over");
    tokio::time::advance(secs(13)).await;
    for _ in 0..100 {
        assert_eq!(shop.fetch(ask()).await.unwrap().0, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn te_079_every_exit_may_be_burned_and_none_is_used_before_its_time() {
    // Chosen: no share of the pool is kept from burning. What a site refuses it refuses; to go on through exits that must
    // rest would get them banned for longer. One request burns two at most, so one bad page empties no list.
    for count in [1, 2, 3, 4, 10] {
        let scheduler = pool(count);
        for burned in 1..=count {
            assert!(once(&scheduler, BLOCKED));
            assert_eq!(scheduler.snapshot().origins[0].benched as usize, burned);
        }
        let (wait, counts) = refused(&scheduler);
        assert_eq!((counts.cooling as usize, counts.total() as usize), (count, count));
        // The last one is paced, an eighth of a rest.
        assert!(wait >= millis(1_250) && wait <= millis(1_563), "{wait:?}");
    }
    let shop = Shop::of(Lab::builder().refused(10));
    let _ = shop.fetch(LeaseRequest::per_request()).await;
    assert_eq!((shop.seen().len(), shop.scheduler.snapshot().origins[0].benched), (4, 2));
}

#[tokio::test(start_paused = true)]
async fn te_090_rests_grow_to_their_cap_and_not_beyond() {
    let faults = [Phase::ExitDns, Phase::ExitTcp, Phase::Tunnel].map(|phase| Outcome::ProxyError { phase });
    for fault in faults {
        let scheduler = pool(1);
        (0..3).for_each(|_| assert!(once(&scheduler, fault)));
        for failure in 0..200 {
            let (rest, counts) = refused(&scheduler);
            assert_eq!(counts.dead, 1);
            // The last exit of a list is tried again after an eighth of its rest.
            let expected = ((5.0 * 2_f64.powi(failure.min(20))).min(300.0) / 8.0).max(1.0);
            let share = rest.as_secs_f64() / expected;
            assert!((0.9..=1.1).contains(&share), "{fault:?} {failure}: {rest:?} for {expected}");
            tokio::time::advance(rest).await;
            assert!(once(&scheduler, fault), "{fault:?} {failure}: tried again when the rest is over");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn te_090_a_pair_that_is_refused_for_ever_never_rests_longer_than_an_hour() {
    let hour = RetryAfter::new(secs(3_600));
    for outcome in [
        BLOCKED,
        Outcome::RateLimited { retry_after: None },
        Outcome::RateLimited { retry_after: Some(hour) },
    ] {
        let scheduler = pool(1);
        assert!(once(&scheduler, outcome));
        for failure in 0..200 {
            let shut = now();
            loop {
                let wait = match scheduler.lease(&ask()) {
                    Ok(lease) => break lease.report(outcome),
                    Err(LeaseError::NoUsableExit { retry_in, counts, .. }) if counts.cooling == 1 => retry_in,
                    // A site that limits without a word is used no faster than it has borne.
                    Err(LeaseError::OriginHeld { retry_in, why: HeldBy::Limit, .. }) => retry_in,
                    Err(other) => panic!("{outcome:?} {failure}: {other:?}"),
                };
                tokio::time::advance(wait).await;
            }
            let rest = now() - shut;
            assert!(rest >= secs(1) && rest <= secs(4_500), "{outcome:?} {failure}: {rest:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn te_090_a_refused_login_and_a_site_that_breaks_rest_no_exit() {
    // Chosen: neither is the exit's, and another exit of the same login would be refused as well; so neither has a rest. A
    // login that is refused twice stops.
    let broken = Outcome::Interrupted { phase: Phase::Head };
    let scheduler = pool(1);
    (0..200).for_each(|_| assert!(once(&scheduler, broken)));
    assert_eq!(scheduler.snapshot().exits.dead, 0);
    let refused = Outcome::AuthError { reason: AuthReason::Rejected };
    let scheduler = pool(1);
    (0..2).for_each(|_| assert!(once(&scheduler, refused)));
    assert_eq!(scheduler.lease(&ask()).unwrap_err(), LeaseError::FleetStopped);
    assert_eq!((scheduler.snapshot().exits.dead, scheduler.snapshot().exits.stopped), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn te_095_rests_and_deadlines_are_measured_on_one_clock() {
    // Under paused time the wall stands still while the clock of the fleet jumps: as if the wall had been set back.
    let scheduler = pool(1);
    assert!(once(&scheduler, BLOCKED));
    let (rest, _) = refused(&scheduler);
    tokio::time::advance(rest - millis(1)).await;
    assert_eq!(refused(&scheduler).0, millis(1));
    tokio::time::advance(millis(1)).await;
    assert!(once(&scheduler, Outcome::Ok));

    let ask = ask().deadline(secs(10)).repeatable(true);
    let lease = scheduler.lease(&ask).unwrap();
    tokio::time::advance(secs(4)).await;
    lease.report(Outcome::ProxyError { phase: Phase::ExitTcp });
    let (_, next) = lease.retry(ask).unwrap();
    tokio::time::advance(millis(5_999)).await;
    let lease = scheduler.lease(&next).unwrap();
    tokio::time::advance(millis(1)).await;
    assert_eq!(scheduler.lease(&next).unwrap_err(), LeaseError::DeadlinePassed);
    drop(lease);
}

#[tokio::test(start_paused = true)]
async fn te_138_ten_burned_of_a_thousand_leave_the_rest_in_service() {
    let scheduler = pool(1_000);
    (0..10).for_each(|_| assert!(once(&scheduler, BLOCKED)));
    for _ in 0..2_000 {
        assert!(once(&scheduler, Outcome::Ok));
    }
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.origins[0].benched, snapshot.exits.dead, snapshot.exits.total), (10, 0, 1_000));
    while once(&scheduler, Outcome::RateLimited { retry_after: Some(RetryAfter::new(secs(600))) }) {}
    let (_, counts) = refused(&scheduler);
    assert_eq!((counts.cooling, counts.total()), (1_000, 1_000));
    assert_eq!(scheduler.snapshot().origins[0].benched, 1_000);
}

#[tokio::test(start_paused = true)]
async fn te_138_uses_bound_a_turn_and_exhaust_no_exit() {
    // Chosen: uses belong to who holds an exit, not to the exit. When they are up another exit is held; nothing runs out.
    let scheduler = pool(3);
    let one = NonZeroU32::new(1).unwrap();
    let mut last = None;
    for _ in 0..30 {
        let lease = scheduler.lease(&LeaseRequest::new("k").max_uses(one).origin("shop.test")).unwrap();
        assert_ne!(last.replace(lease.exit()), Some(lease.exit()));
        lease.report(Outcome::Ok);
    }
    assert_eq!(scheduler.snapshot().refusals.no_usable_exit, 0);
}

#[tokio::test(start_paused = true)]
async fn te_066_every_exit_comes_back_after_the_site_has_recovered() {
    let shop = Shop::of(Lab::builder().refused(4));
    while shop.fetch(ask()).await.is_ok() {}
    assert_eq!(shop.scheduler.snapshot().origins[0].benched, 4);
    tokio::time::advance(secs(5)).await;
    (0..4).for_each(|exit| shop.world.origin().pardon(shop.world.exit(exit).source()));
    let (start, mut first, mut back) = (now(), None, HashSet::new());
    while back.len() < 4 {
        assert!(now() - start < secs(300), "back so far: {back:?}");
        if let Ok((status, served)) = shop.fetch(ask()).await {
            assert_eq!(status, 200);
            first.get_or_insert_with(|| now() - start);
            back.insert(shop.place(served.exit()));
        }
        tokio::time::advance(secs(1)).await;
    }
    assert!(first.unwrap() <= secs(9), "a first rest is at most 12.5 s: {first:?}");
    assert_eq!(shop.scheduler.snapshot().origins[0].benched, 0);
}
