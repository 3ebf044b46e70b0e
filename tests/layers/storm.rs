//! Many threads, and foreign code that panics, blocks, fails and goes away.

use crate::support::scheduler;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tower::{Layer, service_fn};
use tower_egress::classify::Answer;
use tower_egress::outcome::BlockedBy;
use tower_egress::{EgressLayer, LeaseRequest, Outcome, PerExit, Scheduler};

type Page = Full<Bytes>;

/// A number that each call has for itself.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU64>);

impl Count {
    fn is_each(&self, nth: u64) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) % nth == nth - 1
    }
}

async fn answer(
    request: Request<impl http_body::Body>,
    count: Count,
) -> Result<Response<Page>, std::io::Error> {
    tokio::task::yield_now().await;
    drop(request);
    assert!(!count.is_each(31), "the client's");
    let mut answer = Response::new(Full::from("page"));
    if count.is_each(13) {
        *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    Ok(answer)
}

#[test]
fn a_storm_of_panics_and_cancelled_requests_leaves_nothing_behind() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(8).enable_time().build().unwrap();
    let scheduler = scheduler(6);
    let count = Count::default();
    let (makes, rules, asks, client) = (count.clone(), count.clone(), count.clone(), count.clone());
    let clients = PerExit::new(move |_| {
        assert!(!makes.is_each(7), "the maker's");
        std::thread::yield_now();
        if makes.is_each(5) {
            return Err("not today".into());
        }
        let client = client.clone();
        Ok(service_fn(move |request: Request<_>| answer(request, client.clone())))
    })
    .max_clients(NonZeroUsize::MIN);
    let kept = clients.clone();
    let stack = EgressLayer::new(&scheduler)
        .rule(move |_: &Answer<'_>| {
            assert!(!rules.is_each(11), "the rule's");
            rules.is_each(29).then_some(Outcome::Blocked { by: BlockedBy::Unknown })
        })
        .with(move |_| {
            assert!(!asks.is_each(17), "the caller's");
            LeaseRequest::per_request()
                .patience(Duration::from_millis(5))
                .deadline(Duration::from_millis(200))
        })
        .layer(clients);
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..1_500_u64 {
            let stack = stack.clone();
            let site = number % 40;
            tasks.spawn(async move {
                let request = Request::get(format!("http://s{site}.example/")).body(Page::default()).unwrap();
                let answer = async {
                    let response = stack.oneshot(request).await?;
                    response.into_body().collect().await.map(drop)
                };
                let _ = tokio::time::timeout(Duration::from_micros(number % 900), answer).await;
            });
        }
        while tasks.join_next().await.is_some() {}
    });
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.waiting, kept.len() <= 1), (0, 0, true));
    assert!(snapshot.outcomes.ok > 0, "{snapshot}");
    serves(&scheduler);
}

/// Under no lock that somebody has left locked or poisoned.
fn serves(scheduler: &Scheduler) {
    let lease = scheduler.lease(&LeaseRequest::per_request().origin("new.example"));
    lease.unwrap().report(Outcome::Ok);
}
