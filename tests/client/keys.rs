//! Whose connection it is: an exit's, with its login, to one origin. And who is told what on it.

use crate::stack::Fleet;
use crate::world::{Event, Peer, Pki, Proxy, accepted, get, request, send, text};
use http::Method;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_egress::ExitClient;
use tower_egress::exit::Exit;

fn page(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn heads(seen: &[Event]) -> Vec<&str> {
    seen.iter()
        .filter_map(|event| if let Event::Proxy(head) = event { Some(head.as_str()) } else { None })
        .collect()
}

fn line<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The proxy leaves through the address of whoever logged in first on a connection.
#[tokio::test]
async fn te_001_fifty_requests_by_turns_leave_through_the_login_they_were_leased() {
    let mut proxy = Proxy::start(|mut peer| async move {
        let mut user: Option<String> = None;
        while let Some(head) = peer.proxy_head().await {
            let login = line(&head, "proxy-authorization").unwrap().to_owned();
            let leaves = user.get_or_insert_with(|| login.clone());
            assert_eq!(*leaves, login, "a connection has one user");
            let answer = page(leaves);
            peer.send(answer.as_bytes()).await;
        }
    })
    .await;
    let client = ExitClient::new();
    let exits = [proxy.route_as("u1", "pw"), proxy.route_as("u2", "pw")];
    let logins = ["Basic dTE6cHc=", "Basic dTI6cHc="];
    for turn in 0..50 {
        let answer = get(&client, &exits[turn % 2], "http://shop.example/").await.unwrap();
        assert_eq!(text(answer).await, logins[turn % 2], "{turn}");
    }
    assert_eq!(accepted(&proxy.seen()), 2);
}

#[tokio::test]
async fn te_023_every_request_on_a_kept_connection_carries_the_login() {
    let mut proxy = Proxy::start(|mut peer| async move {
        while let Some(head) = peer.proxy_head().await {
            let status = if line(&head, "proxy-authorization").is_some() { 200 } else { 407 };
            peer.send(format!("HTTP/1.1 {status} Odd\r\ncontent-length: 0\r\n\r\n").as_bytes()).await;
        }
    })
    .await;
    let client = ExitClient::new();
    for _ in 0..5 {
        let answer = get(&client, &proxy.route(), "http://shop.example/").await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    let seen = proxy.seen();
    assert_eq!((accepted(&seen), heads(&seen).len()), (1, 5));
}

/// A proxy that leads to the origin that was asked for, each with a certificate of its own.
async fn leading_to(origins: HashMap<&'static str, Arc<Pki>>) -> Proxy {
    Proxy::start(move |mut peer| {
        let origins = origins.clone();
        async move {
            let Some(head) = peer.proxy_head().await else { return };
            let origin = head.strip_prefix("CONNECT ").and_then(|head| head.split_once(":443")).unwrap().0;
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            if let Some(mut peer) = peer.accept(&origins[origin].origin).await {
                while peer.answer(&page(origin)).await {}
            }
        }
    })
    .await
}

#[tokio::test]
async fn te_029_a_tunnel_carries_what_is_for_its_origin_alone() {
    let names = ["one.example", "two.example"];
    let origins = names.map(|name| (name, Arc::new(Pki::new(name))));
    let roots = origins.iter().map(|(_, pki)| pki.roots.as_str()).collect::<String>();
    let mut proxy = leading_to(HashMap::from(origins)).await;
    let client = ExitClient::builder().roots_pem(roots.as_bytes()).build().unwrap();
    for (turn, body) in ["first", "second", "third"].into_iter().enumerate() {
        let name = names[turn % 2];
        let uri = format!("https://{name}/");
        let request = request(Method::POST, Some(&proxy.route()), &uri, body);
        assert_eq!(text(send(&client, request).await.unwrap()).await, name);
        let Some(Event::Origin(got)) = proxy.seen().pop() else { panic!("nobody was asked") };
        assert!(
            got.contains(&format!("host: {name}\r\n")) && got.ends_with(&format!("\r\n\r\n{body}")),
            "{got}"
        );
    }
    for name in names {
        let answer = get(&client, &proxy.route(), &format!("https://{name}/")).await.unwrap();
        assert_eq!(text(answer).await, name);
    }
    assert_eq!(accepted(&proxy.seen()), 0, "two tunnels are enough");
}

/// One authority means another host to each proxy.
#[tokio::test]
async fn te_043_an_authority_is_another_origin_through_another_exit() {
    async fn network(name: &'static str) -> Proxy {
        Proxy::start(move |mut peer| async move { while peer.answer(&page(name)).await {} }).await
    }
    let (mut a, mut b) = (network("OA").await, network("OB").await);
    let client = ExitClient::new();
    for _ in 0..3 {
        for (proxy, name) in [(&a, "OA"), (&b, "OB")] {
            let answer = get(&client, &proxy.route(), "http://10.9.9.9/").await.unwrap();
            assert_eq!(text(answer).await, name);
        }
    }
    assert_eq!((accepted(&a.seen()), accepted(&b.seen())), (1, 1));
}

/// The proxy keeps to the origin that a connection asked for first.
#[tokio::test]
async fn te_100_each_origin_has_its_own_connection_to_a_forwarding_proxy() {
    let mut proxy = Proxy::start(|mut peer| async move {
        let mut pinned: Option<String> = None;
        while let Some(head) = peer.proxy_head().await {
            let asked = head.strip_prefix("GET http://").and_then(|uri| uri.split_once('/')).unwrap().0;
            let pinned = pinned.get_or_insert_with(|| asked.to_owned());
            let answer = page(pinned);
            peer.send(answer.as_bytes()).await;
        }
    })
    .await;
    let client = ExitClient::new();
    let origins = ["o1.example", "o2.example", "o1.example:8080"];
    for _ in 0..3 {
        for origin in origins {
            let answer = get(&client, &proxy.route(), &format!("http://{origin}/")).await.unwrap();
            assert_eq!(text(answer).await, origin);
        }
    }
    assert_eq!(accepted(&proxy.seen()), 3);
}

async fn origin_form<T: AsyncRead + AsyncWrite + Unpin>(mut peer: Peer<T>) {
    while let Some(head) = peer.proxy_head().await {
        drop(head);
        peer.send(page("ok").as_bytes()).await;
    }
}

#[tokio::test]
async fn te_105_the_form_of_a_target_follows_from_who_reads_it() {
    let pki = Pki::new("shop.example");
    let tls = pki.origin.clone();
    let mut http = Proxy::start(move |mut peer| {
        let tls = tls.clone();
        async move {
            if !peer.is_connect().await {
                origin_form(peer).await;
            } else if let Some(origin) = peer.tunnel(&tls).await {
                origin_form(origin).await;
            }
        }
    })
    .await;
    let mut socks = Proxy::start(|mut peer| async move {
        for answer in [&b"\x05\x02"[..], b"\x01\x00", b"\x05\x00\x00\x01\0\0\0\0\0\0"] {
            peer.some().await;
            peer.send(answer).await;
        }
        peer.read.clear();
        origin_form(peer).await;
    })
    .await;
    let client = pki.client();
    let by_socks = Exit::parse(&format!("socks5h://u:p@{}", socks.address())).unwrap();
    let by_http = http.route();
    for (route, scheme, lines) in [
        (&by_http, "http", &["GET http://shop.example/p?q=1 HTTP/1.1"][..]),
        (&by_http, "https", &["CONNECT shop.example:443 HTTP/1.1", "GET /p?q=1 HTTP/1.1"]),
        (by_socks.route(), "http", &["GET /p?q=1 HTTP/1.1"]),
    ] {
        let uri = format!("{scheme}://me:pw@shop.example/p?q=1");
        assert_eq!(text(get(&client, route, &uri).await.unwrap()).await, "ok");
        let seen: Vec<_> = http.seen().into_iter().chain(socks.seen()).collect();
        let first: Vec<_> = heads(&seen).into_iter().map(|head| head.lines().next().unwrap()).collect();
        assert_eq!(first, lines, "{uri} via {:?}", route.via());
        // Userinfo is nowhere: base64 of `me:pw`, and its parts.
        let said = format!("{seen:?}");
        assert!(!["bWU6cHc", "me:pw", "me@"].iter().any(|part| said.contains(part)), "{said}");
    }
}

#[tokio::test]
async fn te_120_connect_carries_nothing_of_the_callers_request_not_even_on_a_retry() {
    let pki = Pki::new("shop.example");
    let tls = pki.origin.clone();
    let mut proxy = Proxy::start(move |mut peer| {
        let tls = tls.clone();
        async move {
            if peer.number() == 0 {
                peer.proxy_head().await;
                peer.send(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await;
            } else {
                peer.tunnel_and_serve(tls).await;
            }
        }
    })
    .await;
    let fleet = Fleet::of(&proxy, pki.client());
    let mut request = request(Method::GET, None, "https://shop.example/", "");
    let secret = "x".repeat(1024).leak();
    let own = [("cookie", "a=1"), ("authorization", "Bearer t"), ("x-api-key", "k"), ("x-long", secret)];
    for (name, value) in own {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    assert_eq!(fleet.ask(request).await.unwrap().status(), 200);
    let seen = proxy.seen();
    let connect = "CONNECT shop.example:443 HTTP/1.1\r\nhost: shop.example:443\r\n\
                   proxy-authorization: Basic dTpw\r\n\r\n";
    assert_eq!(heads(&seen), [connect; 2]);
    let Some(Event::Origin(inside)) = seen.last() else { panic!("the origin was not asked: {seen:?}") };
    assert!(own.iter().all(|(name, value)| inside.contains(&format!("{name}: {value}\r\n"))), "{inside}");
}
