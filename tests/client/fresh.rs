//! Gateways that rotate by themselves: a connection for each request, and none is left behind. And what an answer's
//! connection proves.

use crate::world::{Event, Pki, Proxy, accepted, get, request, send, text};
use http::Method;
use tower_egress::exit::Route;
use tower_egress::outcome::Connection;
use tower_egress::{Gateway, LeaseRequest, Scheduler};

/// The route of a gateway at the proxy's address that rotates by itself.
fn rotating(proxy: &Proxy) -> Route {
    let gateway = Gateway::rotating(&format!("http://the-user:the-password@{}", proxy.address())).unwrap();
    let scheduler = Scheduler::builder().gateway(gateway).seed(1).build().unwrap();
    let lease = scheduler.lease(&LeaseRequest::per_request().origin("shop.example")).unwrap();
    lease.route().clone()
}

#[tokio::test]
async fn each_request_has_a_connection_of_its_own_which_ends_with_the_answer() {
    let pki = Pki::new("shop.example");
    for (uri, mut proxy) in [
        ("http://shop.example/", Proxy::start(|peer| peer.serve()).await),
        ("https://shop.example/", pki.proxy().await),
    ] {
        let (client, route) = (pki.client(), rotating(&proxy));
        assert!(route.is_fresh());
        for number in 0..3 {
            let answer = get(&client, &route, uri).await.unwrap();
            assert_eq!(answer.extensions().get().map(Connection::is_kept), Some(false));
            assert_eq!(text(answer).await, "ok");
            // The script reads on until the client hangs up.
            proxy.ended(number).await;
        }
        // Answers that nobody reads leave none behind either.
        drop(get(&client, &route, uri).await.unwrap());
        proxy.ended(3).await;
    }
}

#[tokio::test]
async fn of_two_answers_over_one_tunnel_only_the_first_is_new() {
    let pki = Pki::new("shop.example");
    for (uri, mut proxy) in [
        ("http://shop.example/", Proxy::start(|peer| peer.serve()).await),
        ("https://shop.example/", pki.proxy().await),
    ] {
        let client = pki.client();
        for kept in [false, true, true] {
            let answer = get(&client, &proxy.route(), uri).await.unwrap();
            assert_eq!(answer.extensions().get().map(Connection::is_kept), Some(kept), "{uri}");
            assert_eq!(text(answer).await, "ok");
        }
        assert_eq!(accepted(&proxy.seen()), 1, "{uri}");
    }
}

#[tokio::test]
async fn what_takes_the_place_of_a_dead_connection_is_new() {
    // The first connection serves one request, and ends when it is asked for another.
    let mut proxy = Proxy::start(|mut peer| async move {
        if peer.number() == 0 {
            peer.answer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
            peer.proxy_head().await;
        } else {
            peer.serve().await;
        }
    })
    .await;
    let client = Pki::new("shop.example").client();
    for _ in 0..2 {
        let ask = request(Method::GET, Some(&proxy.route()), "http://shop.example/", "");
        let answer = send(&client, ask).await.unwrap();
        assert_eq!(answer.extensions().get().map(Connection::is_kept), Some(false));
        assert_eq!(text(answer).await, "ok");
    }
    let seen = proxy.seen();
    assert_eq!(accepted(&seen), 2);
    assert!(seen.iter().any(|event| matches!(event, Event::Proxy(_))), "the kept one was tried first");
}
