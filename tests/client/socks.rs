//! SOCKS5: what goes over the wire, and what opens a tunnel.

use crate::world::{Event, Pki, Proxy, Socks, accepted, any_client, get, text};
use std::net::IpAddr;
use tower_egress::ExitClient;
use tower_egress::outcome::{Phase, Seen};

const GREETING: &[u8] = &[5, 1, 0];
const WITH_LOGIN: &[u8] = &[5, 1, 2];

/// A request for a tunnel.
fn connect(kind: u8, address: impl AsRef<[u8]>, port: u16) -> Vec<u8> {
    [&[5, 1, 0, kind], address.as_ref(), &port.to_be_bytes()].concat()
}

fn name(name: &str) -> Vec<u8> {
    [&[u8::try_from(name.len()).unwrap()], name.as_bytes()].concat()
}

/// The messages to the proxy.
fn messages(proxy: &mut Proxy) -> Vec<Vec<u8>> {
    let message = |event| if let Event::Socks(bytes) = event { Some(bytes) } else { None };
    proxy.seen().into_iter().filter_map(message).collect()
}

#[tokio::test]
async fn te_077_an_address_is_sent_as_one_and_a_name_as_a_name() {
    let mut proxy = Socks::open().start().await;
    let v6 = "2001:db8::7".parse::<std::net::Ipv6Addr>().unwrap().octets();
    let loopback = std::net::Ipv6Addr::LOCALHOST.octets();
    for (uri, schemes, expected) in [
        ("http://Shop.Example/p", &["socks5h"][..], connect(3, name("shop.example"), 80)),
        ("http://shop.example:8080/", &["socks5h"], connect(3, name("shop.example"), 8080)),
        ("http://192.0.2.7/", &["socks5", "socks5h"], connect(1, [192, 0, 2, 7], 80)),
        ("http://[::1]:8080/", &["socks5", "socks5h"], connect(4, loopback, 8080)),
        ("http://[2001:db8::7]/", &["socks5", "socks5h"], connect(4, v6, 80)),
    ] {
        for scheme in schemes {
            let answer = get(&any_client(), &proxy.route_by(scheme, ""), uri).await.unwrap();
            assert_eq!(text(answer).await, "ok");
            assert_eq!(messages(&mut proxy), [GREETING, &expected], "{scheme} {uri}");
        }
    }
}

#[tokio::test]
async fn the_origin_gets_the_request_as_it_would_without_a_proxy() {
    let pki = Pki::new("shop.example");
    let origin = pki.origin.clone();
    let mut proxy = Proxy::start(move |mut peer| {
        let origin = origin.clone();
        async move {
            assert!(peer.socks(&Socks::with_login()).await);
            if peer.number() == 0 {
                peer.serve().await;
            } else if let Some(origin) = peer.accept(&origin).await {
                origin.serve().await;
            }
        }
    })
    .await;
    let (client, route) = (pki.client(), proxy.route_by("socks5h", "the-user:the-password@"));
    for (uri, host) in
        [("http://shop.example:81/p?q=1", "shop.example:81"), ("https://shop.example/p?q=1", "shop.example")]
    {
        for _ in 0..2 {
            assert_eq!(text(get(&client, &route, uri).await.unwrap()).await, "ok");
        }
        let seen = proxy.seen();
        let requests: Vec<_> = seen.iter().filter(|event| matches!(event, Event::Origin(_))).collect();
        let expected = Event::Origin(format!("GET /p?q=1 HTTP/1.1\r\nhost: {host}\r\n\r\n"));
        assert_eq!((requests, accepted(&seen)), (vec![&expected; 2], 1), "one tunnel for both");
    }
}

#[tokio::test]
async fn te_075_te_119_te_144_a_login_is_sent_decoded_and_offered_only_if_there_is_one() {
    let mut proxy = Socks::with_login().start().await;
    let (long, accents) = ("u".repeat(255), "%C3%A9".repeat(45));
    for (login, user, password) in [
        ("user%3Aname:p%40ss@", "user:name", "p@ss"),
        ("user%40name:p%40ss@", "user@name", "p@ss"),
        ("token@", "token", ""),
        (&format!("{long}:{}@", "p".repeat(255)), &*long, &*"p".repeat(255)),
        (&format!("{accents}:pw@"), &*"é".repeat(45), "pw"),
    ] {
        for scheme in ["socks5", "socks5h"] {
            let answer =
                get(&any_client(), &proxy.route_by(scheme, login), "http://192.0.2.7/").await.unwrap();
            assert_eq!(text(answer).await, "ok");
            let expected = [&[1], &*name(user), &*name(password)].concat();
            let messages = messages(&mut proxy);
            assert_eq!(messages, [WITH_LOGIN, &expected, &connect(1, [192, 0, 2, 7], 80)], "{login}");
        }
    }
    let mut open = Socks::open().start().await;
    let answer = get(&any_client(), &open.route_by("socks5", ""), "http://192.0.2.7/").await.unwrap();
    assert_eq!((text(answer).await, &*messages(&mut open)[0]), ("ok".to_owned(), GREETING));
}

#[tokio::test]
async fn te_081_a_handshake_in_single_bytes_or_with_the_longest_address_opens_a_tunnel() {
    let pki = Pki::new("shop.example");
    let mut domain = vec![5, 0, 0, 3, 255];
    domain.extend([b'b'; 255 + 2]);
    let replies: [(&str, Vec<u8>); 5] = [
        ("IPv4", vec![5, 0, 0, 1, 192, 0, 2, 1, 0, 80]),
        ("IPv6", [&[5, 0, 0, 4][..], &[7; 16 + 2]].concat()),
        ("no name", vec![5, 0, 0, 3, 0, 0, 0]),
        ("the longest name", domain),
        ("a reserved byte that is not zero", vec![5, 0, 9, 1, 0, 0, 0, 0, 0, 0]),
    ];
    for (what, reply) in replies {
        for slowly in [false, true] {
            let (socks, origin) =
                (Socks { slowly, ..Socks::with_login().reply(&*reply) }, pki.origin.clone());
            let proxy = Proxy::start(move |mut peer| {
                let (socks, origin) = (socks.clone(), origin.clone());
                async move {
                    assert!(peer.socks(&socks).await);
                    if let Some(origin) = peer.accept(&origin).await {
                        origin.serve().await;
                    }
                }
            })
            .await;
            // TLS inside takes no byte too many and none too few.
            let route = proxy.route_by("socks5h", "u:p@");
            let answer = get(&pki.client(), &route, "https://shop.example/").await;
            assert_eq!(text(answer.expect(what)).await, "ok", "{what}");
        }
    }
}

#[tokio::test]
async fn a_name_has_at_most_255_bytes() {
    let mut proxy = Socks::open().start().await;
    let route = proxy.route_by("socks5h", "");
    let host = |length: usize| format!("{}.example", "a".repeat(length - ".example".len()));
    let longest = host(255);
    let answer = get(&any_client(), &route, &format!("http://{longest}/")).await.unwrap();
    assert_eq!(text(answer).await, "ok");
    assert_eq!(messages(&mut proxy), [GREETING, &connect(3, name(&longest), 80)]);

    let error = get(&any_client(), &route, &format!("http://{}/", host(256))).await.unwrap_err();
    assert!(error.to_string().contains("longer than the 255 bytes"), "{error}");
    let failure = error.into_failure();
    assert_eq!((failure.phase(), failure.seen()), (Phase::Request, Seen::Never), "the caller's own");
    // The accepting task has had its turn.
    get(&any_client(), &route, "http://shop.example/").await.unwrap();
    assert_eq!(accepted(&proxy.seen()), 1, "what cannot work is not dialled for");
}

#[tokio::test]
async fn a_tunnel_is_kept_for_its_origin_and_login_alone() {
    let mut proxy = Socks::with_login().start().await;
    let client =
        ExitClient::builder().resolver(|_| async { Ok(vec![IpAddr::from([192, 0, 2, 7])]) }).build().unwrap();
    for (scheme, login, uri) in [
        ("socks5", "alice:one@", "http://shop.example/"),
        ("socks5", "alice:one@", "http://other.example/"),
        ("socks5", "bob:one@", "http://shop.example/"),
        ("socks5", "alice:two@", "http://shop.example/"),
        ("socks5h", "alice:two@", "http://shop.example/"),
    ] {
        for _ in 0..2 {
            let answer = get(&client, &proxy.route_by(scheme, login), uri).await.unwrap();
            assert_eq!(text(answer).await, "ok");
        }
        assert_eq!(accepted(&proxy.seen()), 1, "{scheme}://{login} {uri}");
    }
}
