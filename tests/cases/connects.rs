//! How often an exit is dialled.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower::Layer as _;
use tower_egress::outcome::{FailureDomain, Phase};
use tower_egress::verdict::{RetryRules, Why};
use tower_egress::{Body, EgressLayer, Error, Exit, ExitClient, LeaseRequest, Outcome, Scheduler};

/// A client that counts the look-ups of one name: each dial begins with one.
fn client(name: &'static str) -> (ExitClient, Arc<AtomicU32>) {
    let dials = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&dials);
    let resolver = move |asked: String| {
        if asked == name {
            count.fetch_add(1, Ordering::Relaxed);
        }
        async { io::Result::Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) }
    };
    (ExitClient::builder().resolver(resolver).build().unwrap(), dials)
}

/// One call through one exit; both ways to say how often it may be sent.
async fn call(client: &ExitClient, exit: Exit, url: &str, sends: u32) -> [Error; 2] {
    let ask = LeaseRequest::per_request();
    let own = ask.clone().attempts(NonZeroU32::new(sends).unwrap());
    let cases = [(RetryRules::negotiated(), own), (RetryRules::negotiated().max_attempts(sends), ask)];
    let mut errors = Vec::new();
    for (rules, ask) in cases {
        let builder = Scheduler::builder().exits([exit.clone()].into_iter().collect());
        let scheduler = builder.rules(rules).seed(7).build().unwrap();
        let stack = EgressLayer::new(&scheduler).default_lease(ask).layer(client.clone());
        let request = http::Request::get(url).body(Body::empty()).unwrap();
        errors.push(stack.oneshot(request).await.map(drop).expect_err("nobody is there"));
    }
    errors.try_into().expect("two")
}

/// A port at which nobody listens.
async fn closed() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap().port()
}

const KINDS: [(&str, &str); 8] = [
    ("http", "http://shop.test/p"),
    ("http", "https://shop.test/p"),
    ("https", "http://shop.test/p"),
    ("https", "https://shop.test/p"),
    ("socks5h", "http://shop.test/p"),
    ("socks5h", "https://shop.test/p"),
    ("socks5", "http://shop.test/p"),
    ("socks5", "https://shop.test/p"),
];

#[tokio::test]
async fn te_141_one_attempt_is_one_connect_whatever_the_exit_is() {
    // Side by side, since a second attempt waits for a second.
    let mut kinds = JoinSet::new();
    for (scheme, url) in KINDS {
        kinds.spawn(async move {
            let (client, dials) = client("exit.test");
            let exit = Exit::parse(&format!("{scheme}://exit.test:{}", closed().await)).unwrap();
            for error in call(&client, exit.clone(), url, 1).await {
                let outcome = error.outcome().unwrap();
                assert_eq!(outcome, Outcome::ProxyError { phase: Phase::ExitTcp }, "{scheme} {url}");
                assert_eq!(outcome.domain(), FailureDomain::Exit);
                assert_eq!(
                    (error.attempts().len(), error.why()),
                    (1, Some(Why::Exhausted)),
                    "{scheme} {url}"
                );
            }
            assert_eq!(dials.load(Ordering::Relaxed), 2, "one a call: {scheme} {url}");
            call(&client, exit, url, 2).await;
            assert_eq!(dials.load(Ordering::Relaxed), 6, "two a call, once they are allowed: {scheme} {url}");
        });
    }
    kinds.join_all().await;
}

#[tokio::test]
async fn te_141_one_attempt_is_one_connect_also_where_the_exit_hangs_up() {
    for (scheme, url) in KINDS {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepted = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&accepted);
        let server = tokio::spawn(async move {
            loop {
                let connection = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                drop(connection);
            }
        });
        let (client, _) = client("exit.test");
        let exit = Exit::parse(&format!("{scheme}://exit.test:{port}")).unwrap();
        for error in call(&client, exit, url, 1).await {
            assert_eq!((error.attempts().len(), error.why()), (1, Some(Why::Exhausted)), "{scheme} {url}");
        }
        assert_eq!(accepted.load(Ordering::Relaxed), 2, "one a call: {scheme} {url}");
        server.abort();
    }
}

#[tokio::test]
async fn te_141_an_own_address_dials_a_site_that_is_not_there_once() {
    for scheme in ["http", "https"] {
        let (client, dials) = client("shop.test");
        let url = format!("{scheme}://shop.test:{}/p", closed().await);
        for error in call(&client, Exit::local(Ipv4Addr::LOCALHOST.into()), &url, 1).await {
            // There is no exit that could be at fault: it is the target that cannot be reached.
            assert_eq!((error.outcome(), error.attempts().len()), (Some(Outcome::TargetUnreachable), 1));
        }
        assert_eq!(dials.load(Ordering::Relaxed), 2, "one a call: {scheme}");
    }
}
