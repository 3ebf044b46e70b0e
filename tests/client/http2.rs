//! HTTP/2 to origins: one connection through an exit serves all requests to an origin, and no other.

use crate::frames::{data, ok};
use crate::world::{Event, Pki, Proxy, accepted, begin, get, request, send, text, within};
use http::{Method, Version};
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::ServiceExt as _;
use tower_egress::exit::{ExitList, Route};
use tower_egress::outcome::{Connection, Phase};
use tower_egress::request::Freshness;
use tower_egress::{LeaseRequest, Scheduler};

const URI: &str = "https://shop.example/p?q=1";

fn pki() -> Pki {
    Pki::speaking("shop.example", &["h2", "http/1.1"])
}

async fn proxy(pki: &Pki) -> Proxy {
    gated(pki, &Arc::new(Semaphore::new(1))).await
}

/// A proxy that answers each CONNECT once the gate is open.
async fn gated(pki: &Pki, gate: &Arc<Semaphore>) -> Proxy {
    let (tls, gate) = (pki.origin.clone(), Arc::clone(gate));
    Proxy::start(move |mut peer| {
        let (tls, gate) = (tls.clone(), Arc::clone(&gate));
        async move {
            peer.proxy_head().await;
            drop(gate.acquire().await);
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            let Some(origin) = peer.accept(&tls).await else { return };
            if origin.io.get_ref().1.alpn_protocol() == Some(b"h2") {
                origin.serve_http2().await;
            } else {
                origin.serve().await;
            }
        }
    })
    .await
}

fn connects(seen: &[Event]) -> usize {
    seen.iter().filter(|event| matches!(event, Event::Proxy(_))).count()
}

async fn connect_seen(proxy: &mut Proxy) {
    while !matches!(proxy.event().await, Event::Proxy(_)) {}
}

#[tokio::test]
async fn one_connection_serves_requests_one_by_one_and_at_once() {
    let pki = pki();
    let mut proxy = proxy(&pki).await;
    let (client, route) = (pki.client(), proxy.route());
    for kept in [false, true, true] {
        let answer = get(&client, &route, URI).await.unwrap();
        assert_eq!(answer.version(), Version::HTTP_2);
        assert_eq!(answer.extensions().get().map(Connection::is_kept), Some(kept));
        assert_eq!(text(answer).await, "ok");
    }
    let open: Vec<_> = {
        let ask = |_| client.clone().oneshot(request(Method::POST, Some(&route), URI, "body"));
        within((0..20).map(ask).collect::<JoinSet<_>>().join_all()).await
    };
    for answer in open {
        assert_eq!(text(answer.unwrap()).await, "ok");
    }
    let seen = proxy.seen();
    assert_eq!((accepted(&seen), connects(&seen)), (1, 1));
}

#[tokio::test]
async fn an_origin_is_offered_http1_alone_where_that_is_asked_for() {
    let pki = pki();
    let proxy = proxy(&pki).await;
    let client = pki.builder().http2(false).build().unwrap();
    assert_eq!(get(&client, &proxy.route(), URI).await.unwrap().version(), Version::HTTP_11);
}

#[tokio::test]
async fn a_cold_burst_dials_once() {
    let (pki, gate) = (pki(), Arc::new(Semaphore::new(0)));
    let mut proxy = gated(&pki, &gate).await;
    let (client, route) = (pki.client(), proxy.route());
    let ask = |_| Box::pin(client.clone().oneshot(request(Method::POST, Some(&route), URI, "body")));
    let mut burst: Vec<_> = (0..16).map(ask).collect();
    for request in &mut burst {
        begin(request).await;
    }
    gate.add_permits(1);
    for answer in within(burst.into_iter().collect::<JoinSet<_>>().join_all()).await {
        assert_eq!(text(answer.unwrap()).await, "ok");
    }
    let seen = proxy.seen();
    assert_eq!((accepted(&seen), connects(&seen)), (1, 1));
}

#[tokio::test]
async fn the_next_in_line_carries_on_the_dial_of_a_request_that_was_dropped() {
    let (pki, gate) = (pki(), Arc::new(Semaphore::new(0)));
    let mut proxy = gated(&pki, &gate).await;
    let (client, route) = (pki.client(), proxy.route());
    let ask = || Box::pin(client.clone().oneshot(request(Method::GET, Some(&route), URI, "")));
    let first = tokio::spawn(ask());
    connect_seen(&mut proxy).await;
    let mut others = [ask(), ask()];
    for other in &mut others {
        begin(other).await;
    }
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    for answer in within(others.into_iter().collect::<JoinSet<_>>().join_all()).await {
        assert_eq!(text(answer.unwrap()).await, "ok");
    }
    let seen = proxy.seen();
    assert_eq!((accepted(&seen), connects(&seen)), (0, 0), "the first CONNECT was enough");
}

/// A dial ends with the last who waits for it.
#[tokio::test]
async fn a_dial_that_nobody_waits_for_is_given_up() {
    let (pki, gate) = (pki(), Arc::new(Semaphore::new(0)));
    let mut proxy = gated(&pki, &gate).await;
    let (client, route) = (pki.client(), proxy.route());
    let ask = || Box::pin(client.clone().oneshot(request(Method::GET, Some(&route), URI, "")));
    let first = tokio::spawn(ask());
    connect_seen(&mut proxy).await;
    let mut second = ask();
    begin(&mut second).await;
    drop(second);
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    proxy.ended(0).await;
    assert_eq!(text(get(&client, &route, URI).await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1, "the next begins anew");
}

/// Whoever began a dial may not come back to it: a caller in a `select!` that went on with something else.
#[tokio::test]
async fn a_dial_that_nobody_moves_holds_nobody_up_for_long() {
    let pki = pki();
    let mut proxy = proxy(&pki).await;
    let client = pki.builder().establish_timeout(Duration::from_secs(1)).build().unwrap();
    let route = proxy.route();
    let mut forgotten = Box::pin(client.clone().oneshot(request(Method::GET, Some(&route), URI, "")));
    begin(&mut forgotten).await;
    assert_eq!(text(get(&client, &route, URI).await.unwrap()).await, "ok");
    assert_eq!(connects(&proxy.seen()), 1);
    drop(forgotten);
}

#[tokio::test]
async fn when_the_shared_dial_fails_each_dials_once_for_itself() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let mut proxy = Proxy::start(move |mut peer| {
        let gate = Arc::clone(&opened);
        async move {
            peer.proxy_head().await;
            drop(gate.acquire().await);
            peer.send(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await;
            peer.until_closed().await;
        }
    })
    .await;
    let (client, route) = (pki().client(), proxy.route());
    let ask = |_| Box::pin(client.clone().oneshot(request(Method::GET, Some(&route), URI, "")));
    let mut burst: Vec<_> = (0..4).map(ask).collect();
    for request in &mut burst {
        begin(request).await;
    }
    gate.add_permits(1);
    for answer in within(burst.into_iter().collect::<JoinSet<_>>().join_all()).await {
        let failure = answer.unwrap_err().into_failure();
        assert_eq!((failure.phase(), failure.refusal().unwrap().status().as_u16()), (Phase::Tunnel, 503));
    }
    assert_eq!(connects(&proxy.seen()), 4);
}

#[tokio::test]
async fn an_origin_that_chooses_http1_is_not_waited_for_again() {
    let pki = Pki::speaking("shop.example", &["http/1.1"]);
    let gate = Arc::new(Semaphore::new(1));
    let mut proxy = gated(&pki, &gate).await;
    let (client, route) = (pki.client(), proxy.route());
    let answer = get(&client, &route, URI).await.unwrap();
    assert_eq!(answer.version(), Version::HTTP_11);
    // Not read, so that it holds its connection; and the gate is shut.
    let shut = gate.acquire().await.unwrap();
    connect_seen(&mut proxy).await;
    let other = proxy.route_as("another", "exit");
    let ask = |_| client.clone().oneshot(request(Method::GET, Some(&other), URI, ""));
    let both: JoinSet<_> = (0..2).map(ask).collect();
    connect_seen(&mut proxy).await;
    connect_seen(&mut proxy).await;
    drop(shut);
    for answer in within(both.join_all()).await {
        assert_eq!(text(answer.unwrap()).await, "ok");
    }
}

/// A new password may be another session, and never rides on the old one's tunnel, not even on one that is being dialled.
#[tokio::test]
async fn te_011_two_passwords_of_one_exit_share_no_dial() {
    let (pki, gate) = (pki(), Arc::new(Semaphore::new(0)));
    let mut proxy = gated(&pki, &gate).await;
    let client = pki.client();
    let (old, new) = (proxy.route_as("alice", "old"), proxy.route_as("alice", "new"));
    assert_eq!(old.exit(), new.exit());
    let ask = |route: &Route| Box::pin(client.clone().oneshot(request(Method::GET, Some(route), URI, "")));
    let mut both = vec![ask(&old), ask(&new)];
    for request in &mut both {
        begin(request).await;
    }
    gate.add_permits(1);
    for answer in within(both.into_iter().collect::<JoinSet<_>>().join_all()).await {
        assert_eq!(text(answer.unwrap()).await, "ok");
    }
    let heads: Vec<_> = proxy.seen().into_iter().filter(|event| matches!(event, Event::Proxy(_))).collect();
    assert_eq!(heads.len(), 2, "a CONNECT with each password");
    assert_ne!(heads[0], heads[1]);
}

#[tokio::test]
async fn the_authority_stands_for_the_host_and_no_login_goes_inside() {
    let pki = pki();
    let mut proxy = proxy(&pki).await;
    let client = pki.client();
    for (own, authority) in [(None, "shop.example"), (Some("edge.example"), "edge.example")] {
        let mut request =
            request(Method::POST, Some(&proxy.route()), "https://me:pw@Shop.example:443/p", "b");
        let headers = request.headers_mut();
        headers.extend(own.map(|own| (http::header::HOST, own.parse().unwrap())));
        headers.insert("proxy-authorization", "Basic Y2FsbGVy".parse().unwrap());
        headers.insert("x-mine", "kept".parse().unwrap());
        assert_eq!(text(send(&client, request).await.unwrap()).await, "ok");
        let seen = format!("POST https://{authority}/p\nx-mine: kept\ncontent-length: 1\nb");
        assert_eq!(proxy.seen().pop(), Some(Event::Origin(seen)));
    }
}

#[tokio::test]
async fn two_exits_never_share_a_connection() {
    let pki = pki();
    let mut proxy = proxy(&pki).await;
    let client = pki.client();
    for user in ["alice", "bob", "alice", "bob"] {
        assert_eq!(text(get(&client, &proxy.route_as(user, "pw"), URI).await.unwrap()).await, "ok");
    }
    assert_eq!(accepted(&proxy.seen()), 2);
}

#[tokio::test]
async fn who_asks_for_a_connection_of_its_own_has_it() {
    let pki = pki();
    for (freshness, connections) in [(Freshness::Keep, 1), (Freshness::PerLease, 2), (Freshness::Fresh, 4)] {
        let mut proxy = proxy(&pki).await;
        let exits = ExitList::parse(&format!("http://u:p@{}", proxy.address())).unwrap();
        let scheduler = Scheduler::builder().exits(exits).seed(1).build().unwrap();
        let client = pki.client();
        for key in ["alice", "bob", "alice", "bob"] {
            let ask = LeaseRequest::new(key).origin("shop.example").freshness(freshness);
            let lease = scheduler.lease(&ask).unwrap();
            assert_eq!(text(get(&client, lease.route(), URI).await.unwrap()).await, "ok");
        }
        assert_eq!(accepted(&proxy.seen()), connections, "{freshness:?}");
    }
}

#[tokio::test]
async fn requests_at_once_that_are_each_to_have_a_connection_have_one_each() {
    let pki = pki();
    let mut proxy = proxy(&pki).await;
    let exits = ExitList::parse(&format!("http://u:p@{}", proxy.address())).unwrap();
    let scheduler = Scheduler::builder().exits(exits).seed(1).build().unwrap();
    let client = pki.client();
    let ask = LeaseRequest::per_request().origin("shop.example").freshness(Freshness::Fresh);
    let leases: Vec<_> = (0..4).map(|_| scheduler.lease(&ask).unwrap()).collect();
    let ask = |route: &Route| client.clone().oneshot(request(Method::GET, Some(route), URI, ""));
    for answer in
        within(leases.iter().map(|lease| ask(lease.route())).collect::<JoinSet<_>>().join_all()).await
    {
        assert_eq!(text(answer.unwrap()).await, "ok");
    }
    let mut open = std::collections::BTreeSet::from([0, 1, 2, 3]);
    // Each ends with its answer.
    while !open.is_empty() {
        if let Event::Ended(number) = proxy.event().await {
            open.remove(&number);
        }
    }
}

#[tokio::test]
async fn it_is_closed_when_it_idles_too_long_and_not_while_it_is_used() {
    let pki = pki();
    // The second part of an answer comes when the client has asked for something else.
    let tls = pki.origin.clone();
    let mut proxy = Proxy::start(move |peer| {
        let tls = tls.clone();
        async move {
            let Some(mut origin) = async { peer.tunnel(&tls).await?.frames().await }.await else { return };
            let Some(first) = origin.request().await else { return };
            origin.send(&[ok(first, true), data(first, false, "o")]).await;
            if let Some(second) = origin.request().await {
                origin.send(&[ok(second, false), data(first, true, "k")]).await;
            }
            origin.until_closed().await;
        }
    })
    .await;
    let client = pki.builder().idle_timeout(Duration::from_millis(50)).build().unwrap();
    let mut open = get(&client, &proxy.route(), URI).await.unwrap();
    let part = within(open.body_mut().frame()).await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(part, "o");
    // Another one, begun later, has idled too long.
    drop(get(&client, &proxy.route_as("another", "exit"), URI).await.unwrap());
    proxy.ended(1).await;
    let second = get(&client, &proxy.route(), URI).await.unwrap();
    assert_eq!((text(second).await, text(open).await), (String::new(), "k".to_owned()));
    proxy.ended(0).await;
    assert_eq!(accepted(&proxy.seen()), 0);
}
