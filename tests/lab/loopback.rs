//! On sockets, spoken to with raw requests and hyper.

use crate::trust::trusting;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, PROXY_AUTHENTICATE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_egress::exit::Credential;
use tower_egress::lab::{Behaviour, Lab, LabBuilder, LabExit, MAX_EXITS, Reply};

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Longer than any answer takes, shorter than a silent connection lasts.
const SILENCE: Duration = Duration::from_millis(100);

async fn dial(exit: &LabExit) -> std::io::Result<TcpStream> {
    TcpStream::connect(exit.address().unwrap()).await
}

/// A client's connection to a proxy.
async fn client(exit: &LabExit) -> SendRequest<Full<Bytes>> {
    let stream = dial(exit).await.unwrap();
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn get(url: impl AsRef<str>) -> Request<Full<Bytes>> {
    Request::get(url.as_ref()).header("host", "wrong.test").body(Full::default()).unwrap()
}

async fn fetch(exit: &LabExit, url: impl AsRef<str>) -> Response<Incoming> {
    client(exit).await.send_request(get(url)).await.unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// Asks for a tunnel and returns the head of the answer, with the stream.
async fn connect(exit: &LabExit, host: &str, login: Option<&Credential>) -> (String, TcpStream) {
    let mut stream = dial(exit).await.unwrap();
    let login = login.map_or(String::new(), |login| {
        format!("Proxy-Authorization: {}\r\n", login.basic().unwrap().to_str().unwrap())
    });
    let ask = format!("CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n{login}\r\n");
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (String::from_utf8(head).unwrap(), stream)
}

async fn start(builder: LabBuilder) -> Lab {
    builder.start().await.unwrap()
}

#[tokio::test]
async fn a_site_sees_the_exits_addresses() {
    let lab = start(Lab::builder().fine(3)).await;
    for at in 0..3 {
        let response = fetch(lab.exit(at), lab.url(&format!("/p/{at}?q=1"))).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(text(response).await, format!("<h1>/p/{at}?q=1</h1>\n"));
    }
    let seen = lab.origin().seen();
    let peers: Vec<_> = seen.iter().map(|seen| seen.peer().to_string()).collect();
    assert_eq!(peers, ["127.0.1.1", "127.0.1.2", "127.0.1.3"]);
    assert_eq!(seen[2].path(), "/p/2?q=1");
    assert_eq!((seen[0].number(), seen[2].number(), seen[0].is_tls()), (0, 2, false));
    assert!(seen[0].at() <= seen[2].at());
    assert!(lab.origin().peers().keys().all(|peer| lab.exit_at(*peer).is_some()));
    assert!(lab.exit_at(LOCALHOST).is_none());
    assert_eq!(lab.exits().len(), 3);
    assert_eq!(lab.exits().iter().next().as_ref(), Some(lab.exit(0).exit()));
}

#[tokio::test]
async fn who_goes_direct_is_seen() {
    let lab = start(Lab::builder().fine(1)).await;
    let url = lab.direct_url("/p");
    assert_eq!(fetch(lab.exit(0), &url).await.status(), StatusCode::OK);
    assert!(!lab.origin().peers().contains_key(&LOCALHOST));

    let address: SocketAddr =
        url.strip_prefix("http://").unwrap().strip_suffix("/p").unwrap().parse().unwrap();
    let mut direct = TcpStream::connect(address).await.unwrap();
    direct.write_all(b"GET /p HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    direct.read_to_end(&mut Vec::new()).await.unwrap();
    let counts = lab.origin().peers()[&LOCALHOST];
    assert_eq!((counts.connections, counts.requests), (1, 1));
}

#[tokio::test]
async fn exits_reach_the_lab_and_nothing_else() {
    let lab = start(Lab::builder().fine(1).site("shop.test").site("api.test")).await;
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = format!("http://{}/", elsewhere.local_addr().unwrap());
    for url in ["http://unknown.test/", "http://shop.test:8080/", &elsewhere] {
        assert_eq!(fetch(lab.exit(0), url).await.status(), StatusCode::BAD_GATEWAY, "{url}");
    }
    let (head, _) = connect(lab.exit(0), "unknown.test", None).await;
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");

    assert_eq!(fetch(lab.exit(0), "http://API.test/").await.status(), StatusCode::OK);
    assert_eq!(lab.site("api.test").unwrap().requests(), 1);
    assert_eq!(lab.origin().requests(), 0);
}

#[tokio::test]
async fn a_ban_is_for_one_address() {
    let lab = start(Lab::builder().fine(1).refused(1)).await;
    assert_eq!(fetch(lab.exit(0), lab.url("/")).await.status(), StatusCode::OK);
    assert_eq!(fetch(lab.exit(1), lab.url("/")).await.status(), StatusCode::FORBIDDEN);
    lab.origin().pardon(lab.exit(1).source());
    lab.origin().ban(lab.exit(0).source());
    assert_eq!(fetch(lab.exit(0), lab.url("/")).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(fetch(lab.exit(1), lab.url("/")).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_limit_is_per_address_and_says_when_to_come_back() {
    let lab = start(Lab::builder().fine(2)).await;
    lab.origin().limit(2, Duration::from_secs(3600));
    for _ in 0..2 {
        assert_eq!(fetch(lab.exit(0), lab.url("/")).await.status(), StatusCode::OK);
    }
    let refused = fetch(lab.exit(0), lab.url("/")).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = refused.headers()[RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((3500..=3600).contains(&wait), "{wait}");
    assert_eq!(fetch(lab.exit(1), lab.url("/")).await.status(), StatusCode::OK);
    lab.origin().unlimit();
    assert_eq!(fetch(lab.exit(0), lab.url("/")).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_script_answers_by_path_and_by_closure() {
    let lab = start(Lab::builder().fine(1)).await;
    lab.origin()
        .page("/page", Reply::new(StatusCode::GONE).header(RETRY_AFTER, HeaderValue::from_static("7")));
    lab.origin().respond(|seen| Reply::page(format!("{} {}", seen.method(), seen.body_len())));
    let gone = fetch(lab.exit(0), lab.url("/page")).await;
    assert_eq!((gone.status(), &gone.headers()[RETRY_AFTER]), (StatusCode::GONE, &HeaderValue::from(7)));

    let mut exit = client(lab.exit(0)).await;
    for _ in 0..2 {
        let post = Request::post(lab.url("/form")).body(Full::from("12345")).unwrap();
        assert_eq!(text(exit.send_request(post).await.unwrap()).await, "POST 5");
    }
    let seen = lab.origin().seen();
    assert_eq!(seen[1].body_sha1(), seen[2].body_sha1());
    assert_ne!(seen[0].body_sha1(), seen[1].body_sha1());
}

#[tokio::test]
async fn slow_means_slow_at_the_site_and_at_the_exit() {
    let lab = start(Lab::builder().fine(1).exit(Behaviour::slow(SILENCE))).await;
    lab.origin().page("/slow", Reply::page("late").after(SILENCE));
    for (exit, path) in [(0, "/slow"), (1, "/")] {
        let mut answer = pin!(fetch(lab.exit(exit), lab.url(path)));
        assert!(timeout(SILENCE / 2, &mut answer).await.is_err());
        assert_eq!(answer.await.status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn broken_pages_break_where_the_script_says() {
    let lab = start(Lab::builder().fine(1)).await;
    lab.origin().page("/cut", Reply::page("0123456789").cut_after(4));
    lab.origin().page("/reset", Reply::page("0123456789").reset_after(4));
    lab.origin().page("/stall", Reply::page("0123456789").stall_after(4));
    lab.origin().page("/short", Reply::page("0123").cut_after(4));
    for path in ["/cut", "/reset"] {
        let mut body = fetch(lab.exit(0), lab.url(path)).await.into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "0123", "{path}");
        assert!(body.frame().await.unwrap().is_err(), "{path}");
    }
    let stalled = fetch(lab.exit(0), lab.url("/stall")).await;
    assert_eq!(stalled.headers()[CONTENT_LENGTH], "10");
    let mut body = stalled.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "0123");
    assert!(timeout(SILENCE, body.frame()).await.is_err());
    assert_eq!(text(fetch(lab.exit(0), lab.url("/short")).await).await, "0123");
}

#[tokio::test]
async fn a_reset_is_a_reset() {
    let lab = start(Lab::builder().fine(1).exit(Behaviour::fine().answer_requests(Reply::reset()))).await;
    lab.origin().page("/reset", Reply::reset());
    // A forwarding proxy turns the origin's reset into its own answer.
    assert_eq!(fetch(lab.exit(0), lab.url("/reset")).await.status(), StatusCode::BAD_GATEWAY);

    let mut exit = dial(lab.exit(1)).await.unwrap();
    exit.write_all(format!("GET {} HTTP/1.1\r\n\r\n", lab.url("/")).as_bytes()).await.unwrap();
    let error = exit.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(lab.origin().requests(), 1);
}

#[tokio::test]
async fn an_exit_closes_after_its_answers_without_a_word() {
    const SIZE: usize = 3 << 20;
    let lab = start(
        Lab::builder()
            .exit(Behaviour::fine().closes_after_answer())
            .exit(Behaviour::fine().closes_after_answer().answer_requests(Reply::page("own"))),
    )
    .await;
    lab.origin().page("/empty", Reply::new(StatusCode::NO_CONTENT));
    lab.origin().page("/large", Reply::page(vec![b'x'; SIZE]));
    for (exit, path, size) in [(0, "/p", 12), (0, "/empty", 0), (0, "/large", SIZE), (1, "/p", 3)] {
        let mut stream = dial(lab.exit(exit)).await.unwrap();
        let ask = format!("GET {} HTTP/1.1\r\nHost: shop.test\r\n\r\n", lab.url(path));
        stream.write_all(ask.as_bytes()).await.unwrap();
        // Whole, and then the end, without a reset.
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        let head = std::str::from_utf8(&answer[..end]).unwrap().to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 20") && !head.contains("connection:"), "{head}");
        assert_eq!(answer.len() - end, size, "{path}");
    }
    // A tunnel is not its answer.
    assert_eq!(fetch_tls(&lab, 0, &trusting(lab.ca_pem())).await, StatusCode::OK);
    lab.exit(0).behave(Behaviour::fine()).unwrap();
    let mut kept = client(lab.exit(0)).await;
    for _ in 0..2 {
        assert_eq!(text(kept.send_request(get(lab.url("/p"))).await.unwrap()).await.len(), 12);
        kept.ready().await.unwrap();
    }
}

#[tokio::test]
async fn an_exit_dies_and_lives_again_at_its_address() {
    let lab = start(Lab::builder().dead(1).fine(1)).await;
    assert_eq!(dial(lab.exit(0)).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    lab.exit(0).heal().unwrap();
    assert_eq!(fetch(lab.exit(0), lab.url("/")).await.status(), StatusCode::OK);

    let address = lab.exit(1).address();
    let mut kept = client(lab.exit(1)).await;
    assert_eq!(kept.send_request(get(lab.url("/"))).await.unwrap().status(), StatusCode::OK);
    lab.exit(1).kill();
    assert_eq!(dial(lab.exit(1)).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(kept.ready().await.is_err() || kept.send_request(get(lab.url("/"))).await.is_err());
    lab.exit(1).behave(Behaviour::fine()).unwrap();
    assert_eq!(lab.exit(1).address(), address);
    assert_eq!(fetch(lab.exit(1), lab.url("/")).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn an_exit_answers_connect_as_scripted() {
    let busy = Reply::new(StatusCode::SERVICE_UNAVAILABLE).retry_after(Duration::from_millis(1500));
    let lab = Lab::builder()
        .exit(Behaviour::fine().answer_connect(busy))
        .exit(Behaviour::fine().answer_connect(Reply::hang()))
        .exit(Behaviour::fine().answer_connect(Reply::reset()))
        .exit(Behaviour::fine().answer_connect(Reply::page("nowhere")));
    let lab = start(lab).await;

    let (head, _) = connect(lab.exit(0), "shop.test", None).await;
    assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 2\r\n"), "{head}");
    assert_eq!(fetch(lab.exit(0), lab.url("/")).await.status(), StatusCode::OK, "only CONNECT is refused");

    assert!(timeout(SILENCE, connect(lab.exit(1), "shop.test", None)).await.is_err());

    let mut reset = dial(lab.exit(2)).await.unwrap();
    reset.write_all(b"CONNECT shop.test:443 HTTP/1.1\r\n\r\n").await.unwrap();
    assert_eq!(reset.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);

    let (head, mut nowhere) = connect(lab.exit(3), "shop.test", None).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(nowhere.read(&mut [0]).await.unwrap(), 0, "a tunnel that is closed at once");
    assert_eq!(lab.origin().requests(), 1);
}

#[tokio::test]
async fn an_exit_asks_for_its_login() {
    let login = Credential::new("us", "p@ss/w:rd %").unwrap();
    let lab = start(Lab::builder().exit(Behaviour::fine().login(login.clone()))).await;
    let exit = lab.exit(0);
    assert_eq!(exit.exit().route().credential(), Some(&login), "the list's spec carries it");

    let refused = fetch(exit, lab.url("/")).await;
    assert_eq!(refused.status(), StatusCode::PROXY_AUTHENTICATION_REQUIRED);
    assert_eq!(refused.headers()[PROXY_AUTHENTICATE], "Basic realm=\"lab\"");
    let wrong = Credential::new("us", "wrong").unwrap();
    let (head, _) = connect(exit, "shop.test", Some(&wrong)).await;
    assert!(head.starts_with("HTTP/1.1 407"), "{head}");
    assert_eq!(lab.origin().connections(), 0);

    let (head, _) = connect(exit, "shop.test", Some(&login)).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let mut with = get(lab.url("/"));
    with.headers_mut().insert("proxy-authorization", login.basic().unwrap().clone());
    assert_eq!(client(exit).await.send_request(with).await.unwrap().status(), StatusCode::OK);
    assert_eq!(exit.traffic().refused_logins, 2);
    assert!(!lab.origin().seen()[0].headers().contains_key("proxy-authorization"));
    assert!(!format!("{exit:?} {lab:?} {:?}", exit.behaviour()).contains("p@ss"));
}

#[tokio::test]
async fn forwarding_is_honest() {
    let lab = start(Lab::builder().fine(1)).await;
    let mut exit = client(lab.exit(0)).await;
    for at in 0..3 {
        let mut request = get(lab.url("/p"));
        for (name, value) in
            [("connection", "x-hop"), ("x-hop", "1"), ("keep-alive", "5"), ("te", "x"), ("x-end", "1")]
        {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        assert_eq!(text(exit.send_request(request).await.unwrap()).await, "<h1>/p</h1>\n", "{at}");
    }
    let seen = lab.origin().seen();
    let names: BTreeSet<_> = seen[0].headers().keys().map(|name| name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["host", "x-end"]));
    assert_eq!(seen[0].headers()["host"], "shop.test");
    let traffic = lab.exit(0).traffic();
    assert_eq!((traffic.connections, traffic.requests, traffic.connects), (1, 3, 0), "kept alive");
    assert_eq!(lab.origin().connections(), 1, "and onwards as well");

    let head = Request::head(lab.url("/p")).body(Full::default()).unwrap();
    let head = exit.send_request(head).await.unwrap();
    assert_eq!(head.headers()[CONTENT_LENGTH], "12");
    assert_eq!(text(head).await, "");
}

#[tokio::test]
async fn a_large_body_streams_through_and_is_counted() {
    const SIZE: usize = 3 << 20;
    let lab = start(Lab::builder().fine(1)).await;
    lab.origin().page("/large", Reply::page(vec![b'x'; SIZE]));
    let post = Request::post(lab.url("/large")).body(Full::from(vec![b'y'; SIZE])).unwrap();
    let response = client(lab.exit(0)).await.send_request(post).await.unwrap();
    assert_eq!(text(response).await.len(), SIZE);
    assert_eq!(lab.origin().seen()[0].body_len(), SIZE as u64);
    let traffic = lab.exit(0).traffic();
    let whole = SIZE as u64..SIZE as u64 + 1000;
    assert!(whole.contains(&traffic.bytes_in) && whole.contains(&traffic.bytes_out), "{traffic:?}");
}

#[tokio::test]
async fn an_exit_cuts_what_comes_back() {
    let lab = start(Lab::builder().exit(Behaviour::fine().cut_after(4))).await;
    lab.origin().page("/p", Reply::page("0123456789"));
    let mut body = fetch(lab.exit(0), lab.url("/p")).await.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "0123");
    assert!(body.frame().await.unwrap().is_err());

    let (head, stream) = connect(lab.exit(0), "shop.test", None).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let name = "shop.test".try_into().unwrap();
    assert!(trusting(lab.ca_pem()).connect(name, stream).await.is_err(), "the handshake is cut");
    assert_eq!(lab.origin().requests(), 1);
}

/// A GET over TLS through a tunnel of the exit; the connector keeps sessions.
async fn fetch_tls(lab: &Lab, exit: usize, tls: &TlsConnector) -> StatusCode {
    let (_, stream) = connect(lab.exit(exit), "shop.test", None).await;
    let stream = tls.connect("shop.test".try_into().unwrap(), stream).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("/p").header("host", "shop.test").body(Empty::<Bytes>::new()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let status = response.status();
    response.into_body().collect().await.unwrap();
    status
}

#[tokio::test]
async fn tls_through_a_tunnel_with_the_labs_root() {
    let lab = start(Lab::builder().fine(2)).await;
    let tls = trusting(lab.ca_pem());
    assert_eq!(fetch_tls(&lab, 0, &tls).await, StatusCode::OK);
    assert_eq!(fetch_tls(&lab, 1, &tls).await, StatusCode::OK);
    let seen = lab.origin().seen();
    assert!(seen.iter().all(|seen| seen.is_tls()));
    assert_eq!(seen[1].peer(), lab.exit(1).source());
    let peers = lab.origin().peers();
    assert_eq!(peers[&lab.exit(0).source()].resumed, 0);
    assert_eq!(peers[&lab.exit(1).source()].resumed, 1, "a session shared between exits shows");
    assert_eq!(lab.exit(0).traffic().connects, 1);

    let other = start(Lab::builder().fine(1)).await;
    let (_, stream) = connect(lab.exit(0), "shop.test", None).await;
    let stranger = trusting(other.ca_pem());
    assert!(stranger.connect("shop.test".try_into().unwrap(), stream).await.is_err());
}

#[tokio::test]
async fn the_ports_are_free_when_the_lab_is_dropped() {
    let lab = start(Lab::builder().fine(1).dead(1)).await;
    let (fine, dead) = (lab.exit(0).clone(), lab.exit(1).clone());
    let origin = lab.direct_url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut open = dial(&fine).await.unwrap();
    open.write_all(b"GET http://shop.test/ HTTP/1.1\r\n\r\n").await.unwrap();
    open.read_u8().await.unwrap();
    drop(lab);

    for exit in [&fine, &dead] {
        assert_eq!(dial(exit).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        std::net::TcpListener::bind(exit.address().unwrap()).unwrap();
        assert_eq!(exit.heal().unwrap_err().kind(), ErrorKind::NotConnected);
    }
    std::net::TcpListener::bind(origin).unwrap();
    // The open connection ends as well.
    let _ = timeout(Duration::from_secs(10), open.read_to_end(&mut Vec::new())).await.unwrap();
    let tasks = tokio::runtime::Handle::current().metrics();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks.num_alive_tasks(), 0);
    assert_eq!(fine.traffic().requests, 1, "counts outlive the lab");
}

#[tokio::test]
async fn bad_worlds_are_refused() {
    for builder in [
        Lab::builder().site("a.test").site("A.test"),
        Lab::builder().site(""),
        Lab::builder().fine(MAX_EXITS + 1),
        Lab::builder().fine(usize::MAX).dead(usize::MAX),
    ] {
        assert_eq!(builder.clone().start().await.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(builder.in_memory().unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[tokio::test]
async fn the_worlds_of_the_main_example() {
    let lab = start(Lab::builder().fine(24).refused(8).dead(4).slow(4)).await;
    assert_eq!(lab.exits().len(), 40);
    assert_eq!(fetch(lab.exit(23), lab.url("/p/1")).await.status(), StatusCode::OK);
    assert_eq!(fetch(lab.exit(24), lab.url("/p/1")).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(fetch(lab.exit(31), lab.url("/p/1")).await.status(), StatusCode::FORBIDDEN);
    assert!(dial(lab.exit(32)).await.is_err() && dial(lab.exit(35)).await.is_err());
    assert!(dial(lab.exit(36)).await.is_ok() && dial(lab.exit(39)).await.is_ok());
}
