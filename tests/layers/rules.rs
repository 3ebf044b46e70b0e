//! Rules of the user: asked before the table, in order, and harmless when they panic.

use crate::support::*;
use http::{HeaderName, HeaderValue};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tower::Layer;
use tower_egress::classify::Answer;
use tower_egress::outcome::{AuthReason, BlockedBy};
use tower_egress::{EgressLayer, Outcome, Scheduler, Served};

const URI: &str = "https://shop.example/p/42";
const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };

/// What the trail says of each attempt.
async fn trail(stack: EgressLayer, steps: impl IntoIterator<Item = Step>, uri: &str) -> Vec<Outcome> {
    let response = stack.layer(Script::new(steps)).oneshot(get(uri)).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap();
    served.trail().iter().map(|attempt| attempt.outcome).collect()
}

fn marked(answer: &Answer<'_>) -> Option<Outcome> {
    answer.headers().contains_key("x-robot").then_some(BLOCKED)
}

#[tokio::test(start_paused = true)]
async fn a_block_that_comes_with_a_200_is_retried_through_another_exit() {
    let scheduler = scheduler(8);
    let script = Script::new([answer(200, &[("x-robot", "1")]), status(200)]);
    let stack = EgressLayer::new(&scheduler).rule(marked).layer(script.clone());
    let response = stack.oneshot(get(URI)).await.unwrap();
    let exits = script.exits();
    assert_eq!((response.headers().contains_key("x-robot"), exits.len()), (false, 2));
    assert_ne!(exits[0], exits[1]);
    let site = &scheduler.snapshot().origins[0];
    assert_eq!((site.outcomes.blocked, site.outcomes.ok), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_first_opinion_counts_and_without_one_the_table() {
    let scheduler = scheduler(8);
    let partner = |answer: &Answer<'_>| {
        assert_eq!(answer.origin().as_str(), "shop.example");
        (answer.status() == 403).then_some(Outcome::Ok)
    };
    let never = |answer: &Answer<'_>| (answer.status() == 403).then_some(BLOCKED);
    let stack = EgressLayer::new(&scheduler).rule(marked).rule(partner).rule(never);
    assert_eq!(trail(stack.clone(), [status(403)], URI).await, [Outcome::Ok]);
    let both = [answer(403, &[("x-robot", "1")]), status(200)];
    assert_eq!(trail(stack.clone(), both, URI).await, [BLOCKED, Outcome::Ok]);
    let gone = Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY };
    assert_eq!(trail(stack, [status(502), status(404)], URI).await, [gone, Outcome::Ok]);
}

#[tokio::test(start_paused = true)]
async fn a_rule_sees_what_the_table_says_and_keeps_the_answers_wait() {
    let scheduler = scheduler(1);
    let slow_down = |answer: &Answer<'_>| match answer.table() {
        Outcome::OriginError { status } if status == 502 => Some(Outcome::RateLimited { retry_after: None }),
        _ => None,
    };
    let stack = EgressLayer::new(&scheduler).rule(slow_down);
    let start = now();
    let seen = trail(stack, [answer(502, &[("retry-after", "7")]), status(200)], URI).await;
    assert_eq!(seen, [Outcome::RateLimited { retry_after: None }, Outcome::Ok]);
    let took = now() - start;
    assert!((Duration::from_secs(7)..Duration::from_secs(10)).contains(&took), "the hint holds: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_login_that_the_proxy_refuses_is_no_sites_word() {
    let scheduler = scheduler(1);
    let all_is_well = |_: &Answer<'_>| Some(Outcome::Ok);
    let refusals = (0..4).map(|_| answer(407, &[("proxy-authenticate", "Basic")]));
    let stack = EgressLayer::new(&scheduler).rule(all_is_well).layer(Script::new(refusals));
    let response = stack.oneshot(get("http://shop.example/")).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap();
    assert_eq!(served.outcome(), Outcome::AuthError { reason: AuthReason::Rejected });
}

#[tokio::test(start_paused = true)]
async fn what_is_beside_an_answer_is_there_for_rules() {
    #[derive(Clone)]
    struct Fingerprint(&'static str);

    let scheduler = scheduler(8);
    let client = tower::service_fn(|_: http::Request<_>| async {
        let mut response = http::Response::new(http_body_util::Full::<bytes::Bytes>::default());
        response.extensions_mut().insert(Fingerprint("block page 7"));
        Ok::<_, std::io::Error>(response)
    });
    let known = |answer: &Answer<'_>| {
        let Fingerprint(name) = answer.extensions().get()?;
        name.starts_with("block").then_some(BLOCKED)
    };
    let stack = EgressLayer::new(&scheduler).rule(known).layer(client);
    let request = http::Request::post(URI).extension(tower_egress::LeaseRequest::per_request());
    let request = request.body(http_body_util::Full::<bytes::Bytes>::default()).unwrap();
    let response = stack.oneshot(request).await.unwrap();
    assert_eq!(response.extensions().get::<Served>().unwrap().outcome(), BLOCKED);
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_panics_leaks_nothing_and_blames_nobody() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let scheduler: Scheduler = scheduler(1);
    let fragile = |_: &Answer<'_>| {
        assert!(ASKED.fetch_add(1, Ordering::SeqCst) > 0, "the first answer is not for me");
        None
    };
    let script = Script::new([status(200), status(200)]);
    let stack = EgressLayer::new(&scheduler).rule(fragile).layer(script);
    let first = stack.clone();
    let local = tokio::task::LocalSet::new();
    let broken = local.run_until(async { tokio::task::spawn_local(first.oneshot(get(URI))).await }).await;
    assert!(broken.err().is_some_and(|end| end.is_panic()));
    let now = scheduler.snapshot();
    assert_eq!((now.in_flight, now.exits.dead, now.outcomes.total()), (0, 0, 0));
    assert_eq!(stack.oneshot(get(URI)).await.unwrap().status(), 200, "and the fleet goes on");
}

#[test]
fn a_rule_may_be_a_value_and_prints_no_secret() {
    struct Cookie(HeaderName, HeaderValue);
    impl tower_egress::classify::Rule for Cookie {
        fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
            (answer.headers().get(&self.0) == Some(&self.1)).then_some(Outcome::Fatal)
        }
    }
    let scheduler = scheduler(1);
    let layer = EgressLayer::new(&scheduler)
        .rule(Cookie(http::header::SET_COOKIE, HeaderValue::from_static("hunter2")));
    let debug = format!("{layer:?}");
    assert!(debug.contains("1 rules") && !debug.contains("hunter2"), "{debug}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_refuses_a_login_only_where_the_proxy_may_have_answered() {
    let login = |answer: &Answer<'_>| {
        let refused = [401, 403].contains(&answer.status().as_u16());
        refused.then_some(Outcome::AuthError { reason: AuthReason::Rejected })
    };
    // Over http a proxy that answers so is known by its user alone; in a tunnel it is the site that wants another login.
    for (uri, stops) in [("http://shop.example/", true), (URI, false)] {
        let scheduler = scheduler(1);
        let script = Script::new((0..8).map(|_| status(401)));
        let stack = EgressLayer::new(&scheduler).rule(login).layer(script);
        for _ in 0..2 {
            drop(stack.clone().oneshot(get(uri)).await);
        }
        let lease = scheduler.lease(&tower_egress::LeaseRequest::per_request().origin("other.example"));
        // What the site may have forged stops it for a moment.
        let stopped = matches!(&lease, Err(tower_egress::LeaseError::NoUsableExit { counts, .. }) if counts.stopped == 1);
        assert_eq!(stopped, stops, "{uri}: {lease:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_odd_outcome_wedges_the_fleet() {
    use tower_egress::outcome::{GatewayScope, Phase, RetryAfter};
    let hint = Some(RetryAfter::new(Duration::MAX));
    let odd = [
        Outcome::Ok,
        Outcome::Fatal,
        Outcome::TargetDenied,
        Outcome::TargetUnreachable,
        Outcome::RateLimited { retry_after: hint },
        Outcome::RateLimited { retry_after: Some(RetryAfter::new(Duration::ZERO)) },
        Outcome::GatewayOverloaded { retry_after: hint, scope: GatewayScope::Gateway },
        Outcome::ProxyError { phase: Phase::ExitTcp },
        Outcome::ProxyError { phase: Phase::Body },
        Outcome::Interrupted { phase: Phase::Request },
        Outcome::AuthError { reason: AuthReason::Capacity },
        Outcome::AuthError { reason: AuthReason::Quota },
    ];
    for outcome in odd {
        for code in [200, 502] {
            let scheduler = scheduler(1);
            let stack = EgressLayer::new(&scheduler).rule(move |_: &Answer<'_>| Some(outcome));
            let stack = stack.layer(Script::new((0..40).map(|_| status(code))));
            for _ in 0..8 {
                drop(stack.clone().oneshot(get("http://shop.example/")).await);
            }
            tokio::time::advance(Duration::from_secs(2 * 3_600)).await;
            let snapshot = scheduler.snapshot();
            assert_eq!((snapshot.in_flight, snapshot.waiting), (0, 0), "{outcome}");
            let origin = &snapshot.origins[0];
            assert!((0.0..=1.0).contains(&origin.heat), "{outcome}: {}", origin.heat);
            let ask = tower_egress::LeaseRequest::per_request().origin("shop.example");
            let lease = scheduler.acquire(&ask).await;
            assert!(lease.is_ok(), "{outcome} for a {code}: {lease:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_rule_calls_the_sites_word_has_come_through_the_exit() {
    for outcome in [Outcome::Ok, BLOCKED] {
        let scheduler = scheduler(2);
        let asked = |site: &'static str| tower_egress::LeaseRequest::per_request().origin(site);
        while scheduler.snapshot().exits.dead < 2 {
            let refused = Outcome::ProxyError { phase: tower_egress::outcome::Phase::Tunnel };
            scheduler.lease(&asked("other.example")).unwrap().report(refused);
        }
        tokio::time::advance(Duration::from_secs(6)).await;
        // In the absolute form a 502 may be the proxy's own, unless somebody knows better.
        let stack = EgressLayer::new(&scheduler).rule(move |_: &Answer<'_>| Some(outcome));
        let mut request = get("http://shop.example/");
        let once = tower_egress::LeaseRequest::per_request().attempts(std::num::NonZeroU32::MIN);
        request.extensions_mut().insert(once);
        let response = stack.layer(Script::new([status(502)])).oneshot(request).await.unwrap();
        let exit = response.extensions().get::<Served>().unwrap().exit();
        drop(response);
        let lease = |_| scheduler.lease(&asked("third.example")).unwrap();
        let works = [0, 1].map(lease).iter().any(|lease| lease.exit() == exit && !lease.is_trial());
        assert!(works, "{outcome}");
    }
}
