//! Observers: told of everything, in order, without a lock, and harmless if they panic.

use crate::support::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, SystemTime};
use tower::Layer;
use tower_egress::outcome::{AuthReason, BlockedBy};
use tower_egress::scheduler::{Bounds, Event};
use tower_egress::{ConfigError, EgressLayer, ExitList, LeaseRequest, Outcome, Scheduler};

fn builder(exits: usize) -> tower_egress::scheduler::Builder {
    let list: String = (1..=exits).map(|i| format!("192.0.2.{i}:8080:user:hunter2\n")).collect();
    Scheduler::builder().exits(ExitList::parse(&list).unwrap()).seed(1)
}

fn ask() -> LeaseRequest {
    LeaseRequest::new("sku-42").origin("shop.example")
}

/// What an event says, in short.
fn short(event: &Event) -> String {
    match event {
        Event::Lease { key, origin, generation, trial, .. } => {
            format!("lease {key} {origin} {generation:?} {trial}")
        }
        Event::Wait { key, .. } => format!("wait {key}"),
        Event::Refusal { why, counts, .. } => format!("refusal {why} {counts}"),
        Event::Report { outcome, amends, .. } => format!("report {outcome} {amends}"),
        Event::Rest { origin, .. } => {
            format!("rest {}", origin.as_ref().map_or("everywhere", |origin| origin.as_str()))
        }
        Event::CredentialStopped { reason, .. } => format!("stopped {reason:?}"),
        Event::CredentialResumed { .. } => "resumed".into(),
        other => format!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_is_told_of_everything_in_order_and_when_it_was() {
    let (tell, told) = mpsc::channel();
    let scheduler =
        builder(1).observe(move |at, event| tell.send((at, short(event))).unwrap()).build().unwrap();
    #[expect(clippy::disallowed_methods, reason = "events tell wall time")]
    let begun = SystemTime::now();
    scheduler.lease(&ask()).unwrap().report(Outcome::Blocked { by: BlockedBy::Unknown });
    assert!(scheduler.lease(&ask()).is_err());
    tokio::time::advance(Duration::from_secs(1)).await;
    let lease = scheduler.acquire(&ask()).await.unwrap();
    lease.report(Outcome::Ok);
    drop(lease);
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(20)).await;
        scheduler.lease(&ask()).unwrap().report(Outcome::AuthError { reason: AuthReason::Rejected });
    }
    scheduler.lease(&ask()).unwrap_err();
    let (times, words): (Vec<_>, Vec<_>) = told.try_iter().unzip();
    let expected = [
        "lease sku-42 shop.example Some(0) false",
        "report blocked false",
        "rest shop.example",
        "refusal no_usable_exit 1 cooling",
        "wait sku-42",
        "lease sku-42 shop.example Some(0) true",
        "report ok false",
        "lease sku-42 shop.example Some(0) false",
        "report auth_error (rejected) false",
        "lease sku-42 shop.example Some(0) true",
        "report auth_error (rejected) false",
        "stopped Rejected",
        "refusal fleet_stopped ",
    ];
    assert_eq!(words, expected);
    assert!(times.is_sorted() && *times.last().unwrap() >= begun + Duration::from_secs(40), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn an_observer_may_call_the_scheduler_and_hears_of_that_too() {
    static OWN: OnceLock<Scheduler> = OnceLock::new();
    let heard = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&heard);
    let observer = move |_, event: &Event| {
        let nth = counts.fetch_add(1, Ordering::SeqCst);
        if let (Event::Report { .. }, true, Some(own)) = (event, nth < 10, OWN.get()) {
            own.lease(&ask()).unwrap().report(Outcome::Ok);
        }
    };
    let scheduler = OWN.get_or_init(|| builder(1).observe(observer).build().unwrap());
    scheduler.lease(&ask()).unwrap().report(Outcome::Ok);
    assert_eq!(heard.load(Ordering::SeqCst), 12, "a lease and a report, six times");
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_leaks_nothing_and_poisons_nothing() {
    let observer = |_, event: &Event| {
        let key = |key: &tower_egress::request::Key| key.as_str() == "bad";
        assert!(
            !matches!(event, Event::Lease { key: k, .. } | Event::Wait { key: k, .. } if key(k)),
            "observed"
        );
    };
    let scheduler = builder(1).observe(observer).build().unwrap();
    let bad = || LeaseRequest::new("bad").origin("shop.example");
    assert!(catch_unwind(AssertUnwindSafe(|| scheduler.lease(&bad()))).is_err());
    assert_eq!((scheduler.snapshot().in_flight, scheduler.snapshot().leases), (0, 1), "the lease goes back");
    let request = with(http::Request::get("https://shop.example/"), "", bad());
    let stack = EgressLayer::new(&scheduler).layer(Script::new([]));
    assert!(catch_unwind(AssertUnwindSafe(|| poll_now(stack.oneshot(request)))).is_err());
    assert_eq!(scheduler.snapshot().in_flight, 0, "in the stack too");
    scheduler.lease(&ask()).unwrap().report(Outcome::RateLimited { retry_after: None });
    assert!(catch_unwind(AssertUnwindSafe(|| poll_now(scheduler.acquire(&bad())))).is_err());
    assert_eq!(scheduler.snapshot().waiting, 0, "the place in the line is given up");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(scheduler.lease(&ask()).is_ok(), "and all goes on");
}

/// Polls once.
fn poll_now<F: Future>(future: F) -> bool {
    let mut future = Box::pin(future);
    let waker = std::task::Waker::noop();
    future.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready()
}

#[tokio::test(start_paused = true)]
async fn a_dropped_lease_tells_at_the_next_verb() {
    let (tell, told) = mpsc::channel();
    let scheduler = builder(2).observe(move |_, event| tell.send(short(event)).unwrap()).build().unwrap();
    let slow = scheduler.lease(&ask()).unwrap();
    tokio::time::advance(Duration::from_secs(10)).await;
    drop(slow);
    assert_eq!(told.try_iter().count(), 1, "a drop runs nobody's code");
    drop(scheduler.lease(&ask()).unwrap());
    let words: Vec<_> = told.try_iter().collect();
    assert_eq!(words, ["report interrupted (answer head) false", "lease sku-42 shop.example Some(0) false"]);
}

#[tokio::test(start_paused = true)]
async fn events_that_nobody_reads_in_time_are_counted() {
    let scheduler = builder(2).bounds(Bounds::default().events(8)).observe(|_, _| {}).build().unwrap();
    let leases: Vec<_> = (0..12).map(|_| scheduler.lease(&ask()).unwrap()).collect();
    assert_eq!(scheduler.snapshot().events_lost, 0, "each is told when its verb ends");
    tokio::time::advance(Duration::from_secs(10)).await;
    drop(leases);
    assert_eq!(scheduler.snapshot().events_lost, 4, "twelve late reports from drops, which tell nobody");
}

#[tokio::test(start_paused = true)]
async fn no_event_holds_a_secret() {
    let (tell, told) = mpsc::channel();
    let scheduler =
        builder(2).observe(move |_, event| tell.send(format!("{event:?}")).unwrap()).build().unwrap();
    for outcome in [
        Outcome::Ok,
        Outcome::AuthError { reason: AuthReason::Rejected },
        Outcome::Blocked { by: BlockedBy::Unknown },
    ] {
        let _ = scheduler.lease(&ask()).map(|lease| lease.report(outcome));
    }
    let all: String = told.try_iter().collect();
    assert!(all.len() > 500 && !all.contains("hunter2"), "{all}");
}

#[test]
fn a_bound_of_nothing_is_refused_when_built() {
    type Set = fn(Bounds) -> Bounds;
    let all: [(Set, &str); 7] = [
        (|bounds| bounds.leases(0), "bounds.leases"),
        (|bounds| bounds.waiters(0), "bounds.waiters"),
        (|bounds| bounds.origins(0), "bounds.origins"),
        (|bounds| bounds.pairs(0), "bounds.pairs"),
        (|bounds| bounds.bindings(0), "bounds.bindings"),
        (|bounds| bounds.minted(0), "bounds.minted"),
        (|bounds| bounds.events(0), "bounds.events"),
    ];
    for (set, field) in all {
        let refused: ConfigError = builder(1).bounds(set(Bounds::default())).build().unwrap_err();
        assert_eq!(refused.field(), field);
        assert!(refused.to_string().contains("at least"), "{refused}");
    }
}
