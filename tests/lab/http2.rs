//! Sites over HTTP/2.

use crate::trust::offering;
use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::error::Error;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tower_egress::lab::{Lab, Reply};

/// Longer than any answer takes, shorter than a silent connection lasts.
const SILENCE: Duration = Duration::from_millis(200);

type Sender = http2::SendRequest<Full<Bytes>>;

async fn lab(exits: usize) -> Lab {
    Lab::builder().fine(exits).start().await.unwrap()
}

/// TLS with the site through a tunnel of an exit.
async fn dial(lab: &Lab, exit: usize, alpn: &[&str]) -> TlsStream<TcpStream> {
    let mut tunnel = TcpStream::connect(lab.exit(exit).address().unwrap()).await.unwrap();
    tunnel.write_all(b"CONNECT shop.test:443 HTTP/1.1\r\n\r\n").await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tunnel.read_u8().await.unwrap());
    }
    offering(lab.ca_pem(), alpn).connect("shop.test".try_into().unwrap(), tunnel).await.unwrap()
}

/// A client, and its connection, which ends when it does.
async fn client(lab: &Lab, exit: usize) -> (Sender, JoinHandle<hyper::Result<()>>) {
    let stream = dial(lab, exit, &["h2", "http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("a handshake");
    (sender, tokio::spawn(connection))
}

fn get(lab: &Lab, path: &str) -> Request<Full<Bytes>> {
    Request::get(lab.tls_url(path)).body(Full::default()).unwrap()
}

async fn text(response: Response<Incoming>) -> hyper::Result<String> {
    let bytes = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

/// The start of a body that breaks.
async fn broken(response: Response<Incoming>) -> Bytes {
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(body.frame().await.unwrap().is_err());
    first
}

#[tokio::test]
async fn one_connection_carries_many_requests_at_once() {
    let lab = lab(2).await;
    let (mut sender, _connection) = client(&lab, 1).await;
    lab.origin().page("/slow", Reply::page("late").after(SILENCE));
    let slow = sender.send_request(get(&lab, "/slow"));
    let post = Request::post(lab.tls_url("/p")).body(Full::from("12345")).unwrap();
    let quick = sender.send_request(post).await.unwrap();
    assert_eq!((quick.status(), quick.version()), (StatusCode::OK, Version::HTTP_2));
    assert_eq!(text(quick).await.unwrap(), "<h1>/p</h1>\n");
    assert_eq!(text(slow.await.unwrap()).await.unwrap(), "late");

    let seen = lab.origin().seen();
    assert!(seen.iter().all(|seen| seen.version() == Version::HTTP_2 && seen.is_tls()));
    assert_eq!(seen.iter().find(|seen| seen.path() == "/p").unwrap().body_len(), 5);
    let peers = lab.origin().peers();
    assert_eq!(peers.len(), 1);
    let counts = peers[&lab.exit(1).source()];
    assert_eq!((counts.connections, counts.requests), (1, 2));
}

#[tokio::test]
async fn who_does_not_offer_it_or_is_not_offered_it_speaks_http_1() {
    let lab = lab(1).await;
    let offers = [&["http/1.1"][..], &[], &["h2", "http/1.1"]];
    for (at, alpn) in offers.iter().enumerate() {
        lab.origin().http2(at < 2);
        let stream = dial(&lab, 0, alpn).await;
        let spoken = stream.get_ref().1.alpn_protocol();
        assert_eq!(spoken, (!alpn.is_empty()).then_some(&b"http/1.1"[..]));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::get("/p").header("host", "shop.test").body(Empty::<Bytes>::new()).unwrap();
        assert_eq!(sender.send_request(request).await.unwrap().status(), StatusCode::OK);
    }
    assert!(lab.origin().seen().iter().all(|seen| seen.version() == Version::HTTP_11));
    lab.origin().http2(true);
    client(&lab, 0).await;
}

#[tokio::test]
async fn a_cut_page_ends_its_stream_alone() {
    let lab = lab(1).await;
    lab.origin().page("/cut", Reply::page("0123456789").cut_after(4));
    lab.origin().page("/stall", Reply::page("0123456789").stall_after(4));
    let (mut sender, _connection) = client(&lab, 0).await;
    let stalled = sender.send_request(get(&lab, "/stall")).await.unwrap();
    assert_eq!(broken(sender.send_request(get(&lab, "/cut")).await.unwrap()).await, "0123");
    let mut body = stalled.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "0123");
    assert!(timeout(SILENCE, body.frame()).await.is_err());
    let next = sender.send_request(get(&lab, "/p")).await.unwrap();
    assert_eq!(text(next).await.unwrap(), "<h1>/p</h1>\n");
    assert_eq!(lab.origin().connections(), 1);
}

#[tokio::test]
async fn a_reset_takes_everything_with_it() {
    let lab = lab(1).await;
    lab.origin().page("/reset", Reply::reset());
    lab.origin().page("/half", Reply::page("0123456789").reset_after(4));
    lab.origin().page("/hang", Reply::hang());
    for path in ["/reset", "/half"] {
        let (mut sender, connection) = client(&lab, 0).await;
        let other = tokio::spawn(sender.send_request(get(&lab, "/hang")));
        match sender.send_request(get(&lab, path)).await {
            Ok(half) => assert_eq!((broken(half).await, path), (Bytes::from("0123"), "/half")),
            Err(_) => assert_eq!(path, "/reset"),
        }
        assert!(other.await.unwrap().is_err(), "{path}");
        assert!(connection.await.unwrap().is_err(), "{path}");
    }
}

#[tokio::test]
async fn a_refused_stream_says_so() {
    let lab = lab(1).await;
    lab.origin().page("/refused", Reply::refuse_stream());
    let (mut sender, _connection) = client(&lab, 0).await;
    let error = sender.send_request(get(&lab, "/refused")).await.unwrap_err();
    let reason = error.source().unwrap().downcast_ref::<h2::Error>().unwrap().reason();
    assert_eq!(reason, Some(h2::Reason::REFUSED_STREAM));
    assert_eq!(sender.send_request(get(&lab, "/p")).await.unwrap().status(), StatusCode::OK);

    let stream = dial(&lab, 0, &[]).await;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    assert!(sender.send_request(get(&lab, "/refused")).await.is_err(), "and is a reset over HTTP/1.1");
}

#[tokio::test]
async fn a_site_lets_those_go_who_are_connected() {
    let lab = lab(1).await;
    lab.origin().page("/slow", Reply::page("late").after(SILENCE));
    let (mut sender, connection) = client(&lab, 0).await;
    sender.send_request(get(&lab, "/p")).await.unwrap();
    let stream = dial(&lab, 0, &[]).await;
    let (mut idle, idle_connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let idle_connection = tokio::spawn(idle_connection);
    text(idle.send_request(get(&lab, "/p")).await.unwrap()).await.unwrap();

    let mut under_way = std::pin::pin!(sender.send_request(get(&lab, "/slow")));
    assert!(timeout(SILENCE / 2, &mut under_way).await.is_err());
    lab.origin().go_away();
    assert_eq!(text(under_way.await.unwrap()).await.unwrap(), "late", "what is under way ends as it should");
    timeout(SILENCE * 10, connection).await.unwrap().unwrap().unwrap();
    timeout(SILENCE * 10, idle_connection).await.unwrap().unwrap().unwrap();
    assert!(sender.send_request(get(&lab, "/p")).await.is_err());
    // Who comes afterwards is not asked to go.
    let (mut sender, _connection) = client(&lab, 0).await;
    assert_eq!(sender.send_request(get(&lab, "/p")).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn its_streams_end_with_the_lab() {
    let lab = lab(1).await;
    lab.origin().page("/hang", Reply::hang());
    lab.origin().page("/stall", Reply::page("0123456789").stall_after(4));
    let (mut sender, _connection) = client(&lab, 0).await;
    let hung = tokio::spawn(sender.send_request(get(&lab, "/hang")));
    let stalled = sender.send_request(get(&lab, "/stall")).await.unwrap();
    while lab.origin().requests() < 2 {
        tokio::task::yield_now().await;
    }
    drop(lab);
    assert!(hung.await.unwrap().is_err());
    drop((stalled, sender));
    let tasks = tokio::runtime::Handle::current().metrics();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks.num_alive_tasks(), 0);
}
