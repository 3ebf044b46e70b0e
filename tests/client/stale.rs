//! Connections that die while they idle.

use crate::world::{Event, Proxy, accepted, get, request, send, text, within};
use http::Method;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use tokio::io::AsyncReadExt as _;
use tower_egress::ExitClient;
use tower_egress::exit::Exit;
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
    for (number, method) in [Method::GET, Method::POST, Method::POST].into_iter().enumerate() {
        let request = request(method, Some(&proxy.route()), "http://shop.example/", "x");
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

/// The race: a connection is taken while it looks alive, and turns out to be dead before a byte is written. hyper gives
/// the request back, and it goes out once, over a new connection.
///
/// The proxy has a thread of its own. It closes while the runtime's only thread is held up, so that the runtime learns of
/// the end and wakes the test in the same turn; the test runs first.
#[tokio::test]
async fn a_request_that_comes_back_is_sent_over_a_new_connection() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let exit = Exit::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let gates = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut gate = tokio::net::TcpStream::connect(gates.local_addr().unwrap()).await.unwrap();
    let (mut open_gate, _) = gates.accept().unwrap();
    let ((close, closing), (closed, has_closed)) = (channel(), channel());
    let proxy = thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        let mut heads = vec![answer(&mut first)];
        closing.recv().unwrap();
        open_gate.write_all(b"!").unwrap();
        drop(first);
        closed.send(()).unwrap();
        let (mut second, _) = listener.accept().unwrap();
        heads.push(answer(&mut second));
        heads
    });

    let client = ExitClient::new();
    assert_eq!(text(get(&client, exit.route(), "http://shop.example/").await.unwrap()).await, "ok");
    close.send(()).unwrap();
    has_closed.recv().unwrap();
    within(gate.read_exact(&mut [0])).await.unwrap();
    let post = request(Method::POST, Some(exit.route()), "http://shop.example/p", "x");
    assert_eq!(text(send(&client, post).await.unwrap()).await, "ok");

    let heads = proxy.join().unwrap();
    assert!(heads[0].starts_with("GET http://shop.example/ "), "{}", heads[0]);
    assert!(heads[1].starts_with("POST http://shop.example/p "), "{}", heads[1]);
}

fn answer(io: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        io.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    if head.starts_with(b"POST") {
        io.read_exact(&mut [0]).unwrap();
    }
    io.write_all(OK.as_bytes()).unwrap();
    String::from_utf8(head).unwrap()
}

/// What was read on a reused connection may have been acted on: no hidden replay.
#[tokio::test]
async fn a_request_that_was_read_is_not_sent_again() {
    let mut proxy = Proxy::start(|mut peer| async move {
        peer.answer(OK).await;
        peer.answer("").await;
    })
    .await;
    let client = ExitClient::new();
    assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
    let post = request(Method::POST, Some(&proxy.route()), "http://shop.example/", "x");
    let failure = send(&client, post).await.unwrap_err().into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Head, Seen::Unknown));
    proxy.ended(0).await;
    let seen = proxy.seen();
    assert!(!seen.iter().any(|event| matches!(event, Event::Accepted(_) | Event::Origin(_))), "{seen:?}");
}
