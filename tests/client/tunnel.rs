//! CONNECT: what opens a tunnel, and how every refusal reads.

use crate::world::{Event, Pki, Proxy, accepted, any_client, get, nowhere, request, text, within};
use http::{Method, StatusCode};
use std::time::Duration;
use tokio::net::TcpListener;
use tower::ServiceExt as _;
use tower_egress::client::ClientError;
use tower_egress::exit::Exit;
use tower_egress::outcome::{Failure, Phase, Seen};

const URI: &str = "https://shop.example/p?q=1";

/// The failure of one request whose CONNECT is answered with these bytes.
async fn refused(answer: impl Into<Vec<u8>>) -> Failure {
    let mut proxy = Proxy::answering(answer).await;
    let error = get(&any_client(), &proxy.route(), URI).await.unwrap_err();
    // Not even the socket is left over.
    proxy.ended(0).await;
    let failure = error.into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never));
    assert!(!failure.is_login_accepted());
    failure
}

#[tokio::test]
async fn a_tunnel_carries_the_request_and_not_the_login() {
    let pki = Pki::new("shop.example");
    let mut proxy = pki.proxy().await;
    let mut request = request(Method::GET, Some(&proxy.route()), URI, "");
    request.headers_mut().insert("proxy-authorization", "Basic Y2FsbGVy".parse().unwrap());
    let answer = within(pki.client().oneshot(request)).await.unwrap();
    assert_eq!(text(answer).await, "ok");
    let connect = "CONNECT shop.example:443 HTTP/1.1\r\n\
                   host: shop.example:443\r\n\
                   proxy-authorization: Basic dGhlLXVzZXI6dGhlLXBhc3N3b3Jk\r\n\r\n";
    let inside = "GET /p?q=1 HTTP/1.1\r\nhost: shop.example\r\n\r\n";
    let seen = proxy.seen();
    assert_eq!(seen[..2], [Event::Accepted(0), Event::Proxy(connect.to_owned())]);
    assert_eq!(seen[3], Event::Origin(inside.to_owned()));
}

#[tokio::test]
async fn a_refusal_keeps_status_headers_and_body() {
    for status in [301, 400, 403, 407, 429, 502, 503, 504, 599, 999] {
        let answer = format!(
            "HTTP/1.1 {status} Odd\r\nx-reason: why\r\nretry-after: 7\r\ncontent-length: 4\r\n\r\nbusy"
        );
        let failure = refused(answer).await;
        let refusal = failure.refusal().unwrap();
        assert_eq!(refusal.status().as_u16(), status);
        assert_eq!(
            (&refusal.headers()["x-reason"], &refusal.headers()["retry-after"]),
            (&"why".parse().unwrap(), &"7".parse().unwrap())
        );
        assert_eq!(refusal.body(), "busy");
        assert!(!failure.is_timeout());
    }
}

#[tokio::test]
async fn a_refusal_waits_for_no_body_that_does_not_come() {
    for (answer, body) in [
        ("HTTP/1.1 503 Busy\r\n\r\n", ""),
        ("HTTP/1.1 503 Busy\r\n\r\nno length", "no length"),
        ("HTTP/1.1 503 Busy\r\ncontent-length: 99\r\n\r\nhalf", "half"),
        ("HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n9\r\n", "half"),
        ("HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n4\nhalf\nnonsense\n", ""),
    ] {
        let failure = refused(answer).await;
        let refusal = failure.refusal().expect(answer);
        assert_eq!(refusal.status(), StatusCode::SERVICE_UNAVAILABLE);
        if !body.is_empty() {
            assert_eq!(refusal.body(), body, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_refusal_in_time_outlives_the_deadline() {
    let proxy = Proxy::answering("HTTP/1.1 429 Slow down\r\nretry-after: 7\r\n\r\n").await;
    let client =
        Pki::new("shop.example").builder().establish_timeout(Duration::from_millis(100)).build().unwrap();
    let failure = get(&client, &proxy.route(), URI).await.unwrap_err().into_failure();
    assert_eq!(failure.refusal().unwrap().headers()["retry-after"], "7");
    assert!(!failure.is_timeout());
}

#[tokio::test]
async fn a_refusals_body_is_capped() {
    let failure =
        refused(format!("HTTP/1.1 403 No\r\ncontent-length: 100000\r\n\r\n{}", "x".repeat(100_000))).await;
    assert_eq!(failure.refusal().unwrap().body().len(), 4096);
}

#[tokio::test]
async fn a_protocol_switch_is_no_tunnel() {
    let failure = refused("HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n").await;
    assert_eq!(failure.refusal().unwrap().status(), StatusCode::SWITCHING_PROTOCOLS);
}

#[tokio::test]
async fn what_is_not_http_is_no_refusal() {
    let many = "x: y\r\n".repeat(101);
    for answer in [
        "SSH-2.0-OpenSSH_9.9\r\n\r\n".to_owned(),
        "ICY 200 OK\r\n\r\n".to_owned(),
        "<html>\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(20_000)),
        format!("HTTP/1.1 200 OK\r\n{many}\r\n"),
    ] {
        let failure = refused(answer).await;
        assert!(failure.refusal().is_none());
        assert!(std::error::Error::source(&failure).is_some());
    }
}

/// Chosen: 16 KiB, where the case suggests 64; nothing that opens a tunnel needs more.
#[tokio::test]
async fn te_084_endless_headers_are_cut_at_a_fixed_cap() {
    const SENDS: usize = 64 << 20;
    let (took, mut taken) = tokio::sync::mpsc::unbounded_channel();
    let mut proxy = Proxy::start(move |mut peer| {
        let took = took.clone();
        async move {
            peer.proxy_head().await;
            peer.send(b"HTTP/1.1 200 OK\r\n").await;
            let line = format!("x: {}\r\n", "y".repeat(1000));
            let mut sent = 0;
            while sent < SENDS && peer.try_send(line.as_bytes()).await {
                sent += line.len();
            }
            took.send(sent).unwrap();
        }
    })
    .await;
    let failure = get(&any_client(), &proxy.route(), URI).await.unwrap_err().into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never));
    assert!(failure.refusal().is_none() && !failure.is_timeout() && !failure.is_blameless());
    let wire = failure.wire();
    assert!((16_000..=64 * 1024).contains(&wire.received), "{wire:?}");
    proxy.ended(0).await;
    // The kernel's buffers take some more before it is told.
    assert!(taken.recv().await.unwrap() < SENDS, "the client has hung up");
}

#[tokio::test]
async fn an_exit_that_is_not_there() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let exit = Exit::parse(&format!("http://{address}")).unwrap();
    for uri in [URI, "http://shop.example/"] {
        let failure = get(&any_client(), exit.route(), uri).await.unwrap_err().into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::ExitTcp, Seen::Never));
        let cause = std::error::Error::source(&failure).unwrap().downcast_ref::<std::io::Error>().unwrap();
        assert_eq!(cause.kind(), std::io::ErrorKind::ConnectionRefused);
    }
}

#[tokio::test]
async fn an_exit_without_an_address() {
    let host = "nowhere.example";
    let client = Pki::new("shop.example").builder().resolver(nowhere).build().unwrap();
    let exit = Exit::parse(&format!("http://{host}:1")).unwrap();
    let error = get(&client, exit.route(), URI).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("exit name failed: {host}: ")), "{error}");
    let failure = error.into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::ExitDns, Seen::Never));
}

#[tokio::test]
async fn an_exit_by_name_is_tried_at_every_address() {
    // `localhost` may also be ::1, where nobody listens.
    let proxy = Proxy::start(|peer| peer.serve()).await;
    let exit = Exit::parse(&format!("http://localhost:{}", proxy.address().port())).unwrap();
    let answer = get(&any_client(), exit.route(), "http://shop.example/").await.unwrap();
    assert_eq!(text(answer).await, "ok");
}

#[tokio::test]
async fn a_dropped_request_takes_its_dial_along() {
    let mut proxy = Proxy::start(|mut peer| async move {
        peer.proxy_head().await;
        peer.until_closed().await;
    })
    .await;
    let client = any_client();
    let call = tokio::spawn(client.clone().oneshot(request(Method::GET, Some(&proxy.route()), URI, "")));
    while !matches!(proxy.event().await, Event::Proxy(_)) {}
    call.abort();
    proxy.ended(0).await;
    assert_eq!(accepted(&proxy.seen()), 0, "and nothing else was dialled");
}

#[tokio::test]
async fn the_error_holds_the_failure_as_its_source() {
    let proxy = Proxy::answering("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await;
    let error: ClientError = get(&any_client(), &proxy.route(), URI).await.unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.downcast_ref::<Failure>().unwrap().phase(), Phase::Tunnel);
    assert_eq!(error.to_string(), "tunnel refused by the proxy with 503");
}
