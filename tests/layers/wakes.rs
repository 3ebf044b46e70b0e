//! Who is woken, how often, and by whom: whoever waits sleeps, and nobody is forgotten.

use crate::support::*;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tower_egress::outcome::RetryAfter;
use tower_egress::{Lease, LeaseRequest, Outcome, Scheduler};

fn ask() -> LeaseRequest {
    LeaseRequest::per_request().origin("shop.example")
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn rest(lease: &Lease, seconds: u64) {
    lease.report(Outcome::RateLimited { retry_after: Some(RetryAfter::new(secs(seconds))) });
}

/// A pool of one that rests at the shop for so long, or a quarter longer.
fn resting(seconds: u64) -> Scheduler {
    let scheduler = scheduler(1);
    rest(&scheduler.lease(&ask()).unwrap(), seconds);
    scheduler
}

/// A pool of one on trial at the shop: nobody knows until when.
async fn on_trial() -> (Scheduler, Lease) {
    let scheduler = resting(1);
    tokio::time::advance(secs(2)).await;
    let trial = scheduler.lease(&ask()).unwrap();
    assert!(trial.is_trial());
    (scheduler, trial)
}

/// Counts how often a future is polled.
struct Polls<F>(Pin<Box<F>>, Arc<AtomicUsize>);

impl<F: Future> Future for Polls<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.as_mut().poll(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_state_of_the_fleet_sleeps() {
    let scheduler = resting(30);
    let out = scheduler.lease(&ask().origin("other.example")).unwrap();
    let polls = Arc::new(AtomicUsize::new(0));
    let drained = tokio::spawn(Polls(Box::pin(scheduler.operator().drain()), Arc::clone(&polls)));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    tokio::time::advance(secs(1)).await;
    drop(out);
    drained.await.unwrap();
    assert!(polls.load(Ordering::SeqCst) <= 4, "{polls:?}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_in_line_sleeps() {
    let scheduler = resting(20);
    let counts: Vec<_> = (0..50).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    let tasks: Vec<_> = counts
        .iter()
        .map(|polls| tokio::spawn(Polls(Box::pin(scheduler.acquire(&ask())), Arc::clone(polls))))
        .collect();
    let start = now();
    for task in tasks {
        let lease = task.await.unwrap().unwrap();
        lease.report(Outcome::Ok);
    }
    let polls: usize = counts.iter().map(|polls| polls.load(Ordering::SeqCst)).sum();
    // Each is polled first, called, and drives for a while; in the meantime each looks after the driver, once in two seconds.
    let seconds = usize::try_from((now() - start).as_secs()).unwrap();
    assert!(polls <= 50 * 4 + (5 + 50 / 2) * seconds, "{polls} polls in {seconds} s");
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_nobody_polls_is_replaced_also_where_the_time_was_not_known_yet() {
    let (scheduler, trial) = on_trial().await;
    let mut parked = Box::pin(scheduler.acquire(&ask()));
    assert!(poll_once(&mut parked).await.is_pending());
    let second = tokio::spawn({
        let scheduler = scheduler.clone();
        async move { scheduler.acquire(&ask()).await.map(drop) }
    });
    tokio::task::yield_now().await;
    rest(&trial, 3);
    drop(trial);
    let start = now();
    second.await.unwrap().unwrap();
    assert!(now() - start <= secs(6), "{:?}", now() - start);
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_nobody_polls_is_replaced_however_many_came_between() {
    let scheduler = resting(1);
    let long = ask().origin("long.example").patience(secs(3_600)).deadline(secs(3_600));
    rest(&scheduler.lease(&long).unwrap(), 1_800);
    let mut parked = Box::pin(scheduler.acquire(&long));
    assert!(poll_once(&mut parked).await.is_pending());
    for _ in 0..10_000 {
        assert!(poll_once(&mut Box::pin(scheduler.acquire(&ask()))).await.is_pending());
    }
    // In a task of its own: the parked one's alarm wakes this one.
    let (start, own) = (now(), scheduler.clone());
    tokio::spawn(async move { own.acquire(&ask()).await.map(drop) }).await.unwrap().unwrap();
    assert!(now() - start <= secs(2), "{:?}", now() - start);
}

/// Panics when it is woken.
struct Bad;

impl Wake for Bad {
    fn wake(self: Arc<Self>) {
        panic!("the caller's");
    }
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_panics_keeps_nobody_else_asleep() {
    let (scheduler, trial) = on_trial().await;
    let bad = Waker::from(Arc::new(Bad));
    let mut first = Box::pin(scheduler.acquire(&ask()));
    assert!(first.as_mut().poll(&mut Context::from_waker(&bad)).is_pending());
    let polls = Arc::new(AtomicUsize::new(0));
    let second = tokio::spawn(Polls(Box::pin(scheduler.acquire(&ask())), Arc::clone(&polls)));
    tokio::task::yield_now().await;
    drop(trial);
    let before = polls.load(Ordering::SeqCst);
    tokio::task::yield_now().await;
    assert_eq!(polls.load(Ordering::SeqCst), before + 1, "it keeps the time");
    drop(first);
    let start = now();
    assert!(second.await.unwrap().is_ok());
    assert_eq!((now(), scheduler.snapshot().waiting), (start, 0));
}

/// Owns what its task owns, as wakers of tasks do: the last one takes it along.
struct Owner(#[allow(dead_code, reason = "owned, so that it is dropped")] Option<Lease>);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

#[tokio::test(start_paused = true)]
async fn a_waker_is_cloned_and_dropped_without_the_lock() {
    let (scheduler, trial) = on_trial().await;
    let lease = || scheduler.lease(&ask().origin("other.example")).unwrap();
    for patience in [3, 3, 0] {
        let waker = Waker::from(Arc::new(Owner(Some(lease()))));
        let mut waiting = Box::pin(scheduler.acquire(&ask().patience(secs(3))));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        tokio::time::advance(secs(patience)).await;
        assert_eq!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready(), patience > 0);
        // The last one that is kept goes with it.
        drop(waker);
        drop(waiting);
    }
    assert_eq!(scheduler.snapshot().in_flight, 1);
    drop(trial);
}

#[tokio::test(start_paused = true)]
async fn no_waker_is_kept_of_who_is_done() {
    let (scheduler, trial) = on_trial().await;
    let woken = Arc::new(Owner(None));
    let waker = Waker::from(Arc::clone(&woken));
    let mut waiting = Box::pin(scheduler.acquire(&ask().patience(secs(3))));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    tokio::time::advance(secs(4)).await;
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    drop((waker, waiting));
    assert_eq!(Arc::strong_count(&woken), 1, "of who has waited in vain");
    drop(trial);
}

#[test]
fn who_cannot_sleep_leaves_no_trace() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let scheduler = resting(20);
    let polled = catch_unwind(AssertUnwindSafe(|| runtime.block_on(scheduler.acquire(&ask())).map(drop)));
    assert!(polled.is_err(), "this runtime has no time");
    assert_eq!(scheduler.snapshot().waiting, 0);
}

/// Each takes long, so that it is not its end that lets the next one go.
async fn takes_long(scheduler: Scheduler) -> tokio::time::Instant {
    let lease = scheduler.acquire(&ask()).await.unwrap();
    lease.report(Outcome::Ok);
    std::mem::forget(lease);
    now()
}

#[tokio::test(start_paused = true)]
async fn many_are_let_go_within_half_a_second_whatever_the_timer_can_tell_apart() {
    let (scheduler, trial) = on_trial().await;
    let mut tasks = tokio::task::JoinSet::new();
    (0..3_000).for_each(|_| drop(tasks.spawn(takes_long(scheduler.clone()))));
    while scheduler.snapshot().waiting < 3_000 {
        tokio::task::yield_now().await;
    }
    trial.report(Outcome::Ok);
    let opened = now();
    let last = tasks.join_all().await.into_iter().max().unwrap();
    assert!(last - opened <= Duration::from_millis(600), "{:?}", last - opened);
}

#[tokio::test(start_paused = true)]
async fn a_line_in_front_of_an_open_exit_ends_however_many_come() {
    let (scheduler, trial) = on_trial().await;
    let mut tasks = tokio::task::JoinSet::new();
    (0..5).for_each(|_| drop(tasks.spawn(takes_long(scheduler.clone()))));
    tokio::time::sleep(Duration::from_millis(1)).await;
    trial.report(Outcome::Ok);
    // Ten times as many a second as the five would be let go.
    for ms in 0..3_000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        tasks.spawn(takes_long(scheduler.clone()));
        assert!(ms < 300 || scheduler.snapshot().waiting <= 1, "{} wait", scheduler.snapshot().waiting);
    }
    tasks.join_all().await;
}
