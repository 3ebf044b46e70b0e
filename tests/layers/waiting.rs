//! Waiting in line: plain, through the layers, and given up.

use crate::support::*;
use http::{Request, Response};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake};
use std::time::Duration;
use tower::limit::ConcurrencyLimit;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};
use tower_egress::outcome::{AuthReason, RetryAfter};
use tower_egress::{
    ClassifyLayer, EgressLayer, LeaseError, LeaseLayer, LeaseRequest, Next, Outcome, Scheduler, Served,
};

const URI: &str = "https://shop.example/p/42";

fn ask() -> LeaseRequest {
    LeaseRequest::per_request().origin("shop.example")
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A pool of one that rests at the shop for so long, or a quarter longer.
fn resting(seconds: u64) -> Scheduler {
    let scheduler = scheduler(1);
    rest(&scheduler, seconds);
    scheduler
}

fn rest(scheduler: &Scheduler, seconds: u64) {
    let retry_after = Some(RetryAfter::new(secs(seconds)));
    scheduler.lease(&ask()).unwrap().report(Outcome::RateLimited { retry_after });
}

#[tokio::test(start_paused = true)]
async fn acquire_waits_until_the_first_exit_is_back() {
    let (scheduler, start) = (resting(5), now());
    let lease = scheduler.acquire(&ask()).await.unwrap();
    let waited = now() - start;
    assert!(lease.is_trial() && waited >= secs(5) && waited <= Duration::from_millis(6_252), "{waited:?}");
    assert_eq!((scheduler.snapshot().waiting, scheduler.snapshot().refusals.no_usable_exit), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn acquire_is_refused_at_once_if_no_exit_is_back_in_time() {
    let (scheduler, start) = (resting(60), now());
    let refused = scheduler.acquire(&ask()).await.unwrap_err();
    assert!(matches!(refused.next(), Next::At(at) if at >= (start + secs(60)).into_std()));
    assert_eq!(now(), start);
    let late = scheduler.acquire(&ask().patience(secs(90)).deadline(secs(50))).await.unwrap_err();
    assert!(matches!(late, LeaseError::NoUsableExit { .. }), "{late}");
    assert!(scheduler.acquire(&ask().patience(secs(90))).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_hundred_are_served_in_the_order_in_which_they_came() {
    let scheduler = resting(2);
    let served = Arc::new(AtomicUsize::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..100 {
        let (scheduler, served) = (scheduler.clone(), Arc::clone(&served));
        tasks.spawn(async move {
            let lease = scheduler.acquire(&ask()).await.unwrap();
            let order = served.fetch_add(1, Ordering::SeqCst);
            lease.report(Outcome::Ok);
            assert_eq!(task, order);
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!((scheduler.snapshot().waiting, scheduler.snapshot().leases), (0, 101));
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn te_094_a_waiter_that_nobody_polls_holds_nobody_up() {
    let scheduler = resting(1);
    let mut parked = Box::pin(scheduler.acquire(&ask()));
    assert!(poll_once(&mut parked).await.is_pending());
    let start = now();
    let second = scheduler.acquire(&ask()).await.unwrap();
    let waited = now() - start;
    assert!(waited <= Duration::from_millis(1_250 + 250), "{waited:?}");
    second.report(Outcome::Ok);
    drop(second);
    assert!(parked.await.is_ok(), "it keeps its place");
}

#[tokio::test(start_paused = true)]
async fn who_is_dropped_leaves_no_trace_and_the_next_one_is_woken() {
    let scheduler = scheduler(1);
    // On trial: nobody knows until when, so nothing but its end wakes anybody.
    scheduler.lease(&ask()).unwrap().report(Outcome::RateLimited { retry_after: None });
    tokio::time::advance(secs(2)).await;
    let trial = scheduler.lease(&ask()).unwrap();
    let mut waiters: Vec<_> = (0..3).map(|_| Box::pin(scheduler.acquire(&ask()))).collect();
    let woken: Vec<_> = (0..3).map(|_| Arc::new(Woken::default())).collect();
    for (waiter, woken) in waiters.iter_mut().zip(&woken) {
        let waker = Arc::clone(woken).into();
        assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let seen = || woken.iter().map(|woken| woken.0.load(Ordering::SeqCst)).collect::<Vec<_>>();
    drop(trial);
    assert_eq!(
        seen(),
        [1, 1, 1],
        "the first is called, the second keeps the time, the last to come looks after it"
    );
    assert!(scheduler.lease(&ask()).is_err(), "the place is kept for the first");
    drop(waiters.remove(0));
    assert_eq!(scheduler.snapshot().waiting, 2);
    let called = poll_once(&mut waiters[0]).await;
    let Poll::Ready(Ok(lease)) = called else { panic!("its turn") };
    lease.report(Outcome::Ok);
    drop(lease);
    drop(waiters);
    assert_eq!((scheduler.snapshot().waiting, scheduler.snapshot().in_flight), (0, 0));
    assert!(scheduler.lease(&ask()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_in_the_stack_and_its_trail_says_how_long() {
    let (scheduler, start) = (resting(5), now());
    let stack = EgressLayer::new(&scheduler).layer(Script::new([status(200)]));
    let response = stack.oneshot(get(URI)).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap();
    assert!(served.waited() >= secs(5) && served.waited() == now() - start, "{:?}", served.waited());
    assert_eq!((served.attempts(), served.trail()[0].waited), (1, served.waited()));
}

#[tokio::test(start_paused = true)]
async fn who_waits_holds_no_permit_of_the_client() {
    let scheduler = resting(5);
    let client = ConcurrencyLimit::new(Script::new([status(200), status(200)]), 1);
    let layers = ServiceBuilder::new().layer(LeaseLayer::new(&scheduler)).layer(ClassifyLayer::new());
    let mut stack = layers.service(client);
    ServiceExt::<Req>::ready(&mut stack).await.unwrap();
    let mut waiting = Box::pin(stack.call(get(URI)));
    assert!(poll_once(&mut waiting).await.is_pending());
    // Elsewhere the same exit is free, and the one permit too.
    let other = stack.clone().oneshot(get("https://other.example/")).await.unwrap();
    drop(other);
    assert_eq!(waiting.await.unwrap().status(), 200);
}

/// Not ready before a time.
#[derive(Clone)]
struct ReadyAt<S>(S, tokio::time::Instant, Option<tokio::time::Instant>);

impl<S: Service<Req>> Service<Req> for ReadyAt<S>
where
    S::Error: std::fmt::Debug,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let until = *self.2.get_or_insert(self.1);
        if now() >= until {
            return self.0.poll_ready(cx);
        }
        let waker = cx.waker().clone();
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            waker.wake();
        });
        Poll::Pending
    }

    fn call(&mut self, request: Req) -> S::Future {
        self.0.call(request)
    }
}

struct Plain(Script);

impl Clone for Plain {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Service<Req> for Plain {
    type Response = Response<Page>;
    type Error = ClientError;
    type Future = <Script as Service<Req>>::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Service::<Req>::poll_ready(&mut self.0, cx)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        self.0.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_called_and_finds_the_client_busy_passes_its_turn_on() {
    let scheduler = resting(1);
    let busy = now() + secs(4);
    let layers = ServiceBuilder::new().layer(LeaseLayer::new(&scheduler)).layer(ClassifyLayer::new());
    let client = ReadyAt(Plain(Script::new([status(200)])), busy, None);
    // As if it had been ready when it was called first.
    let mut stack = layers.service(client);
    let mut slow = Box::pin(stack.call(get(URI)));
    assert!(poll_once(&mut slow).await.is_pending());
    let start = now();
    let quick = scheduler.acquire(&ask());
    let (quick, answer) = tokio::join!(
        async {
            let lease = quick.await.unwrap();
            let at = now() - start;
            lease.report(Outcome::Ok);
            drop(lease);
            at
        },
        slow
    );
    assert!(quick <= Duration::from_millis(1_500), "{quick:?}");
    assert_eq!((answer.unwrap().status().as_u16(), now()), (200, busy));
    assert_eq!(scheduler.snapshot().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_while_the_client_is_busy() {
    let scheduler = resting(1);
    let layers = ServiceBuilder::new().layer(LeaseLayer::new(&scheduler)).layer(ClassifyLayer::new());
    let mut stack = layers.service(ReadyAt(Plain(Script::new([])), now() + secs(60), None));
    let start = now();
    let request = with(Request::get(URI), "", ask().deadline(secs(10)));
    let error = stack.call(request).await.unwrap_err();
    assert_eq!(error.refusal(), Some(&LeaseError::DeadlinePassed));
    assert_eq!((now() - start, scheduler.snapshot().waiting), (secs(10), 0));
}

#[tokio::test(start_paused = true)]
async fn a_worker_parks_until_the_fleet_runs_again() {
    let scheduler = scheduler(1);
    scheduler.running().await;
    for _ in 0..2 {
        scheduler.lease(&ask()).unwrap().report(Outcome::AuthError { reason: AuthReason::Rejected });
    }
    let refused = scheduler.acquire(&ask()).await.unwrap_err();
    assert_eq!((&refused, refused.next()), (&LeaseError::FleetStopped, Next::WhenResumed));
    let parked = tokio::spawn({
        let scheduler = scheduler.clone();
        async move { scheduler.running().await }
    });
    tokio::time::advance(secs(3_600)).await;
    assert!(!parked.is_finished());
    scheduler.operator().resume();
    parked.await.unwrap();
    assert_eq!(scheduler.snapshot().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn a_drain_refuses_all_and_waits_for_what_is_out() {
    let scheduler = resting(5);
    let out = scheduler.lease(&ask().origin("other.example")).unwrap();
    let waiting = tokio::spawn({
        let scheduler = scheduler.clone();
        async move { scheduler.acquire(&ask()).await.map(drop) }
    });
    tokio::task::yield_now().await;
    let drained = tokio::spawn(scheduler.operator().drain());
    assert_eq!(waiting.await.unwrap(), Err(LeaseError::Closed));
    assert_eq!(scheduler.acquire(&ask()).await.unwrap_err(), LeaseError::Closed);
    assert_eq!(scheduler.lease(&ask()).unwrap_err().next(), Next::Never, "a worker stops");
    assert!(!drained.is_finished());
    drop(out);
    drained.await.unwrap();
    scheduler.operator().resume();
    assert!(scheduler.acquire(&ask()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_running_or_drain_leaves_no_trace() {
    let scheduler = scheduler(1);
    let out = scheduler.lease(&ask()).unwrap();
    let mut drained = Box::pin(scheduler.operator().drain());
    let mut running = Box::pin(scheduler.running());
    assert!(poll_once(&mut drained).await.is_pending() && poll_once(&mut running).await.is_pending());
    assert_eq!(scheduler.snapshot().waiting, 2);
    drop((drained, running));
    assert_eq!(scheduler.snapshot().waiting, 0);
    drop(out);
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_behind_those_who_came_before() {
    let scheduler = scheduler(1);
    let script = Script::new([status(403), status(200), status(200)]);
    let stack = EgressLayer::new(&scheduler).layer(script.clone());
    let mut one = Box::pin(stack.clone().oneshot(get(URI)));
    assert!(poll_once(&mut one).await.is_pending(), "it was refused, and sleeps for a moment");
    let mut two = Box::pin(stack.oneshot(get(URI)));
    assert!(poll_once(&mut two).await.is_pending(), "it stands in line");
    let order = Arc::new(AtomicUsize::new(0));
    let count = || order.fetch_add(1, Ordering::SeqCst);
    let (first, second) = tokio::join!(
        async {
            one.await.unwrap();
            count()
        },
        async {
            two.await.unwrap();
            count()
        }
    );
    assert_eq!((first, second), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn futures_that_are_kept_and_polled_no_more_hold_up_those_behind_them_for_a_moment_however_many() {
    for many in [10, 100, 1_000] {
        let (scheduler, start) = (resting(5), now());
        let mut kept: Vec<_> = (0..many).map(|_| Box::pin(scheduler.acquire(&ask()))).collect();
        for waiter in &mut kept {
            assert!(poll_once(waiter).await.is_pending());
        }
        let lease = scheduler.acquire(&ask().patience(secs(600)).deadline(secs(600))).await.unwrap();
        // The rest is 5 to 6.25 s.
        let waited = now() - start;
        assert!(lease.is_trial() && waited <= secs(9), "{many}: {waited:?}");
        lease.report(Outcome::Ok);
        assert_eq!(scheduler.snapshot().waiting as usize, many, "their places are theirs still");
        let first = kept.remove(0).await.unwrap();
        first.report(Outcome::Ok);
    }
}
