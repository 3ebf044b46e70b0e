//! What an attempt has cost is counted, too, where nobody waited for its end.

use crate::world::{Event, Pki, Proxy, within};
use http::Request;
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;
use tower::Layer as _;
use tower_egress::exit::Exit;
use tower_egress::{Body, EgressLayer, ExitList, LeaseRequest, Scheduler};

fn scheduler(proxy: &Proxy) -> Scheduler {
    let exit = Exit::parse(&proxy.address().to_string()).unwrap();
    Scheduler::builder().exits(ExitList::from_iter([exit])).seed(7).build().unwrap()
}

/// Reads a head, and says nothing.
async fn silent() -> Proxy {
    Proxy::start(|mut peer| async move {
        peer.proxy_head().await;
        peer.until_closed().await;
    })
    .await
}

async fn head(proxy: &mut Proxy) -> u64 {
    loop {
        if let Event::Proxy(head) = proxy.event().await {
            return head.len() as u64;
        }
    }
}

fn page(uri: &str) -> Request<Body> {
    let ask = LeaseRequest::per_request().repeatable(false);
    Request::get(uri).extension(ask).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn an_attempt_that_took_too_long_is_billed() {
    // While it dials, and while it waits for an answer.
    for uri in ["https://shop.example/", "http://shop.example/"] {
        let mut proxy = silent().await;
        let scheduler = scheduler(&proxy);
        let stack = EgressLayer::new(&scheduler).attempt_timeout(Duration::from_millis(200));
        let client = Pki::new("shop.example").client();
        let error = within(stack.layer(client).oneshot(page(uri))).await.unwrap_err();
        let sent = head(&mut proxy).await;
        let snapshot = scheduler.snapshot();
        assert_eq!((snapshot.wire.sent, snapshot.wire.received), (sent, 0), "{uri}: {error}");
        assert_eq!(snapshot.busiest.first().map(|exit| exit.wire.sent), Some(sent), "{uri}");
    }
}

#[tokio::test]
async fn an_attempt_that_its_caller_gives_up_is_billed() {
    for uri in ["https://shop.example/", "http://shop.example/"] {
        let mut proxy = silent().await;
        let scheduler = scheduler(&proxy);
        let stack = EgressLayer::new(&scheduler).layer(Pki::new("shop.example").client());
        let sent = {
            let mut request = pin!(stack.oneshot(page(uri)));
            let mut asked = pin!(head(&mut proxy));
            poll_fn(|cx| {
                assert!(request.as_mut().poll(cx).is_pending());
                asked.as_mut().poll(cx)
            })
            .await
        };
        assert_eq!(scheduler.snapshot().wire.sent, sent, "{uri}");
    }
}
