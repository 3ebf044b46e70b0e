//! The shell under a model checker: each test runs its threads in every order that differs in what they do to a lock or an
//! atomic, with at most a few preemptions (two, or what `LOOM_MAX_PREEMPTIONS` says).
//!
//! Time stands, and alarms never go off: what must happen has to come by a wake.

mod half_open;
mod lease;
mod observers;
mod stop;
mod wait;

use super::{Lease, Scheduler, clock};
use crate::error::LeaseError;
use crate::exit::ExitList;
use crate::fleet::Bounds;
use crate::outcome::{Outcome, RetryAfter};
use crate::request::LeaseRequest;
use loom::future::block_on;
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const PREEMPTIONS: usize = 2;

/// Runs a model in all its orders.
fn model(run: impl Fn() + Send + Sync + 'static) {
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&orders);
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound.get_or_insert(PREEMPTIONS);
    let start = std::time::Instant::now();
    checker.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        clock::set(Duration::ZERO);
        run();
    });
    let orders = orders.load(Ordering::Relaxed);
    let name = std::thread::current();
    println!("{}: {orders} orders in {:?}", name.name().unwrap_or_default(), start.elapsed());
    assert!(orders > 1, "nothing was at stake");
}

/// A pool of one exit with a login.
fn scheduler(bounds: Bounds) -> Scheduler {
    let exits = ExitList::parse("192.0.2.1:8080:user:pw").unwrap();
    Scheduler::builder().exits(exits).bounds(bounds).seed(1).build().unwrap()
}

/// Room for one lease.
fn one_lease() -> Scheduler {
    scheduler(Bounds::default().leases(1))
}

fn ask() -> LeaseRequest {
    LeaseRequest::per_request().origin("shop.example")
}

fn lease(scheduler: &Scheduler) -> Lease {
    scheduler.lease(&ask()).unwrap()
}

fn acquire(scheduler: &Scheduler) -> Result<Lease, LeaseError> {
    block_on(scheduler.acquire(&ask()))
}

/// Its only exit has rested at the shop, and may be tried.
fn rested() -> Scheduler {
    let scheduler = scheduler(Bounds::default());
    let hint = RetryAfter::new(Duration::from_secs(4));
    lease(&scheduler).report(Outcome::RateLimited { retry_after: Some(hint) });
    assert!(scheduler.lease(&ask()).is_err(), "it rests");
    clock::set(Duration::from_secs(6));
    scheduler
}
