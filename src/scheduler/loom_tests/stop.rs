//! A fleet that stops, goes on, or is drained, while somebody waits.

use super::*;
use crate::outcome::AuthReason;

const REJECTED: Outcome = Outcome::AuthError { reason: AuthReason::Rejected };

/// Its only login was refused; the lease is the one that tries it again.
fn doubted() -> (Scheduler, Lease) {
    let scheduler = scheduler(Bounds::default());
    lease(&scheduler).report(REJECTED);
    let confirming = lease(&scheduler);
    assert!(confirming.is_trial());
    (scheduler, confirming)
}

#[test]
fn who_waits_for_a_login_that_stops_is_told() {
    model(|| {
        let (scheduler, confirming) = doubted();
        let waiters = [(); 2].map(|()| {
            let scheduler = scheduler.clone();
            thread::spawn(move || assert_eq!(acquire(&scheduler).unwrap_err(), LeaseError::FleetStopped))
        });
        confirming.report(REJECTED);
        drop(confirming);
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert_eq!(scheduler.snapshot().waiting, 0);
    });
}

#[test]
fn who_is_parked_goes_on_when_the_fleet_is_resumed() {
    model(|| {
        let (scheduler, confirming) = doubted();
        confirming.report(REJECTED);
        drop(confirming);
        let parked = thread::spawn({
            let scheduler = scheduler.clone();
            move || {
                block_on(scheduler.running());
                assert!(lease(&scheduler).is_trial());
            }
        });
        scheduler.operator().resume();
        parked.join().unwrap();
        assert_eq!(scheduler.snapshot().waiting, 0);
    });
}

#[test]
fn a_drain_ends_with_the_last_lease() {
    model(|| {
        let scheduler = scheduler(Bounds::default());
        let out = [lease(&scheduler), lease(&scheduler)];
        let drained = thread::spawn({
            let scheduler = scheduler.clone();
            move || {
                block_on(scheduler.operator().drain());
                assert_eq!(scheduler.snapshot().in_flight, 0);
            }
        });
        let drops = out.map(|lease| thread::spawn(move || drop(lease)));
        drained.join().unwrap();
        for drops in drops {
            drops.join().unwrap();
        }
        assert_eq!(scheduler.snapshot().waiting, 0);
        assert_eq!(scheduler.lease(&ask()).unwrap_err(), LeaseError::Closed);
    });
}

/// At once, and not only when a lease ends.
#[test]
fn who_waits_while_the_fleet_is_drained_is_refused() {
    model(|| {
        let scheduler = rested();
        let trial = lease(&scheduler);
        let waiter = thread::spawn({
            let scheduler = scheduler.clone();
            move || assert_eq!(acquire(&scheduler).unwrap_err(), LeaseError::Closed)
        });
        let drained = scheduler.operator().drain();
        waiter.join().unwrap();
        drop(trial);
        block_on(drained);
        assert_eq!(scheduler.snapshot().waiting, 0);
    });
}

#[test]
fn who_waits_for_room_in_a_drained_fleet_is_refused() {
    model(|| {
        let scheduler = one_lease();
        let out = lease(&scheduler);
        let waiter = thread::spawn({
            let scheduler = scheduler.clone();
            move || assert_eq!(acquire(&scheduler).unwrap_err(), LeaseError::Closed)
        });
        let drained = scheduler.operator().drain();
        waiter.join().unwrap();
        drop(out);
        block_on(drained);
        assert_eq!(scheduler.snapshot().waiting, 0);
    });
}
