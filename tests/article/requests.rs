//! One request: how often it is sent, how long it waits, and how it ends.

use crate::shop::*;
use http::StatusCode;
use std::collections::HashSet;
use std::time::Duration;
use tower_egress::error::AttemptRecord;
use tower_egress::lab::{Lab, Reply};
use tower_egress::outcome::Phase;
use tower_egress::verdict::Why;
use tower_egress::{LeaseRequest, Outcome};

/// Timers are whole milliseconds, of which a few add up.
fn about(took: Duration, expected: Duration) -> bool {
    took >= expected && took - expected <= millis(5)
}

fn distinct(trail: &[AttemptRecord]) -> usize {
    trail.iter().map(|attempt| attempt.exit).collect::<HashSet<_>>().len()
}

#[tokio::test(start_paused = true)]
async fn a17_a_mute_site_is_asked_four_times_for_thirty_seconds_through_another_exit_each_time() {
    let shop = Shop::of(Lab::builder().fine(8));
    shop.world.origin().page("/p", Reply::hang());
    let start = now();
    let error = shop.fetch(LeaseRequest::per_request().deadline(secs(600))).await.unwrap_err();
    let took = now() - start;
    assert_eq!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head }));
    let trail = error.attempts();
    assert_eq!((trail.len(), distinct(trail), error.why()), (4, 4, Some(Why::Exhausted)));
    let asked: Vec<_> = shop.world.origin().seen().iter().map(|seen| seen.at()).collect();
    for (two, attempt) in asked.windows(2).zip(&trail[1..]) {
        assert!(about(two[1] - two[0], secs(30) + attempt.waited), "{asked:?} {trail:?}");
    }
    let waited: Duration = trail.iter().map(|attempt| attempt.waited).sum();
    assert!(about(took, secs(120) + waited), "{took:?}: no wait after the last");
}

#[tokio::test(start_paused = true)]
async fn a18_b14_from_a_dead_exit_it_goes_on_after_half_a_second_more_each_time() {
    let shop = Shop::of(Lab::builder().dead(8));
    let start = now();
    let error = shop.fetch(LeaseRequest::per_request()).await.unwrap_err();
    let took = now() - start;
    let trail = error.attempts();
    assert_eq!((trail.len(), distinct(trail), error.why()), (4, 4, Some(Why::Exhausted)));
    assert!(trail.iter().all(|attempt| attempt.outcome == Outcome::ProxyError { phase: Phase::ExitTcp }));
    let waits: Vec<_> = trail.iter().map(|attempt| attempt.waited).collect();
    let bounds = [(0, 0), (500, 1_500), (1_000, 2_000), (1_500, 2_500)];
    for (wait, (least, most)) in waits.iter().zip(bounds) {
        assert!((millis(least)..=millis(most)).contains(wait), "{waits:?}");
    }
    assert!(about(took, waits.iter().sum()), "{took:?}");
    assert_eq!(shop.seen().len(), 0, "and never direct");
}

#[tokio::test(start_paused = true)]
async fn c16_no_wait_follows_the_last_attempt() {
    for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::FORBIDDEN, StatusCode::SERVICE_UNAVAILABLE] {
        for sends in 1..=4 {
            let shop = Shop::of(Lab::builder().fine(8));
            shop.world.origin().page("/p", Reply::new(status));
            let start = now();
            let ask = LeaseRequest::per_request().attempts(sends.try_into().unwrap()).deadline(secs(600));
            let (answered, served) = shop.fetch(ask).await.unwrap();
            assert_eq!(
                (answered, served.attempts(), shop.seen().len()),
                (status.as_u16(), sends, sends as usize)
            );
            assert!(about(now() - start, served.waited()), "{status} {sends}: {:?}", served.waited());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c24_a_refused_page_is_there_at_once_though_its_pair_rests() {
    let shop = Shop::of(Lab::builder().refused(1).fine(1));
    let mut met = 0;
    for _ in 0..20 {
        let start = now();
        let (status, served) = shop.fetch(LeaseRequest::per_request()).await.unwrap();
        assert_eq!((status, shop.place(served.exit())), (200, 1));
        assert!(now() - start <= millis(255), "{:?}", served.trail());
        met += served.attempts() - 1;
    }
    assert_eq!(met, 1, "the refused exit is asked once");
    let rest = shop.scheduler.snapshot().hottest[0].cooling;
    assert!(rest > secs(9), "{rest:?}");
}
