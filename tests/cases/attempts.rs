//! How often a request is sent, and until when.

use crate::shop::*;
use http::{Method, StatusCode};
use std::num::NonZeroU32;
use tower::Layer;
use tower_egress::lab::{Behaviour, Lab, LabBuilder, Reply};
use tower_egress::outcome::{BlockedBy, Phase};
use tower_egress::verdict::{RetryRules, Why};
use tower_egress::{EgressLayer, LeaseRequest, Outcome};

fn ask(sends: u32) -> LeaseRequest {
    LeaseRequest::per_request().attempts(NonZeroU32::new(sends).unwrap())
}

fn always(lab: LabBuilder, status: StatusCode) -> Shop {
    let shop = Shop::of(lab);
    shop.world.origin().page("/p", Reply::new(status));
    shop
}

#[tokio::test(start_paused = true)]
async fn te_019_one_count_limits_the_attempts_whatever_they_meet() {
    let limited = StatusCode::TOO_MANY_REQUESTS;
    for deadline in [secs(10), secs(600)] {
        let shop = always(Lab::builder().fine(5), limited);
        let start = now();
        let ask = ask(6).deadline(deadline).patience(deadline);
        let (status, served) = shop.fetch(ask).await.unwrap();
        assert_eq!((status, served.attempts() as usize), (429, shop.seen().len()));
        assert!(served.attempts() <= 6 && now() - start <= deadline, "{:?}", served.trail());
        assert!(deadline == secs(10) || served.attempts() == 6);
    }
    let shop = Shop::of(Lab::builder().exits(5, Behaviour::fine().answer_connect(Reply::reset())));
    let error = shop.fetch(ask(6)).await.unwrap_err();
    assert_eq!((error.attempts().len(), error.why()), (6, Some(Why::Exhausted)));
    assert_eq!((0..5).map(|exit| shop.asked(exit)).sum::<u64>(), 6);

    // A dead exit, a broken one, a limited one, a refused one, a failing site: one count for them all.
    let broken = Behaviour::fine().answer_connect(Reply::reset());
    for seed in 0..20 {
        let lab = Lab::builder().dead(1).exit(broken.clone()).refused(1).fine(2);
        let shop = Shop::with(lab, seed, RetryRules::default());
        shop.world.origin().respond(move |seen| {
            Reply::new(if seen.number() % 2 == 0 { limited } else { StatusCode::SERVICE_UNAVAILABLE })
        });
        let sends = match shop.fetch(ask(6).deadline(secs(600))).await {
            Ok((_, served)) => served.attempts(),
            Err(error) => error.attempts().len() as u32,
        };
        let counted = shop.scheduler.snapshot().outcomes.total();
        assert!(sends <= 6 && counted == u64::from(sends), "seed {seed}: {sends}, counted {counted}");
    }
}

#[tokio::test(start_paused = true)]
async fn te_058_all_waiting_counts_against_the_deadline() {
    // Chosen: a wait that does not fit is not begun, so the answer may come before the deadline and not on it.
    let shop = Shop::with(Lab::builder().fine(8), 7, RetryRules::negotiated().max_attempts(u32::MAX));
    shop.world.origin().page("/p", Reply::new(StatusCode::SERVICE_UNAVAILABLE).after(millis(300)));
    let start = now();
    let answer = shop.fetch(LeaseRequest::per_request().deadline(secs(5))).await;
    let took = now() - start;
    let attempts = match answer {
        Ok((status, served)) => {
            assert_eq!(status, 503);
            served.attempts() as usize
        }
        Err(error) => {
            assert_eq!(error.why(), Some(Why::Deadline));
            error.attempts().len()
        }
    };
    assert_eq!(attempts, shop.seen().len());
    assert!(took <= millis(5_001) && took > secs(3), "{took:?}");
    let last = shop.world.origin().seen().last().unwrap().at();
    assert!(last < secs(5), "nothing was begun late: {last:?}");
}

#[tokio::test(start_paused = true)]
async fn te_058_an_attempt_is_cut_at_the_deadline_and_a_hint_beyond_it_is_not_waited_for() {
    let shop = always(Lab::builder().fine(8), StatusCode::OK);
    shop.world.origin().page("/p", Reply::hang());
    let stack = EgressLayer::new(&shop.scheduler).attempt_timeout(millis(300)).layer(shop.world.clone());
    let start = now();
    let ask = ask(1_000).deadline(secs(5));
    let error = stack.oneshot(request(Method::GET, &shop.world.tls_url("/p"), "", ask)).await.unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head }));
    assert!(now() - start <= millis(5_001), "{:?}", now() - start);

    let shop = always(Lab::builder().fine(8), StatusCode::OK);
    shop.world.origin().page("/p", Reply::new(StatusCode::SERVICE_UNAVAILABLE).retry_after(secs(6)));
    let start = now();
    let (status, served) = shop.fetch(LeaseRequest::per_request().deadline(secs(5))).await.unwrap();
    assert_eq!((status, served.attempts()), (503, 1));
    assert!(now() - start < millis(200), "at once: {:?}", now() - start);
}

#[tokio::test(start_paused = true)]
async fn te_127_the_maximum_counts_the_first_try() {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    for sends in [1, 2, 4] {
        let shop = always(Lab::builder().fine(8), unavailable);
        let (status, served) = shop.fetch(ask(sends)).await.unwrap();
        assert_eq!((status, served.attempts(), shop.seen().len() as u32), (503, sends, sends));
        assert_eq!(shop.scheduler.snapshot().outcomes.origin_error, u64::from(sends));

        let lab = Lab::builder().exits(8, Behaviour::fine().answer_connect(Reply::reset()));
        let shop = Shop::with(lab, 7, RetryRules::default().max_attempts(sends));
        let error = shop.fetch(LeaseRequest::per_request()).await.unwrap_err();
        assert_eq!((error.attempts().len() as u32, error.why()), (sends, Some(Why::Exhausted)));
        assert_eq!((0..8).map(|exit| shop.asked(exit)).sum::<u64>(), u64::from(sends));
        assert_eq!(shop.scheduler.snapshot().outcomes.proxy_error, u64::from(sends));

        let broken = Behaviour::fine().answer_connect(Reply::reset());
        let shop = always(Lab::builder().exits(4, broken).fine(4), unavailable);
        let count = match shop.fetch(ask(sends)).await {
            Ok((_, served)) => served.attempts(),
            Err(error) => error.attempts().len() as u32,
        };
        assert_eq!((count, (0..8).map(|exit| shop.asked(exit)).sum::<u64>()), (sends, u64::from(sends)));
        let outcomes = shop.scheduler.snapshot().outcomes;
        assert_eq!(outcomes.origin_error + outcomes.proxy_error, u64::from(sends));
    }
}

#[tokio::test(start_paused = true)]
async fn te_134_two_equal_requests_are_no_retry() {
    let shop = Shop::of(Lab::builder().fine(5));
    shop.world.origin().respond(|seen| match seen.number() {
        2 => Reply::new(StatusCode::FORBIDDEN),
        _ => Reply::page("in"),
    });
    for (attempts, waits) in [(1, false), (1, false), (2, true), (1, false)] {
        let (status, served) = shop.fetch(LeaseRequest::per_request()).await.unwrap();
        assert_eq!((status, served.attempts(), served.waited() > secs(0)), (200, attempts, waits));
        assert_eq!(served.trail().len() as u32, attempts);
        assert_eq!(attempts == 2, served.trail()[0].outcome == Outcome::Blocked { by: BlockedBy::Unknown });
    }
}
