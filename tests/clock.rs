//! A machine that sleeps for days while requests wait in line and leases are out: tokio's clock jumps, and all goes on.

use std::num::NonZeroU32;
use std::time::Duration;
use tokio::time::{advance, timeout};
use tower_egress::outcome::RetryAfter;
use tower_egress::scheduler::Lease;
use tower_egress::{ExitList, LeaseError, LeaseRequest, Outcome, Scheduler};

const DAY: Duration = Duration::from_secs(86_400);

fn scheduler(list: &str) -> Scheduler {
    let exits = ExitList::parse(list).expect("a list");
    Scheduler::builder().exits(exits).seed(7).build().expect("a scheduler")
}

fn ask(patience: Duration) -> LeaseRequest {
    LeaseRequest::per_request().origin("shop.example").patience(patience).deadline(Duration::MAX)
}

fn limited(seconds: u64) -> Outcome {
    Outcome::RateLimited { retry_after: Some(RetryAfter::new(Duration::from_secs(seconds))) }
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

type Task = tokio::task::JoinHandle<Result<(), LeaseError>>;

/// Waits in line, works for a second, and says that all went well.
fn spawn(scheduler: &Scheduler, ask: LeaseRequest) -> Task {
    let scheduler = scheduler.clone();
    tokio::spawn(async move {
        let lease = scheduler.acquire(&ask).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        lease.report(Outcome::Ok);
        Ok(())
    })
}

/// All have ended within a minute, and the scheduler is as good as new.
async fn ended(scheduler: &Scheduler, tasks: Vec<Task>, out: Lease) -> usize {
    let mut served = 0;
    for task in tasks {
        match timeout(Duration::from_secs(60), task)
            .await
            .expect("who waits ends")
            .expect("and does not panic")
        {
            Ok(()) => served += 1,
            Err(LeaseError::NoUsableExit { retry_in, .. }) => assert!(retry_in <= Duration::from_secs(3_600)),
            Err(other) => panic!("{other}"),
        }
    }
    out.report(Outcome::Ok);
    drop(out);
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.waiting, snapshot.exits_in_use), (0, 0, 0));
    let again = scheduler.lease(&ask(Duration::ZERO)).expect("no rest is endless");
    again.report(Outcome::Ok);
    served
}

#[tokio::test(start_paused = true)]
async fn who_has_patience_left_is_served_after_a_jump() {
    let scheduler = scheduler("203.0.113.7:8080\n203.0.113.8:8080");
    let out = scheduler.lease(&LeaseRequest::per_request().origin("elsewhere.example")).unwrap();
    for _ in 0..2 {
        scheduler.lease(&ask(Duration::ZERO)).unwrap().report(limited(3_000));
    }
    let tasks: Vec<_> = (0..20).map(|_| spawn(&scheduler, ask(10 * DAY))).collect();
    settle().await;
    assert_eq!(scheduler.snapshot().waiting, 20);
    advance(3 * DAY).await;
    settle().await;
    assert_eq!(ended(&scheduler, tasks, out).await, 20, "all have days of patience left");
}

#[tokio::test(start_paused = true)]
async fn whose_patience_is_over_ends_after_a_jump() {
    let scheduler = scheduler("203.0.113.7:8080");
    let out = scheduler.lease(&LeaseRequest::per_request().origin("elsewhere.example")).unwrap();
    scheduler.lease(&ask(Duration::ZERO)).unwrap().report(limited(3_000));
    let tasks: Vec<_> = (0..20).map(|_| spawn(&scheduler, ask(Duration::from_secs(3_900)))).collect();
    settle().await;
    assert_eq!(scheduler.snapshot().waiting, 20);
    advance(30 * DAY).await;
    let served = ended(&scheduler, tasks, out).await;
    assert!(served >= 1, "the exit is back, and one tries it");
}

#[tokio::test(start_paused = true)]
async fn a_window_and_an_identity_outlast_a_jump() {
    let scheduler = scheduler("203.0.113.7:8080\n203.0.113.8:8080\n203.0.113.9:8080");
    let window = LeaseRequest::new("sku-42").windowed(Duration::from_secs(600)).origin("shop.example");
    let uses = LeaseRequest::new("sku-43").max_uses(NonZeroU32::new(2).unwrap()).origin("shop.example");
    let identity = LeaseRequest::identity("login").origin("shop.example");
    let own = scheduler.lease(&identity).unwrap().receipt().exit();
    for jump in [Duration::from_secs(599), DAY, 400 * DAY] {
        let lease = scheduler.lease(&window).unwrap();
        let exit = lease.receipt().exit();
        assert_eq!(scheduler.lease(&window).unwrap().receipt().exit(), exit);
        scheduler.lease(&uses).unwrap().report(Outcome::Ok);
        advance(jump).await;
        lease.report(Outcome::Ok);
        assert_eq!(scheduler.lease(&identity).unwrap().receipt().exit(), own, "after {jump:?}");
    }
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_slept_for_days_has_lost_its_place_and_still_reports() {
    let scheduler = scheduler("203.0.113.7:8080");
    scheduler.lease(&ask(Duration::ZERO)).unwrap().report(limited(5));
    advance(Duration::from_secs(7)).await;
    let slept = LeaseRequest::per_request().origin("shop.example");
    let slept = scheduler.lease(&slept).unwrap();
    assert!(slept.is_trial());
    advance(2 * DAY).await;
    let another = scheduler.lease(&ask(Duration::ZERO)).expect("its place was lost at its deadline");
    assert!(another.is_trial());
    slept.report(Outcome::Ok);
    drop(slept);
    another.report(limited(5));
    drop(another);
    let refused = scheduler.lease(&ask(Duration::ZERO)).unwrap_err();
    let LeaseError::NoUsableExit { retry_in, .. } = refused else { panic!("{refused}") };
    assert!(retry_in >= Duration::from_secs(5) && retry_in <= Duration::from_millis(6_250), "{retry_in:?}");
}
