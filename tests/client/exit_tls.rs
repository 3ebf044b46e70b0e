//! TLS to an `https://` exit, which is another one than that to the origin.

use crate::world::{Event, Peer, Pki, Proxy, get, text};
use http::Version;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, TlsAcceptor};
use tower_egress::exit::{Exit, ProxyTls};

/// Shakes hands, and tells what the client said first: the name it wants, and the protocols it speaks.
async fn secured<T>(peer: Peer<T>, tls: &TlsAcceptor) -> Option<Peer<TlsStream<T>>>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let handshake = async |io, tap: tokio::sync::mpsc::UnboundedSender<Event>| {
        let start = LazyConfigAcceptor::new(Default::default(), io).await.ok()?;
        let hello = start.client_hello();
        let protocols: Vec<_> = hello.alpn().into_iter().flatten().map(String::from_utf8_lossy).collect();
        let _ = tap.send(Event::Proxy(format!("{:?} {protocols:?}", hello.server_name())));
        start.into_stream(Arc::clone(tls.config())).await.ok()
    };
    peer.secured(handshake).await
}

#[tokio::test]
async fn te_074_each_hop_has_its_own_server_name_and_protocols() {
    let exit_pki = Pki::new("proxy.test");
    let origin_pki = Pki::speaking("origin.test", &["h2"]);
    let (exit_tls, origin_tls) = (exit_pki.origin.clone(), origin_pki.origin.clone());
    let mut proxy = Proxy::start(move |peer| {
        let (exit_tls, origin_tls) = (exit_tls.clone(), origin_tls.clone());
        async move {
            let Some(mut peer) = secured(peer, &exit_tls).await else { return };
            peer.proxy_head().await;
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            if let Some(origin) = secured(peer, &origin_tls).await {
                origin.serve_http2().await;
            }
        }
    })
    .await;
    let exit = Exit::parse(&format!("https://u:p@proxy.test:{}", proxy.address().port())).unwrap();
    let trusting = ProxyTls::builder().roots_pem(exit_pki.roots.as_bytes()).build().unwrap();
    let here = |name: String| async move {
        assert_eq!(name, "proxy.test", "the origin's name is the exit's to resolve");
        Ok(vec![IpAddr::from([127, 0, 0, 1])])
    };
    let client = origin_pki.builder().proxy_tls(&trusting).resolver(here).build().unwrap();
    let answer = get(&client, exit.route(), "https://origin.test/").await.unwrap();
    assert_eq!(answer.version(), Version::HTTP_2);
    assert_eq!(text(answer).await, "ok");
    let said: Vec<_> = proxy
        .seen()
        .into_iter()
        .filter_map(|event| if let Event::Proxy(said) = event { Some(said) } else { None })
        .collect();
    let connect = "CONNECT origin.test:443 HTTP/1.1\r\nhost: origin.test:443\r\n\
                   proxy-authorization: Basic dTpw\r\n\r\n";
    assert_eq!(said, ["Some(\"proxy.test\") []", connect, "Some(\"origin.test\") [\"h2\", \"http/1.1\"]"]);
}
