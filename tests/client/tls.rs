//! TLS to the origin: whom it trusts, and what it never shares.

use crate::world::{Event, Pki, Proxy, get, within};
use http::Request;
use http_body_util::BodyExt as _;
use rustls::HandshakeKind;
use std::error::Error as _;
use std::time::Duration;
use tower::Layer as _;
use tower_egress::exit::{Exit, ExitId};
use tower_egress::outcome::{Phase, Seen};
use tower_egress::{Body, EgressLayer, ExitClient, ExitList, Freshness, LeaseRequest, Scheduler};

#[tokio::test]
async fn an_origin_that_is_not_trusted_gets_no_request() {
    let (pki, other) = (Pki::new("shop.example"), Pki::new("shop.example"));
    let mut proxy = pki.proxy().await;
    let cure = "the certificate is not trusted; if its authority is your own, give its root to \
                ExitClientBuilder::roots_pem";
    for (client, uri, why) in [
        (other.client(), "https://shop.example/", cure),
        (pki.client(), "https://other.example/", "the certificate is for another name"),
    ] {
        let error = get(&client, &proxy.route(), uri).await.unwrap_err();
        assert_eq!(error.to_string(), format!("origin TLS failed: {why}"));
        let failure = error.into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::OriginTls, Seen::Never));
        assert!(failure.is_login_accepted(), "the tunnel was opened");
        let cause = failure.source().unwrap().downcast_ref::<std::io::Error>().unwrap();
        let cause = cause.get_ref().unwrap().downcast_ref::<rustls::Error>().unwrap();
        assert!(matches!(cause, rustls::Error::InvalidCertificate(_)), "{cause}");
    }
    assert!(!proxy.seen().iter().any(|event| matches!(event, Event::Origin(_))));
}

#[tokio::test]
async fn an_origin_that_breaks_off_or_is_silent_never_saw_the_request() {
    let pki = Pki::new("shop.example");
    for silent in [false, true] {
        let proxy = Proxy::start(move |mut peer| async move {
            peer.proxy_head().await;
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            if silent {
                peer.until_closed().await;
            }
        })
        .await;
        let client =
            pki.builder().establish_timeout(Duration::from_millis(if silent { 100 } else { 15_000 }));
        let failure =
            get(&client.build().unwrap(), &proxy.route(), "https://shop.example/").await.unwrap_err();
        let failure = failure.into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::OriginTls, Seen::Never));
        assert_eq!((failure.is_timeout(), failure.is_login_accepted()), (silent, true));
    }
}

/// The handshakes of requests for these asks, in turn, through two exits that keep no connection.
async fn handshakes(asks: &[LeaseRequest]) -> Vec<(ExitId, HandshakeKind)> {
    let pki = Pki::new("shop.example");
    let mut proxies = [pki.proxy().await, pki.proxy().await];
    let exits = proxies.each_ref().map(|proxy| Exit::parse(&proxy.address().to_string()).unwrap());
    let ids = exits.each_ref().map(Exit::id);
    let scheduler = Scheduler::builder().exits(ExitList::from_iter(exits)).seed(7).build().unwrap();
    let client = pki.builder().http2(false).idle_timeout(Duration::ZERO).build().unwrap();
    let stack = EgressLayer::new(&scheduler).layer(client);
    let mut seen = Vec::new();
    for ask in asks {
        let request =
            Request::get("https://shop.example/").extension(ask.clone()).body(Body::empty()).unwrap();
        let answer = within(stack.clone().oneshot(request)).await.unwrap();
        within(answer.into_body().collect()).await.unwrap();
        for (id, proxy) in ids.iter().zip(&mut proxies) {
            let kinds = proxy.seen().into_iter().filter_map(|event| match event {
                Event::Handshake(kind) => Some((*id, kind)),
                _ => None,
            });
            seen.extend(kinds);
        }
    }
    seen
}

#[tokio::test]
async fn a_session_is_resumed_by_who_holds_an_exit_and_through_that_exit_alone() {
    let held = |key: &str| LeaseRequest::identity(key);
    let keys: Vec<_> = (0..8).map(|key| held(&key.to_string())).collect();
    let seen = handshakes(&[&keys[..], &keys[..]].concat()).await;
    let mut met = std::collections::HashSet::new();
    for (exit, kind) in seen {
        let expected = if met.insert(exit) { HandshakeKind::Full } else { HandshakeKind::Resumed };
        assert_eq!(kind, expected, "{exit}: in full once, whoever holds it");
    }
    assert_eq!(met.len(), 2, "both exits are held by somebody");
    // Alone with its connection, alone with its sessions.
    let own = |key: &str| held(key).freshness(Freshness::PerLease);
    let kinds: Vec<_> =
        handshakes(&[own("a"), own("a"), own("b"), own("c")]).await.iter().map(|at| at.1).collect();
    let (full, resumed) = (HandshakeKind::Full, HandshakeKind::Resumed);
    assert_eq!(kinds, [full, resumed, full, full]);
}

#[tokio::test]
async fn what_rotates_resumes_nothing() {
    let spread = vec![LeaseRequest::per_request(); 6];
    assert!(handshakes(&spread).await.iter().all(|(_, kind)| *kind == HandshakeKind::Full));
    let fresh = vec![LeaseRequest::identity("a").freshness(Freshness::Fresh); 3];
    assert!(handshakes(&fresh).await.iter().all(|(_, kind)| *kind == HandshakeKind::Full));
}

#[tokio::test]
async fn an_answer_that_is_lost_in_a_new_tunnel_still_proves_the_login() {
    let pki = Pki::new("shop.example");
    let origin = pki.origin.clone();
    let proxy = Proxy::start(move |mut peer| {
        let origin = origin.clone();
        async move {
            peer.proxy_head().await;
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            if let Some(mut origin) = peer.accept(&origin).await {
                origin.answer("").await;
            }
        }
    })
    .await;
    let failure =
        get(&pki.client(), &proxy.route(), "https://shop.example/").await.unwrap_err().into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Head, Seen::Unknown));
    assert!(failure.is_login_accepted());
}

#[test]
fn roots_that_are_none_are_refused_when_built() {
    for pem in ["", "not pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let error = ExitClient::builder().roots_pem(pem.as_bytes()).build().unwrap_err();
        assert_eq!(error.field(), "roots_pem", "{pem:?}");
    }
    let error = ExitClient::builder().connect_timeout(Duration::ZERO).build().unwrap_err();
    assert_eq!(error.field(), "connect_timeout");
}
