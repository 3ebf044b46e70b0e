//! A dial that several requests wait for.

use crate::world::{Event, PASSWORD, Pki, USER, accepted, get, request, send, text, within};
use crate::world::{Peer, Proxy};
use http::Method;
use std::pin::pin;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tower::ServiceExt as _;

const URI: &str = "https://shop.example/";

/// As in a `select!` whose other branch sends a request too: the first is there, and nobody polls it.
#[tokio::test]
async fn one_who_is_not_polled_holds_up_nobody() {
    let pki = Pki::new("shop.example");
    let (mut proxy, client) = (pki.proxy().await, pki.client());
    let route = proxy.route();
    let mut first = pin!(client.clone().oneshot(request(Method::GET, Some(&route), URI, "")));
    tokio::select! {
        biased;
        _ = &mut first => panic!("nothing is there yet"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(text(get(&client, &route, URI).await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1, "it has moved the first one's dial");
    assert_eq!(text(within(first).await.unwrap()).await, "ok");
}

/// The proxy answers the old password when the new one was let in.
#[tokio::test]
async fn a_dial_with_the_old_password_is_not_waited_for_with_the_new_one() {
    let pki = Pki::new("shop.example");
    let (release, released) = watch::channel(false);
    let origin = pki.origin.clone();
    let mut proxy = Proxy::start(move |mut peer: Peer<TcpStream>| {
        let (origin, mut released) = (origin.clone(), released.clone());
        async move {
            if peer.number() > 0 {
                return peer.tunnel_and_serve(origin).await;
            }
            peer.proxy_head().await;
            released.wait_for(|released| *released).await.unwrap();
            peer.send(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").await;
        }
    })
    .await;
    let (old, new) = (proxy.route_as(USER, "old"), proxy.route_as(USER, PASSWORD));
    assert_eq!(old.exit(), new.exit());
    let client = pki.client();
    let first = tokio::spawn(client.clone().oneshot(request(Method::GET, Some(&old), URI, "")));
    while !matches!(proxy.event().await, Event::Proxy(_)) {}
    let answer = send(&client, request(Method::GET, Some(&new), URI, "")).await.unwrap();
    assert_eq!(text(answer).await, "ok");
    release.send(true).unwrap();
    let failure = within(first).await.unwrap().unwrap_err().into_failure();
    assert_eq!(failure.refusal().map(|refusal| refusal.status().as_u16()), Some(407));
}
