//! What is sent again, and what must not be.

use crate::shop::*;
use http::header::PROXY_AUTHORIZATION;
use http::{HeaderMap, Method, StatusCode};
use std::num::NonZeroU32;
use tower_egress::exit::Credential;
use tower_egress::lab::{Behaviour, Lab, Reply};
use tower_egress::outcome::{AuthReason, Phase};
use tower_egress::verdict::Why;
use tower_egress::{LeaseRequest, Outcome};

fn attempts(sends: u32) -> LeaseRequest {
    LeaseRequest::per_request().attempts(NonZeroU32::new(sends).unwrap())
}

#[tokio::test]
async fn te_012_post_is_not_sent_twice() {
    let lab = Lab::builder().fine(3).start().await.unwrap();
    lab.origin().page("/executed", Reply::reset());
    lab.origin().page("/refused", Reply::new(StatusCode::SERVICE_UNAVAILABLE));
    let (_, client) = client(&lab);
    for (number, path) in ["/executed", "/refused"].into_iter().enumerate() {
        for (tls, url) in [(true, lab.tls_url(path)), (false, lab.url(path))] {
            let before = lab.origin().requests();
            match client.send(request(Method::POST, &url, "price=42", attempts(3))).await {
                // On a plain connection the proxy answers for a site that breaks off.
                Ok(answer) => assert!(answer.status().is_server_error(), "{url}: {}", answer.status()),
                Err(error) => {
                    assert!(tls && number == 0, "{url}: {error}");
                    assert_eq!(error.why(), Some(Why::NotRepeatable));
                }
            }
            assert_eq!(lab.origin().requests() - before, 1, "{url}");
        }
    }
    let before = lab.origin().requests();
    let told = attempts(3).repeatable(true);
    client.send(request(Method::POST, &lab.tls_url("/executed"), "price=42", told)).await.unwrap_err();
    let seen = lab.origin().seen().split_off(usize::try_from(before).unwrap());
    assert_eq!(seen.len(), 3, "unless the caller says that it may be");
    assert!(seen.iter().all(|request| request.body_sha1() == seen[0].body_sha1() && request.body_len() == 8));
}

#[tokio::test]
async fn te_012_a_post_that_the_site_never_saw_goes_on_through_another_exit() {
    let broken = [
        Behaviour::dead(),
        Behaviour::fine().answer_connect(Reply::reset()),
        Behaviour::fine().answer_connect(Reply::new(StatusCode::OK)),
        Behaviour::fine().answer_connect(Reply::new(StatusCode::FORBIDDEN)),
        Behaviour::fine().answer_connect(Reply::new(StatusCode::SERVICE_UNAVAILABLE)),
    ];
    for behaviour in broken {
        let lab = Lab::builder().exit(behaviour.clone()).fine(1).start().await.unwrap();
        let (scheduler, client) = client(&lab);
        let mut met = 0;
        for _ in 0..6 {
            let before = scheduler.snapshot().leases;
            let post = request(Method::POST, &lab.tls_url("/p"), "price=42", attempts(3));
            let answer = client.send(post).await.unwrap();
            let sends = scheduler.snapshot().leases - before;
            assert_eq!((read(answer).await.0, sends <= 2), (200, true));
            met += u32::from(sends == 2);
        }
        assert!(met > 0, "{behaviour:?} was met");
        assert!(seen(lab.origin()).iter().all(|exit| *exit == 1));
        assert!(lab.origin().requests() <= 6, "each executed once at most");
    }
}

#[tokio::test(start_paused = true)]
async fn te_020_a_proxy_that_closes_during_connect_is_asked_slowly_and_no_more_than_allowed() {
    let shop = Shop::of(Lab::builder().exit(Behaviour::fine().answer_connect(Reply::reset())));
    let start = now();
    let error = shop.fetch(attempts(3)).await.unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::ProxyError { phase: Phase::Tunnel }));
    assert_eq!((shop.asked(0), error.attempts().len()), (3, 3));
    assert!(error.attempts()[1..].iter().all(|attempt| attempt.waited >= millis(500)), "{error:?}");
    assert!(now() - start >= millis(1_500), "{:?}", now() - start);
}

#[tokio::test]
async fn te_020_on_sockets_each_attempt_is_one_connection() {
    let lab = Lab::builder().exit(Behaviour::fine().answer_connect(Reply::reset())).start().await.unwrap();
    let (_, client) = client(&lab);
    client.send(request(Method::GET, &lab.tls_url("/p"), "", attempts(3))).await.unwrap_err();
    let traffic = lab.exit(0).traffic();
    assert_eq!((traffic.connections, traffic.connects, lab.origin().connections()), (3, 3, 0));
}

/// The site breaks the second request off, which comes over a kept connection.
async fn after_one_page(method: Method, body: &'static str, ask: LeaseRequest) -> (Lab, String) {
    let lab = Lab::builder().fine(1).start().await.unwrap();
    // Over HTTP/2 a site resets the stream, which is its word and no race.
    lab.origin().http2(false);
    lab.origin().respond(|seen| if seen.number() == 1 { Reply::reset() } else { Reply::page("in") });
    let (scheduler, client) = client(&lab);
    let first = request(Method::GET, &lab.tls_url("/p"), "", LeaseRequest::per_request());
    read(client.send(first).await.unwrap()).await;
    let said = match client.send(request(method, &lab.tls_url("/p"), body, ask)).await {
        Ok(answer) => {
            let (status, served) = read(answer).await;
            format!("{status} after {}", served.attempts())
        }
        Err(error) => format!("{:?} after {}", error.why().unwrap(), error.attempts().len()),
    };
    let snapshot = scheduler.snapshot();
    assert!(snapshot.hottest.is_empty() && snapshot.exits.dead == 0, "no heat: {snapshot:?}");
    (lab, said)
}

#[tokio::test]
async fn te_030_a_kept_connection_that_closes_is_replaced_where_that_is_safe() {
    let ask = LeaseRequest::per_request;
    for (method, body, ask, sent, said) in [
        (Method::GET, "", ask(), 3, "200 after 1"),
        (Method::PUT, "", ask(), 3, "200 after 1"),
        // With a body it is the retry layer that sends it again, which counts.
        (Method::PUT, "price=42", ask(), 3, "200 after 2"),
        (Method::POST, "price=42", ask(), 2, "NotRepeatable after 1"),
        (Method::GET, "", ask().repeatable(false), 2, "NotRepeatable after 1"),
        (Method::POST, "price=42", ask().repeatable(true), 3, "200 after 2"),
    ] {
        let (lab, got) = after_one_page(method.clone(), body, ask).await;
        assert_eq!((lab.origin().requests(), &*got), (sent, said), "{method} {body:?}");
        let second = &lab.origin().seen()[1..];
        assert!(second.iter().all(|seen| seen.body_sha1() == second[0].body_sha1()));
    }
}

#[tokio::test]
async fn te_030_on_a_plain_kept_connection_a_post_cannot_meet_a_close() {
    let lab = Lab::builder().exit(Behaviour::fine().closes_after_answer()).start().await.unwrap();
    let (_, client) = client(&lab);
    for (number, method) in [Method::GET, Method::POST, Method::GET, Method::PUT].into_iter().enumerate() {
        let body = if method == Method::GET { "" } else { "price=42" };
        let request = request(method, &lab.url("/p"), body, LeaseRequest::per_request());
        let (status, served) = read(client.send(request).await.unwrap()).await;
        assert_eq!((status, served.attempts(), lab.origin().requests()), (200, 1, number as u64 + 1));
    }
}

#[tokio::test]
async fn te_115_a_new_connection_that_closes_is_a_failed_attempt() {
    let broken = Behaviour::fine().answer_requests(Reply::reset());
    let lab = Lab::builder().exits(2, broken).start().await.unwrap();
    let (scheduler, client) = client(&lab);
    for (sends, total) in [(1, 1), (3, 4)] {
        let request = request(Method::GET, &lab.url("/p"), "", attempts(sends));
        let error = client.send(request).await.unwrap_err();
        assert_eq!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Head }));
        assert_eq!(error.attempts().len() as u32, sends);
        let traffic = [0, 1].map(|exit| lab.exit(exit).traffic());
        let connections: u64 = traffic.iter().map(|traffic| traffic.connections).sum();
        let requests: u64 = traffic.iter().map(|traffic| traffic.requests).sum();
        assert_eq!((connections, requests), (total, total), "one connection an attempt");
    }
    assert_eq!(scheduler.snapshot().outcomes.interrupted, 4);
}

#[tokio::test]
async fn te_041_to_prepare_an_attempt_changes_no_request() {
    let login = Behaviour::fine().login(Credential::new("user", "secret").unwrap());
    let lab = Lab::builder().exit(login).start().await.unwrap();
    let busy = || Reply::new(StatusCode::SERVICE_UNAVAILABLE);
    lab.origin().respond(move |seen| if seen.number() % 3 < 2 { busy() } else { Reply::page("in") });
    let (_, client) = client(&lab);
    for url in [lab.url("/p?q=1"), lab.tls_url("/p?q=1")] {
        let put = request(Method::PUT, &url, "price=42", attempts(3));
        let (status, served) = read(client.send(put).await.unwrap()).await;
        assert_eq!((status, served.attempts()), (200, 3));
    }
    assert_eq!(lab.exit(0).traffic().refused_logins, 0, "each attempt had the login");
    let seen = lab.origin().seen();
    for attempts in seen.chunks(3) {
        let what = |at: usize| {
            let headers: &HeaderMap = attempts[at].headers();
            (attempts[at].method(), attempts[at].path(), headers, attempts[at].body_sha1())
        };
        assert!(what(0) == what(1) && what(1) == what(2), "{attempts:?}");
        assert!(!attempts[0].headers().contains_key(PROXY_AUTHORIZATION));
    }
}

#[tokio::test]
async fn te_145_a_refused_login_is_tried_once_more_and_then_no_more() {
    // Chosen: logins are not refreshed here; a refusal may be a stray one, so one attempt over a fresh connection tries the
    // login again. Then it is stopped, and nothing is sent until somebody says that it has changed.
    let own = Behaviour::fine().login(Credential::new("user", "secret").unwrap());
    let lab = Lab::builder().exit(own.clone()).start().await.unwrap();
    let (scheduler, client) = client(&lab);
    lab.exit(0).behave(own.login(Credential::new("user", "renewed").unwrap())).unwrap();
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    let error = client.send(request(Method::GET, &lab.tls_url("/p"), "", attempts(4))).await.unwrap_err();
    assert_eq!((error.outcome(), error.attempts().len()), (Some(rejected), 2), "{error}");
    let error = client.send(request(Method::GET, &lab.tls_url("/p"), "", attempts(4))).await.unwrap_err();
    assert!(matches!(error.refusal(), Some(tower_egress::LeaseError::FleetStopped)), "{error}");
    assert_eq!((lab.exit(0).traffic().refused_logins, lab.origin().connections()), (2, 0));

    let spec = lab.exit(0).address().map(|at| format!("{at}:user:renewed")).unwrap();
    assert!(scheduler.operator().set_exit(&tower_egress::Exit::parse(&spec).unwrap()));
    let answer = client.send(request(Method::GET, &lab.url("/p"), "", attempts(4))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);

    let lab = Lab::builder().fine(3).start().await.unwrap();
    lab.origin().page("/p", Reply::new(StatusCode::UNAUTHORIZED));
    let client = crate::shop::client(&lab).1;
    for (requests, url) in [(1, lab.url("/p")), (2, lab.tls_url("/p"))] {
        let answer = client.send(request(Method::GET, &url, "", attempts(4))).await.unwrap();
        assert_eq!((answer.status(), lab.origin().requests()), (StatusCode::UNAUTHORIZED, requests));
    }
}
