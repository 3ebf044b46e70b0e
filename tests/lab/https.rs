//! Exits that are spoken to over TLS.

use crate::trust::{offering, trusting};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tower_egress::exit::{Credential, Via};
use tower_egress::lab::{Behaviour, Lab, Provider, Reply};

async fn dial(lab: &Lab, at: SocketAddr, name: &str) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(at).await?;
    trusting(lab.ca_pem()).connect(name.to_owned().try_into().unwrap(), stream).await
}

/// What the exit says to this, up to the end of a head.
async fn say<S: AsyncReadExt + AsyncWriteExt + Unpin>(stream: &mut S, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn it_is_a_proxy_inside_tls() {
    let lab = Lab::builder().via(Via::Https).fine(2).start().await.unwrap();
    let exit = lab.exit(1);
    let (route, at) = (exit.exit().route(), exit.address().unwrap());
    assert_eq!(route.url(), format!("https://{at}"));

    let get = format!("GET {} HTTP/1.1\r\nHost: shop.test\r\n\r\n", lab.url("/p"));
    for name in [route.host(), "proxy.test", "localhost", "127.0.0.1"] {
        let answer = say(&mut dial(&lab, at, name).await.unwrap(), &get).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
    }
    let mut proxy = dial(&lab, at, route.host()).await.unwrap();
    let granted = say(&mut proxy, "CONNECT shop.test:443 HTTP/1.1\r\n\r\n").await;
    assert!(granted.starts_with("HTTP/1.1 200"), "{granted}");
    let mut origin =
        trusting(lab.ca_pem()).connect("shop.test".try_into().unwrap(), proxy).await.expect("TLS in TLS");
    assert!(say(&mut origin, "GET /p HTTP/1.1\r\nHost: shop.test\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    let seen = lab.origin().seen();
    assert!(seen.iter().all(|seen| seen.peer() == exit.source()));
    assert_eq!((seen[0].is_tls(), seen[4].is_tls()), (false, true), "the proxy's TLS is not the origin's");
    let traffic = exit.traffic();
    assert_eq!((traffic.connections, traffic.requests, traffic.connects, traffic.names), (5, 4, 1, 1));
}

#[tokio::test]
async fn its_certificate_is_checked_against_its_name_and_root() {
    let lab = Lab::builder().via(Via::Https).fine(2).start().await.unwrap();
    let other = Lab::builder().via(Via::Https).fine(1).start().await.unwrap();
    let at = lab.exit(0).address().unwrap();
    let neighbour = lab.exit(1).source().to_string();
    for name in ["shop.test", &neighbour] {
        assert!(dial(&lab, at, name).await.is_err(), "{name}");
    }
    assert!(dial(&other, at, "proxy.test").await.is_err());
    assert_eq!(lab.exit(0).traffic().requests, 0);
}

#[tokio::test]
async fn it_speaks_http_1_alone() {
    let lab = Lab::builder().via(Via::Https).fine(1).start().await.unwrap();
    let stream = TcpStream::connect(lab.exit(0).address().unwrap()).await.unwrap();
    let tls = offering(lab.ca_pem(), &["h2", "http/1.1"]);
    let stream = tls.connect("proxy.test".try_into().unwrap(), stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
}

#[tokio::test]
async fn it_misbehaves_as_any_exit() {
    let login = Credential::new("user", "pw").unwrap();
    let lab = Lab::builder()
        .via(Via::Https)
        .exit(Behaviour::fine().login(login))
        .exit(Behaviour::fine().answer_connect(Reply::reset()))
        .dead(1)
        .gateway(Provider::sessions().via(Via::Https));
    let lab = lab.start().await.unwrap();
    let connect = "CONNECT shop.test:443 HTTP/1.1\r\n\r\n";
    let [picky, rough, dead] = [0, 1, 2].map(|at| lab.exit(at).address().unwrap());
    let refused = say(&mut dial(&lab, picky, "proxy.test").await.unwrap(), connect).await;
    assert!(refused.starts_with("HTTP/1.1 407"), "{refused}");
    let mut reset = dial(&lab, rough, "proxy.test").await.unwrap();
    reset.write_all(connect.as_bytes()).await.unwrap();
    assert!(reset.read_u8().await.is_err());
    assert!(dial(&lab, dead, "proxy.test").await.is_err());

    let gateway = lab.gateway();
    assert!(gateway.template().starts_with("https://user%2D{session}:pw@"), "{}", gateway.template());
    let refused = say(&mut dial(&lab, gateway.address(), "proxy.test").await.unwrap(), connect).await;
    assert!(refused.starts_with("HTTP/1.1 407"), "{refused}");
}
