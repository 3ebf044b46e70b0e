//! Several exits in turn: each is shown its own login and no other's.

use crate::world::{Event, Pki, Proxy, Socks, request, text, within};
use http::{Method, StatusCode};
use std::num::NonZeroU32;
use std::time::Duration;
use tower::{Layer as _, ServiceExt as _};
use tower_egress::exit::Exit;
use tower_egress::verdict::RetryRules;
use tower_egress::{EgressClient, EgressLayer, ExitList, LeaseRequest, Scheduler};

/// `user:password` of two exits as they stand in the header.
const A: &str = "Basic YTpvbmU=";
const B: &str = "Basic Yjp0d28=";

/// Two proxies with a login each and one without, and the stack over them.
fn stack(proxies: &[Proxy; 3], scheme: &str, pki: &Pki) -> EgressClient {
    let spec =
        |login: &str, proxy: &Proxy| Exit::parse(&format!("{scheme}://{login}{}", proxy.address())).unwrap();
    let [a, b, c] = proxies;
    let exits = ExitList::from_iter([spec("a:one@", a), spec("b:two@", b), spec("", c)]);
    let rules = RetryRules::negotiated();
    let scheduler = Scheduler::builder().exits(exits).seed(3).rules(rules).build().unwrap();
    let each = NonZeroU32::new(3).unwrap();
    let ask = LeaseRequest::per_request().patience(Duration::ZERO).attempts(each);
    let client = pki.builder().resolver(|_| async { Ok(vec![[127, 0, 0, 1].into()]) }).build().unwrap();
    EgressClient::of(EgressLayer::new(&scheduler).default_lease(ask).layer(client))
}

/// All that a proxy was told so far, and whether anything was.
fn told(proxy: &mut Proxy) -> String {
    let told = proxy.seen().into_iter().map(|event| match event {
        Event::Proxy(head) | Event::Origin(head) => head,
        Event::Socks(bytes) => format!("{}\n", bytes.escape_ascii()),
        _ => String::new(),
    });
    told.collect()
}

/// The logins of a text, each once.
fn logins(told: &str) -> Vec<&str> {
    let mut logins: Vec<_> =
        told.lines().filter_map(|line| line.strip_prefix("proxy-authorization: ")).collect();
    logins.dedup();
    logins
}

#[tokio::test]
async fn te_005_after_a_rotation_each_exit_is_offered_its_own_login() {
    let pki = Pki::new("shop.example");
    for uri in ["https://shop.example/", "http://shop.example/"] {
        // The first fault moves the call on; all three are met before it ends.
        let breaks = || Proxy::answering("HTTP/1.1 400 Bad Request\r\n\r\n");
        let hangs_up = || {
            Proxy::start(|mut peer| async move {
                peer.proxy_head().await;
            })
        };
        let mut proxies = if uri.starts_with("https") {
            [breaks().await, breaks().await, breaks().await]
        } else {
            [hangs_up().await, hangs_up().await, hangs_up().await]
        };
        let client = stack(&proxies, "http", &pki);
        let mut request = request(Method::GET, None, uri, "");
        // A header that was set for another exit is of no avail.
        request.headers_mut().insert("proxy-authorization", A.parse().unwrap());
        let error = within(client.oneshot(request)).await.unwrap_err();
        assert_eq!(error.attempts().len(), 3, "{error}");
        let told = proxies.each_mut().map(told);
        assert!(told.iter().all(|told| told.contains("shop.example")), "{told:?}");
        assert_eq!(told.each_ref().map(|told| logins(told)), [vec![A], vec![B], vec![]]);
    }
}

#[tokio::test]
async fn te_005_the_same_goes_for_socks() {
    let pki = Pki::new("shop.example");
    let fails = |socks: Socks| socks.reply([5, 1, 0, 1]).start();
    let mut proxies =
        [fails(Socks::with_login()).await, fails(Socks::with_login()).await, fails(Socks::open()).await];
    let client = stack(&proxies, "socks5h", &pki);
    let error =
        within(client.oneshot(request(Method::GET, None, "http://shop.example/", ""))).await.unwrap_err();
    assert_eq!(error.attempts().len(), 3, "{error}");
    let told = proxies.each_mut().map(told);
    let to_shop = r"\x05\x01\x00\x03\x0cshop.example\x00P";
    let with = |login: &str| format!("\\x05\\x01\\x02\n{login}\n{to_shop}\n");
    let expected =
        [with(r"\x01\x01a\x03one"), with(r"\x01\x01b\x03two"), format!("\\x05\\x01\\x00\n{to_shop}\n")];
    assert_eq!(told, expected);
}

/// What the caller says to a proxy reaches none, and no origin either, whatever the way out is.
#[tokio::test]
async fn te_048_a_callers_own_proxy_login_goes_nowhere() {
    let pki = Pki::new("shop.example");
    let forwards = Proxy::start(|peer| peer.serve()).await;
    let (tunnels, socks) = (pki.proxy().await, Socks::open().start().await);
    let origin = Proxy::start(|peer| peer.serve()).await;
    let local = Exit::local([127, 0, 0, 5].into()).route().clone();
    let direct = format!("http://{}/", origin.address());
    for (route, uri, mut proxy) in [
        (forwards.route_by("http", "b:two@"), "http://shop.example/", forwards),
        (tunnels.route_by("http", "b:two@"), "https://shop.example/", tunnels),
        (socks.route_by("socks5h", ""), "http://shop.example/", socks),
        (local, &*direct, origin),
    ] {
        let mut request = request(Method::GET, Some(&route), uri, "");
        request.headers_mut().append("proxy-authorization", A.parse().unwrap());
        request.headers_mut().append("Proxy-Authorization", A.parse().unwrap());
        let answer = within(pki.client().oneshot(request)).await.unwrap();
        assert_eq!(text(answer).await, "ok");
        let told = told(&mut proxy);
        let own = if route.credential().is_some() { vec![B] } else { vec![] };
        assert_eq!(logins(&told), own, "{told}");
        assert!(told.contains("GET "), "the origin was asked: {told}");
    }
}

#[tokio::test]
async fn te_048_a_hop_through_another_exit_has_that_exits_login() {
    let pki = Pki::new("shop.example");
    let site = || {
        Proxy::start(|mut peer| async move {
            let answer = |head: &str| {
                let moved = head.starts_with("GET http://one.example/");
                let status = if moved { "302 Found\r\nlocation: http://two.example/" } else { "200 OK" };
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")
            };
            while peer.answer_by(answer).await {}
        })
    };
    let mut proxies = [site().await, site().await, site().await];
    let client = stack(&proxies, "http", &pki);
    for _ in 0..12 {
        // What follows redirects takes the headers of the request along.
        let mut headers = http::HeaderMap::new();
        headers.insert("proxy-authorization", A.parse().unwrap());
        let mut uri = "http://one.example/".to_owned();
        loop {
            let mut hop = request(Method::GET, None, &uri, "");
            hop.headers_mut().clone_from(&headers);
            let answer = within(client.clone().oneshot(hop)).await.unwrap();
            match answer.headers().get("location") {
                Some(next) => uri = next.to_str().unwrap().to_owned(),
                None => break assert_eq!(answer.status(), StatusCode::OK),
            }
        }
    }
    let told = proxies.each_mut().map(told);
    for (told, own) in told.iter().zip([vec![A], vec![B], vec![]]) {
        assert!(
            told.contains("GET http://one.example/") && told.contains("GET http://two.example/"),
            "{told}"
        );
        assert_eq!(logins(told), own);
    }
}
