//! SOCKS4 and SOCKS4a: what goes over the wire, what opens a tunnel, and what does not.

use crate::world::{Event, Pki, Proxy, accepted, any_client, get, text};
use tower::Layer as _;
use tower_egress::outcome::{Phase, Seen, SocksRefusal};
use tower_egress::{EgressLayer, Exit, ExitClient, ExitList, LeaseRequest, Outcome, Scheduler};

const GRANTED: &[u8] = &[0, 90, 0, 0, 0, 0, 0, 0];

/// A proxy that answers so, and is the origin behind its own tunnels.
async fn answering(reply: &'static [u8]) -> Proxy {
    Proxy::start(move |mut peer| async move {
        if peer.socks4(reply, false).await {
            peer.serve().await;
        }
    })
    .await
}

fn message(proxy: &mut Proxy) -> Vec<u8> {
    let is_socks = |event| if let Event::Socks(bytes) = event { Some(bytes) } else { None };
    let mut messages = proxy.seen().into_iter().filter_map(is_socks);
    let message = messages.next().expect("it was asked");
    assert_eq!(messages.next(), None, "once");
    message
}

fn client(addresses: &'static [&'static str]) -> ExitClient {
    let addresses = move |_| async move { Ok(addresses.iter().map(|ip| ip.parse().unwrap()).collect()) };
    ExitClient::builder().resolver(addresses).build().unwrap()
}

#[tokio::test]
async fn a_name_is_resolved_here_or_sent_to_the_exit() {
    let mut proxy = answering(GRANTED).await;
    let client = client(&["2001:db8::7", "192.0.2.7"]);
    for (scheme, login, uri, expected) in [
        ("socks4", "", "http://shop.example/", &b"\x04\x01\x00\x50\xc0\x00\x02\x07\x00"[..]),
        ("socks4", "uid@", "http://shop.example:8080/", b"\x04\x01\x1f\x90\xc0\x00\x02\x07uid\x00"),
        ("socks4", "uid@", "http://192.0.2.9/", b"\x04\x01\x00\x50\xc0\x00\x02\x09uid\x00"),
        ("socks4a", "", "http://Shop.example/", b"\x04\x01\x00\x50\x00\x00\x00\x01\x00shop.example\x00"),
        ("socks4a", "u%3Aid:@", "http://a.test/", b"\x04\x01\x00\x50\x00\x00\x00\x01u:id\x00a.test\x00"),
        ("socks4a", "uid@", "http://192.0.2.9/", b"\x04\x01\x00\x50\xc0\x00\x02\x09uid\x00"),
    ] {
        let answer = get(&client, &proxy.route_by(scheme, login), uri).await.unwrap();
        assert_eq!(text(answer).await, "ok", "{scheme} {uri}");
        assert_eq!(message(&mut proxy), expected, "{scheme} {uri}");
    }
}

#[tokio::test]
async fn the_origins_tls_begins_where_the_reply_ends() {
    let pki = Pki::new("shop.example");
    for slowly in [false, true] {
        let origin = pki.origin.clone();
        let mut proxy = Proxy::start(move |mut peer| {
            let origin = origin.clone();
            async move {
                assert!(peer.socks4(&[0, 90, 1, 2, 3, 4, 5, 6], slowly).await);
                if let Some(origin) = peer.accept(&origin).await {
                    origin.serve().await;
                }
            }
        })
        .await;
        let (client, route) = (pki.client(), proxy.route_by("socks4a", "uid@"));
        for _ in 0..2 {
            let answer = get(&client, &route, "https://shop.example/p").await.unwrap();
            assert_eq!(text(answer).await, "ok");
        }
        assert_eq!(accepted(&proxy.seen()), 1, "the tunnel is kept");
    }
}

#[tokio::test]
async fn a_refusal_carries_its_code() {
    for (reply, refusal) in [
        (&[0, 91, 0, 0, 0, 0, 0, 0][..], SocksRefusal::Reply(91)),
        (&[0, 92, 0, 0, 0, 0, 0, 0], SocksRefusal::Login(92)),
        (&[0, 93, 0, 0, 0, 0, 0, 0], SocksRefusal::Login(93)),
        (&[0, 1, 0, 0, 0, 0, 0, 0], SocksRefusal::Reply(1)),
    ] {
        let mut proxy = answering(reply).await;
        let route = proxy.route_by("socks4a", "S3CRET@");
        let error = get(&any_client(), &route, "http://shop.example/").await.unwrap_err();
        proxy.ended(0).await;
        assert!(!format!("{error} {error:?}").contains("S3CRET"));
        let failure = error.into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never));
        assert_eq!((failure.socks(), failure.is_login_accepted()), (Some(refusal), false));
    }
}

#[tokio::test]
async fn what_is_no_reply_opens_no_tunnel() {
    for (reply, why) in [
        (&[5, 255][..], "eof"),
        (&[0, 90, 0, 0, 0, 0, 0], "eof"),
        (&[], "eof"),
        (&[4, 90, 0, 0, 0, 0, 0, 0], "does not speak SOCKS4"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak SOCKS4"),
    ] {
        let proxy = answering(reply).await;
        let route = proxy.route_by("socks4a", "");
        let error = get(&any_client(), &route, "http://shop.example/").await.unwrap_err();
        assert!(error.to_string().contains(why), "{reply:?}: {error}");
        let failure = error.into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::Tunnel, Seen::Never));
        assert!(failure.socks().is_none() && !failure.is_login_accepted());
    }
}

/// Another exit may reach it, so it is neither the caller's fault nor the exit's.
#[tokio::test]
async fn a_site_without_an_ipv4_address_is_out_of_its_reach() {
    let mut proxy = answering(GRANTED).await;
    let only_v6 = client(&["2001:db8::7"]);
    for (scheme, uri) in
        [("socks4", "http://shop.example/"), ("socks4", "http://[::1]/"), ("socks4a", "http://[::1]/")]
    {
        let exit = Exit::parse(&format!("{scheme}://{}", proxy.address())).unwrap();
        let error = get(&only_v6, exit.route(), uri).await.unwrap_err();
        assert!(error.to_string().contains("no IPv4 address"), "{error}");
        let failure = error.into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::OriginDns, Seen::Never));
        let scheduler = Scheduler::builder().exits(ExitList::from_iter([exit])).build().unwrap();
        let stack =
            EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request()).layer(only_v6.clone());
        let request = http::Request::get(uri).body(tower_egress::Body::empty()).unwrap();
        let error = tower::ServiceExt::oneshot(stack, request).await.unwrap_err();
        assert_eq!(error.outcome(), Some(Outcome::TargetUnreachable), "{error}");
    }
    let asked = proxy.seen().into_iter().any(|event| matches!(event, Event::Socks(_)));
    assert!(!asked, "there was nothing to ask for");
    let mapped = client(&["::ffff:192.0.2.7"]);
    text(get(&mapped, &proxy.route_by("socks4", ""), "http://shop.example/").await.unwrap()).await;
    assert_eq!(message(&mut proxy)[4..8], [192, 0, 2, 7], "mapped into IPv6");
}
