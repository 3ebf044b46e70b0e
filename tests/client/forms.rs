//! What goes to the exit for `http://`, and what goes nowhere.

use crate::world::{Event, Proxy, accepted, get, request, send, text};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_egress::outcome::{Phase, Seen};
use tower_egress::{Body, ExitClient};

#[tokio::test]
async fn without_a_route_nothing_is_dialled() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let uri = format!("http://{}/", proxy.address());
    let client = ExitClient::new();

    let error = send(&client, request(Method::GET, None, &uri, "")).await.unwrap_err();
    assert_eq!((error.failure().phase(), error.failure().seen()), (Phase::Request, Seen::Never));
    assert!(error.to_string().contains("no route: the client goes inside LeaseLayer"), "{error}");

    // The accepting task has had its turn, and the route alone makes the difference.
    assert_eq!(text(get(&client, &proxy.route(), &uri).await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1);
}

#[tokio::test]
async fn what_cannot_be_sent_opens_no_connection() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let (client, route) = (ExitClient::new(), proxy.route());
    for (method, uri) in [
        (Method::GET, "/only/a/path"),
        (Method::GET, "ftp://shop.example/"),
        (Method::GET, "http://shop.example:65536/"),
        (Method::CONNECT, "https://shop.example/"),
    ] {
        let error = send(&client, request(method, Some(&route), uri, "")).await.unwrap_err();
        assert_eq!((error.failure().phase(), error.failure().seen()), (Phase::Request, Seen::Never), "{uri}");
    }
    assert_eq!(text(get(&client, &route, "http://shop.example/").await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1);
}

#[tokio::test]
async fn every_forwarded_request_is_absolute_and_carries_the_login() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let client = ExitClient::new();
    for _ in 0..2 {
        let uri = "http://me:origin-secret@Shop.Example:80/p?q=1";
        let mut request = request(Method::POST, Some(&proxy.route()), uri, "a=1");
        request.headers_mut().insert("proxy-authorization", HeaderValue::from_static("Basic Y2FsbGVy"));
        assert_eq!(text(send(&client, request).await.unwrap()).await, "ok");
    }
    let head = "POST http://shop.example/p?q=1 HTTP/1.1\r\n\
                host: shop.example\r\n\
                proxy-authorization: Basic dGhlLXVzZXI6dGhlLXBhc3N3b3Jk\r\n\
                content-length: 3\r\n\r\na=1";
    let requests: Vec<_> =
        proxy.seen().into_iter().filter(|event| matches!(event, Event::Origin(_))).collect();
    assert_eq!(requests, [Event::Origin(head.to_owned()), Event::Origin(head.to_owned())]);
}

#[tokio::test]
async fn an_exit_without_a_login_is_shown_none() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let route = proxy.route_without_login();
    let mut request = request(Method::GET, Some(&route), "http://[2001:db8::1]:8080/", "");
    request.headers_mut().insert("proxy-authorization", HeaderValue::from_static("Basic Y2FsbGVy"));
    assert_eq!(text(send(&ExitClient::new(), request).await.unwrap()).await, "ok");
    let head = "GET http://[2001:db8::1]:8080/ HTTP/1.1\r\nhost: [2001:db8::1]:8080\r\n\r\n";
    assert_eq!(proxy.seen(), [Event::Accepted(0), Event::Origin(head.to_owned())]);
}

#[tokio::test]
async fn an_answer_is_an_answer_whatever_its_status() {
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 4\r\n\r\nwho?";
    let proxy = Proxy::answering(refusal).await;
    let answer = get(&ExitClient::new(), &proxy.route(), "http://shop.example/").await.unwrap();
    assert_eq!(answer.status(), StatusCode::PROXY_AUTHENTICATION_REQUIRED);
    assert_eq!(text(answer).await, "who?");
}

#[tokio::test]
async fn after_the_first_byte_nothing_is_proven() {
    for answer in ["", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nx: "] {
        let proxy = Proxy::start(move |mut peer| async move {
            peer.answer(answer).await;
        })
        .await;
        let error = get(&ExitClient::new(), &proxy.route(), "http://shop.example/").await.unwrap_err();
        let failure = error.failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::Head, Seen::Unknown), "{answer:?}: {error}");
        assert!(!failure.is_login_accepted(), "a forwarded request that got no answer proves no login");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_failure_of_the_body() {
    let proxy = Proxy::start(|mut peer| async move {
        peer.answer("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;
    })
    .await;
    let answer = get(&ExitClient::new(), &proxy.route(), "http://shop.example/").await.unwrap();
    let error = answer.into_body().collect().await.unwrap_err();
    assert_eq!((error.failure().phase(), error.failure().seen()), (Phase::Body, Seen::Seen));
}

#[tokio::test]
async fn a_request_body_that_breaks_is_a_failure_to_send() {
    let mut proxy = Proxy::start(|mut peer| async move { peer.until_closed().await }).await;
    let mut request = request(Method::POST, Some(&proxy.route()), "http://shop.example/", "");
    *request.body_mut() = Body::new(Breaks(false));
    let error = send(&ExitClient::new(), request).await.unwrap_err();
    assert_eq!((error.failure().phase(), error.failure().seen()), (Phase::Send, Seen::Unknown));
    assert!(error.to_string().ends_with("the disk is gone"), "{error}");
    assert!(error.failure().is_blameless(), "the body is the caller's");
    proxy.ended(0).await;
}

#[tokio::test]
async fn a_length_that_the_body_cannot_have_is_refused_before_anything_is_dialled() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let (client, route) = (ExitClient::new(), proxy.route());
    for (declared, body, why) in [
        ("5", "abc", "the content-length header says 5, but the body has 3 bytes"),
        ("2", "abc", "the content-length header says 2, but the body has 3 bytes"),
        ("5", "", "the content-length header says 5, but the body has 0 bytes"),
        ("3, 3", "abc", "the content-length header is not a number"),
        ("+3", "abc", "the content-length header is not a number"),
    ] {
        for method in [Method::GET, Method::POST] {
            let mut request = request(method, Some(&route), "http://shop.example/", body);
            request.headers_mut().insert("content-length", HeaderValue::from_static(declared));
            let error = send(&client, request).await.unwrap_err();
            let failure = error.failure();
            assert_eq!((failure.phase(), failure.seen()), (Phase::Request, Seen::Never), "{declared}");
            assert!(error.to_string().contains(why), "{error}");
        }
    }
    let mut right = request(Method::POST, Some(&route), "http://shop.example/", "abc");
    right.headers_mut().insert("content-length", HeaderValue::from_static("3"));
    assert_eq!(text(send(&client, right).await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1);
}

/// A body of no known size that is shorter than the header says is the caller's fault, and ends the wait.
#[tokio::test]
async fn a_body_shorter_than_its_length_is_a_failure_to_send() {
    let proxy = Proxy::start(|mut peer| async move { peer.until_closed().await }).await;
    let mut request = request(Method::POST, Some(&proxy.route()), "http://shop.example/", "");
    let frames =
        Box::pin(http_body_util::Full::new(Bytes::from_static(b"half")).with_trailers(async { None }));
    *request.body_mut() = Body::new(Unsized(frames));
    request.headers_mut().insert("content-length", HeaderValue::from_static("9"));
    let error = send(&ExitClient::new(), request).await.unwrap_err();
    assert_eq!((error.failure().phase(), error.failure().seen()), (Phase::Send, Seen::Unknown), "{error}");
    assert!(error.failure().is_blameless());
}

/// A body that does not say how long it is.
struct Unsized<B>(Pin<Box<B>>);

impl<B: http_body::Body> http_body::Body for Unsized<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.0.as_mut().poll_frame(cx)
    }
}

/// A body of some bytes and an error.
struct Breaks(bool);

impl http_body::Body for Breaks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let broken = std::mem::replace(&mut self.0, true);
        Poll::Ready(Some(match broken {
            false => Ok(Frame::data(Bytes::from_static(b"half"))),
            true => Err(io::Error::other("the disk is gone")),
        }))
    }
}
