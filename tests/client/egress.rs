//! What a proxy says of the exit it uses: kept with the tunnel, handed up beside each answer, and compared for who holds it.

use crate::world::{Pki, Proxy, get, request, text, within};
use http::Method;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tower::Layer as _;
use tower_egress::exit::{Exit, ExitList};
use tower_egress::outcome::{Connection, Outcome};
use tower_egress::scheduler::Event;
use tower_egress::{EgressClient, EgressLayer, LeaseRequest, Scheduler, Served};

const URI: &str = "https://shop.example/";

/// A proxy whose tunnels say this, one after the other, each for as many requests as the origin behind it takes.
async fn saying(pki: &Pki, said: &'static [&'static str], requests: usize) -> Proxy {
    let origin = pki.origin.clone();
    Proxy::start(move |mut peer| {
        let origin = origin.clone();
        async move {
            peer.proxy_head().await;
            let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", said[peer.number()]);
            peer.send(head.as_bytes()).await;
            let Some(mut origin) = peer.accept(&origin).await else { return };
            for left in (0..requests).rev() {
                let close = if left == 0 { "connection: close\r\n" } else { "" };
                let answer = format!("HTTP/1.1 200 OK\r\n{close}content-length: 2\r\n\r\nok");
                if !origin.answer(&answer).await {
                    return;
                }
            }
        }
    })
    .await
}

/// The stack over some exits, and what it tells of addresses that change.
struct Stack {
    client: EgressClient,
    changes: Receiver<String>,
}

impl Stack {
    fn over(exits: &[Exit], pki: &Pki) -> Self {
        let (tell, changes) = channel();
        let told = move |_, event: &Event| {
            if let Event::LeaseChanged { key, origin, from, to, .. } = event {
                let at = |egress: &tower_egress::outcome::Egress| egress.address().map(str::to_owned);
                tell.send(format!("{key} {origin} {:?} {:?}", at(from), at(to))).unwrap();
            }
        };
        let exits: ExitList = exits.iter().cloned().collect();
        let scheduler = Scheduler::builder().exits(exits).seed(1).observe(told).build().unwrap();
        Self { client: EgressClient::of(EgressLayer::new(&scheduler).layer(pki.client())), changes }
    }

    async fn get(&self, uri: &str, ask: &LeaseRequest) -> Served {
        let mut request = request(Method::GET, None, uri, "");
        request.extensions_mut().insert(ask.clone());
        let answer = within(self.client.send(request)).await.unwrap();
        let served = answer.extensions().get::<Served>().unwrap().clone();
        let body = within(http_body_util::BodyExt::collect(answer.into_body())).await.unwrap().to_bytes();
        assert_eq!(body, "ok");
        served
    }

    fn changes(&self) -> Vec<String> {
        self.changes.try_iter().collect()
    }
}

fn exit(proxy: &Proxy) -> Exit {
    Exit::parse(&format!("http://{}", proxy.address())).unwrap()
}

/// Where an answer says that it left from, and whether that is another place.
fn at(served: &Served) -> (Option<String>, bool) {
    (served.egress().and_then(|egress| egress.address().map(str::to_owned)), served.has_moved())
}

fn address(address: &str, moved: bool) -> (Option<String>, bool) {
    (Some(address.to_owned()), moved)
}

#[tokio::test]
async fn what_the_reply_to_a_connect_reveals_goes_with_every_answer_of_the_tunnel() {
    let pki = Pki::new("shop.example");
    let proxy = saying(&pki, &["X-Exit-Ip: 203.0.113.7\r\nX-Exit-Country: DE\r\n", ""], 2).await;
    let client = pki.client();
    for (kept, said) in [(false, true), (true, true), (false, false)] {
        let answer = get(&client, &proxy.route(), URI).await.unwrap();
        let over = answer.extensions().get::<Connection>().unwrap().clone();
        assert_eq!(over.is_kept(), kept);
        let egress = over.egress().map(|egress| (egress.address().unwrap(), egress.country().unwrap()));
        assert_eq!(egress, said.then_some(("203.0.113.7", "de")), "{kept}");
        assert_eq!(text(answer).await, "ok");
    }
}

#[tokio::test]
async fn a_held_exit_that_leaves_from_elsewhere_says_so() {
    let pki = Pki::new("shop.example");
    let said = &[
        "x-exit-ip: 203.0.113.7\r\n",
        "x-exit-ip: 203.0.113.8\r\n",
        "",
        "x-exit-ip: 203.0.113.8\r\n",
        "x-exit-ip: 203.0.113.9\r\n",
    ];
    let proxy = saying(&pki, said, 2).await;
    let (stack, ask) = (Stack::over(&[exit(&proxy)], &pki), LeaseRequest::identity("alice"));
    let change = |from: &str, to: &str| format!("alice shop.example Some({from:?}) Some({to:?})");
    for (place, moved, changes) in [
        (Some("203.0.113.7"), false, vec![]),
        (Some("203.0.113.7"), false, vec![]),
        (Some("203.0.113.8"), true, vec![change("203.0.113.7", "203.0.113.8")]),
        (Some("203.0.113.8"), false, vec![]),
        // Nothing is said: that is not known, and neither a change nor none.
        (None, false, vec![]),
        (None, false, vec![]),
        // What was known last still is.
        (Some("203.0.113.8"), false, vec![]),
        (Some("203.0.113.8"), false, vec![]),
        (Some("203.0.113.9"), true, vec![change("203.0.113.8", "203.0.113.9")]),
    ] {
        let served = stack.get(URI, &ask).await;
        assert_eq!((at(&served), stack.changes()), ((place.map(str::to_owned), moved), changes));
    }
}

#[tokio::test]
async fn an_exit_that_was_replaced_or_that_nobody_holds_has_not_moved() {
    let pki = Pki::new("shop.example");
    let proxies = [
        saying(&pki, &["x-brd-ip: r1\r\n", "x-brd-ip: r2\r\n"], 1).await,
        saying(&pki, &["x-brd-ip: r3\r\n", "x-brd-ip: r4\r\n"], 1).await,
    ];
    let stack = Stack::over(&proxies.each_ref().map(exit), &pki);
    let ask = LeaseRequest::new("sku-42").windowed(Duration::from_secs(3_600));
    let first = stack.get(URI, &ask).await;
    // It is burned, and the key is given another: that it leaves from elsewhere is what was wanted.
    first.report(Outcome::Blocked { by: tower_egress::outcome::BlockedBy::Exit });
    let second = stack.get(URI, &ask).await;
    assert_ne!((first.exit(), first.generation()), (second.exit(), second.generation()));
    assert_ne!(at(&first), at(&second));
    assert!(!second.has_moved());
    // Who holds nothing has nothing to lose.
    let third = stack.get("https://shop.example/other", &LeaseRequest::per_request()).await;
    assert!(at(&third).0.is_some() && !third.has_moved());
    assert_eq!(stack.changes(), Vec::<String>::new());
}

#[tokio::test]
async fn over_plain_http_the_answer_itself_reveals_the_exit() {
    let pki = Pki::new("shop.example");
    let said = ["x-brd-ip: r1\r\n", "", "x-brd-ip: r2\r\n"];
    let proxy = Proxy::start(move |mut peer| async move {
        for said in said {
            peer.answer(&format!("HTTP/1.1 200 OK\r\n{said}content-length: 2\r\n\r\nok")).await;
        }
        peer.until_closed().await;
    })
    .await;
    let (stack, ask) = (Stack::over(&[exit(&proxy)], &pki), LeaseRequest::identity("alice"));
    for expected in [address("r1", false), (None, false), address("r2", true)] {
        assert_eq!(at(&stack.get("http://shop.example/", &ask).await), expected);
    }
    assert_eq!(stack.changes(), ["alice shop.example Some(\"r1\") Some(\"r2\")"]);
}

#[tokio::test]
async fn what_a_site_says_inside_of_a_tunnel_reveals_nothing() {
    let pki = Pki::new("shop.example");
    let origin = pki.origin.clone();
    let proxy = Proxy::start(move |peer| {
        let origin = origin.clone();
        async move {
            if let Some(mut site) = peer.tunnel(&origin).await {
                let answer = "HTTP/1.1 200 OK\r\nx-brd-ip: r9\r\nx-exit-ip: 203.0.113.9\r\ncontent-length: 2\r\n\r\nok";
                while site.answer(answer).await {}
            }
        }
    })
    .await;
    let stack = Stack::over(&[exit(&proxy)], &pki);
    let served = stack.get(URI, &LeaseRequest::identity("alice")).await;
    assert_eq!(at(&served), (None, false));
}
