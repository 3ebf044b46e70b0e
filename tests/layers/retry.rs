//! Flows over several attempts.

use crate::support::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use std::time::Duration;
use tower::{Layer, ServiceBuilder};
use tower_egress::outcome::{AuthReason, GatewayScope, Phase, Seen};
use tower_egress::verdict::Why;
use tower_egress::{EgressLayer, ExitAwareRetryLayer, LeaseRequest, Next, Outcome, Served};

const URI: &str = "https://shop.example/p/42";

#[tokio::test(start_paused = true)]
async fn b19_c17_a_blocked_request_goes_on_through_another_exit() {
    let (scheduler, script) = (scheduler(8), Script::new([status(403), status(200)]));
    let response = EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)).await.unwrap();
    assert_eq!(response.status(), 200);
    let exits = script.exits();
    assert_eq!(exits.len(), 2);
    assert_ne!(exits[0], exits[1]);
    let served = response.extensions().get::<Served>().unwrap();
    assert_eq!((served.exit(), served.attempts(), served.outcome()), (exits[1], 2, Outcome::Ok));
    let trail = served.trail();
    assert_eq!(trail.iter().map(|attempt| attempt.exit).collect::<Vec<_>>(), exits);
    assert!(matches!(trail[0].outcome, Outcome::Blocked { .. }));
    assert_eq!((trail[0].waited, trail[1].waited), (Duration::ZERO, served.waited()));
    assert!(served.waited() > Duration::ZERO && served.waited() <= Duration::from_millis(250));
    let counts = scheduler.snapshot().outcomes;
    assert_eq!((counts.ok, counts.blocked), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn b02_c15_a_429_waits_and_changes_the_exit() {
    let script = Script::new([answer(429, &[("retry-after", "600")]), status(200)]);
    let (scheduler, start) = (scheduler(8), now());
    let response = EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap();
    let exits = script.exits();
    assert_ne!(exits[0], exits[1]);
    // The hint binds the pair that was asked to wait, not the request: that waits at most (2^0 + 30) s and jitter.
    let waited = served.waited();
    assert!(waited >= Duration::from_secs(1) && waited < Duration::from_millis(46_500), "{waited:?}");
    assert_eq!(now() - start, round(served.waited()));
    let hot = &scheduler.snapshot().hottest[0];
    assert_eq!(hot.exit, exits[0]);
    assert!(hot.cooling > Duration::from_secs(590), "{:?}", hot.cooling);
}

/// tokio's timers are whole milliseconds.
fn round(wait: Duration) -> Duration {
    Duration::from_millis(u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_failing_origin_is_asked_again_through_the_exit_that_is_held() {
    let (scheduler, script) = (scheduler(8), Script::new([status(503), status(200)]));
    // Without an end, for windows begin and end by the wall's clock.
    let ask = LeaseRequest::new("sku-42").windowed(Duration::MAX);
    let request = with(Request::get(URI), "", ask);
    EgressLayer::new(&scheduler).layer(script.clone()).oneshot(request).await.unwrap();
    let exits = script.exits();
    assert_eq!((exits.len(), exits[0]), (2, exits[1]));
}

#[tokio::test(start_paused = true)]
async fn c40_what_the_origin_never_saw_is_sent_again_whatever_the_method() {
    let (scheduler, script) = (scheduler(8), Script::new([fail(Phase::ExitTcp, Seen::Never), status(200)]));
    let response =
        EgressLayer::new(&scheduler).layer(script.clone()).oneshot(post(URI, "a=1")).await.unwrap();
    assert_eq!(response.status(), 200);
    let sent = script.sent();
    assert_ne!(sent[0].exit, sent[1].exit);
    assert_eq!(sent[1].body, "a=1");
    assert_eq!(scheduler.snapshot().outcomes.proxy_error, 1);
}

#[tokio::test(start_paused = true)]
async fn c40_a_post_that_may_have_arrived_is_not_repeated_unless_the_caller_says_so() {
    for broken in [|| fail(Phase::Head, Seen::Unknown), || Step::Unknown] {
        let (scheduler, script) = (scheduler(8), Script::new([broken(), status(200)]));
        let stack = EgressLayer::new(&scheduler).layer(script.clone());
        let error = stack.clone().oneshot(post(URI, "a=1")).await.unwrap_err();
        assert_eq!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head }));
        assert_eq!((error.attempts().len(), error.next(), error.is_refusal()), (1, Next::Never, false));
        assert_eq!(error.why(), Some(Why::NotRepeatable));
        assert!(error.to_string().contains("; not sent again: the origin may have acted on it"), "{error}");
        assert_eq!((script.exits().len(), script.steps_left()), (1, 1));

        let script = Script::new([broken(), status(200)]);
        let stack = EgressLayer::new(&scheduler).layer(script.clone());
        let again = with(Request::post(URI), "a=1", LeaseRequest::per_request().repeatable(true));
        assert_eq!(stack.oneshot(again).await.unwrap().status(), 200);
        assert_eq!(script.sent().iter().map(|sent| &sent.body[..]).collect::<Vec<_>>(), [b"a=1", b"a=1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_of_a_post_come_back_as_they_are() {
    for refusal in [429, 403, 503] {
        let (scheduler, script) = (scheduler(8), Script::new([status(refusal)]));
        let response = EgressLayer::new(&scheduler).layer(script).oneshot(post(URI, "a=1")).await.unwrap();
        assert_eq!(response.status(), refusal);
        assert_eq!(response.extensions().get::<Served>().unwrap().attempts(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn b05_b21_what_no_exit_can_cure_is_sent_once() {
    let cases = [
        (URI, status(407), Outcome::Fatal),
        (URI, status(400), Outcome::Fatal),
        (URI, fail(Phase::Request, Seen::Never), Outcome::Fatal),
    ];
    for (uri, step, expected) in cases {
        let (scheduler, script) = (scheduler(8), Script::new([step]));
        let answer = EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(uri)).await;
        let outcome = match &answer {
            Ok(response) => response.extensions().get::<Served>().unwrap().outcome(),
            Err(error) => error.outcome().unwrap(),
        };
        assert_eq!((outcome, script.sent().len()), (expected, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_another_exit_may_cure_is_sent_once_more_through_it() {
    let plain = "http://shop.example/";
    let refused = |status| {
        let answer = Response::builder().status(status).body(Bytes::new()).unwrap();
        Step::Fail(tower_egress::outcome::Failure::new(Phase::Tunnel, Seen::Never).refused(answer))
    };
    let capacity = Outcome::AuthError { reason: AuthReason::Capacity };
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    let full = Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway };
    let cases = [
        (plain, answer(407, &[("proxy-authenticate", "Basic")]), rejected),
        (plain, status(407), capacity),
        (plain, status(451), Outcome::TargetDenied),
        (URI, refused(407), capacity),
        (URI, refused(503), full),
        (URI, refused(502), Outcome::TargetUnreachable),
        (URI, refused(403), Outcome::TargetDenied),
    ];
    for (uri, step, expected) in cases {
        let (scheduler, script) = (scheduler(8), Script::new([step, status(200)]));
        let response = EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(uri)).await.unwrap();
        let trail = response.extensions().get::<Served>().unwrap().trail();
        assert_eq!((trail[0].outcome, response.status().as_u16(), trail.len()), (expected, 200, 2));
        assert_ne!(trail[0].exit, trail[1].exit);
        assert_eq!(scheduler.snapshot().exits.dead, 0, "no exit is charged");
    }
}

#[tokio::test(start_paused = true)]
async fn a17_b15_c40_the_last_answer_comes_back_with_the_trail() {
    let (scheduler, script) = (scheduler(16), Script::new([429, 429, 403, 429].map(status)));
    let response = EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)).await.unwrap();
    assert_eq!(response.status(), 429);
    let served = response.extensions().get::<Served>().unwrap();
    let names: Vec<_> = served.trail().iter().map(|attempt| attempt.outcome.name()).collect();
    assert_eq!(names, ["rate_limited", "rate_limited", "blocked", "rate_limited"]);
    let mut exits = script.exits();
    exits.sort_unstable();
    exits.dedup();
    assert_eq!(exits.len(), 4, "each attempt avoids those before it");
}

#[tokio::test(start_paused = true)]
async fn a18_b15_c40_the_last_error_comes_back_with_the_trail() {
    let steps = || fail(Phase::Tunnel, Seen::Never);
    let (scheduler, script) = (scheduler(16), Script::new([steps(), steps(), steps(), steps()]));
    let error = EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)).await.unwrap_err();
    let exits = script.exits();
    assert_eq!(error.attempts().iter().map(|attempt| attempt.exit).collect::<Vec<_>>(), exits);
    assert_eq!(error.exit(), exits.last().copied());
    assert!(
        error.to_string().ends_with(
            "(after 4 attempts); not sent again: it was sent as often as RetryRules::max_attempts allows"
        ),
        "{error}"
    );
    assert_eq!(error.next(), Next::At(now().into_std()), "other exits may go now");
    assert!(std::error::Error::source(&error).unwrap().downcast_ref::<ClientError>().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_wait_holds_no_lease_and_no_body() {
    let refused = page(429, [Part::Data("slow"), Part::Stall]);
    let (scheduler, script) = (scheduler(8), Script::new([refused, status(200)]));
    let mut answer = Box::pin(EgressLayer::new(&scheduler).layer(script).oneshot(get(URI)));
    assert!(poll_once(&mut answer).await.is_pending());
    assert_eq!(scheduler.snapshot().in_flight, 1, "the page is read for a moment");
    tokio::time::advance(Duration::from_millis(101)).await;
    assert!(poll_once(&mut answer).await.is_pending());
    assert_eq!(scheduler.snapshot().in_flight, 0, "asleep");
    let response = answer.await.unwrap();
    assert_eq!(response.extensions().get::<Served>().unwrap().trail()[0].bytes, 4);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_on_the_way_does_not_hide_the_real_error() {
    let (scheduler, script) = (scheduler(2), Script::new([fail(Phase::ExitTcp, Seen::Never)]));
    let mut answer = Box::pin(EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)));
    assert!(poll_once(&mut answer).await.is_pending());
    bench_all(&scheduler, 600);
    let error = answer.await.unwrap_err();
    assert_eq!(script.sent().len(), 1);
    assert!(!error.is_refusal(), "{error}");
    assert_eq!(error.outcome(), Some(Outcome::ProxyError { phase: Phase::ExitTcp }));
    assert_eq!(error.why(), Some(Why::NoUsableExit));
    let Next::At(at) = error.next() else { panic!("{error}") };
    assert!(at - now().into_std() > Duration::from_secs(590), "when the first exit comes back");
    assert_eq!(error.attempts().len(), 1);
    assert_eq!(scheduler.snapshot().refusals.no_usable_exit, 2, "one is the test's own");
}

#[tokio::test(start_paused = true)]
async fn who_learns_on_the_way_that_every_login_is_stopped_waits_until_somebody_resumes() {
    let (scheduler, script) = (scheduler(2), Script::new([fail(Phase::ExitTcp, Seen::Never)]));
    let mut answer = Box::pin(EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)));
    assert!(poll_once(&mut answer).await.is_pending());
    let ask = LeaseRequest::per_request().origin("shop.example");
    for _ in 0..4 {
        tokio::time::advance(Duration::from_millis(1)).await;
        scheduler.lease(&ask).unwrap().report(Outcome::AuthError { reason: AuthReason::Rejected });
    }
    let error = answer.await.unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::ProxyError { phase: Phase::ExitTcp }));
    assert_eq!((error.why(), error.next()), (Some(Why::FleetStopped), Next::WhenResumed), "{error}");
    assert_eq!(script.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_learns_on_the_way_that_the_fleet_is_drained_is_told_to_stop() {
    let (scheduler, script) = (scheduler(2), Script::new([fail(Phase::ExitTcp, Seen::Never)]));
    let mut answer = Box::pin(EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)));
    assert!(poll_once(&mut answer).await.is_pending());
    drop(scheduler.operator().drain());
    let error = answer.await.unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::ProxyError { phase: Phase::ExitTcp }));
    assert_eq!((error.why(), error.next()), (Some(Why::Drained), Next::Never), "{error}");
    assert_eq!((error.retry_after(), script.sent().len()), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_an_answer_says_what_the_answer_was() {
    let (scheduler, script) = (scheduler(2), Script::new([answer(429, &[("retry-after", "600")])]));
    let mut answer = Box::pin(EgressLayer::new(&scheduler).layer(script).oneshot(get(URI)));
    assert!(poll_once(&mut answer).await.is_pending());
    bench_all(&scheduler, 600);
    let error = answer.await.unwrap_err();
    assert!(error.is_refusal());
    assert!(matches!(error.next(), Next::At(_)));
    assert!(matches!(error.outcome(), Some(Outcome::RateLimited { .. })), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_for_an_exit_to_come_back() {
    let first = [|| fail(Phase::ExitTcp, Seen::Never), || answer(429, &[("retry-after", "40")])];
    for step in first {
        let (scheduler, script) = (scheduler(2), Script::new([step(), status(200)]));
        let start = now();
        let mut answer = Box::pin(EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)));
        assert!(poll_once(&mut answer).await.is_pending());
        // Longer than the retry's own delay, which knew of no rest.
        bench_all(&scheduler, 40);
        tokio::time::advance(Duration::from_secs(20)).await;
        let response = answer.await.unwrap();
        let served = response.extensions().get::<Served>().unwrap();
        assert_eq!((response.status().as_u16(), served.attempts(), script.sent().len()), (200, 2, 2));
        let took = now() - start;
        assert!(took >= Duration::from_secs(40) && took < Duration::from_secs(60), "{took:?}");
        assert!(served.waited() > Duration::from_secs(20), "{:?}", served.waited());
        assert_eq!(served.trail()[1].waited, served.waited());
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_does_not_wait_longer_than_its_patience_or_its_deadline() {
    let ask = LeaseRequest::per_request;
    let hurried = [
        ask().patience(Duration::from_secs(5)),
        ask().patience(Duration::MAX).deadline(Duration::from_secs(15)),
        ask().patience(Duration::ZERO),
    ];
    for ask in hurried {
        let (scheduler, script) = (scheduler(2), Script::new([fail(Phase::ExitTcp, Seen::Never)]));
        let request = with(Request::get(URI), "", ask);
        let mut answer = Box::pin(EgressLayer::new(&scheduler).layer(script).oneshot(request));
        assert!(poll_once(&mut answer).await.is_pending());
        bench_all(&scheduler, 20);
        let start = now();
        let error = answer.await.unwrap_err();
        assert!(now() - start < Duration::from_secs(2), "it knows at once that it would be too late");
        assert_eq!((error.why(), error.is_refusal()), (Some(Why::NoUsableExit), false), "{error}");
        assert!(matches!(error.next(), Next::At(at) if at > now().into_std()));
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_no_patience_is_refused_at_once() {
    let (scheduler, start) = (scheduler(2), now());
    bench_all(&scheduler, 2);
    let hurried = LeaseRequest::per_request().patience(Duration::ZERO);
    let stack = EgressLayer::new(&scheduler).layer(Script::default());
    let error = stack.oneshot(with(Request::get(URI), "", hurried)).await.unwrap_err();
    assert!(error.is_refusal() && error.attempts().is_empty(), "{error}");
    assert_eq!((now(), scheduler.snapshot().waiting), (start, 0));
}

/// Every exit is told to stay away from the shop.
fn bench_all(scheduler: &tower_egress::Scheduler, seconds: u64) {
    let hint = tower_egress::outcome::RetryAfter::new(Duration::from_secs(seconds));
    let ask = LeaseRequest::per_request().origin("shop.example");
    while let Ok(lease) = scheduler.lease(&ask) {
        lease.report(Outcome::RateLimited { retry_after: Some(hint) });
    }
}

#[tokio::test(start_paused = true)]
async fn c16_c38_the_deadline_runs_over_everything() {
    let hang = || Step::After(Duration::from_secs(4), Box::new(fail(Phase::Head, Seen::Unknown)));
    let (scheduler, script) = (scheduler(8), Script::new([hang(), Step::Hang]));
    let ask = LeaseRequest::per_request().deadline(Duration::from_secs(10));
    let start = now();
    let stack = EgressLayer::new(&scheduler).layer(script.clone());
    let error = stack.oneshot(with(Request::get(URI), "", ask)).await.unwrap_err();
    let took = now() - start;
    assert!(took >= Duration::from_secs(10) && took <= Duration::from_millis(10_001), "{took:?}");
    assert_eq!(error.attempts().len(), 2);
    assert!(error.to_string().contains("deadline"), "{error}");
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.outcomes.interrupted), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_goes_on_through_another_exit() {
    let (scheduler, script) = (scheduler(8), Script::new([Step::Hang, status(200)]));
    let stack = EgressLayer::new(&scheduler).attempt_timeout(Duration::from_secs(2)).layer(script.clone());
    let start = now();
    let response = stack.oneshot(get(URI)).await.unwrap();
    let waited = response.extensions().get::<Served>().unwrap().waited();
    assert_eq!(now() - start, Duration::from_secs(2) + round(waited));
    let exits = script.exits();
    assert_ne!(exits[0], exits[1]);
    assert_eq!(scheduler.snapshot().outcomes.interrupted, 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_between_retry_and_lease_is_an_attempt_too() {
    let (scheduler, script) = (scheduler(8), Script::new([Step::Hang, status(200)]));
    let stack = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .timeout(Duration::from_secs(1))
        .layer(tower_egress::LeaseLayer::new(&scheduler))
        .layer(tower_egress::ClassifyLayer::new())
        .service(script.clone());
    let response = stack.oneshot(get(URI)).await.unwrap();
    let trail = response.extensions().get::<Served>().unwrap().trail();
    assert_eq!(trail.len(), 2);
    assert_eq!(trail[0].outcome, Outcome::Interrupted { phase: Phase::Head });
    assert_ne!(trail[0].exit, trail[1].exit);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_between_lease_and_classify_is_an_attempt_too() {
    let (scheduler, script) = (scheduler(8), Script::new([Step::Hang, status(200)]));
    let stack = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .layer(tower_egress::LeaseLayer::new(&scheduler))
        .timeout(Duration::from_secs(1))
        .layer(tower_egress::ClassifyLayer::new())
        .service(script.clone());
    let response = stack.oneshot(get(URI)).await.unwrap();
    let trail = response.extensions().get::<Served>().unwrap().trail();
    assert_eq!(trail.len(), 2);
    assert_eq!(trail[0].outcome, Outcome::Interrupted { phase: Phase::Head });
    assert_ne!(trail[0].exit, trail[1].exit);
}

#[tokio::test(start_paused = true)]
async fn what_fails_before_it_is_begun_is_no_attempt() {
    let scheduler = scheduler(8);
    let queue = tower::service_fn(|_: Request<_>| std::future::pending::<Result<Response<Page>, BoxError>>());
    let stack = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler))
        .timeout(Duration::from_secs(1))
        .layer(tower_egress::LeaseLayer::new(&scheduler))
        .service(queue);
    let error = stack.oneshot(get(URI)).await.err().expect("it never gets out of the queue");
    assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
    let snapshot = scheduler.snapshot();
    assert_eq!((snapshot.leases, snapshot.in_flight, snapshot.outcomes), (1, 0, Default::default()));
}

#[tokio::test(start_paused = true)]
async fn a_streaming_body_is_sent_once_but_an_untouched_one_goes_again() {
    let stream = || Page::of([Part::Data("a"), Part::Data("b")]);
    let scheduler = scheduler(8);
    let ask = || LeaseRequest::per_request().repeatable(true);
    let request = || Request::put(URI).extension(ask()).body(stream()).unwrap();

    let script = Script::new([fail(Phase::Head, Seen::Unknown)]);
    // Kept as a whole it could go again, so the cap is put below it.
    let layer = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler).replay_cap(1))
        .layer(tower_egress::LeaseLayer::new(&scheduler))
        .layer(tower_egress::ClassifyLayer::new());
    let error = layer.service(script.clone()).oneshot(request()).await.unwrap_err();
    assert_eq!((error.attempts().len(), script.sent()[0].body.clone()), (1, Bytes::from_static(b"ab")));

    let script = Script::new([fail(Phase::ExitTcp, Seen::Never), status(200)]);
    let response = EgressLayer::new(&scheduler).layer(script.clone()).oneshot(request()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(script.sent()[1].body, "ab");
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_the_last_attempt_is_whole() {
    let refused = page(403, [Part::Data("no "), Part::Yield, Part::Data("entry")]);
    let (scheduler, script) = (scheduler(1), Script::new([refused]));
    let request = with(Request::get(URI), "", LeaseRequest::per_request().deadline(Duration::from_secs(1)));
    let response = EgressLayer::new(&scheduler).layer(script).oneshot(request).await.unwrap();
    assert_eq!(response.status(), 403, "no other exit in time: it stops");
    let body = response.into_body();
    assert_eq!(http_body::Body::size_hint(&body).exact(), Some(8));
    assert_eq!(body.collect().await.unwrap().to_bytes(), "no entry");
}

#[tokio::test(start_paused = true)]
async fn in_a_pool_of_one_a_request_that_is_always_refused_is_sent_four_times_each_after_its_rest() {
    let (scheduler, start) = (scheduler(1), now());
    let script = Script::new((0..5).map(|_| status(403)));
    let response = EgressLayer::new(&scheduler).layer(script.clone()).oneshot(get(URI)).await.unwrap();
    assert_eq!((response.status().as_u16(), script.sent().len()), (403, 4), "it ends with the last answer");
    let took = (now() - start).as_secs_f64();
    assert!((8.75..11.0).contains(&took), "1.25, 2.5 and 5 s, and up to a quarter more: {took}");
}

#[tokio::test(start_paused = true)]
async fn the_trail_remembers_the_last_sixteen_attempts_and_counts_all() {
    let refused = (0..20).map(|_| fail(Phase::ExitTcp, Seen::Never));
    let (scheduler, script) = (scheduler(64), Script::new(refused.chain([status(200)])));
    let ask = LeaseRequest::per_request().attempts(std::num::NonZeroU32::new(21).unwrap());
    let stack = EgressLayer::new(&scheduler).layer(script.clone());
    let response = stack.oneshot(with(Request::get(URI), "", ask.deadline(Duration::from_secs(3_600)))).await;
    let response = response.unwrap();
    let served = response.extensions().get::<Served>().unwrap();
    assert_eq!((served.attempts(), served.trail().len()), (21, 16));
    let exits = script.exits();
    assert_eq!(served.trail()[15].exit, exits[20]);
    assert_eq!(served.trail()[0].exit, exits[5], "the first five are forgotten");
}

#[test]
fn the_stack_is_send_and_sync() {
    fn send_sync<T: Send + Sync>() {}
    fn send_sync_of<T: Send + Sync>(_: &T) {}
    fn send<T: Send>(_: T) {}
    send_sync::<tower_egress::Scheduler>();
    send_sync::<tower_egress::Lease>();
    send_sync::<tower_egress::LeaseHandle>();
    send_sync::<Served>();
    send_sync::<tower_egress::Error>();
    send_sync::<tower_egress::retry::ReplayBody<Full<Bytes>>>();
    send_sync::<tower_egress::EgressBody<Full<Bytes>>>();
    let answer = |_: Request<tower_egress::retry::ReplayBody<Full<Bytes>>>| async {
        Ok::<_, std::io::Error>(Response::new(Full::<Bytes>::default()))
    };
    let stack = EgressLayer::new(&scheduler(1)).layer(tower::service_fn(answer));
    send_sync_of(&stack);
    send(stack.oneshot(get(URI)));
}

#[tokio::test(start_paused = true)]
async fn what_a_request_carries_beside_its_lease_request_goes_with_each_attempt() {
    #[derive(Clone, Debug, PartialEq)]
    struct Beside(&'static str);

    for (ask, beside) in [(true, true), (true, false), (false, true), (false, false)] {
        let scheduler = scheduler(8);
        let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let carried = std::rc::Rc::clone(&seen);
        let client = tower::service_fn(move |request: Request<_>| {
            let extensions = request.extensions();
            let ask = extensions.get::<LeaseRequest>().is_some();
            let mut seen = carried.borrow_mut();
            seen.push((ask, extensions.get::<Beside>().cloned()));
            let answer = Response::builder().status(if seen.len() < 3 { 403 } else { 200 });
            let _: tower_egress::retry::ReplayBody<Full<Bytes>> = request.into_body();
            let answer = answer.body(Full::<Bytes>::default()).unwrap();
            async { Ok::<_, std::io::Error>(answer) }
        });
        let stack = EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request()).layer(client);
        let mut request = Request::get(URI).body(Full::<Bytes>::default()).unwrap();
        if ask {
            request.extensions_mut().insert(LeaseRequest::new("sku-42"));
        }
        if beside {
            request.extensions_mut().insert(Beside("span 7"));
        }
        assert_eq!(stack.oneshot(request).await.unwrap().status(), 200);
        assert_eq!(*seen.borrow(), vec![(ask, beside.then_some(Beside("span 7"))); 3]);
    }
}
