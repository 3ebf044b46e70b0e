//! TLS to the origin: whom it trusts, and what it never shares.

use crate::world::{Event, Pki, Proxy, accepted, get, text};
use rustls::HandshakeKind;
use std::error::Error as _;
use std::time::Duration;
use tower_egress::ExitClient;
use tower_egress::outcome::{Phase, Seen};

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

#[tokio::test]
async fn a_session_is_resumed_through_its_own_exit_alone() {
    let pki = Pki::new("shop.example");
    let mut proxy = pki.proxy().await;
    // Nothing idles, so that every request shakes hands.
    let client = pki.builder().http2(false).idle_timeout(Duration::ZERO).build().unwrap();
    for user in ["alice", "bob", "alice"] {
        let answer = get(&client, &proxy.route_as(user, "pw"), "https://shop.example/").await.unwrap();
        assert_eq!(text(answer).await, "ok");
    }
    let seen = proxy.seen();
    let kinds: Vec<_> = seen
        .iter()
        .filter_map(|event| if let Event::Handshake(kind) = event { Some(*kind) } else { None })
        .collect();
    let (full, resumed) = (HandshakeKind::Full, HandshakeKind::Resumed);
    assert_eq!((accepted(&seen), kinds), (3, vec![full, full, resumed]));
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
