//! Requests that are given up at every point.

use crate::world::{Event, Peer, Pki, Proxy, get, request, text};
use http::{Method, Response};
use http_body_util::BodyExt as _;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

const URI: &str = "https://shop.example/";
/// More than a request needs that nobody gives up.
const POLLS: usize = 40;

/// A proxy whose tunnels all lead to an origin that speaks HTTP/2.
async fn http2_proxy(pki: &Pki) -> Proxy {
    let mut config = rustls::ServerConfig::clone(pki.origin.config());
    config.alpn_protocols = vec![b"h2".to_vec()];
    let origin = TlsAcceptor::from(Arc::new(config));
    Proxy::start(move |peer| serve_http2(peer, origin.clone())).await
}

async fn serve_http2(mut peer: Peer<TcpStream>, origin: TlsAcceptor) {
    peer.proxy_head().await;
    peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let Some(peer) = peer.accept(&origin).await else { return };
    let Ok(mut served) = h2::server::handshake(peer.io).await else { return };
    while let Some(Ok((_, mut respond))) = served.accept().await {
        // Who asked may have gone.
        if let Ok(mut body) = respond.send_response(Response::new(()), false) {
            let _ = body.send_data("ok".into(), true);
        }
    }
}

/// Polls the work so often, or to its end, and drops it.
async fn give_up_after<F: Future>(mut polls: usize, work: F) {
    let mut work = pin!(work);
    poll_fn(|cx| {
        polls -= 1;
        if work.as_mut().poll(cx).is_ready() || polls == 0 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[tokio::test]
async fn a_request_that_is_given_up_at_any_point_harms_nobody_and_leaves_nothing_behind() {
    let pki = Pki::new("shop.example");
    for (uri, mut proxy) in [
        ("http://shop.example/", Proxy::start(|peer| peer.serve()).await),
        (URI, pki.proxy().await),
        (URI, http2_proxy(&pki).await),
    ] {
        let route = proxy.route();
        for (polls, warm) in (1..POLLS).flat_map(|polls| [(polls, false), (polls, true)]) {
            let client = pki.client();
            if warm {
                assert_eq!(text(get(&client, &route, uri).await.unwrap()).await, "ok");
            }
            let sent = client.clone().oneshot(request(Method::GET, Some(&route), uri, ""));
            give_up_after(polls, async { sent.await.unwrap().into_body().collect().await.unwrap() }).await;
            assert_eq!(text(get(&client, &route, uri).await.unwrap()).await, "ok", "{polls} {warm}");
        }
        // One more, so that there is something to wait for.
        assert_eq!(text(get(&pki.client(), &route, uri).await.unwrap()).await, "ok");
        let mut open = 0;
        loop {
            match proxy.event().await {
                Event::Accepted(_) => open += 1,
                Event::Ended(_) => open -= 1,
                _ => {}
            }
            if open == 0 && proxy.is_quiet() {
                break;
            }
        }
    }
}
