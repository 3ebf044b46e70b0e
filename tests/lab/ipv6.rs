//! Exits and sites at ::1, and own addresses.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower_egress::exit::Via;
use tower_egress::lab::{Behaviour, Lab};

const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

async fn get(at: SocketAddr, url: &str) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let ask = format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn exits_and_sites_listen_at_ipv6_when_asked() {
    let builder = Lab::builder().site("four.test").fine(1).ipv6(true).site("six.test").fine(1);
    let lab = builder.start().await.unwrap();
    let [four, six] = [0, 1].map(|at| lab.exit(at).address().unwrap());
    assert_eq!((four.ip(), six.ip()), (lab.exit(0).source(), V6));
    assert_eq!(lab.exit(1).exit().route().url(), format!("http://{six}"));

    for exit in [four, six] {
        for host in ["four.test", "six.test"] {
            assert!(get(exit, &format!("http://{host}/")).await.starts_with("HTTP/1.1 200"), "{exit} {host}");
        }
    }
    let peers = |host: &str| lab.site(host).unwrap().peers().into_keys().collect::<Vec<_>>();
    assert_eq!(peers("four.test"), [lab.exit(0).source(), lab.exit(1).source()]);
    assert_eq!(peers("six.test"), [V6]);
}

#[tokio::test]
async fn an_ipv6_literal_leads_to_the_site() {
    let lab =
        Lab::builder().ipv6(true).site("six.test").fine(1).via(Via::Socks5h).fine(1).start().await.unwrap();
    let url = lab.direct_url("/p");
    assert!(url.starts_with("http://[::1]:"), "{url}");
    let [http, socks] = [0, 1].map(|at| lab.exit(at).address().unwrap());
    assert!(get(http, &url).await.starts_with("HTTP/1.1 200"));

    let mut tunnel = TcpStream::connect(http).await.unwrap();
    tunnel.write_all(b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    tunnel.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");

    let mut tunnel = TcpStream::connect(socks).await.unwrap();
    tunnel.write_all(&[5, 1, 0]).await.unwrap();
    assert_eq!(tunnel.read_u16().await.unwrap(), 0x0500);
    tunnel.write_all(&[&[5, 1, 0, 4], &Ipv6Addr::LOCALHOST.octets()[..], &[0, 80]].concat()).await.unwrap();
    let mut reply = [0; 22];
    tunnel.read_exact(&mut reply).await.unwrap();
    assert_eq!((&reply[..4], &reply[4..20]), (&[5, 0, 0, 4][..], &Ipv6Addr::LOCALHOST.octets()[..]));
    assert_eq!(lab.exit(1).traffic().names, 0);
}

#[tokio::test]
async fn an_own_address_is_an_exit_without_a_proxy() {
    let lab = Lab::builder().via(Via::Local).fine(1).refused(1).start().await.unwrap();
    let exit = lab.exit(1);
    assert_eq!(exit.exit().route().local(), Some(exit.source()));
    assert_eq!((exit.address(), exit.traffic().connections), (None, 0));
    // What a client does with it.
    for (at, status) in [(0, "HTTP/1.1 200"), (1, "HTTP/1.1 403")] {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(lab.exit(at).source(), 0)).unwrap();
        let origin = lab.direct_url("").trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        let mut stream = socket.connect(origin).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(status), "{answer}");
    }
    for impossible in [
        Lab::builder().via(Via::Local).dead(1),
        Lab::builder().via(Via::Local).exit(Behaviour::fine().cut_after(1)),
        Lab::builder().via(Via::Local).ipv6(true).fine(1),
    ] {
        assert!(impossible.start().await.is_err());
    }
}
