//! Connections that end with the exit they lead through.

use crate::world::{Event, Pki, Proxy, accepted, get, request, send, text};
use http::Method;
use tower_egress::exit::Exit;
use tower_egress::outcome::Connection;

#[tokio::test]
async fn what_idles_is_closed_when_its_exit_is_given_up() {
    let pki = Pki::new("shop.example");
    for (uri, mut proxy) in [
        ("http://shop.example/", Proxy::start(|peer| peer.serve()).await),
        ("https://shop.example/", pki.proxy().await),
    ] {
        let client = pki.client();
        let (given_up, other) = (proxy.route_as("a", "pw"), proxy.route_as("b", "pw"));
        for route in [&given_up, &other] {
            assert_eq!(text(get(&client, route, uri).await.unwrap()).await, "ok");
        }
        given_up.evict();
        // At once, and not when it has idled for long enough.
        proxy.ended(0).await;
        let again = get(&client, &other, uri).await.unwrap();
        assert_eq!(again.extensions().get().map(Connection::is_kept), Some(true), "{uri}");
        assert_eq!(text(again).await, "ok");
        // The exit may come back, over connections of its own.
        for kept in [false, true] {
            let again = get(&client, &given_up, uri).await.unwrap();
            assert_eq!(again.extensions().get().map(Connection::is_kept), Some(kept), "{uri}");
            assert_eq!(text(again).await, "ok");
        }
    }
}

#[tokio::test]
async fn what_is_in_use_is_not_kept_when_its_exit_was_given_up() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let (client, route) = (Pki::new("shop.example").client(), proxy.route());
    let answer = get(&client, &route, "http://shop.example/").await.unwrap();
    // The answer is there, and its body not yet read: two bytes may have come, so the connection may be back already.
    let held = send(&client, request(Method::POST, Some(&route), "http://shop.example/", "x")).await.unwrap();
    route.evict();
    assert_eq!((text(answer).await, text(held).await), ("ok".to_owned(), "ok".to_owned()));
    let mut ended = 0;
    while ended < 2 {
        ended += usize::from(matches!(proxy.event().await, Event::Ended(_)));
    }
    assert_eq!(text(get(&client, &route, "http://shop.example/").await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1);
}

#[tokio::test]
async fn every_client_that_keeps_connections_for_an_exit_lets_go() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let pki = Pki::new("shop.example");
    let exit = Exit::parse(&format!("http://u:pw@{}", proxy.address())).unwrap();
    let clients = [pki.client(), pki.client()];
    for client in &clients {
        assert_eq!(text(get(client, exit.route(), "http://shop.example/").await.unwrap()).await, "ok");
    }
    exit.route().evict();
    let mut ended = 0;
    while ended < 2 {
        ended += usize::from(matches!(proxy.event().await, Event::Ended(_)));
    }
}
