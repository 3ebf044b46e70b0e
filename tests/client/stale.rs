//! Connections that die while they idle.

use crate::world::{Event, Peer, Pki, Proxy, accepted, get, request, send, text, within};
use http::Method;
use std::collections::BTreeSet;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tower_egress::ExitClient;
use tower_egress::outcome::{Phase, Seen};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A connection whose end the client has seen is not used again.
#[tokio::test]
async fn a_connection_seen_to_close_is_replaced() {
    let mut proxy = Proxy::start(|mut peer| async move {
        peer.answer(OK).await;
    })
    .await;
    let client = ExitClient::new();
    for (number, method) in [Method::GET, Method::DELETE, Method::OPTIONS].into_iter().enumerate() {
        let request = request(method, Some(&proxy.route()), "http://shop.example/", "");
        assert_eq!(text(send(&client, request).await.unwrap()).await, "ok");
        proxy.ended(number).await;
        look_at_every_socket().await;
    }
    assert_eq!(accepted(&proxy.seen()), 0, "each of the three has ended");
}

/// One round trip over loopback: the runtime has looked at what its sockets had to say before.
async fn look_at_every_socket() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (near, far) = tokio::join!(tokio::net::TcpStream::connect(address), listener.accept());
    let (mut near, far) = (near.unwrap(), far.unwrap());
    drop(far);
    assert_eq!(within(near.read(&mut [0])).await.unwrap(), 0);
    tokio::task::yield_now().await;
}

/// The race: the close is on its way when the next request goes out. What can be sent again is, through the same exit.
#[tokio::test]
async fn a_request_that_met_a_closing_connection_is_sent_over_a_new_one() {
    let pki = Pki::new("shop.example");
    for https in [false, true] {
        let mut proxy = closing_on_the_second_request(https.then(|| pki.origin.clone()), "").await;
        let (client, uri) = (pki.client(), format!("http{}://shop.example/", if https { "s" } else { "" }));
        for _ in 0..2 {
            assert_eq!(text(get(&client, &proxy.route(), &uri).await.unwrap()).await, "ok");
        }
        let seen = proxy.seen();
        let requests: Vec<_> = seen.iter().filter(|event| matches!(event, Event::Origin(_))).collect();
        assert_eq!((accepted(&seen), requests.len()), (2, 3));
        assert_eq!(requests[1], requests[2], "the same request, head and all");
    }
}

/// What may have been read must not be acted on twice, and no exit is to blame for an idle connection's end.
#[tokio::test]
async fn what_must_not_be_sent_twice_fails_without_blame() {
    let pki = Pki::new("shop.example");
    for (method, body) in [(Method::POST, ""), (Method::POST, "x"), (Method::PUT, "x")] {
        let mut proxy = closing_on_the_second_request(Some(pki.origin.clone()), "").await;
        let client = pki.client();
        assert_eq!(text(get(&client, &proxy.route(), "https://shop.example/").await.unwrap()).await, "ok");
        let request = request(method, Some(&proxy.route()), "https://shop.example/", body);
        let failure = send(&client, request).await.unwrap_err().into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::Head, Seen::Unknown));
        assert!(failure.is_blameless());
        proxy.ended(0).await;
        assert_eq!(accepted(&proxy.seen()), 0, "no hidden replay");
    }
}

/// An answer that has begun is no closed connection.
#[tokio::test]
async fn an_answer_that_breaks_off_is_the_exits_fault_on_a_kept_connection_too() {
    let mut proxy = closing_on_the_second_request(None, "HTTP/1.1 200 O").await;
    let client = ExitClient::new();
    assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
    let failure = get(&client, &proxy.route(), "http://shop.example/").await.unwrap_err().into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Head, Seen::Unknown));
    assert!(!failure.is_blameless());
    assert_eq!(accepted(&proxy.seen()), 1);
}

/// A proxy, or an origin behind it, whose first connection answers one request and closes on the next, after `last`. The
/// others serve.
async fn closing_on_the_second_request(tls: Option<TlsAcceptor>, last: &'static str) -> Proxy {
    async fn close<T: AsyncRead + AsyncWrite + Unpin>(mut peer: Peer<T>, last: &str) {
        peer.answer(OK).await;
        peer.answer(last).await;
    }
    Proxy::start(move |mut peer| {
        let tls = tls.clone();
        async move {
            match tls {
                Some(tls) if peer.number() == 0 => {
                    peer.proxy_head().await;
                    peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
                    close(peer.accept(&tls).await.unwrap(), last).await;
                }
                Some(tls) => peer.tunnel_and_serve(tls).await,
                None if peer.number() == 0 => close(peer, last).await,
                None => peer.serve().await,
            }
        }
    })
    .await
}

/// On a kept connection to a proxy goes nothing that could be lost there.
#[tokio::test]
async fn a_forwarded_request_that_must_not_be_sent_twice_has_a_new_connection() {
    for (method, body) in [(Method::POST, ""), (Method::POST, "x"), (Method::PUT, "x"), (Method::PATCH, "x")]
    {
        let mut proxy = Proxy::start(|peer| peer.serve()).await;
        let client = ExitClient::new();
        assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
        let request = request(method, Some(&proxy.route()), "http://shop.example/", body);
        assert_eq!(text(send(&client, request).await.unwrap()).await, "ok");
        // It took the place of the kept one, and is kept itself.
        proxy.ended(0).await;
        assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
        assert_eq!(accepted(&proxy.seen()), 0, "the second connection served the third request");
    }
}

/// A proxy that closes after each answer, and does not say so: no request is lost to it, whatever its method.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost_to_a_proxy_that_closes_after_its_answers() {
    let proxy = Proxy::start(|mut peer| async move {
        peer.answer(OK).await;
    })
    .await;
    let pki = Pki::new("shop.example");
    for method in [Method::GET, Method::POST] {
        // For each round a new memory.
        for _ in 0..40 {
            let client = pki.client();
            for _ in 0..3 {
                let request = request(method.clone(), Some(&proxy.route()), "http://shop.example/", "");
                assert_eq!(text(send(&client, request).await.unwrap()).await, "ok");
            }
        }
    }
}

#[tokio::test]
async fn an_exit_that_closes_after_its_answers_is_remembered() {
    let mut proxy = closing_on_the_second_request(None, "").await;
    let client = ExitClient::new();
    for uri in ["http://shop.example/", "http://shop.example/", "http://other.example/"] {
        assert_eq!(text(get(&client, &proxy.route(), uri).await.unwrap()).await, "ok");
    }
    // Two requests met the first connection; none of the later connections was kept, for any origin.
    let mut open = BTreeSet::from([0, 1, 2]);
    while !open.is_empty() {
        if let Event::Ended(number) = proxy.event().await {
            open.remove(&number);
        }
    }
    // Another exit at the same address has done nothing yet.
    let other = proxy.route_as("other", "pw");
    for _ in 0..2 {
        assert_eq!(text(get(&client, &other, "http://shop.example/").await.unwrap()).await, "ok");
    }
    assert_eq!(accepted(&proxy.seen()), 1);
}
