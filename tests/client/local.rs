//! Own addresses: no proxy, and no word of one.

use crate::names::Asked;
use crate::world::{Event, Pki, Proxy, accepted, any_client, get, request, send, text, within};
use http::Method;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::net::TcpListener;
use tower::Layer as _;
use tower_egress::client::ExitClientBuilder;
use tower_egress::exit::{Exit, Route};
use tower_egress::outcome::{Phase, Seen};
use tower_egress::{EgressLayer, ExitClient, ExitList, LeaseRequest, Outcome, Scheduler};

fn local(address: &str) -> Route {
    Exit::local(address.parse().unwrap()).route().clone()
}

/// An origin on loopback that answers each request with the address that it came from.
async fn origin() -> Proxy {
    Proxy::start(|mut peer| async move {
        let from = peer.io.peer_addr().unwrap().ip().to_string();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{from}", from.len());
        while peer.answer(&answer).await {}
    })
    .await
}

/// A client for which every name has these addresses.
fn finding(addresses: &[&str]) -> ExitClientBuilder {
    ExitClient::builder().resolver(Asked::of(addresses).1)
}

/// An address where nobody listens.
async fn nobody() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn the_origin_sees_the_address_and_a_request_without_a_proxys_headers() {
    let mut origin = origin().await;
    let (port, client) = (origin.address().port(), finding(&["127.0.0.1"]).build().unwrap());
    for (own, host) in [("127.0.0.5", "127.0.0.1"), ("127.0.0.6", "shop.example")] {
        let uri = format!("http://{host}:{port}/p?q=1");
        for _ in 0..2 {
            let mut request = request(Method::GET, Some(&local(own)), &uri, "");
            request.headers_mut().insert("proxy-authorization", "Basic Y2FsbGVy".parse().unwrap());
            assert_eq!(text(send(&client, request).await.unwrap()).await, own);
        }
        let seen = origin.seen();
        let head = Event::Origin(format!("GET /p?q=1 HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n"));
        assert_eq!(seen.iter().filter(|event| **event == head).count(), 2, "{seen:?}");
        assert_eq!(accepted(&seen), 1, "a connection for each address, which is kept");
    }
}

#[tokio::test]
async fn tls_to_the_origin_is_the_clients_own() {
    let pki = Pki::new("shop.example");
    let tls = pki.origin.clone();
    let mut origin = Proxy::start(move |peer| {
        let tls = tls.clone();
        async move {
            let from = peer.io.peer_addr().unwrap().ip();
            assert_eq!(from, IpAddr::from([127, 0, 0, 7]));
            if let Some(origin) = peer.accept(&tls).await {
                origin.serve().await;
            }
        }
    })
    .await;
    let (mut asked, resolver) = Asked::of(&["127.0.0.1"]);
    let client = pki.builder().resolver(resolver).build().unwrap();
    let port = origin.address().port();
    let answer = get(&client, &local("127.0.0.7"), &format!("https://shop.example:{port}/")).await.unwrap();
    assert_eq!(text(answer).await, "ok");
    assert_eq!(asked.names(), ["shop.example"]);
    let head = format!("GET / HTTP/1.1\r\nhost: shop.example:{port}\r\n\r\n");
    assert!(origin.seen().contains(&Event::Origin(head)));

    let other = Pki::new("other.example");
    let client = other.builder().resolver(Asked::of(&["127.0.0.1"]).1).build().unwrap();
    let failure = get(&client, &local("127.0.0.7"), &format!("https://shop.example:{port}/")).await;
    assert_eq!(failure.unwrap_err().failure().phase(), Phase::OriginTls);
}

#[tokio::test]
async fn ipv6_goes_to_ipv6() {
    let listener = TcpListener::bind(("::1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = tokio::spawn(async move { listener.accept().await.unwrap().1.ip() });
    let client =
        finding(&["127.0.0.1", "::1"]).establish_timeout(Duration::from_millis(100)).build().unwrap();
    let failure = get(&client, &local("::1"), &format!("https://shop.example:{port}/")).await.unwrap_err();
    assert_eq!(failure.failure().phase(), Phase::OriginTls, "it was connected");
    assert_eq!(within(peer).await.unwrap(), "::1".parse::<IpAddr>().unwrap());
}

#[tokio::test]
async fn addresses_are_tried_in_turn_and_those_of_the_other_family_are_not() {
    let origin = origin().await;
    let port = origin.address().port();
    // Nobody listens at the second; an address of the other family cannot be connected from here.
    let client = finding(&["::1", "127.0.0.2", "127.0.0.1"]).build().unwrap();
    let uri = format!("http://shop.example:{port}/");
    assert_eq!(text(get(&client, &local("127.0.0.5"), &uri).await.unwrap()).await, "127.0.0.5");

    let error = get(&finding(&["::1"]).build().unwrap(), &local("127.0.0.5"), &uri).await.unwrap_err();
    let why = "origin name failed: shop.example has no address of the family of the exit, 127.0.0.5";
    assert_eq!(error.to_string(), why);
    let failure = error.into_failure();
    assert_eq!(
        (failure.phase(), failure.seen(), failure.is_blameless()),
        (Phase::OriginDns, Seen::Never, false)
    );
}

#[tokio::test]
async fn an_origin_that_refuses_is_the_origins() {
    let address = nobody().await;
    let failure = get(&any_client(), &local("127.0.0.5"), &format!("http://{address}/")).await.unwrap_err();
    let failure = failure.into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::OriginTcp, Seen::Never));
    assert!(!failure.is_timeout() && !failure.is_blameless());
}

async fn through(scheduler: &Scheduler, client: &ExitClient, uri: &str) -> Result<u16, tower_egress::Error> {
    let ask = LeaseRequest::per_request().patience(Duration::ZERO).attempts(NonZeroU32::MIN);
    let mut request = request(Method::GET, None, uri, "");
    request.extensions_mut().insert(ask);
    let stack = EgressLayer::new(scheduler).layer(client.clone());
    Ok(within(stack.oneshot(request)).await?.status().as_u16())
}

fn scheduler<const N: usize>(own: [&str; N]) -> Scheduler {
    let exits = own.map(|ip| Exit::local(ip.parse().unwrap()));
    Scheduler::builder().exits(ExitList::from_iter(exits)).seed(1).build().unwrap()
}

#[tokio::test]
async fn no_own_address_is_charged_for_an_origin_that_cannot_be_reached_or_found() {
    let (refused, origin) = (nobody().await, origin().await);
    let (scheduler, client) = (scheduler(["127.0.0.5"]), finding(&["127.0.0.1"]).build().unwrap());
    for uri in [format!("http://{refused}/"), "http://nowhere.test/".to_owned()] {
        for _ in 0..3 {
            let error = through(&scheduler, &client, &uri).await.unwrap_err();
            assert_eq!(error.outcome(), Some(Outcome::TargetUnreachable), "{error}");
        }
    }
    assert_eq!((scheduler.snapshot().exits.dead, scheduler.snapshot().in_flight), (0, 0));
    assert_eq!(through(&scheduler, &client, &format!("http://{}/", origin.address())).await.unwrap(), 200);
}

/// 192.0.2.0/24 is for documentation: no machine has it.
#[tokio::test]
async fn an_address_that_the_machine_lacks_is_a_dead_exit() {
    let mut origin = origin().await;
    let uri = format!("http://{}/", origin.address());
    let failure = get(&any_client(), &local("192.0.2.7"), &uri).await.unwrap_err().into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::ExitTcp, Seen::Never));
    assert!(!failure.is_blameless());

    let (lacking, client) = (scheduler(["192.0.2.7"]), any_client());
    // Three faults in a row are a death.
    for _ in 0..3 {
        let error = through(&lacking, &client, &uri).await.unwrap_err();
        assert_eq!(error.outcome(), Some(Outcome::ProxyError { phase: Phase::ExitTcp }), "{error}");
    }
    assert_eq!(lacking.snapshot().exits.dead, 1);
    assert!(through(&lacking, &client, &uri).await.unwrap_err().is_refusal());
    assert_eq!(accepted(&origin.seen()), 0, "it did not leave from another address");
}
