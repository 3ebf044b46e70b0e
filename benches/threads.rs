//! What two threads get done on one scheduler, beside one thread. `benches/README.md` has the command and the figures.
//!
//! A time and no gate: it moves with the machine's load. A run whose threads did not work at the same time for 85 % of it
//! says nothing, and is not counted.

use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use tower_egress::{ExitList, LeaseRequest, Outcome, Scheduler};

const KEYS: usize = 1_000;
const ROUNDS: u64 = 1_000_000;
const RUNS: usize = 7;
const OVERLAP: f64 = 0.85;

type Work = Arc<dyn Fn(usize) + Send + Sync>;

fn scheduler() -> Scheduler {
    let list: String = (0..100).map(|at| format!("10.0.0.{at}:8080\n")).collect();
    Scheduler::builder().exits(ExitList::parse(&list).expect("a list")).seed(7).build().expect("exits")
}

fn keys() -> impl Iterator<Item = String> {
    (0..KEYS).map(|key| format!("sku-{key:08}"))
}

fn sticky() -> Work {
    let scheduler = scheduler();
    let asks: Vec<_> = keys().map(|key| LeaseRequest::new(key).origin("shop.example")).collect();
    Arc::new(move |at| scheduler.lease(&asks[at]).expect("an exit").report(Outcome::Ok))
}

fn pick() -> Work {
    let scheduler = scheduler();
    let ask = LeaseRequest::per_request().origin("shop.example");
    Arc::new(move |_| scheduler.lease(&ask).expect("an exit").report(Outcome::Ok))
}

fn peer() -> Work {
    let limiter = RateLimiter::keyed(Quota::per_second(NonZeroU32::MAX));
    let keys: Vec<_> = keys().collect();
    Arc::new(move |at| drop(std::hint::black_box(limiter.check_key(&keys[at]))))
}

#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// Rounds a second of so many threads together; `None` if they did not overlap.
fn run(work: &Work, threads: usize) -> Option<f64> {
    let barrier = Arc::new(Barrier::new(threads));
    let start = |thread: usize| {
        let (work, barrier) = (Arc::clone(work), Arc::clone(&barrier));
        std::thread::spawn(move || {
            let mut at = thread * KEYS / 2;
            let mut rounds = |rounds: u64| {
                for _ in 0..rounds {
                    work(at % KEYS);
                    at += 1;
                }
            };
            rounds(10_000);
            barrier.wait();
            let begin = now();
            rounds(ROUNDS);
            (begin, now())
        })
    };
    let running: Vec<_> = (0..threads).map(start).collect();
    let spans: Vec<_> = running.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    let (begins, ends) = (spans.iter().map(|span| span.0), spans.iter().map(|span| span.1));
    let (first, last) = (begins.clone().min()?, ends.clone().max()?);
    let together = ends.min()?.saturating_duration_since(begins.max()?);
    let whole: Duration = last - first;
    let overlap = together.as_secs_f64() / whole.as_secs_f64();
    (overlap >= OVERLAP).then(|| (ROUNDS * threads as u64) as f64 / whole.as_secs_f64())
}

fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs.get(runs.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    println!("{:<36}{:>14}{:>14}{:>8}{:>7}", "a round", "1 thread /s", "2 threads /s", "ratio", "runs");
    for (name, work) in [
        ("sticky hit + report(ok), 1k keys", sticky()),
        ("pick + report(ok), 100 exits", pick()),
        ("peer: governor, keyed check", peer()),
    ] {
        // One and two threads alternate, so that a slow minute hurts both.
        let pairs = (0..RUNS).filter_map(|_| Some((run(&work, 1)?, run(&work, 2)?)));
        let (one, two): (Vec<_>, Vec<_>) = pairs.unzip();
        let (runs, one, two) = (one.len(), median(one), median(two));
        println!("{name:<36}{one:>14.0}{two:>14.0}{:>8.2}{runs:>7}", two / one);
    }
}
