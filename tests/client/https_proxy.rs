//! Proxies that are spoken to over TLS: whom the client trusts there, what it shows, and what goes only inside.

use crate::world::{Authority, Event, Hello, Pki, Proxy, accepted, any_client, get, request, send, text};
use http::Method;
use std::error::Error as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tower_egress::client::ExitClientBuilder;
use tower_egress::exit::{Exit, ProxyTls, ProxyTlsBuilder, Route};
use tower_egress::outcome::{Phase, Seen};
use tower_egress::{ExitClient, ExitList, Gateway, LeaseRequest, Scheduler};

const URI: &str = "http://shop.example/";

/// Trusts this authority for proxies.
fn trusting(authority: &Authority) -> ProxyTlsBuilder {
    ProxyTls::builder().roots_pem(authority.roots.as_bytes())
}

/// An exit at the proxy's address that is trusted so.
fn exit(proxy: &Proxy, tls: &ProxyTls) -> Route {
    let spec = format!("https://the-user:the-password@{}", proxy.address());
    Exit::parse(&spec).unwrap().proxy_tls(tls).route().clone()
}

/// A proxy of this name that is the origin of all that is put to it.
async fn serving(authority: &Authority, name: &str) -> Proxy {
    Proxy::over_tls(authority.server(name), |peer| peer.serve()).await
}

/// A client that finds every name on loopback.
fn on_loopback() -> ExitClientBuilder {
    ExitClient::builder().resolver(|_| async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
}

#[tokio::test]
async fn a_proxy_that_is_not_trusted_or_another_one_is_told_nothing() {
    let (own, other) = (Authority::new(), Authority::new());
    let distrust = "the certificate is not trusted; if the proxy's authority is its own, give its root to \
                    ProxyTls::roots_pem";
    let misnamed = "the certificate is for another name; if the proxy is given by its address, say its name by \
                    ProxyTls::server_name";
    for (name, tls, why) in [
        ("127.0.0.1", trusting(&other), distrust),
        ("proxy.test", trusting(&own), misnamed),
        ("proxy.test", trusting(&own).server_name("other.test"), misnamed),
    ] {
        let mut proxy = serving(&own, name).await;
        let route = exit(&proxy, &tls.build().unwrap());
        for uri in [URI, "https://shop.example/"] {
            let error = get(&any_client(), &route, uri).await.unwrap_err();
            assert_eq!(error.to_string(), format!("exit TLS failed: {why}"));
            let failure = error.into_failure();
            assert_eq!((failure.phase(), failure.seen()), (Phase::ExitTls, Seen::Never));
            assert!(!failure.is_blameless() && !failure.is_login_accepted());
        }
        proxy.ended(1).await;
        assert!(!proxy.seen().iter().any(|event| matches!(event, Event::Origin(_) | Event::Proxy(_))));
    }
}

#[tokio::test]
async fn a_proxy_is_trusted_by_its_own_name_or_the_one_that_is_said() {
    let own = Authority::new();
    let said = trusting(&own).server_name("proxy.test").build().unwrap();
    let plain = trusting(&own).build().unwrap();
    for (certified, host, tls, shown) in [
        ("127.0.0.1", "127.0.0.1", &plain, None),
        ("proxy.test", "127.0.0.1", &said, Some("proxy.test")),
        ("proxy.test", "proxy.test", &plain, Some("proxy.test")),
        ("proxy.test", "other.test", &said, Some("proxy.test")),
    ] {
        let mut proxy = serving(&own, certified).await;
        let spec = format!("https://u:p@{host}:{}", proxy.address().port());
        let exit = Exit::parse(&spec).unwrap().proxy_tls(tls);
        let answer = get(&on_loopback().build().unwrap(), exit.route(), URI).await.unwrap();
        assert_eq!(text(answer).await, "ok");
        let hello = Hello { name: shown.map(str::to_owned), protocols: Vec::new() };
        assert_eq!(proxy.seen()[1], Event::Hello(hello), "{host}");
    }
}

#[tokio::test]
async fn an_exits_own_tls_goes_before_the_clients() {
    let (own, other) = (Authority::new(), Authority::new());
    let proxy = serving(&own, "127.0.0.1").await;
    let (right, wrong) = (trusting(&own).build().unwrap(), trusting(&other).build().unwrap());
    let bare = proxy.route_by("https", "u:p@");
    for (client, route, trusted) in [
        (&right, bare.clone(), true),
        (&wrong, bare, false),
        (&wrong, exit(&proxy, &right), true),
        (&right, exit(&proxy, &wrong), false),
    ] {
        let client = ExitClient::builder().proxy_tls(client).build().unwrap();
        assert_eq!(get(&client, &route, URI).await.is_ok(), trusted);
    }
    let spec = format!("https://u:p@{}", proxy.address());
    let list = ExitList::parse(&spec).unwrap().proxy_tls(&right);
    let gateway = Gateway::parse(&spec.replace("u:", "u-{session}:")).unwrap().proxy_tls(&right);
    for builder in [Scheduler::builder().exits(list), Scheduler::builder().gateway(gateway)] {
        let scheduler = builder.build().unwrap();
        let lease = scheduler.lease(&LeaseRequest::new("k").origin("shop.example")).unwrap();
        assert!(get(&any_client(), lease.route(), URI).await.is_ok());
    }
}

#[tokio::test]
async fn connections_are_not_shared_by_those_who_trust_otherwise() {
    let own = Authority::new();
    let mut proxy = serving(&own, "127.0.0.1").await;
    let (client, one, two) = (any_client(), trusting(&own).build().unwrap(), trusting(&own).build().unwrap());
    for tls in [&one, &one, &two] {
        assert_eq!(text(get(&client, &exit(&proxy, tls), URI).await.unwrap()).await, "ok");
    }
    let wrong = trusting(&Authority::new()).build().unwrap();
    assert!(get(&client, &exit(&proxy, &wrong), URI).await.is_err());
    assert_eq!(accepted(&proxy.seen()), 3);
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_a_proxy_that_asks() {
    let (own, clients) = (Authority::new(), Authority::new());
    let pki = Pki::new("shop.example");
    let origin = pki.origin.clone();
    let mut proxy = Proxy::over_tls(own.server_asking("127.0.0.1", Some(&clients)), move |peer| {
        peer.tunnel_and_serve(origin.clone())
    })
    .await;
    let (chain, key) = clients.issue_pem("fleet.test");
    let known = trusting(&own).identity_pem(chain.as_bytes(), key.as_bytes()).build().unwrap();
    let (chain, key) = Authority::new().issue_pem("fleet.test");
    let unknown = trusting(&own).identity_pem(chain.as_bytes(), key.as_bytes()).build().unwrap();
    let client = pki.client();
    let answer = get(&client, &exit(&proxy, &known), "https://shop.example/").await.unwrap();
    assert_eq!(text(answer).await, "ok");
    drop(proxy.seen());
    for tls in [trusting(&own).build().unwrap(), unknown] {
        for uri in ["https://shop.example/", URI] {
            let failure = get(&client, &exit(&proxy, &tls), uri).await.unwrap_err().into_failure();
            // Over TLS 1.3 the client has written its request by then; the proxy has not read it.
            assert_eq!(
                (failure.phase(), failure.seen()),
                (Phase::ExitTls, Seen::Never),
                "{uri}: {failure:?}"
            );
            assert!(!failure.is_login_accepted());
            let why = failure.source().unwrap().to_string();
            assert!(why.contains("give it by ProxyTls::identity_pem"), "{why}");
        }
    }
    assert!(!proxy.seen().iter().any(|event| matches!(event, Event::Proxy(_) | Event::Origin(_))));
}

#[tokio::test]
async fn te_074_each_hop_is_greeted_by_its_own_name_and_shown_nothing_of_the_other() {
    let (own, origins) = (Authority::new(), Authority::new());
    let origin = Arc::new(origins.server("shop.example"));
    let mut proxy = Proxy::over_tls(own.server("proxy.test"), move |mut peer| {
        let origin = Arc::clone(&origin);
        async move {
            peer.proxy_head().await;
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            if let Some(origin) = peer.greeted(origin).await {
                origin.serve().await;
            }
        }
    })
    .await;
    let (chain, key) = own.issue_pem("fleet.test");
    let tls = trusting(&own).server_name("proxy.test").identity_pem(chain.as_bytes(), key.as_bytes());
    let client = ExitClient::builder().roots_pem(origins.roots.as_bytes()).build().unwrap();
    let mut request =
        request(Method::GET, Some(&exit(&proxy, &tls.build().unwrap())), "https://shop.example/p?q=1", "");
    request.headers_mut().insert("cookie", "a=b".parse().unwrap());
    assert_eq!(text(send(&client, request).await.unwrap()).await, "ok");
    let hello = |name: &str, protocols: &[&[u8]]| {
        let protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Event::Hello(Hello { name: Some(name.to_owned()), protocols })
    };
    let connect = "CONNECT shop.example:443 HTTP/1.1\r\nhost: shop.example:443\r\n\
                   proxy-authorization: Basic dGhlLXVzZXI6dGhlLXBhc3N3b3Jk\r\n\r\n";
    let inside = "GET /p?q=1 HTTP/1.1\r\ncookie: a=b\r\nhost: shop.example\r\n\r\n";
    assert_eq!(
        proxy.seen(),
        [
            Event::Accepted(0),
            hello("proxy.test", &[]),
            Event::Proxy(connect.to_owned()),
            hello("shop.example", &[b"h2", b"http/1.1"]),
            Event::Origin(inside.to_owned()),
        ]
    );
}

#[tokio::test]
async fn the_roots_of_one_hop_are_worth_nothing_at_the_other() {
    let (own, origins) = (Authority::new(), Authority::new());
    for (proxys, origin, phase) in [(&own, &own, Phase::OriginTls), (&origins, &origins, Phase::ExitTls)] {
        let origin = tokio_rustls::TlsAcceptor::from(Arc::new(origin.server("shop.example")));
        let proxy =
            Proxy::over_tls(proxys.server("127.0.0.1"), move |peer| peer.tunnel_and_serve(origin.clone()))
                .await;
        let client = ExitClient::builder().roots_pem(origins.roots.as_bytes()).build().unwrap();
        let route = exit(&proxy, &trusting(&own).build().unwrap());
        let failure = get(&client, &route, "https://shop.example/").await.unwrap_err().into_failure();
        assert_eq!((failure.phase(), failure.seen()), (phase, Seen::Never));
        assert_eq!(failure.is_login_accepted(), phase == Phase::OriginTls);
    }
}

#[tokio::test]
async fn a_plain_request_is_put_to_the_proxy_in_absolute_form_each_with_the_login() {
    let own = Authority::new();
    let mut proxy = serving(&own, "127.0.0.1").await;
    let (client, route) = (any_client(), exit(&proxy, &trusting(&own).build().unwrap()));
    for _ in 0..2 {
        let mut request = request(Method::POST, Some(&route), "http://shop.example:80/p?q=1", "a=1");
        request.headers_mut().insert("proxy-authorization", "Basic Y2FsbGVy".parse().unwrap());
        assert_eq!(text(send(&client, request).await.unwrap()).await, "ok");
    }
    let head = "POST http://shop.example/p?q=1 HTTP/1.1\r\nhost: shop.example\r\n\
                proxy-authorization: Basic dGhlLXVzZXI6dGhlLXBhc3N3b3Jk\r\ncontent-length: 3\r\n\r\na=1";
    let requests = proxy.seen().into_iter().filter(|event| matches!(event, Event::Origin(_)));
    assert_eq!(
        requests.collect::<Vec<_>>(),
        [Event::Origin(head.to_owned()), Event::Origin(head.to_owned())]
    );
}

/// On the wire of a proxy that does not speak TLS there is a greeting, and nothing of the login or the origin.
#[tokio::test]
async fn te_015_what_goes_to_a_proxy_in_clear_is_a_greeting() {
    let own = Authority::new();
    let tls = trusting(&own).server_name("proxy.test").build().unwrap();
    for (says, times_out) in [("", true), ("HTTP/1.1 400 Bad Request\r\n\r\n", false)] {
        for uri in [URI, "https://shop.example/"] {
            let (wire, mut read) = tokio::sync::mpsc::unbounded_channel();
            let proxy = Proxy::start(move |mut peer| {
                let wire = wire.clone();
                async move {
                    peer.send(says.as_bytes()).await;
                    wire.send(peer.all().await).unwrap();
                }
            })
            .await;
            let client = Pki::new("shop.example").builder().tunnel_timeout(Duration::from_millis(60));
            let failure =
                get(&client.build().unwrap(), &exit(&proxy, &tls), uri).await.unwrap_err().into_failure();
            assert_eq!((failure.phase(), failure.seen()), (Phase::ExitTls, Seen::Never));
            assert_eq!(failure.is_timeout(), times_out);
            // Read to its end: the socket is closed.
            let wire = String::from_utf8_lossy(&read.recv().await.unwrap()).into_owned();
            assert!(wire.contains("proxy.test"), "the name is in the greeting");
            for secret in ["shop.example", "CONNECT", "the-user", "the-password", "dGhlLXVzZXI6"] {
                assert!(!wire.contains(secret), "{secret}");
            }
        }
    }
}

#[test]
fn what_cannot_be_used_is_refused_when_it_is_built_and_repeats_nothing() {
    let authority = Authority::new();
    let (chain, key) = authority.issue_pem("fleet.test");
    let (_, other_key) = authority.issue_pem("fleet.test");
    let secret = key.lines().nth(1).unwrap();
    let identity =
        |chain: &str, key: &str| trusting(&authority).identity_pem(chain.as_bytes(), key.as_bytes());
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (builder, field, what) in [
        (ProxyTls::builder().roots_pem(b""), "roots_pem", "holds no certificate"),
        (ProxyTls::builder().roots_pem(b"secret"), "roots_pem", "holds no certificate"),
        (ProxyTls::builder().roots_pem(key.as_bytes()), "roots_pem", "holds no certificate"),
        (ProxyTls::builder().roots_pem(broken.as_bytes()), "roots_pem", "cannot be a root"),
        (ProxyTls::builder().roots_pem(b"-----BEGIN CERTIFICATE-----\n!\n"), "roots_pem", "is not PEM"),
        (identity("", &key), "identity_pem", "without a certificate"),
        (identity(&key, &key), "identity_pem", "without a certificate"),
        (identity("-----BEGIN CERTIFICATE-----\n!\n", &key), "identity_pem", "a chain that is not PEM"),
        (identity(&chain, ""), "identity_pem", "no private key"),
        (identity(&chain, &chain), "identity_pem", "no private key"),
        (identity(&chain, &other_key), "identity_pem", "a key that is not its certificate's"),
        (trusting(&authority).server_name("se cret"), "server_name", "is no name"),
        (trusting(&authority).server_name(""), "server_name", "is no name"),
    ] {
        let shown = format!("{builder:?}");
        let error = builder.build().expect_err(what);
        assert_eq!(error.field(), field, "{error}");
        assert!(error.to_string().contains(what), "{error}");
        let text = format!("{error} {error:?} {error:#?}");
        for part in [secret, "BEGIN", "se cret"] {
            assert!(!text.contains(part), "{text}");
        }
        assert!(!shown.contains(secret) && !shown.contains("BEGIN"), "{shown}");
    }
}

#[test]
fn a_key_is_not_printed_by_what_holds_it() {
    let authority = Authority::new();
    let (chain, key) = authority.issue_pem("fleet.test");
    let builder =
        trusting(&authority).identity_pem(chain.as_bytes(), key.as_bytes()).server_name("proxy.test");
    let shown = format!("{builder:?} {builder:#?}");
    let tls = builder.build().unwrap();
    let exit = Exit::parse("https://u:p@proxy.test").unwrap().proxy_tls(&tls);
    let client = ExitClient::builder().proxy_tls(&tls);
    let shown =
        format!("{shown} {tls:?} {exit:?} {:?} {client:?} {:?}", exit.route(), client.clone().build());
    assert!(shown.contains("proxy.test"), "there is something to find it in");
    let key_bytes = format!("{:?}", &key.as_bytes()[40..60]);
    for part in [key.lines().nth(1).unwrap(), &key_bytes[1..key_bytes.len() - 1], "BEGIN", "PRIVATE"] {
        assert!(!shown.contains(part), "{shown}");
    }
}
