//! A lease and its end.

use super::*;
use crate::outcome::Evidence;
use crate::scheduler::Attempt;
use crate::verdict::{Verdict, Why};

#[test]
fn there_are_never_more_leases_than_allowed() {
    model(|| {
        let scheduler = one_lease();
        let out = Arc::new(AtomicUsize::new(0));
        let threads = [(); 2].map(|()| {
            let (scheduler, out) = (scheduler.clone(), Arc::clone(&out));
            thread::spawn(move || {
                let Ok(lease) = scheduler.lease(&ask()) else { return 0 };
                assert_eq!(out.fetch_add(1, Ordering::Relaxed), 0, "two leases are out");
                lease.report(Outcome::Ok);
                out.fetch_sub(1, Ordering::Relaxed);
                drop(lease);
                1
            })
        });
        let given = threads.map(|thread| thread.join().unwrap()).iter().sum::<u64>();
        let fleet = scheduler.snapshot();
        assert!(given >= 1, "who comes first gets one");
        assert_eq!((fleet.in_flight, fleet.leases, fleet.outcomes.ok), (0, given, given));
    });
}

#[test]
fn an_exclusive_exit_is_one_keys_alone() {
    model(|| {
        let scheduler = scheduler(Bounds::default());
        let threads = ["a", "b"].map(|key| {
            let scheduler = scheduler.clone();
            let ask = LeaseRequest::new(key).exclusive().origin("shop.example");
            thread::spawn(move || scheduler.lease(&ask).map(drop).is_ok())
        });
        let [a, b] = threads.map(|thread| thread.join().unwrap());
        assert!(a != b, "one of the two has it: {a} {b}");
        assert_eq!(scheduler.snapshot().in_flight, 0);
    });
}

/// The future of a request and its body each own the lease; whoever is last gives it back. Another lease is out meanwhile, so
/// that a second release would be seen.
#[test]
fn a_lease_that_a_body_owns_too_is_given_back_once() {
    model(|| {
        let scheduler = scheduler(Bounds::default());
        let other = lease(&scheduler);
        let (hold, handle) = lease(&scheduler).share(None, true);
        let body = thread::spawn({
            let scheduler = scheduler.clone();
            move || {
                let Some(body) = handle.hold() else { return };
                assert_eq!(scheduler.snapshot().in_flight, 2, "who owns a lease has it");
                drop(body);
            }
        });
        drop(hold);
        body.join().unwrap();
        assert_eq!(scheduler.snapshot().in_flight, 1);
        drop(other);
        assert_eq!(scheduler.snapshot().in_flight, 0);
    });
}

#[test]
fn a_late_report_and_the_last_drop_are_both_counted_once() {
    model(|| {
        let scheduler = one_lease();
        let (hold, handle) = lease(&scheduler).share(None, true);
        assert!(handle.start());
        let late = thread::spawn(move || {
            handle.report(Evidence::of(Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY }))
        });
        drop(hold);
        late.join().unwrap();
        let fleet = scheduler.snapshot();
        assert_eq!((fleet.in_flight, fleet.outcomes.origin_error, fleet.outcomes.total()), (0, 1, 1));
        assert!(scheduler.lease(&ask()).is_ok(), "its room is free");
    });
}

/// The caller says what the page was worth while its body breaks: one of them amends the other.
#[test]
fn two_reports_of_one_attempt_are_one() {
    model(|| {
        let scheduler = one_lease();
        let (hold, handle) = lease(&scheduler).share(None, true);
        assert!(handle.start());
        handle.report(Evidence::of(Outcome::Ok));
        let served = handle.served();
        let caller = thread::spawn(move || served.report(Outcome::RateLimited { retry_after: None }));
        handle.report_broken_body();
        caller.join().unwrap();
        drop(hold);
        let fleet = scheduler.snapshot();
        let outcomes = &fleet.outcomes;
        assert_eq!((outcomes.attempts(), outcomes.rate_limited), (1, 1), "a refusal says more: {outcomes:?}");
        assert_eq!(fleet.in_flight, 0);
    });
}

/// Locks are taken in one order, also where the slot of the request comes in: its verdict is asked while its attempt reports.
#[test]
fn an_attempt_may_be_broken_off_while_it_reports() {
    model(|| {
        let scheduler = one_lease();
        let attempt = Attempt::of(scheduler.clone(), true, &mut http::Extensions::new());
        attempt.asked(ask());
        let (hold, handle) = lease(&scheduler).share(Some(attempt.clone()), true);
        assert!(handle.start());
        let reports = thread::spawn(move || handle.report(Evidence::of(Outcome::Ok)));
        attempt.break_off();
        let (verdict, _) = attempt.retry(true);
        reports.join().unwrap();
        assert!(matches!(verdict, Verdict::Retry { .. } | Verdict::Stop(Why::Done)), "{verdict:?}");
        let fleet = scheduler.snapshot();
        assert_eq!((fleet.outcomes.ok, fleet.outcomes.total()), (1, 1), "what it showed stands");
        assert_eq!((attempt.count(), attempt.records()[0].outcome), (1, Outcome::Ok));
        drop(hold);
        assert_eq!(scheduler.snapshot().in_flight, 0);
    });
}
