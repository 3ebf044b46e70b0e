//! The table, row by row.

use super::{ClassifyLayer, failure, status};
use crate::exit::ExitList;
use crate::lease::LeaseLayer;
use crate::outcome::{
    AuthReason, BlockedBy, Connection, Evidence, Failure, GatewayScope, Outcome, Phase, RetryAfter, Seen,
    SocksRefusal,
};
use crate::request::LeaseRequest;
use crate::scheduler::{LeaseHandle, Scheduler};
use crate::site::Site;
use bytes::Bytes;
use http::header::{HeaderName, PROXY_AUTHENTICATE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use std::time::{Duration, SystemTime};
use tower::Layer as _;

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap()
}

fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
}

fn head(status: u16, headers: &HeaderMap, tunnelled: bool) -> Evidence {
    over(true, status, headers, tunnelled)
}

fn over(kept: bool, status: u16, headers: &HeaderMap, tunnelled: bool) -> Evidence {
    at(None, status, headers, status::Carried { tunnelled, kept, vendor: None, phrase: None })
}

/// At a site.
fn at(site: Option<&Site>, status: u16, headers: &HeaderMap, carried: status::Carried<'_>) -> Evidence {
    let here = status::Here { site, pages: true };
    status::head(code(status), headers, carried, here, SystemTime::UNIX_EPOCH).evidence
}

const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };
const LIMITED: Outcome = Outcome::RateLimited { retry_after: None };

#[test]
fn b07_b17_c09_c31_an_answers_status_names_its_outcome() {
    let none = HeaderMap::new();
    for tunnelled in [true, false] {
        let check = |status: u16, outcome: Outcome| {
            let evidence = head(status, &none, tunnelled);
            assert_eq!((status, evidence.outcome), (status, outcome));
            assert_eq!(evidence.login_accepted, !tunnelled, "{status}");
        };
        for status in [200, 204, 206, 301, 304, 399, 404, 410] {
            check(status, Outcome::Ok);
        }
        for status in [500, 501, 502, 503, 504, 520, 522, 530, 599, 998, 408] {
            check(status, Outcome::OriginError { status: code(status) });
        }
        for status in
            [400, 401, 402, 405, 406, 409, 411, 412, 413, 414, 415, 417, 418, 421, 422, 426, 428, 431, 499]
        {
            check(status, Outcome::Fatal);
        }
        check(403, BLOCKED);
        check(429, LIMITED);
        check(999, BLOCKED);
        let by_country = Outcome::Blocked { by: BlockedBy::Country };
        check(451, if tunnelled { by_country } else { Outcome::TargetDenied });
    }
}

#[test]
fn a_login_is_proven_by_what_the_proxy_has_just_let_in() {
    let none = HeaderMap::new();
    for status in [200, 403, 407, 503] {
        assert!(over(false, status, &none, true).login_accepted, "a new tunnel: {status}");
        let kept = over(true, status, &none, true);
        assert!(!kept.login_accepted, "a tunnel outlives its password: {status}");
        for carried in [false, true] {
            assert_eq!(over(carried, status, &none, false).login_accepted, status != 407, "{status}");
        }
    }
}

#[test]
fn c10_a_407_is_the_proxys_own_only_outside_a_tunnel() {
    let none = HeaderMap::new();
    let asked = headers(PROXY_AUTHENTICATE, "Basic realm=\"x\"");
    let reason = |headers| {
        let evidence = head(407, headers, false);
        assert_eq!((evidence.seen, evidence.login_accepted), (Seen::Never, false));
        evidence.outcome
    };
    assert_eq!(reason(&asked), Outcome::AuthError { reason: AuthReason::Rejected });
    assert_eq!(reason(&none), Outcome::AuthError { reason: AuthReason::Capacity });
    let inside = head(407, &asked, true);
    assert_eq!((inside.outcome, inside.seen), (Outcome::Fatal, Seen::Seen));
}

#[test]
fn a_challenge_is_a_block_whatever_its_status() {
    let challenge = headers(HeaderName::from_static("cf-mitigated"), "Challenge");
    for status in [403, 429, 503] {
        assert_eq!(head(status, &challenge, true).outcome, BLOCKED);
    }
    assert_eq!(head(200, &challenge, true).outcome, Outcome::Ok);
    let other = headers(HeaderName::from_static("cf-mitigated"), "block");
    assert_eq!(head(429, &other, true).outcome, LIMITED);
}

#[test]
fn a_hint_is_kept_with_any_refusal() {
    let hint = headers(RETRY_AFTER, "30");
    let wait = Some(RetryAfter::new(Duration::from_secs(30)));
    assert_eq!(head(429, &hint, true).outcome, Outcome::RateLimited { retry_after: wait });
    for status in [429, 403, 503, 408] {
        assert_eq!(head(status, &hint, true).retry_after, wait);
    }
    assert_eq!(head(503, &hint, true).outcome, Outcome::RateLimited { retry_after: wait }, "it says when");
    assert_eq!(head(500, &hint, true).outcome, Outcome::OriginError { status: code(500) });
}

#[test]
fn what_is_left_of_a_limit_is_a_hint_with_a_refusal_alone() {
    let spent = headers(HeaderName::from_static("ratelimit"), "limit=9, remaining=0, reset=30");
    let wait = Some(RetryAfter::new(Duration::from_secs(30)));
    for status in [429, 503] {
        let evidence = head(status, &spent, true);
        assert_eq!(
            (evidence.outcome, evidence.retry_after),
            (Outcome::RateLimited { retry_after: wait }, wait)
        );
    }
    for status in [200, 304, 404] {
        let evidence = head(status, &spent, true);
        assert_eq!((evidence.outcome, evidence.retry_after), (Outcome::Ok, None), "{status}");
    }
    let mut both = spent;
    both.insert(RETRY_AFTER, HeaderValue::from_static("2"));
    let own = Some(RetryAfter::new(Duration::from_secs(2)));
    assert_eq!(head(429, &both, true).retry_after, own, "Retry-After says it itself");
}

#[test]
fn a_sites_own_word_goes_before_the_table_and_behind_the_walls() {
    let none = HeaderMap::new();
    let challenge = headers(HeaderName::from_static("cf-mitigated"), "challenge");
    let hint = headers(RETRY_AFTER, "30");
    let wait = Some(RetryAfter::new(Duration::from_secs(30)));
    let odd = Site::new().status(420, LIMITED).status(403, Outcome::Ok).status(200, BLOCKED);
    for (tunnelled, kept) in [(true, true), (true, false), (false, true)] {
        let at = |status, headers| {
            at(Some(&odd), status, headers, status::Carried { tunnelled, kept, vendor: None, phrase: None })
        };
        assert_eq!(at(420, &none).outcome, LIMITED);
        assert_eq!(at(420, &hint).outcome, Outcome::RateLimited { retry_after: wait });
        assert_eq!((at(403, &none).outcome, at(403, &challenge).outcome), (Outcome::Ok, BLOCKED));
        assert_eq!((at(200, &none).outcome, at(404, &none).outcome), (BLOCKED, Outcome::Ok));
        assert_eq!(at(403, &none).login_accepted, !tunnelled || !kept, "proofs are as ever");
    }
}

#[test]
fn an_apis_4xx_are_answers_unless_it_asks_for_time() {
    let (none, hint) = (HeaderMap::new(), headers(RETRY_AFTER, "30"));
    let limited = Outcome::RateLimited { retry_after: Some(RetryAfter::new(Duration::from_secs(30))) };
    let api = Site::api().status(401, Outcome::Fatal);
    let over = |tunnelled, status, headers: &HeaderMap| {
        at(Some(&api), status, headers, status::Carried { tunnelled, kept: true, vendor: None, phrase: None })
    };
    for status in [400, 403, 404, 405, 408, 409, 410, 418, 422, 429, 451, 499] {
        assert_eq!(over(true, status, &none).outcome, Outcome::Ok, "{status}");
        assert_eq!(over(true, status, &hint).outcome, limited, "{status}");
    }
    assert_eq!(over(true, 401, &none).outcome, Outcome::Fatal, "but for what was said of it");
    assert_eq!(over(true, 503, &hint).outcome, limited);
    assert_eq!(over(true, 500, &none).outcome, Outcome::OriginError { status: code(500) });
    assert_eq!(over(true, 407, &none).outcome, Outcome::Ok, "the API's own");
    let refused = Outcome::AuthError { reason: AuthReason::Capacity };
    assert_eq!(over(false, 407, &none).outcome, refused, "the proxy's");
    // A wall in front of it is one all the same.
    let challenge = headers(HeaderName::from_static("cf-mitigated"), "challenge");
    assert_eq!(over(true, 403, &challenge).outcome, BLOCKED);
}

#[test]
fn without_signals_the_status_alone_counts() {
    let challenge = headers(HeaderName::from_static("cf-mitigated"), "challenge");
    let here = status::Here { site: None, pages: false };
    let carried = status::Carried { tunnelled: true, kept: true, vendor: None, phrase: None };
    let told = status::head(code(429), &challenge, carried, here, SystemTime::UNIX_EPOCH);
    assert_eq!((told.evidence.outcome, told.reach), (LIMITED, super::pages::Reach::No));
}

#[test]
fn a_gateways_status_outside_a_tunnel_proves_nothing() {
    let none = HeaderMap::new();
    for status in [502, 503, 504] {
        assert_eq!(head(status, &none, false).seen, Seen::Unknown);
        assert_eq!(head(status, &none, true).seen, Seen::Seen);
    }
    assert_eq!(head(500, &none, false).seen, Seen::Seen);
}

#[allow(clippy::needless_pass_by_value, reason = "made to be judged")]
fn of(failed: Failure) -> Evidence {
    failure::error(&failed, None, SystemTime::UNIX_EPOCH).0
}

#[test]
fn c10_c32_a_refused_tunnel_is_read_as_an_answer_of_the_proxy() {
    let refused = |status: u16, headers: HeaderMap| {
        let mut answer = Response::new(Bytes::new());
        (*answer.status_mut(), *answer.headers_mut()) = (code(status), headers);
        of(Failure::new(Phase::Tunnel, Seen::Never).refused(answer))
    };
    let full = Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway };
    let rows = [
        (407, Outcome::AuthError { reason: AuthReason::Capacity }),
        (402, Outcome::AuthError { reason: AuthReason::Quota }),
        (429, Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Credential }),
        (500, full),
        (503, full),
        (509, full),
        (502, Outcome::TargetUnreachable),
        (504, Outcome::TargetUnreachable),
        (403, Outcome::TargetDenied),
        (451, Outcome::TargetDenied),
        (400, Outcome::ProxyError { phase: Phase::Tunnel }),
        (404, Outcome::ProxyError { phase: Phase::Tunnel }),
        (501, Outcome::ProxyError { phase: Phase::Tunnel }),
    ];
    for (status, outcome) in rows {
        let evidence = refused(status, HeaderMap::new());
        assert_eq!((status, evidence.outcome, evidence.seen), (status, outcome, Seen::Never));
        assert!(!evidence.login_accepted);
    }
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    assert_eq!(refused(401, HeaderMap::new()).outcome, rejected, "tinyproxy");
    let asked = refused(407, headers(PROXY_AUTHENTICATE, "Basic"));
    assert_eq!(asked.outcome, Outcome::AuthError { reason: AuthReason::Rejected });
    let wait = Some(RetryAfter::new(Duration::from_secs(7)));
    let hinted = refused(503, headers(RETRY_AFTER, "7"));
    assert_eq!(hinted.retry_after, wait);
    assert!(matches!(hinted.outcome, Outcome::GatewayOverloaded { retry_after, .. } if retry_after == wait));
}

#[test]
fn a_socks_refusal_is_the_targets_the_logins_or_the_exits() {
    let refused = |refusal| of(Failure::new(Phase::Tunnel, Seen::Never).refused_by_socks(refusal));
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    for code in 0..=u8::MAX {
        let outcome = match code {
            2 => Outcome::TargetDenied,
            3..=5 | 8 => Outcome::TargetUnreachable,
            // Tor's codes for an onion service that cannot be had just now, or at all (proposal 304).
            0xf0 | 0xf2 | 0xf3 | 0xf7 => Outcome::TargetUnreachable,
            0xf1 | 0xf4..=0xf6 => Outcome::TargetFailed,
            _ => Outcome::ProxyError { phase: Phase::Tunnel },
        };
        let evidence = refused(SocksRefusal::Reply(code));
        assert_eq!((code, evidence.outcome, evidence.seen), (code, outcome, Seen::Never));
        for refusal in [SocksRefusal::Method(code), SocksRefusal::Login(code)] {
            let evidence = refused(refusal);
            assert_eq!((evidence.outcome, evidence.seen), (rejected, Seen::Never), "{refusal}");
            assert!(!evidence.login_accepted);
        }
    }
    let reply = Failure::new(Phase::Tunnel, Seen::Never).refused_by_socks(SocksRefusal::Reply(1));
    assert!(of(reply.login_accepted(true)).login_accepted, "who is refused a tunnel was let in");
}

#[test]
fn a_target_that_was_not_reached_from_here_is_no_exits_fault() {
    for phase in [Phase::OriginDns, Phase::OriginTcp] {
        for failed in [Failure::new(phase, Seen::Never), Failure::new(phase, Seen::Never).timed_out()] {
            assert_eq!(of(failed).outcome, Outcome::TargetUnreachable, "{phase}");
        }
    }
    for phase in [Phase::ExitTcp, Phase::ExitTls] {
        assert_eq!(of(Failure::new(phase, Seen::Never)).outcome, Outcome::ProxyError { phase });
    }
}

#[test]
fn c33_c34_a_broken_attempt_is_the_exits_only_with_proof() {
    for phase in [Phase::ExitDns, Phase::ExitTcp, Phase::Tunnel, Phase::OriginTls, Phase::Send] {
        let evidence = of(Failure::new(phase, Seen::Never).login_accepted(true));
        assert_eq!((evidence.outcome, evidence.seen), (Outcome::ProxyError { phase }, Seen::Never));
        assert!(evidence.login_accepted);
    }
    for phase in [Phase::Send, Phase::Head, Phase::Body] {
        let evidence = of(Failure::new(phase, Seen::Unknown));
        assert_eq!((evidence.outcome, evidence.seen), (Outcome::Interrupted { phase }, Seen::Unknown));
    }
    assert_eq!(of(Failure::new(Phase::Request, Seen::Never)).outcome, Outcome::Fatal);
}

#[test]
fn the_failure_is_found_anywhere_below_and_nothing_is_proven_without() {
    let buried = std::io::Error::other(Failure::new(Phase::ExitTcp, Seen::Never));
    let buried = Failure::new(Phase::ExitDns, Seen::Never).because(buried);
    assert_eq!(of(buried).outcome, Outcome::ProxyError { phase: Phase::ExitDns }, "the outermost counts");
    let (unknown, _) = failure::error(&std::io::Error::other("reset"), None, SystemTime::UNIX_EPOCH);
    assert_eq!(unknown, Evidence::of(Outcome::Interrupted { phase: Phase::Head }).seen(Seen::Unknown));
}

/// The evidence of one answer from a tunnel, carried so.
async fn tunnelled(carried: Option<Connection>) -> Evidence {
    let exits = ExitList::parse("203.0.113.7:8080").unwrap();
    let scheduler = Scheduler::builder().exits(exits).build().unwrap();
    let (kept, mut handles) = tokio::sync::mpsc::unbounded_channel();
    let client = tower::service_fn(move |request: Request<()>| {
        let (kept, mut answer) = (kept.clone(), Response::new(String::new()));
        if let Some(carried) = &carried {
            answer.extensions_mut().insert(carried.clone());
        }
        async move {
            let _ = kept.send(request.extensions().get::<LeaseHandle>().unwrap().clone());
            Ok::<_, std::io::Error>(answer)
        }
    });
    let stack = LeaseLayer::new(&scheduler).layer(ClassifyLayer::new().layer(client));
    let ask = Request::get("https://shop.example/").extension(LeaseRequest::per_request()).body(()).unwrap();
    stack.oneshot(ask).await.unwrap();
    handles.recv().await.unwrap().evidence().unwrap()
}

#[tokio::test]
async fn what_carried_an_answer_is_read_beside_it() {
    for (carried, proven) in
        [(Some(Connection::new()), true), (Some(Connection::kept()), false), (None, false)]
    {
        assert_eq!(tunnelled(carried.clone()).await.login_accepted, proven, "{carried:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_through_a_tunnel_of_its_own_clears_a_doubted_login() {
    use crate::{ExitList, Scheduler};
    use crate::{classify::ClassifyLayer, lease::LeaseLayer, request::LeaseRequest};
    use tower::{Layer, ServiceExt};

    let exits = ExitList::parse("gw.test:1:u:p").unwrap();
    let scheduler = Scheduler::builder().exits(exits).build().unwrap();
    let ask = LeaseRequest::per_request().origin("a.test");
    scheduler.lease(&ask).unwrap().report(Outcome::AuthError { reason: AuthReason::Rejected });
    tokio::time::sleep(Duration::from_millis(2)).await;
    let client = tower::service_fn(|_: Request<crate::Body>| async {
        Ok::<_, tower::BoxError>(Response::new(http_body_util::Empty::<Bytes>::new()))
    });
    let stack = LeaseLayer::new(&scheduler).layer(ClassifyLayer::new().layer(client));
    let mut request = Request::get("https://a.test/").body(crate::Body::empty()).unwrap();
    request.extensions_mut().insert(LeaseRequest::per_request());
    drop(ServiceExt::oneshot(stack, request).await.unwrap());
    let (one, two) = (scheduler.lease(&ask).unwrap(), scheduler.lease(&ask));
    assert!(two.is_ok(), "the login is right, so {} goes on at once", one.exit());
}
