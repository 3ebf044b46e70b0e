//! What all requests of a fleet share: one clock, one lock, one login.

use crate::shop::*;
use http::Method;
use std::thread;
use tower::Layer;
use tower_egress::lab::{Lab, Mood, Provider};
use tower_egress::outcome::AuthReason;
use tower_egress::scheduler::Reason;
use tower_egress::{EgressLayer, Gateway, LeaseError, LeaseRequest, Next, Outcome, Scheduler};

fn pool(exits: usize) -> Scheduler {
    let exits = Lab::builder().fine(exits).in_memory().unwrap().exits();
    Scheduler::builder().exits(exits).seed(7).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a16_windows_and_rests_run_on_the_schedulers_own_clock() {
    // The wall hardly moves while the paused clock runs through ten minutes.
    let scheduler = pool(1);
    let ask = LeaseRequest::new("k").windowed(secs(60)).origin("shop.test");
    let mut windows = 0;
    for _ in 0..600 {
        let lease = scheduler.lease(&ask).unwrap();
        windows += u32::from(lease.reason() == Reason::Placed);
        lease.report(Outcome::Ok);
        tokio::time::advance(secs(1)).await;
    }
    assert!((10..=11).contains(&windows), "the first may have begun before: {windows}");
    let hint = Some(tower_egress::outcome::RetryAfter::new(secs(40)));
    scheduler.lease(&ask).unwrap().report(Outcome::RateLimited { retry_after: hint });
    let rest = scheduler.lease(&ask).unwrap_err().retry_in().unwrap();
    assert!(rest >= secs(40) && rest <= secs(50), "{rest:?}");
    tokio::time::advance(rest - millis(1)).await;
    assert_eq!(scheduler.lease(&ask).unwrap_err().retry_in(), Some(millis(1)));
    tokio::time::advance(millis(1)).await;
    assert!(scheduler.lease(&ask).is_ok());
}

#[test]
fn a22_many_threads_share_one_scheduler_and_no_report_is_lost() {
    const THREADS: u64 = 8;
    const EACH: u64 = 1_000;
    let scheduler = pool(50);
    let ask =
        |n| if n % 2 == 0 { LeaseRequest::per_request() } else { LeaseRequest::new(format!("k{}", n % 9)) };
    // Whoever is out fetching keeps nobody waiting.
    let fetching = scheduler.lease(&ask(0).origin("shop.test")).unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for n in 0..EACH {
                    let lease = scheduler.lease(&ask(n).origin("shop.test")).unwrap();
                    lease.report(if n % 10 == 0 { Outcome::Fatal } else { Outcome::Ok });
                }
            });
        }
    });
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.leases, snapshot.in_flight, snapshot.exits_in_use), (THREADS * EACH + 1, 1, 1));
    let (outcomes, fatal) = (snapshot.outcomes, THREADS * EACH / 10);
    assert_eq!((outcomes.fatal, outcomes.ok, outcomes.total()), (fatal, 9 * fatal, THREADS * EACH));
    drop(fetching);
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a10_c10_c11_a_dead_login_stops_all_workers_with_an_error_that_says_who_mends_it() {
    let world = Lab::builder().gateway(Provider::sessions()).in_memory().unwrap();
    let gateway = Gateway::parse(&world.gateway().template()).unwrap();
    let scheduler = Scheduler::builder().gateway(gateway).seed(7).build().unwrap();
    let stack = EgressLayer::new(&scheduler).layer(world.clone());
    let send = |ask| stack.clone().oneshot(request(Method::GET, &world.tls_url("/p"), "", ask));
    world.gateway().behave(Mood::login_refused()).unwrap();

    let found_out = send(LeaseRequest::per_request()).await.err().unwrap();
    assert_eq!(found_out.outcome(), Some(Outcome::AuthError { reason: AuthReason::Rejected }));
    assert_eq!((found_out.next(), found_out.attempts().len()), (Next::WhenResumed, 2));
    for worker in 0..20 {
        tokio::time::advance(secs(60)).await;
        let error = send(LeaseRequest::new(format!("sku-{worker}"))).await.err().unwrap();
        assert_eq!((error.refusal(), error.next()), (Some(&LeaseError::FleetStopped), Next::WhenResumed));
        assert_eq!((error.retry_after(), error.attempts().len()), (None, 0));
        assert!(error.to_string().contains("refuse the login of every exit; mend it"), "{error}");
    }
    assert_eq!(world.gateway().traffic().connects, 2, "nothing more was asked, so nothing billed");

    world.gateway().behave(Mood::fine()).unwrap();
    scheduler.operator().resume();
    assert_eq!(read(send(LeaseRequest::per_request()).await.unwrap()).await.0, 200);
    assert_eq!(read(send(LeaseRequest::new("sku-1")).await.unwrap()).await.0, 200);
}
