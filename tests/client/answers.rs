//! What a proxy may answer to CONNECT, in whatever pieces, and what is no answer.

use crate::stack::Fleet;
use crate::world::{Event, Peer, Pki, Proxy, accepted, any_client, get, request, send, text};
use http::{Method, StatusCode};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;
use tower_egress::exit::{Exit, ProxyTls};
use tower_egress::outcome::{Failure, Outcome, Phase, Seen};
use tower_egress::{LeaseRequest, Served};

const URI: &str = "https://shop.example/p?q=1";

/// A proxy that answers each CONNECT with these bytes, one by one, and leads to an origin.
async fn opening(pki: &Pki, head: &'static str) -> Proxy {
    let origin = pki.origin.clone();
    Proxy::start(move |mut peer| {
        let origin = origin.clone();
        async move {
            peer.proxy_head().await;
            peer.send_slowly(head.as_bytes()).await;
            if let Some(origin) = peer.accept(&origin).await {
                origin.serve().await;
            }
        }
    })
    .await
}

async fn opens(pki: &Pki, head: &'static str) {
    let proxy = opening(pki, head).await;
    let answer =
        get(&pki.client(), &proxy.route(), URI).await.unwrap_or_else(|error| panic!("{head:?}: {error}"));
    assert_eq!(text(answer).await, "ok", "{head:?}");
}

/// The failure of a CONNECT that is answered with these bytes, after which the proxy is sent nothing more.
async fn fails(answer: &'static str) -> Failure {
    let mut proxy = Proxy::start(move |mut peer| async move {
        peer.proxy_head().await;
        peer.send(answer.as_bytes()).await;
        assert_eq!(peer.rest().await, 0, "{answer:?}");
        let _ = peer.tap.send(Event::Proxy("nothing more".to_owned()));
    })
    .await;
    let Err(error) = get(&any_client(), &proxy.route(), URI).await else { panic!("{answer:?} is no tunnel") };
    while proxy.event().await != Event::Proxy("nothing more".to_owned()) {}
    let failure = error.into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never), "{answer:?}");
    assert!(!failure.is_blameless() && !failure.is_login_accepted() && !failure.is_timeout());
    failure
}

#[tokio::test]
async fn te_006_a_head_that_is_cut_anywhere_opens_the_tunnel_and_costs_nothing() {
    const HEAD: &str = "HTTP/1.1 200 Connection established\r\nVia: a\r\n\r\n";
    let pki = Pki::new("shop.example");
    let origin = pki.origin.clone();
    let mut proxy = Proxy::start(move |mut peer: Peer<TcpStream>| {
        let origin = origin.clone();
        async move {
            peer.io.set_nodelay(true).unwrap();
            peer.proxy_head().await;
            let (first, rest) = HEAD.split_at(peer.number() + 1);
            peer.send(first.as_bytes()).await;
            // The client reads the first part.
            for _ in 0..4 {
                yield_now().await;
            }
            peer.send(rest.as_bytes()).await;
            if let Some(origin) = peer.accept(&origin).await {
                origin.serve().await;
            }
        }
    })
    .await;
    let fleet = Fleet::of(&proxy, pki.builder().idle_timeout(Duration::ZERO).build().unwrap());
    for cut in 1..HEAD.len() {
        let answer = fleet.send(Method::GET, URI, "").await.unwrap();
        assert_eq!(answer.extensions().get::<Served>().unwrap().attempts(), 1, "{cut}");
    }
    let connects = proxy.seen().iter().filter(|event| matches!(event, Event::Proxy(_))).count();
    assert_eq!(connects, HEAD.len() - 1);
    assert!(fleet.is_unharmed());
}

#[tokio::test]
async fn te_060_every_2xx_opens_the_tunnel() {
    let pki = Pki::new("shop.example");
    for head in [
        "HTTP/1.1 200 Connection established\r\nVia: a\r\n\r\n",
        "HTTP/1.1 201 Created\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 299 Odd\r\n\r\n",
    ] {
        opens(&pki, head).await;
    }
}

#[tokio::test]
async fn te_033_a_length_of_the_answer_means_nothing() {
    let pki = Pki::new("shop.example");
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    ] {
        opens(&pki, head).await;
    }
}

#[tokio::test]
async fn a_head_may_be_old_preceded_by_others_and_have_lines_that_are_no_headers() {
    let pki = Pki::new("shop.example");
    for head in [
        "HTTP/1.1 200 OK\nvia: a\n\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nProxy Connection: x\r\nno colon\r\n\r\n",
    ] {
        opens(&pki, head).await;
    }
}

#[tokio::test]
async fn te_026_a_status_line_that_is_none_opens_nothing_and_is_sent_nothing() {
    let pki = Pki::new("shop.example");
    for head in ["HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200 \r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"] {
        opens(&pki, head).await;
    }
    for line in ["HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.12 200 OK", "HTTP/2 200", "ICY 200 OK"] {
        let failure = fails([line, "\r\n\r\n"].concat().leak()).await;
        assert!(failure.refusal().is_none(), "{line}");
    }
}

#[tokio::test]
async fn te_051_a_refusal_with_a_body_is_over_at_once() {
    let page = "<p>no</p>\r\n".repeat(200);
    for length in [format!("content-length: {}\r\n", page.len()), String::new()] {
        let answer = format!("HTTP/1.1 403 Forbidden\r\n{length}\r\n{page}");
        let mut proxy = Proxy::answering(answer).await;
        let (client, route) = (any_client(), proxy.route());
        for number in 0..2 {
            let failed = timeout(Duration::from_secs(1), get(&client, &route, URI)).await.expect("no wait");
            let failure = failed.unwrap_err().into_failure();
            let refusal = failure.refusal().unwrap();
            assert_eq!((refusal.status(), &refusal.body()[..]), (StatusCode::FORBIDDEN, page.as_bytes()));
            // Closed, and so not kept: the next has another.
            proxy.ended(number).await;
        }
    }
}

#[tokio::test]
async fn te_064_a_head_that_breaks_off_is_no_tunnel_and_is_sent_nothing() {
    for part in ["", "HTTP/1.1 200 OK\r\nvia: a\r\n", "HTTP/1.1 200 OK\r\nvia"] {
        for reset in [false, true] {
            let mut proxy = Proxy::start(move |mut peer| async move {
                peer.proxy_head().await;
                peer.send(part.as_bytes()).await;
                if reset {
                    peer.io.set_zero_linger().unwrap();
                } else {
                    peer.io.shutdown().await.unwrap();
                    assert_eq!(peer.rest().await, 0, "{part:?}");
                }
                let _ = peer.tap.send(Event::Proxy("nothing more".to_owned()));
            })
            .await;
            let request = request(Method::POST, Some(&proxy.route()), URI, "body");
            let failure = send(&any_client(), request).await.unwrap_err().into_failure();
            assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never), "{reset} {part:?}");
            assert!(failure.refusal().is_none() && !failure.is_timeout() && !failure.is_blameless());
            while proxy.event().await != Event::Proxy("nothing more".to_owned()) {}
        }
    }
}

/// The limit is over all of the answer: each byte that comes does not begin it anew.
#[tokio::test]
async fn te_097_an_answer_that_dribbles_is_cut_at_the_limit() {
    let mut proxy = Proxy::start(|mut peer| async move {
        peer.proxy_head().await;
        peer.send(b"HTTP/1.1 200 OK\r\nx: ").await;
        while peer.io.try_write(b"y").is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let client =
        Pki::new("shop.example").builder().tunnel_timeout(Duration::from_millis(100)).build().unwrap();
    // Well below the limit over all stages.
    let failed = timeout(Duration::from_secs(5), get(&client, &proxy.route(), URI)).await.expect("it is cut");
    let failure = failed.unwrap_err().into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never));
    assert!(failure.is_timeout());
    proxy.ended(0).await;
}

#[tokio::test]
async fn te_015_a_proxy_that_accepts_and_says_nothing_costs_its_limit_and_no_more() {
    let pki = Pki::new("shop.example");
    for (scheme, phase) in [("http", Phase::Tunnel), ("https", Phase::ExitTls)] {
        let mut proxy = Proxy::start(|mut peer| async move { peer.until_closed().await }).await;
        let tls = ProxyTls::builder().roots_pem(pki.roots.as_bytes()).build().unwrap();
        let limits = pki.builder().proxy_tls(&tls).tunnel_timeout(Duration::from_millis(200));
        let exit = Exit::parse(&format!("{scheme}://u:p@{}", proxy.address())).unwrap();
        let fleet = Fleet::through(&exit, limits.build().unwrap())
            .asking(LeaseRequest::per_request().deadline(Duration::from_secs(2)));
        let error = timeout(Duration::from_secs(3), fleet.send(Method::POST, URI, "body")).await;
        let error = error.expect("the call ends by its deadline").unwrap_err();
        let trail = error.attempts();
        assert!(!trail.is_empty(), "{error}");
        for attempt in trail {
            assert_eq!(attempt.outcome, Outcome::ProxyError { phase }, "{error}");
        }
        assert_eq!(fleet.scheduler.snapshot().in_flight, 0);
        for number in 0..trail.len() {
            proxy.ended(number).await;
        }
    }
}

/// What no certificate can have is the caller's mistake, found before anything is dialled; what merely nobody has is found
/// in the handshake.
#[tokio::test]
async fn te_073_a_host_that_cannot_be_is_an_error_at_once_and_no_exits_fault() {
    let pki = Pki::new("shop.example");
    let mut proxy = pki.proxy().await;
    let long = format!("https://{}.test/", "a.".repeat(148) + "abcd");
    for (uri, outcome, dialled) in [
        (long.as_str(), Outcome::Fatal, false),
        ("https://a..b/", Outcome::Fatal, false),
        ("https://bad_host_.test/", Outcome::ProxyError { phase: Phase::OriginTls }, true),
    ] {
        let fleet = Fleet::of(&proxy, pki.client());
        let asked = timeout(Duration::from_secs(3), fleet.send(Method::GET, uri, "")).await;
        let error = asked.unwrap_or_else(|_| panic!("{uri} hangs")).unwrap_err();
        assert_eq!(error.outcome(), Some(outcome), "{uri}: {error}");
        assert!(fleet.is_unharmed(), "{uri}");
        assert_eq!(accepted(&proxy.seen()) > 0, dialled, "{uri}");
    }
}

/// An IPv6 literal has brackets wherever an authority stands, and none in the certificate.
#[tokio::test]
async fn te_056_an_ipv6_origin_is_bracketed_on_the_wire() {
    let pki = Arc::new(Pki::new("::1"));
    let mut proxy = pki.proxy().await;
    let answer = get(&pki.client(), &proxy.route_without_login(), "https://[::1]:8443/").await.unwrap();
    assert_eq!(text(answer).await, "ok");
    let seen = proxy.seen();
    let connect = "CONNECT [::1]:8443 HTTP/1.1\r\nhost: [::1]:8443\r\n\r\n";
    assert_eq!(seen[1], Event::Proxy(connect.to_owned()));
    assert_eq!(seen[3], Event::Origin("GET / HTTP/1.1\r\nhost: [::1]:8443\r\n\r\n".to_owned()));

    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let answer = get(&pki.client(), &proxy.route_without_login(), "http://[::1]:8080/").await.unwrap();
    assert_eq!(text(answer).await, "ok");
    let plain = "GET http://[::1]:8080/ HTTP/1.1\r\nhost: [::1]:8080\r\n\r\n";
    assert_eq!(proxy.seen()[1], Event::Origin(plain.to_owned()));
}
