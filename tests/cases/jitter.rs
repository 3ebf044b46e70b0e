//! Who has failed together does not come back together.

use crate::shop::*;
use http::{Method, StatusCode};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::task::JoinSet;
use tower_egress::LeaseRequest;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::verdict::RetryRules;

const CALLS: usize = 200;

/// Sends the calls at once; all are served in the end.
async fn crowd(shop: &Shop, ask: &LeaseRequest) {
    let mut calls = JoinSet::new();
    for _ in 0..CALLS {
        let request = request(Method::GET, &shop.world.tls_url("/p"), "", ask.clone());
        calls.spawn(shop.stack.clone().oneshot(request));
    }
    for answer in calls.join_all().await {
        assert_eq!(read(answer.unwrap()).await.0, 200);
    }
}

/// When the site was asked, from `first` on.
fn arrivals(shop: &Shop, first: usize) -> Vec<Duration> {
    shop.world.origin().seen()[first..].iter().map(|seen| seen.at()).collect()
}

fn assert_spread(arrivals: &[Duration]) {
    let mut buckets = HashMap::<u128, usize>::new();
    arrivals.iter().for_each(|at| *buckets.entry(at.as_millis() / 10).or_default() += 1);
    let most = buckets.values().max().unwrap();
    assert!(most * 5 <= CALLS, "{most} within 10 ms: {arrivals:?}");
}

async fn after_a_death(seed: u64) -> Vec<Duration> {
    let shop = Shop::with(Lab::builder().fine(2), seed, RetryRules::default());
    let ask = LeaseRequest::new("k");
    let held = shop.place(shop.fetch(ask.clone()).await.unwrap().1.exit());
    // It dies with all of them on the way.
    shop.world.exit(held).behave(Behaviour::slow(millis(10)).answer_connect(Reply::reset())).unwrap();
    crowd(&shop, &ask).await;
    assert!(shop.seen()[1..].iter().all(|exit| *exit != held));
    let arrivals = arrivals(&shop, 1);
    assert_eq!(arrivals.len(), CALLS);
    arrivals
}

#[tokio::test(start_paused = true)]
async fn te_103_the_callers_of_a_dead_exit_do_not_arrive_together() {
    let arrivals = after_a_death(7).await;
    assert_spread(&arrivals);
    let distinct: HashSet<_> = arrivals.iter().map(Duration::as_millis).collect();
    assert!(distinct.len() > CALLS * 8 / 10, "timers are whole milliseconds: {}", distinct.len());
    let took = *arrivals.last().unwrap() - arrivals[0];
    assert!(took > millis(900) && took <= millis(1_000), "over all of a second: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn te_103_a_seed_repeats_the_schedule() {
    let start = after_a_death(7).await;
    let again = after_a_death(7).await;
    let other = after_a_death(8).await;
    assert_eq!(start, again);
    assert_ne!(start, other);
}

#[tokio::test(start_paused = true)]
async fn te_103_who_waits_for_the_same_rest_does_not_come_back_together() {
    let shop = Shop::of(Lab::builder().exits(4, Behaviour::slow(millis(10))));
    let limited = Reply::new(StatusCode::TOO_MANY_REQUESTS).retry_after(secs(20));
    let until = secs(20);
    shop.world
        .origin()
        .respond(move |seen| if seen.at() < until { limited.clone() } else { Reply::page("in") });
    let ask = LeaseRequest::per_request().deadline(secs(600)).patience(secs(600));
    crowd(&shop, &ask).await;
    let before = shop.world.origin().seen().iter().filter(|seen| seen.at() < until).count();
    let arrivals = arrivals(&shop, before);
    assert_eq!(arrivals.len(), CALLS, "each is served by the first that it is sent");
    assert_spread(&arrivals);
}
