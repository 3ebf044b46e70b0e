//! Logins through every kind of proxy: the right one always works, the wrong one is the same failure everywhere.

use crate::world::{Authority, Event, Peer, Pki, Proxy, Socks, accepted, request, within};
use http::Method;
use http_body_util::BodyExt as _;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tower::{Layer as _, ServiceExt as _};
use tower_egress::exit::{Exit, ProxyTls};
use tower_egress::outcome::AuthReason;
use tower_egress::verdict::RetryRules;
use tower_egress::{EgressClient, EgressLayer, ExitList, LeaseRequest, Outcome, Scheduler, Served};

/// What a proxy expects: a user and a password, or nothing.
type Login = Option<(&'static str, &'static str)>;

fn basic(login: Login) -> Option<&'static str> {
    match login {
        None => None,
        Some(("user", "")) => Some("proxy-authorization: Basic dXNlcjo=\r\n"),
        Some(_) => Some("proxy-authorization: Basic dXNlcjpwYXNz\r\n"),
    }
}

/// An HTTP proxy that lets in who has the login and nobody else, and is the origin behind it.
async fn http<T: AsyncRead + AsyncWrite + Unpin>(mut peer: Peer<T>, login: Login, origin: TlsAcceptor) {
    while let Some(head) = peer.proxy_head().await {
        let lets_in = match basic(login) {
            Some(line) => head.contains(line),
            None => !head.contains("proxy-authorization"),
        };
        if !lets_in {
            peer.send(b"HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n").await;
        } else if head.starts_with("CONNECT ") {
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            return if let Some(origin) = peer.accept(&origin).await {
                origin.serve().await
            };
        } else {
            peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        }
    }
}

/// A SOCKS5 proxy that does the same.
async fn socks(login: Login) -> Proxy {
    let Some((user, password)) = login else { return Socks::open().start().await };
    let expected =
        [&[1, 4], user.as_bytes(), &[u8::try_from(password.len()).unwrap()], password.as_bytes()].concat();
    Proxy::start(move |mut peer| {
        let expected = expected.clone();
        async move {
            if peer.socks_with(&expected).await {
                peer.serve().await;
            } else {
                peer.until_closed().await;
            }
        }
    })
    .await
}

/// A proxy of a kind, which expects a login.
async fn proxy(kind: &str, login: Login, pki: &Pki, own: &Authority) -> Proxy {
    let origin = pki.origin.clone();
    match kind {
        "http" => Proxy::start(move |peer| http(peer, login, origin.clone())).await,
        "https" => {
            Proxy::over_tls(own.server("127.0.0.1"), move |peer| http(peer, login, origin.clone())).await
        }
        _ => socks(login).await,
    }
}

/// The whole stack over one exit with this login, and its scheduler.
fn stack(kind: &str, given: &str, proxy: &Proxy, pki: &Pki, own: &Authority) -> (Scheduler, EgressClient) {
    let tls = ProxyTls::builder().roots_pem(own.roots.as_bytes()).build().unwrap();
    let exit = Exit::parse(&format!("{kind}://{given}{}", proxy.address())).unwrap();
    let scheduler = Scheduler::builder()
        .exits(ExitList::from_iter([exit]))
        .seed(1)
        .rules(RetryRules::negotiated())
        .build()
        .unwrap();
    let resolver = |_| async { Ok(vec![[127, 0, 0, 1].into()]) };
    let client = pki.builder().proxy_tls(&tls).resolver(resolver).build().unwrap();
    let ask = LeaseRequest::per_request().patience(Duration::ZERO);
    let client = EgressClient::of(EgressLayer::new(&scheduler).default_lease(ask).layer(client));
    (scheduler, client)
}

/// What the last attempt of a call showed, and how many there were.
async fn call(client: &EgressClient, uri: &str) -> (Option<Outcome>, usize) {
    match within(client.clone().oneshot(request(Method::GET, None, uri, ""))).await {
        Ok(answer) => {
            let served = answer.extensions().get::<Served>().unwrap().clone();
            answer.into_body().collect().await.unwrap();
            (Some(served.outcome()), served.attempts() as usize)
        }
        Err(error) => (error.outcome(), error.attempts().len()),
    }
}

const KINDS: [(&str, &str); 6] = [
    ("http", "http://shop.example/"),
    ("http", "https://shop.example/"),
    ("https", "http://shop.example/"),
    ("https", "https://shop.example/"),
    ("socks5", "http://shop.example/"),
    ("socks5h", "http://shop.example/"),
];

#[tokio::test]
async fn te_119_the_right_login_works_for_every_kind_first_and_again() {
    let (pki, own) = (Pki::new("shop.example"), Authority::new());
    for (kind, uri) in KINDS {
        for (login, given) in [
            (None, ""),
            (Some(("user", "pass")), "user:pass@"),
            (Some(("user", "")), "user@"),
            (Some(("user", "")), "user:@"),
        ] {
            let mut proxy = proxy(kind, login, &pki, &own).await;
            let (_, client) = stack(kind, given, &proxy, &pki, &own);
            // A connection of its own, one that was kept, and one after that was closed.
            for _ in 0..2 {
                assert_eq!(call(&client, uri).await, (Some(Outcome::Ok), 1), "{kind} {uri} {given}");
            }
            assert_eq!(
                accepted(&proxy.seen()),
                1,
                "{kind} {uri}: the second went over the first's connection"
            );
            let (_, afresh) = stack(kind, given, &proxy, &pki, &own);
            assert_eq!(call(&afresh, uri).await, (Some(Outcome::Ok), 1), "{kind} {uri} {given}");
        }
    }
}

/// Chosen: a refusal is confirmed once over another connection, since stray ones of a login that is right must not stop a
/// fleet; the case allows a single attempt. After that nothing more goes out.
#[tokio::test]
async fn te_119_the_wrong_login_is_the_same_failure_for_every_kind() {
    let (pki, own) = (Pki::new("shop.example"), Authority::new());
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    for (kind, uri) in KINDS {
        let mut proxy = proxy(kind, Some(("user", "pass")), &pki, &own).await;
        for given in ["user:wrong@", "user@", ""] {
            let (scheduler, client) = stack(kind, given, &proxy, &pki, &own);
            assert_eq!(call(&client, uri).await, (Some(rejected), 2), "{kind} {uri} {given}");
            let (outcome, attempts) = call(&client, uri).await;
            assert_eq!((outcome, attempts), (None, 0), "{kind} {uri} {given}: it was stopped");
            let seen = proxy.seen();
            assert_eq!(accepted(&seen), 2, "{kind} {uri} {given}");
            assert!(!seen.iter().any(|event| matches!(event, Event::Origin(_))));
            assert_eq!((scheduler.snapshot().in_flight, scheduler.snapshot().exits.dead), (0, 0));
        }
    }
}
