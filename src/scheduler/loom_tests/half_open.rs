//! One lease tries what has rested; the others wait for what it shows.

use super::*;

#[test]
fn one_of_two_tries_what_has_rested() {
    model(|| {
        let scheduler = rested();
        let threads = [(); 2].map(|()| {
            let scheduler = scheduler.clone();
            thread::spawn(move || scheduler.lease(&ask()))
        });
        let (trial, refused) = match threads.map(|thread| thread.join().unwrap()) {
            [Ok(trial), Err(refused)] | [Err(refused), Ok(trial)] => (trial, refused),
            both => panic!("one of the two: {both:?}"),
        };
        assert!(trial.is_trial());
        assert!(matches!(refused, LeaseError::NoUsableExit { .. }), "{refused:?}");
        trial.report(Outcome::Ok);
        assert!(!lease(&scheduler).is_trial(), "it is open");
    });
}

#[test]
fn who_waits_for_a_trial_goes_when_it_ends_well() {
    model(|| {
        let scheduler = rested();
        let trial = lease(&scheduler);
        let waiter = thread::spawn({
            let scheduler = scheduler.clone();
            move || assert!(!acquire(&scheduler).unwrap().is_trial(), "it is open")
        });
        trial.report(Outcome::Ok);
        drop(trial);
        waiter.join().unwrap();
        assert_eq!((scheduler.snapshot().waiting, scheduler.snapshot().in_flight), (0, 0));
    });
}

/// A trial that shows nothing is the next one's, and so on: one at a time.
#[test]
fn a_trial_that_is_dropped_is_another_waiters() {
    model(|| {
        let scheduler = rested();
        let trial = lease(&scheduler);
        let trials = Arc::new(AtomicUsize::new(0));
        let waiters = [(); 2].map(|()| {
            let (scheduler, trials) = (scheduler.clone(), Arc::clone(&trials));
            thread::spawn(move || {
                let lease = acquire(&scheduler).unwrap();
                assert!(lease.is_trial());
                assert_eq!(trials.fetch_add(1, Ordering::Relaxed), 0, "two try it at once");
                thread::yield_now();
                trials.fetch_sub(1, Ordering::Relaxed);
            })
        });
        drop(trial);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert_eq!((scheduler.snapshot().waiting, scheduler.snapshot().in_flight), (0, 0));
    });
}
