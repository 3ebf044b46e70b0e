//! Who is told an origin's name: the exit, unless the exit takes none.

use crate::world::{Authority, Event, Pki, Proxy, Socks, get, text};
use std::io;
use std::net::IpAddr;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tower_egress::ExitClient;
use tower_egress::client::{ExitClientBuilder, Resolve};
use tower_egress::exit::{Exit, ProxyTls, Route};
use tower_egress::outcome::{Phase, Seen};

/// What a resolver was asked for, in order.
pub(crate) struct Asked(UnboundedReceiver<String>);

impl Asked {
    /// A resolver that knows these addresses of every name but `nowhere.test`, and tells what it is asked.
    pub(crate) fn of(addresses: &[&str]) -> (Self, impl Resolve + 'static) {
        let (tell, asked) = unbounded_channel();
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        let resolver = move |name: String| {
            let found = match name.as_str() {
                "nowhere.test" => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
                _ => Ok(addresses.clone()),
            };
            let _ = tell.send(name);
            async move { found }
        };
        (Self(asked), resolver)
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

/// A client that trusts the origin, and all that it asks a resolver.
fn client(pki: &Pki) -> (Asked, ExitClientBuilder) {
    let (asked, resolver) = Asked::of(&["127.0.0.1"]);
    (asked, pki.builder().resolver(resolver))
}

/// An exit by its name.
fn named(scheme: &str, proxy: &Proxy) -> Route {
    let spec = format!("{scheme}://proxy.test:{}", proxy.address().port());
    Exit::parse(&spec).unwrap().route().clone()
}

#[tokio::test]
async fn te_013_only_the_exit_is_told_an_origins_name() {
    let (pki, own) = (Pki::new("secret.test"), Authority::new());
    let tls = ProxyTls::builder().roots_pem(own.roots.as_bytes()).build().unwrap();
    let forwards = Proxy::start(|peer| peer.serve()).await;
    let over_tls = Proxy::over_tls(own.server("proxy.test"), |peer| peer.serve()).await;
    let (tunnels, origin) = (pki.proxy().await, pki.origin.clone());
    let tls_tunnels =
        Proxy::over_tls(own.server("proxy.test"), move |peer| peer.tunnel_and_serve(origin.clone())).await;
    let socks = Socks::open().start().await;
    for (uri, scheme, proxy) in [
        ("http://secret.test/", "http", &forwards),
        ("https://secret.test/", "http", &tunnels),
        ("http://secret.test/", "https", &over_tls),
        ("https://secret.test/", "https", &tls_tunnels),
        ("http://secret.test/", "socks5h", &socks),
    ] {
        let (mut asked, client) = client(&pki);
        let client = client.proxy_tls(&tls).build().unwrap();
        assert_eq!(text(get(&client, &named(scheme, proxy), uri).await.unwrap()).await, "ok");
        assert_eq!(asked.names(), ["proxy.test"], "{scheme} {uri}");
    }
}

/// The scheme is the opt-in, as in curl: whoever writes `socks5` asks for look-ups here.
#[tokio::test]
async fn te_013_socks5_looks_names_up_here_and_sends_an_address() {
    for (found, expected) in [
        ("192.0.2.7", [&[5, 1, 0, 1][..], &[192, 0, 2, 7], &[0, 80]].concat()),
        ("::1", [&[5, 1, 0, 4][..], &[0; 15], &[1], &[0, 80]].concat()),
    ] {
        let mut proxy = Socks::open().start().await;
        let (mut asked, resolver) = Asked::of(&[found]);
        let client = ExitClient::builder().resolver(resolver).build().unwrap();
        let answer = get(&client, &proxy.route_by("socks5", ""), "http://Secret.Test/").await.unwrap();
        assert_eq!(text(answer).await, "ok");
        assert_eq!(asked.names(), ["secret.test"]);
        let seen = proxy.seen();
        assert!(seen.contains(&Event::Socks(expected)), "{seen:?}");
        assert!(seen.contains(&Event::Origin("GET / HTTP/1.1\r\nhost: secret.test\r\n\r\n".to_owned())));
    }
}

#[tokio::test]
async fn an_address_asks_nobody() {
    let proxy = Socks::open().start().await;
    let (mut asked, resolver) = Asked::of(&["127.0.0.1"]);
    let client = ExitClient::builder().resolver(resolver).build().unwrap();
    for scheme in ["socks5", "socks5h"] {
        for uri in ["http://192.0.2.7/", "http://[2001:db8::7]/"] {
            assert!(get(&client, &proxy.route_by(scheme, ""), uri).await.is_ok());
        }
    }
    assert!(asked.names().is_empty());
}

#[tokio::test]
async fn a_name_that_is_not_found_here_is_the_origins_and_reaches_no_proxy() {
    let mut proxy = Socks::open().start().await;
    let (_, resolver) = Asked::of(&["127.0.0.1"]);
    let client = ExitClient::builder().resolver(resolver).build().unwrap();
    let error = get(&client, &proxy.route_by("socks5", ""), "http://nowhere.test/").await.unwrap_err();
    assert_eq!(error.to_string(), "origin name failed: nowhere.test: no such name");
    assert_eq!((error.failure().phase(), error.failure().seen()), (Phase::OriginDns, Seen::Never));
    proxy.ended(0).await;
    assert!(!proxy.seen().iter().any(|event| matches!(event, Event::Socks(_))));

    let (_, resolver) = Asked::of(&[]);
    let client = ExitClient::builder().resolver(resolver).build().unwrap();
    let error = get(&client, &proxy.route_by("socks5", ""), "http://shop.example/").await.unwrap_err();
    assert_eq!(error.to_string(), "origin name failed: shop.example: the name has no address");
}

#[tokio::test]
async fn a_resolver_that_hangs_runs_into_the_connects_deadline() {
    let proxy = Socks::open().start().await;
    for (route, phase) in [
        (named("socks5", &proxy), Phase::ExitDns),
        (named("http", &proxy), Phase::ExitDns),
        (proxy.route_by("socks5", ""), Phase::OriginDns),
        (Exit::local([127, 0, 0, 1].into()).route().clone(), Phase::OriginDns),
    ] {
        let client = ExitClient::builder()
            .resolver(|_| std::future::pending())
            .connect_timeout(std::time::Duration::from_millis(60));
        let failure = get(&client.build().unwrap(), &route, "http://shop.example/").await.unwrap_err();
        let failure = failure.into_failure();
        assert_eq!((failure.phase(), failure.is_timeout()), (phase, true), "{route:?}");
    }
}
