//! SOCKS5 exits, spoken to byte by byte.

use crate::trust::trusting;
use std::io::{ErrorKind, Result};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_egress::exit::{Credential, Via};
use tower_egress::lab::{Behaviour, Lab, LabExit, Mood, Provider, Reply, SocksReply};

/// Longer than any answer takes, shorter than a silent connection lasts.
const SILENCE: Duration = Duration::from_millis(100);

async fn greet(at: SocketAddr, methods: &[u8]) -> Result<(u8, TcpStream)> {
    let mut stream = TcpStream::connect(at).await?;
    let greeting = [&[5, u8::try_from(methods.len()).unwrap()], methods].concat();
    stream.write_all(&greeting).await?;
    assert_eq!(stream.read_u8().await?, 5);
    Ok((stream.read_u8().await?, stream))
}

fn short(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

/// The status of a login, and the stream.
async fn login(at: SocketAddr, user: &str, password: &str) -> Result<(u8, TcpStream)> {
    let (method, mut stream) = greet(at, &[0, 2]).await?;
    assert_eq!(method, 2, "a login is asked for");
    stream.write_all(&[vec![1], short(user), short(password)].concat()).await?;
    assert_eq!(stream.read_u8().await?, 1);
    Ok((stream.read_u8().await?, stream))
}

/// The address part of a request for a name.
fn name(host: &str) -> Vec<u8> {
    [vec![3], short(host)].concat()
}

/// Asks for a command and returns the reply's code; the bound address is read and left out.
async fn ask(stream: &mut TcpStream, command: u8, address: &[u8], port: u16) -> Result<u8> {
    stream.write_all(&[&[5, command, 0], address, &port.to_be_bytes()].concat()).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [version, code, reserved, kind] = head;
    assert_eq!((version, reserved), (5, 0));
    let mut bound = vec![0; if kind == 1 { 6 } else { 18 }];
    stream.read_exact(&mut bound).await?;
    Ok(code)
}

/// Asks an open exit for a name.
async fn connect(exit: &LabExit, host: &str, port: u16) -> Result<(u8, TcpStream)> {
    let (method, mut stream) = greet(exit.address().unwrap(), &[0]).await?;
    assert_eq!(method, 0);
    Ok((ask(&mut stream, 1, &name(host), port).await?, stream))
}

async fn page(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET /p HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn origin_of(lab: &Lab) -> SocketAddr {
    lab.direct_url("").trim_start_matches("http://").trim_end_matches('/').parse().unwrap()
}

#[tokio::test]
async fn a_tunnel_leads_to_a_name_or_an_address() {
    let lab = Lab::builder().via(Via::Socks5h).fine(1).via(Via::Socks5).fine(1).start().await.unwrap();
    let schemes = [0, 1].map(|at| lab.exit(at).exit().route().via());
    assert_eq!(schemes, [Via::Socks5h, Via::Socks5]);

    let (code, mut stream) = connect(lab.exit(0), "SHOP.test", 80).await.unwrap();
    assert_eq!(code, 0);
    assert!(page(&mut stream).await.ends_with("<h1>/p</h1>\n"));
    // The site's own socket, and the port that a client expects there who resolves names by himself.
    for port in [origin_of(&lab).port(), 80] {
        let (_, mut stream) = greet(lab.exit(1).address().unwrap(), &[2, 0]).await.unwrap();
        assert_eq!(ask(&mut stream, 1, &[1, 127, 0, 0, 1], port).await.unwrap(), 0);
        assert!(page(&mut stream).await.starts_with("HTTP/1.1 200"));
    }
    let peers: Vec<_> = lab.origin().seen().iter().map(|seen| seen.peer()).collect();
    assert_eq!(peers, [0, 1, 1].map(|at| lab.exit(at).source()));
    let traffic = [0, 1].map(|at| lab.exit(at).traffic());
    assert_eq!((traffic[0].connects, traffic[0].names), (1, 1));
    assert_eq!((traffic[1].connects, traffic[1].names, traffic[1].requests), (2, 0, 0));
}

#[tokio::test]
async fn tls_goes_through_and_is_cut_where_the_exit_says() {
    let lab =
        Lab::builder().via(Via::Socks5h).fine(1).exit(Behaviour::fine().cut_after(4)).start().await.unwrap();
    let tls = trusting(lab.ca_pem());
    for (exit, through) in [(0, true), (1, false)] {
        let (code, stream) = connect(lab.exit(exit), "shop.test", 443).await.unwrap();
        assert_eq!(code, 0);
        let handshake = tls.connect("shop.test".try_into().unwrap(), stream).await;
        assert_eq!(handshake.is_ok(), through, "{exit}");
    }
}

#[tokio::test]
async fn a_login_is_asked_for_as_the_behaviour_says() {
    let right = Credential::socks("us:er", "p@ss").unwrap();
    let builder = Lab::builder().via(Via::Socks5h).exit(Behaviour::fine().login(right.clone())).fine(1);
    let lab = builder.start().await.unwrap();
    let at = lab.exit(0).address().unwrap();
    assert_eq!(lab.exit(0).exit().route().credential(), Some(&right));

    assert_eq!(greet(at, &[0]).await.unwrap().0, 0xff, "without a login nobody is let in");
    let (status, mut stream) = login(at, "us:er", "wrong").await.unwrap();
    assert_eq!((status, stream.read(&mut [0]).await.unwrap()), (1, 0), "and then the end, without a reset");
    let (status, mut stream) = login(at, "us:er", "p@ss").await.unwrap();
    assert_eq!((status, ask(&mut stream, 1, &name("shop.test"), 80).await.unwrap()), (0, 0));
    assert_eq!(lab.exit(0).traffic().refused_logins, 2);
    assert!(!format!("{:?}", lab.exit(0)).contains("p@ss"));

    // An open exit takes any login from who offers nothing else.
    let (method, mut stream) = greet(lab.exit(1).address().unwrap(), &[2]).await.unwrap();
    stream.write_all(&[1, 1, b'x', 0]).await.unwrap();
    assert_eq!((method, stream.read_u16().await.unwrap()), (2, 0x0100));
    assert_eq!(ask(&mut stream, 1, &name("shop.test"), 80).await.unwrap(), 0);
}

#[tokio::test]
async fn what_cannot_be_reached_has_its_code() {
    let lab = Lab::builder().via(Via::Socks5h).fine(1).start().await.unwrap();
    let exit = lab.exit(0).address().unwrap();
    let shop = name("shop.test");
    let long = name(&"a".repeat(255));
    for (command, address, port, code) in [
        (1, &name("unknown.test")[..], 80, 4),
        (1, &long, 80, 4),
        (1, &[1, 192, 0, 2, 1], 80, 4),
        (1, &shop, 8080, 5),
        (1, &[1, 127, 0, 0, 1], 1, 5),
        (2, &shop, 80, 7),
        (3, &shop, 80, 7),
    ] {
        let (_, mut stream) = greet(exit, &[0]).await.unwrap();
        assert_eq!(ask(&mut stream, command, address, port).await.unwrap(), code, "{address:?} {port}");
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "and then the end, without a reset");
    }
    let (_, mut stream) = greet(exit, &[0]).await.unwrap();
    assert_eq!(ask(&mut stream, 1, &[9], 80).await.unwrap(), 8);
    assert_eq!(lab.origin().connections(), 0);

    let mut http = TcpStream::connect(exit).await.unwrap();
    http.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let said = http.read_to_end(&mut Vec::new()).await;
    assert!(matches!(said, Ok(0) | Err(_)), "who speaks something else is hung up on");
}

#[tokio::test]
async fn a_script_answers_at_each_step() {
    let lab = Lab::builder().via(Via::Socks5h).fine(1).start().await.unwrap();
    let exit = lab.exit(0);
    let at = exit.address().unwrap();
    let play = |reply| exit.behave(Behaviour::fine().answer_socks(reply)).unwrap();

    for code in [0, 1, 0x17, 0xff] {
        play(SocksReply::code(code));
        let (said, mut stream) = connect(exit, "shop.test", 80).await.unwrap();
        assert_eq!((said, stream.read(&mut [0]).await.unwrap()), (code, 0));
    }
    play(SocksReply::method(0xff));
    let (method, mut stream) = greet(at, &[0, 2]).await.unwrap();
    assert_eq!((method, stream.read(&mut [0]).await.unwrap()), (0xff, 0));
    play(SocksReply::raw(&b"HTTP"[..]));
    let (_, mut stream) = greet(at, &[0]).await.unwrap();
    stream.write_all(&[&[5, 1, 0], &name("shop.test")[..], &[0, 80]].concat()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP");
    play(SocksReply::hang());
    assert!(timeout(SILENCE, connect(exit, "shop.test", 80)).await.is_err());
    play(SocksReply::reset());
    let reset = connect(exit, "shop.test", 80).await.unwrap_err();
    assert_eq!(reset.kind(), ErrorKind::ConnectionReset);

    let asking = Behaviour::fine().login(Credential::socks("user", "pw").unwrap());
    exit.behave(asking.clone().answer_socks(SocksReply::login(9))).unwrap();
    assert_eq!(login(at, "user", "pw").await.unwrap().0, 9);
    exit.behave(asking.answer_socks(SocksReply::login(0))).unwrap();
    assert_eq!(login(at, "user", "wrong").await.unwrap().0, 0);
    assert_eq!(lab.origin().connections(), 0);
}

#[tokio::test]
async fn what_http_says_with_a_status_socks_says_with_a_code() {
    let lab = Lab::builder().via(Via::Socks5h).fine(1).start().await.unwrap();
    let exit = lab.exit(0);
    for (status, code) in [(200, 0), (403, 2), (407, 2), (503, 1)] {
        let reply = Reply::new(status.try_into().unwrap());
        exit.behave(Behaviour::fine().answer_connect(reply)).unwrap();
        assert_eq!(connect(exit, "shop.test", 80).await.unwrap().0, code, "{status}");
    }
    exit.behave(Behaviour::fine().answer_connect(Reply::reset())).unwrap();
    assert_eq!(connect(exit, "shop.test", 80).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    exit.behave(Behaviour::slow(SILENCE)).unwrap();
    assert!(timeout(SILENCE / 2, connect(exit, "shop.test", 80)).await.is_err());
    exit.kill();
    let refused = connect(exit, "shop.test", 80).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_gateway_has_its_sessions_and_moods_over_socks() {
    let provider = Provider::sessions().via(Via::Socks5h);
    let lab = Lab::builder().gateway(provider).start().await.unwrap();
    let gateway = lab.gateway();
    assert!(gateway.template().starts_with("socks5h://user%2D{session}:pw@"), "{}", gateway.template());
    for user in ["user-a", "user-b", "user-a"] {
        let (status, mut stream) = login(gateway.address(), user, "pw").await.unwrap();
        assert_eq!((status, ask(&mut stream, 1, &name("shop.test"), 80).await.unwrap()), (0, 0));
        page(&mut stream).await;
    }
    let peers: Vec<_> = lab.origin().seen().iter().map(|seen| seen.peer()).collect();
    assert_eq!(peers, [0, 1, 0].map(|at| gateway.egress(at)));

    assert_eq!(login(gateway.address(), "user-a", "wrong").await.unwrap().0, 1);
    gateway.behave(Mood::login_refused()).unwrap();
    assert_eq!(login(gateway.address(), "user-a", "pw").await.unwrap().0, 1);
    assert_eq!((gateway.passed(), gateway.traffic().refused_logins), (3, 1));
}
