//! Connections belong to an exit, its login, and an origin; and they are bounded.

use crate::world::{Event, Pki, Proxy, accepted, get, text, within};
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Barrier;
use tower_egress::exit::Gateway;
use tower_egress::{ExitClient, LeaseRequest, Scheduler};

#[tokio::test]
async fn one_exit_and_origin_keep_one_connection() {
    let pki = Pki::new("shop.example");
    for (uri, mut proxy) in [
        ("http://shop.example/", Proxy::start(|peer| peer.serve()).await),
        ("https://shop.example/", pki.proxy().await),
    ] {
        let client = pki.client();
        for uri in [uri.to_owned(), uri.replace("shop", "SHOP"), uri.replace("://", "://me@")] {
            // Another clone of the client, the same connections.
            let answer = get(&client.clone(), &proxy.route(), &uri).await.unwrap();
            assert_eq!(text(answer).await, "ok");
        }
        assert_eq!(accepted(&proxy.seen()), 1, "{uri}");
    }
}

#[tokio::test]
async fn te_011_a_new_password_opens_a_new_tunnel_and_ends_the_old_one() {
    let pki = Pki::new("shop.example");
    let mut proxy = pki.proxy().await;
    let client = pki.client();
    let (old, new) = (proxy.route_as("alice", "old"), proxy.route_as("alice", "new"));
    assert_eq!(old.exit(), new.exit());
    for route in [&old, &old, &new, &new] {
        assert_eq!(text(get(&client, route, "https://shop.example/").await.unwrap()).await, "ok");
    }
    let (mut connects, mut ended) = (Vec::new(), None);
    while connects.len() < 2 || ended.is_none() {
        match proxy.event().await {
            Event::Proxy(head) => connects.push(head),
            Event::Ended(number) => ended = Some(number),
            _ => {}
        }
    }
    assert_eq!(ended, Some(0));
    assert_ne!(connects[0], connects[1]);
}

#[tokio::test]
async fn two_passwords_that_dial_at_once_have_a_tunnel_each() {
    let pki = Pki::new("shop.example");
    let (origin, both) = (pki.origin.clone(), Arc::new(Barrier::new(2)));
    let mut proxy = Proxy::start(move |mut peer| {
        let (origin, both) = (origin.clone(), Arc::clone(&both));
        async move {
            peer.proxy_head().await;
            // Neither tunnel opens before both were asked for.
            both.wait().await;
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            if let Some(origin) = peer.accept(&origin).await {
                origin.serve().await;
            }
        }
    })
    .await;
    let client = pki.builder().establish_timeout(Duration::from_secs(5)).build().unwrap();
    let (old, new) = (proxy.route_as("alice", "old"), proxy.route_as("alice", "new"));
    let uri = "https://shop.example/";
    let (one, two) = tokio::join!(get(&client, &old, uri), get(&client, &new, uri));
    assert_eq!((text(one.unwrap()).await, text(two.unwrap()).await), ("ok".to_owned(), "ok".to_owned()));
    let heads: std::collections::HashSet<_> = proxy
        .seen()
        .into_iter()
        .filter_map(|event| if let Event::Proxy(head) = event { Some(head) } else { None })
        .collect();
    assert_eq!(heads.len(), 2, "each with its own login");
}

#[tokio::test]
async fn a_connection_in_use_is_not_shared() {
    let mut proxy = Proxy::start(|mut peer| async move {
        // The first connection's answer ends only when the second has been served.
        if peer.number() == 0 {
            peer.answer("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nha").await;
            peer.until_closed().await;
        } else {
            peer.serve().await;
        }
    })
    .await;
    let client = ExitClient::new();
    let open = get(&client, &proxy.route(), "http://shop.example/").await.unwrap();
    assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
    // Given up in the middle, it is closed and not kept.
    drop(open);
    proxy.ended(0).await;
    assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 0, "the second connection served the third request");
}

#[tokio::test]
async fn an_answer_without_a_body_gives_its_connection_back_at_the_head() {
    let mut proxy =
        Proxy::start(
            |mut peer| async move { while peer.answer("HTTP/1.1 304 Not Modified\r\n\r\n").await {} },
        )
        .await;
    let client = ExitClient::new();
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(get(&client, &proxy.route(), "http://shop.example/").await.unwrap());
    }
    assert_eq!(accepted(&proxy.seen()), 1);
}

#[tokio::test]
async fn a_side_that_means_to_close_is_taken_at_its_word() {
    for head in ["HTTP/1.1 200 OK\r\nconnection: Close", "HTTP/1.0 200 OK\r\nvia: a"] {
        let mut proxy = Proxy::start(move |mut peer| async move {
            peer.answer(&format!("{head}\r\ncontent-length: 2\r\n\r\nok")).await;
            // It does not hang up itself.
            peer.until_closed().await;
        })
        .await;
        let client = ExitClient::new();
        for number in 0..2 {
            assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
            proxy.ended(number).await;
        }
    }
}

#[tokio::test]
async fn a_small_answer_that_nobody_reads_costs_no_connection() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let client = ExitClient::new();
    drop(get(&client, &proxy.route(), "http://shop.example/").await.unwrap());
    assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1);
}

#[tokio::test]
async fn a_connection_is_free_with_the_last_byte() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let client = ExitClient::new();
    let mut first = get(&client, &proxy.route(), "http://shop.example/").await.unwrap();
    let frame = within(first.body_mut().frame()).await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "ok");
    // The first body is neither asked again nor dropped.
    assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1);
    drop(first);
}

#[tokio::test]
async fn the_oldest_goes_when_too_many_idle() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let client = ExitClient::builder().max_idle(2).build().unwrap();
    for user in ["alice", "bob", "carol"] {
        let route = proxy.route_as(user, "pw");
        assert_eq!(text(get(&client, &route, "http://shop.example/").await.unwrap()).await, "ok");
    }
    proxy.ended(0).await;
    for user in ["bob", "carol"] {
        let route = proxy.route_as(user, "pw");
        assert_eq!(text(get(&client, &route, "http://shop.example/").await.unwrap()).await, "ok");
    }
    assert_eq!(accepted(&proxy.seen()), 0, "the other two were kept");
}

#[tokio::test]
async fn what_idles_too_long_is_closed_without_a_further_request() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let client = ExitClient::builder().idle_timeout(Duration::from_millis(30)).build().unwrap();
    // Twice: the task that closes ends when nothing idles, and comes back.
    for number in 0..2 {
        assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
        proxy.ended(number).await;
    }
}

#[tokio::test]
async fn the_idle_connections_end_with_the_client() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let client = ExitClient::new();
    assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
    drop(client);
    proxy.ended(0).await;
}

#[tokio::test]
async fn a_body_outlives_its_client() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let client = ExitClient::new();
    let answer = get(&client, &proxy.route(), "http://shop.example/").await.unwrap();
    drop(client);
    assert_eq!(text(answer).await, "ok");
    proxy.ended(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_load_no_connection_ever_changes_its_exit() {
    let mut proxy = Proxy::start(|mut peer| async move {
        let mut login = None;
        while let Some(head) = peer.proxy_head().await {
            let line = head.lines().find(|line| line.starts_with("proxy-authorization")).unwrap().to_owned();
            let same = login.get_or_insert_with(|| line.clone()) == &line;
            let status = if same { 200 } else { 500 };
            peer.send(format!("HTTP/1.1 {status} Odd\r\ncontent-length: 2\r\n\r\nok").as_bytes()).await;
        }
    })
    .await;
    let client = ExitClient::builder().max_idle(6).build().unwrap();
    let callers: Vec<_> = (0..16)
        .map(|caller| {
            let (client, route) = (client.clone(), proxy.route_as(&format!("user{}", caller % 8), "pw"));
            tokio::spawn(async move {
                for _ in 0..50 {
                    let answer = get(&client, &route, "http://shop.example/").await.unwrap();
                    assert_eq!(answer.status(), 200);
                    assert_eq!(text(answer).await, "ok");
                }
            })
        })
        .collect();
    for caller in callers {
        within(caller).await.unwrap();
    }
    let seen = proxy.seen();
    let requests = seen.iter().filter(|event| matches!(event, Event::Proxy(_))).count();
    assert_eq!(requests, 800);
    assert!(accepted(&seen) >= 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_many_threads_too_one_caller_needs_one_connection() {
    let mut proxy = Proxy::start(|peer| peer.serve()).await;
    let client = ExitClient::new();
    for _ in 0..200 {
        assert_eq!(text(get(&client, &proxy.route(), "http://shop.example/").await.unwrap()).await, "ok");
    }
    assert_eq!(accepted(&proxy.seen()), 1);
}

#[tokio::test]
async fn a_gateway_that_rotates_is_given_a_connection_for_each_lease() {
    let pki = Pki::new("shop.example");
    let mut proxy = pki.proxy().await;
    let client = pki.client();
    let gateway = Gateway::rotating(&format!("http://u:p@{}", proxy.address())).unwrap();
    let scheduler = Scheduler::builder().gateway(gateway).build().unwrap();
    for _ in 0..3 {
        let lease = scheduler.lease(&LeaseRequest::per_request().origin("shop.example")).unwrap();
        assert_eq!(text(get(&client, lease.route(), "https://shop.example/").await.unwrap()).await, "ok");
    }
    assert_eq!(accepted(&proxy.seen()), 3);
}
