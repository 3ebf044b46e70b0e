//! Each event is told once, in order, and by somebody.

use super::*;
use crate::fleet::Event;
use crate::scheduler::sync::{AtomicBool, Mutex, lock};

/// What was told: the number of a lease, and whether it is its report.
type Told = Vec<(u64, bool)>;

/// A scheduler and what it tells. The observer takes a lock before it notes anything, so that another thread may come between.
fn observed() -> (Scheduler, Arc<Mutex<Told>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let exits = ExitList::parse("192.0.2.1:8080").unwrap();
    let notes = Arc::clone(&told);
    let builder = Scheduler::builder().exits(exits).seed(1).observe(move |_, event| {
        let note = match event {
            Event::Lease { lease, .. } => (*lease, false),
            Event::Report { lease, .. } => (*lease, true),
            other => panic!("{other:?}"),
        };
        lock(&notes).push(note);
    });
    (builder.build().unwrap(), told)
}

fn in_order(told: &[(u64, bool)], leases: usize) {
    let of = |report| -> Vec<u64> {
        told.iter().filter(|(_, of)| *of == report).map(|(lease, _)| *lease).collect()
    };
    let (given, mut reported) = (of(false), of(true));
    assert!(given.len() == leases && given.is_sorted_by(|a, b| a < b), "once, in order: {told:?}");
    for lease in &given {
        let at = |report| told.iter().position(|note| *note == (*lease, report));
        assert!(at(false) < at(true), "first the lease, then its report: {told:?}");
    }
    reported.sort_unstable();
    assert_eq!(reported, given, "each is told, and once");
}

#[test]
fn all_is_told_once_and_in_order() {
    model(|| {
        let (scheduler, told) = observed();
        let threads = [(); 2].map(|()| {
            let scheduler = scheduler.clone();
            thread::spawn(move || lease(&scheduler).report(Outcome::Ok))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        in_order(&lock(&told), 2);
    });
}

/// What an observer does is told, too, though it is told from within.
#[test]
fn what_an_observer_asks_for_is_told_as_well() {
    model(|| {
        let exits = ExitList::parse("192.0.2.1:8080").unwrap();
        let own: Arc<Mutex<Option<Scheduler>>> = Arc::default();
        let asked = Arc::new(AtomicBool::new(false));
        let told = Arc::new(Mutex::new(Vec::new()));
        let observer = {
            let (own, asked, told) = (Arc::clone(&own), Arc::clone(&asked), Arc::clone(&told));
            move |_, event: &Event| {
                let Event::Lease { lease: number, .. } = event else { return };
                lock(&told).push(*number);
                if !asked.swap(true, Ordering::AcqRel) {
                    let scheduler = lock(&own).clone();
                    drop(lease(&scheduler.unwrap()));
                }
            }
        };
        let scheduler = Scheduler::builder().exits(exits).seed(1).observe(observer).build().unwrap();
        *lock(&own) = Some(scheduler.clone());
        let other = thread::spawn({
            let scheduler = scheduler.clone();
            move || drop(lease(&scheduler))
        });
        drop(lease(&scheduler));
        other.join().unwrap();
        drop(lock(&own).take()); // it owned itself
        let told = lock(&told);
        assert!(told.len() == 3 && told.is_sorted_by(|a, b| a < b), "once, in order: {told:?}");
    });
}
