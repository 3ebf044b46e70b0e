//! Redirects that somebody follows around the stack: what a proxy says is no redirect, and no credential crosses sites.

use crate::world::{Authority, Event, Proxy, any_client, request, within};
use http::{Method, Response};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_rustls::TlsAcceptor;
use tower::{Layer as _, Service, ServiceBuilder, ServiceExt as _};
use tower_egress::client::ResponseBody;
use tower_egress::outcome::{AuthReason, Phase};
use tower_egress::redirect::Redirects;
use tower_egress::{Body, EgressLayer, Error, Exit, ExitClient, ExitList, LeaseRequest, Outcome, Scheduler};
use tower_http::follow_redirect::FollowRedirectLayer;

/// A client that follows redirects and keeps cookies, around the stack over one proxy.
fn browser(
    proxy: &Proxy,
    client: ExitClient,
    cookies: &Arc<AtomicUsize>,
) -> impl Service<http::Request<Body>, Response = Response<ResponseBody>, Error = Error, Future: Send> + use<>
{
    let exit = Exit::parse(&format!("http://the-user:the-password@{}", proxy.address())).unwrap();
    let scheduler = Scheduler::builder().exits(ExitList::from_iter([exit])).build().unwrap();
    let ask = LeaseRequest::per_request().patience(Duration::ZERO).attempts(NonZeroU32::MIN);
    let cookies = Arc::clone(cookies);
    let stack = EgressLayer::new(&scheduler).default_lease(ask).layer(client);
    ServiceBuilder::new()
        .layer(FollowRedirectLayer::with_policy(Redirects::new()))
        .map_response(move |answer: Response<ResponseBody>| {
            cookies.fetch_add(answer.headers().get_all("set-cookie").iter().count(), Ordering::Relaxed);
            answer
        })
        .service(stack)
}

#[tokio::test]
async fn te_007_a_refused_tunnel_is_an_error_and_no_answer_of_the_origin() {
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nset-cookie: a=b\r\n\r\n<html><body>Welcome</body></html>";
    let rejected = Outcome::AuthError { reason: AuthReason::Rejected };
    for (answer, outcome) in [
        (
            "HTTP/1.1 302 Found\r\nlocation: http://evil.example/\r\n\r\n",
            Outcome::ProxyError { phase: Phase::Tunnel },
        ),
        (
            "HTTP/1.1 307 Moved\r\nlocation: https://evil.example/\r\nset-cookie: a=b\r\n\r\n",
            Outcome::ProxyError { phase: Phase::Tunnel },
        ),
        ("HTTP/1.1 403 No\r\nset-cookie: a=b\r\ncontent-length: 5\r\n\r\n<html", Outcome::TargetDenied),
        ("HTTP/1.1 407 Who\r\nproxy-authenticate: Basic\r\nset-cookie: a=b\r\n\r\n", rejected),
        (html, Outcome::ProxyError { phase: Phase::OriginTls }),
    ] {
        let mut proxy = Proxy::answering(answer).await;
        let cookies = Arc::new(AtomicUsize::new(0));
        let browser = browser(&proxy, any_client(), &cookies);
        let result = within(browser.oneshot(request(Method::GET, None, "https://shop.example/", ""))).await;
        let error = result.map(drop).expect_err("no answer came from the origin");
        assert_eq!(error.outcome(), Some(outcome), "{answer}");
        assert_eq!(cookies.load(Ordering::Relaxed), 0);
        proxy.ended(0).await;
        let asked: Vec<_> = proxy.seen();
        assert!(!format!("{asked:?}").contains("evil"), "{asked:?}");
    }
}

/// `www.shop.example` redirects wherever its path says; every other page is an answer.
async fn site() -> (Proxy, ExitClient) {
    let authority = Authority::new();
    let origin = TlsAcceptor::from(Arc::new(authority.server("*.shop.example")));
    let answer = |head: &str| {
        let to = [
            "https://pay.shop.example/",
            "https://www.shop.example:8443/",
            "http://www.shop.example/",
            "/end",
        ];
        let at = ["/to-host", "/to-port", "/to-http", "/to-self"]
            .iter()
            .position(|at| head.starts_with(&format!("GET {at} ")));
        let status =
            at.map_or_else(|| "200 OK".to_owned(), |at| format!("302 Found\r\nlocation: {}", to[at]));
        format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")
    };
    let proxy = Proxy::start(move |mut peer| {
        let origin = origin.clone();
        async move {
            let Some(head) = peer.proxy_head().await else { return };
            if !head.starts_with("CONNECT ") {
                return peer.send(answer(&head).as_bytes()).await;
            }
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            if let Some(mut origin) = peer.accept(&origin).await {
                while origin.answer_by(answer).await {}
            }
        }
    })
    .await;
    (proxy, ExitClient::builder().roots_pem(authority.roots.as_bytes()).build().unwrap())
}

#[tokio::test]
async fn te_116_credentials_stay_with_their_origin() {
    for (path, last, same) in [
        ("/to-host", "host: pay.shop.example\r\n", false),
        ("/to-port", "host: www.shop.example:8443\r\n", false),
        ("/to-http", "GET http://www.shop.example/ HTTP/1.1\r\n", false),
        ("/to-self", "GET /end HTTP/1.1\r\n", true),
    ] {
        let (mut proxy, client) = site().await;
        let mut request = request(Method::GET, None, &format!("https://www.shop.example{path}"), "");
        for (name, value) in
            [("authorization", "Bearer x"), ("cookie", "a=b"), ("proxy-authorization", "Basic eDp5")]
        {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let answer = within(browser(&proxy, client, &Arc::default()).oneshot(request)).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let seen = proxy.seen();
        let heads = seen.iter().filter_map(|event| match event {
            Event::Origin(head) => Some(head),
            Event::Proxy(head) if !head.starts_with("CONNECT") => Some(head),
            _ => None,
        });
        let heads: Vec<_> = heads.collect();
        let (first, hop) = (heads[0], heads[1]);
        assert_eq!(heads.len(), 2, "{seen:?}");
        assert!(first.contains("authorization: Bearer x") && first.contains("cookie: a=b"), "{first}");
        assert!(hop.contains(last), "{hop}");
        assert_eq!((hop.contains("Bearer"), hop.contains("cookie")), (same, same), "{path}: {hop}");
        for event in &seen {
            if let Event::Origin(head) = event {
                assert!(!head.contains("proxy-authorization"), "{head}");
            }
        }
        assert!(!format!("{seen:?}").contains("eDp5"), "the caller's login for a proxy is no exit's");
    }
}
