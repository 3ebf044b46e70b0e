//! How HTTP/2 connections and their streams end, and what that proves.

use crate::frames::{CANCEL, Frames, INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM, go_away, ok, reset};
use crate::stack::Fleet;
use crate::world::{Event, Peer, Pki, Proxy, accepted, get, request, send, text, within};
use http::Method;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tower::ServiceExt as _;
use tower_egress::exit::Route;
use tower_egress::outcome::{Phase, Seen};
use tower_egress::{ExitClient, Served};

const URI: &str = "https://shop.example/";

type Origin = Frames<TlsStream<TcpStream>>;

fn pki() -> Pki {
    Pki::speaking("shop.example", &["h2"])
}

/// An origin whose first connection runs a script, frame by frame; the others serve.
async fn first<F, S>(pki: &Pki, script: F) -> Proxy
where
    F: Fn(Origin) -> S + Clone + Send + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let tls = pki.origin.clone();
    Proxy::start(move |peer: Peer<TcpStream>| {
        let (tls, script) = (tls.clone(), script.clone());
        async move {
            let first = peer.number() == 0;
            let Some(origin) = peer.tunnel(&tls).await else { return };
            if !first {
                origin.serve_http2().await;
            } else if let Some(frames) = origin.frames().await {
                script(frames).await;
            }
        }
    })
    .await
}

/// How often the origin was asked.
fn asked(seen: &[Event]) -> usize {
    seen.iter().filter(|event| matches!(event, Event::Origin(_))).count()
}

/// Answers one request, says with it that it takes no more, and hangs up, or does not.
#[tokio::test]
async fn an_idle_connection_that_goes_away_is_replaced_whatever_the_request() {
    for hangs_up in [true, false] {
        for (method, body) in [(Method::GET, ""), (Method::POST, "body")] {
            let pki = pki();
            let mut proxy = first(&pki, move |mut origin| async move {
                let Some(stream) = origin.request().await else { return };
                origin.send(&[ok(stream, false), go_away(stream, NO_ERROR)]).await;
                if !hangs_up {
                    origin.until_closed().await;
                }
            })
            .await;
            let client = pki.client();
            assert_eq!(text(get(&client, &proxy.route(), URI).await.unwrap()).await, "");
            let again = request(method.clone(), Some(&proxy.route()), URI, body);
            assert_eq!(text(send(&client, again).await.unwrap()).await, "ok", "{method} {hangs_up}");
            let seen = proxy.seen();
            assert_eq!((accepted(&seen), asked(&seen)), (2, 2), "{method} {hangs_up}");
        }
    }
}

/// The race: the farewell crosses the next request, which was not looked at, but nobody can say so for sure.
#[tokio::test]
async fn a_farewell_that_crosses_a_request_is_nobodys_fault() {
    for (method, body) in [(Method::GET, ""), (Method::POST, ""), (Method::PUT, "body")] {
        let pki = pki();
        let mut proxy = first(&pki, |mut origin| async move {
            let Some(stream) = origin.request().await else { return };
            origin.send(&[ok(stream, false)]).await;
            origin.request().await;
            origin.send(&[go_away(stream, NO_ERROR)]).await;
        })
        .await;
        let client = pki.client();
        assert_eq!(text(get(&client, &proxy.route(), URI).await.unwrap()).await, "");
        let again = send(&client, request(method.clone(), Some(&proxy.route()), URI, body)).await;
        let (connections, requests) = if method == Method::GET {
            assert_eq!(text(again.unwrap()).await, "ok", "what may be sent again is");
            (2, 3)
        } else {
            let failure = again.unwrap_err().into_failure();
            assert_eq!((failure.phase(), failure.seen()), (Phase::Head, Seen::Unknown), "{method}");
            assert!(failure.is_blameless(), "{method}");
            (1, 2)
        };
        let seen = proxy.seen();
        assert_eq!((accepted(&seen), asked(&seen)), (connections, requests), "{method}");
    }
}

/// What the other end did with a request, after one that was answered or as the first of its connection.
async fn ended(kept: bool, method: Method, end: fn(u32) -> Vec<u8>) -> (Phase, Seen, bool) {
    let pki = pki();
    let mut proxy = first(&pki, move |mut origin| async move {
        if kept {
            let Some(stream) = origin.request().await else { return };
            origin.send(&[ok(stream, false)]).await;
        }
        let Some(stream) = origin.request().await else { return };
        origin.send(&[end(stream)]).await;
        while origin.request().await.is_some() {}
    })
    .await;
    let client = pki.client();
    if kept {
        assert_eq!(text(get(&client, &proxy.route(), URI).await.unwrap()).await, "");
    }
    let request = request(method, Some(&proxy.route()), URI, "body");
    let failure = send(&client, request).await.unwrap_err().into_failure();
    assert!(!failure.is_timeout());
    let seen = proxy.seen();
    assert_eq!((accepted(&seen), asked(&seen)), (1, 1 + usize::from(kept)), "not sent again");
    (failure.phase(), failure.seen(), failure.is_blameless())
}

/// RFC 9113, 8.7: a refused stream was not looked at.
#[tokio::test]
async fn a_refused_stream_was_never_seen_and_blames_nobody() {
    for kept in [false, true] {
        for method in [Method::POST, Method::PUT] {
            let ended = ended(kept, method, |stream| reset(stream, REFUSED_STREAM)).await;
            assert_eq!(ended, (Phase::Send, Seen::Never, true), "{kept}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_was_reset_for_another_reason_may_have_been_seen() {
    let ends: [fn(u32) -> Vec<u8>; 2] =
        [|stream| reset(stream, CANCEL), |stream| reset(stream, INTERNAL_ERROR)];
    for kept in [false, true] {
        for end in ends {
            let (phase, seen, _) = ended(kept, Method::POST, end).await;
            assert_eq!((phase, seen), (Phase::Head, Seen::Unknown), "{kept}");
        }
    }
}

/// The code of a farewell says why the connection ends, and not what became of a stream that it covers.
#[tokio::test]
async fn a_farewell_proves_nothing_about_the_streams_it_covers_whatever_its_code() {
    let ends: [fn(u32) -> Vec<u8>; 2] =
        [|stream| go_away(stream, INTERNAL_ERROR), |stream| go_away(stream, REFUSED_STREAM)];
    for end in ends {
        let pki = pki();
        let mut proxy = first(&pki, move |mut origin| async move {
            let Some(stream) = origin.request().await else { return };
            origin.send(&[end(stream)]).await;
        })
        .await;
        let request = request(Method::POST, Some(&proxy.route()), URI, "body");
        let failure = send(&pki.client(), request).await.unwrap_err().into_failure();
        assert_eq!((failure.phase(), failure.seen()), (Phase::Head, Seen::Unknown));
        assert_eq!(asked(&proxy.seen()), 1);
    }
}

/// A stream is one request's; the others on its connection go on.
#[tokio::test]
async fn a_reset_stream_costs_the_others_nothing() {
    let pki = pki();
    let mut proxy = first(&pki, |mut origin| async move {
        let (Some(one), Some(two)) = (origin.request().await, origin.request().await) else { return };
        origin.send(&[reset(two, CANCEL)]).await;
        let Some(three) = origin.request().await else { return };
        origin.send(&[ok(three, false), ok(one, false)]).await;
        origin.until_closed().await;
    })
    .await;
    let (client, route) = (pki.client(), proxy.route());
    let ask = || tokio::spawn(client.clone().oneshot(request(Method::GET, Some(&route), URI, "")));
    let one = ask();
    origin_asked(&mut proxy).await;
    assert!(get(&client, &route, URI).await.is_err());
    assert_eq!(get(&client, &route, URI).await.unwrap().status(), 200);
    assert_eq!(within(one).await.unwrap().unwrap().status(), 200);
    assert_eq!(accepted(&proxy.seen()), 0);
}

/// A request that is dropped as soon as the origin has it.
async fn given_up(proxy: &mut Proxy, client: &ExitClient, route: &Route) {
    tokio::select! {
        _ = client.clone().oneshot(request(Method::GET, Some(route), URI, "")) => panic!("nobody answers"),
        () = origin_asked(proxy) => {}
    }
}

async fn origin_asked(proxy: &mut Proxy) {
    while !matches!(proxy.event().await, Event::Origin(_)) {}
}

/// The tunnel has gone silent, and one request finds it out for all.
#[tokio::test]
async fn te_085_a_silent_connection_is_not_used_again_once_a_request_was_given_up_on_it() {
    let pki = pki();
    let mut proxy = first(&pki, |mut origin| async move {
        let Some(stream) = origin.request().await else { return };
        origin.send(&[ok(stream, false)]).await;
        while origin.request().await.is_some() {}
    })
    .await;
    let (client, route) = (pki.client(), proxy.route());
    assert_eq!(text(get(&client, &route, URI).await.unwrap()).await, "");
    assert_eq!(accepted(&proxy.seen()), 1);
    given_up(&mut proxy, &client, &route).await;
    for _ in 0..3 {
        assert_eq!(text(get(&client, &route, URI).await.unwrap()).await, "ok");
    }
    let seen = proxy.seen();
    assert_eq!((accepted(&seen), asked(&seen)), (1, 3), "a new one has them all");
    drop(client);
    proxy.ended(1).await;
}

/// The same through the whole stack: one attempt of one request finds it out.
#[tokio::test]
async fn te_085_a_dead_tunnel_costs_one_attempt_of_one_request() {
    let pki = pki();
    let mut proxy = first(&pki, |mut origin| async move {
        let Some(stream) = origin.request().await else { return };
        origin.send(&[ok(stream, false)]).await;
        while origin.request().await.is_some() {}
    })
    .await;
    let fleet = Fleet::of(&proxy, pki.client()).attempt_timeout(Duration::from_secs(1));
    for attempts in [1, 2, 1, 1] {
        let answer = fleet.send(Method::GET, URI, "").await.unwrap();
        assert_eq!(answer.extensions().get::<Served>().unwrap().attempts(), attempts);
    }
    let seen = proxy.seen();
    assert_eq!(
        (accepted(&seen), asked(&seen)),
        (2, 5),
        "the dead one was asked twice, the new one three times"
    );
}

/// Whoever waits on a connection that is doubted goes on waiting; that it stays silent is not proven.
#[tokio::test]
async fn a_doubted_connection_still_answers_those_who_wait_on_it() {
    let pki = pki();
    let mut proxy = first(&pki, |mut origin| async move {
        let Some(stream) = origin.request().await else { return };
        origin.send(&[ok(stream, false)]).await;
        let (Some(patient), Some(_)) = (origin.request().await, origin.request().await) else { return };
        // The last has gone: its stream is reset, and this answer is late.
        origin.given_up().await;
        origin.send(&[ok(patient, false)]).await;
        origin.until_closed().await;
    })
    .await;
    let (client, route) = (pki.client(), proxy.route());
    let ask = || client.clone().oneshot(request(Method::GET, Some(&route), URI, ""));
    // Its answer comes after all that a connection begins with.
    assert_eq!(within(ask()).await.unwrap().status(), 200);
    proxy.seen();
    let patient = tokio::spawn(ask());
    origin_asked(&mut proxy).await;
    given_up(&mut proxy, &client, &route).await;
    assert_eq!(within(patient).await.unwrap().unwrap().status(), 200);
    assert_eq!(text(get(&client, &route, URI).await.unwrap()).await, "ok");
    assert_eq!(accepted(&proxy.seen()), 1, "what is new takes another");
}
