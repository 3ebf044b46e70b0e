//! Which failure proves what: the table of what is safe to send again.
//!
//! `Never` is a proof: the origin cannot have seen the request, so that any method goes on through another exit. Of
//! `Unknown` only what is idempotent is sent again. The rows that are not here have tests of their own: a kept connection
//! that has died (`stale`), HTTP/2 streams and farewells (`streams`), an origin that never answers, which only the layers'
//! timers end (`te_031` of the cases).

use crate::stack::Fleet;
use crate::world::{Event, Peer, Pki, Proxy, get, nowhere, request, send, text, within};
use http::Method;
use http_body_util::BodyExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower_egress::exit::{Exit, ProxyTls};
use tower_egress::outcome::Phase::{Body, ExitDns, ExitTcp, ExitTls, Head, OriginTls, Tunnel};
use tower_egress::outcome::Seen::{self, Never, Seen as Saw, Unknown};
use tower_egress::outcome::{Failure, Phase};
use tower_egress::{ExitClient, Served};

const HTTPS: &str = "https://shop.example/";
const HTTP: &str = "http://shop.example/";

struct Row {
    what: &'static str,
    uri: &'static str,
    exit: Broken,
    phase: Phase,
    seen: Seen,
    /// How often the origin saw the request.
    origin: usize,
}

impl Row {
    fn is_timeout(&self) -> bool {
        self.what.ends_with("in time")
    }
}

enum Broken {
    /// Its name has no address.
    Nameless,
    /// Nothing listens.
    Dead,
    /// It speaks this scheme, and does what the script says.
    Scripted(&'static str, Script),
}

type Script =
    Arc<dyn Fn(Peer<TcpStream>, TlsAcceptor) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

fn script<S: Future<Output = ()> + Send + 'static>(
    run: impl Fn(Peer<TcpStream>, TlsAcceptor) -> S + Send + Sync + 'static,
) -> Script {
    Arc::new(move |peer, tls| Box::pin(run(peer, tls)))
}

/// Reads a CONNECT and answers with these bytes, then ends as told.
fn says(answer: &'static str, end: End) -> Broken {
    let run = move |mut peer: Peer<TcpStream>, _| async move {
        peer.proxy_head().await;
        peer.send(answer.as_bytes()).await;
        end.of(&mut peer).await;
    };
    Broken::Scripted("http", script(run))
}

/// Answers each step of SOCKS5 with one of these.
fn socks(answers: &'static [&'static [u8]]) -> Broken {
    let run = move |mut peer: Peer<TcpStream>, _| async move {
        for answer in answers {
            peer.some().await;
            peer.send(answer).await;
        }
        peer.until_closed().await;
    };
    Broken::Scripted("socks5h", script(run))
}

/// An origin that reads the request, answers with these bytes, and ends as told.
fn origin_says(answer: &'static str, end: End) -> Broken {
    let run = move |peer: Peer<TcpStream>, tls: TlsAcceptor| async move {
        let Some(mut origin) = peer.tunnel(&tls).await else { return };
        origin.answer(answer).await;
        if matches!(end, End::Reset) {
            origin.io.get_ref().0.set_zero_linger().unwrap();
        }
    };
    Broken::Scripted("http", script(run))
}

/// A proxy that takes a request that it is to forward, answers with these bytes, and closes.
fn forwards(answer: &'static str) -> Broken {
    let run = move |mut peer: Peer<TcpStream>, _| async move {
        peer.answer(answer).await;
    };
    Broken::Scripted("http", script(run))
}

#[derive(Clone, Copy)]
enum End {
    Close,
    Reset,
    Silence,
}

impl End {
    async fn of(self, peer: &mut Peer<TcpStream>) {
        match self {
            Self::Close => {}
            Self::Reset => peer.io.set_zero_linger().unwrap(),
            Self::Silence => peer.until_closed().await,
        }
    }
}

fn table() -> Vec<Row> {
    let row = |what, uri, exit, phase, seen, origin| Row { what, uri, exit, phase, seen, origin };
    // An https:// exit whose certificate is another's.
    let wrong_name = script(|peer, tls| async move { drop(peer.accept(&tls).await) });
    let no_tls = script(|mut peer, _| async move { peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n").await });
    let other = Pki::new("other.example").origin;
    let other_origin = script(move |peer: Peer<TcpStream>, _| {
        let other = other.clone();
        async move { drop(peer.tunnel(&other).await) }
    });
    let open = "HTTP/1.1 200 OK\r\n\r\n";
    use Broken::{Dead, Nameless, Scripted};
    use End::{Close, Reset, Silence};
    vec![
        row("the exit's name has no address", HTTPS, Nameless, ExitDns, Never, 0),
        row("the same, plain", HTTP, Nameless, ExitDns, Never, 0),
        row("nothing listens at the exit", HTTPS, Dead, ExitTcp, Never, 0),
        row("the same, plain", HTTP, Dead, ExitTcp, Never, 0),
        row(
            "the exit's certificate is another's",
            HTTPS,
            Scripted("https", wrong_name.clone()),
            ExitTls,
            Never,
            0,
        ),
        row("the same, plain", HTTP, Scripted("https", wrong_name), ExitTls, Never, 0),
        row("the exit speaks no TLS", HTTPS, Scripted("https", no_tls), ExitTls, Never, 0),
        row(
            "CONNECT: 407",
            HTTPS,
            says("HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n", Silence),
            Tunnel,
            Never,
            0,
        ),
        row(
            "CONNECT: 403",
            HTTPS,
            says("HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n", Silence),
            Tunnel,
            Never,
            0,
        ),
        row(
            "CONNECT: 429",
            HTTPS,
            says("HTTP/1.1 429 Slow\r\ncontent-length: 0\r\n\r\n", Silence),
            Tunnel,
            Never,
            0,
        ),
        row(
            "CONNECT: 502",
            HTTPS,
            says("HTTP/1.1 502 Bad\r\ncontent-length: 0\r\n\r\n", Silence),
            Tunnel,
            Never,
            0,
        ),
        row(
            "CONNECT: 503",
            HTTPS,
            says("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", Silence),
            Tunnel,
            Never,
            0,
        ),
        row("CONNECT: closed without an answer", HTTPS, says("", Close), Tunnel, Never, 0),
        row("CONNECT: reset without an answer", HTTPS, says("", Reset), Tunnel, Never, 0),
        row("CONNECT: garbage", HTTPS, says("SSH-2.0-OpenSSH_9.9\r\n\r\n", Silence), Tunnel, Never, 0),
        row("CONNECT: no answer in time", HTTPS, says("", Silence), Tunnel, Never, 0),
        row("SOCKS: a way to log in that was not offered", HTTPS, socks(&[b"\x05\xff"]), Tunnel, Never, 0),
        row("SOCKS: the login is refused", HTTPS, socks(&[b"\x05\x02", b"\x01\x01"]), Tunnel, Never, 0),
        row(
            "SOCKS: a reply that is not 0",
            HTTPS,
            socks(&[b"\x05\x02", b"\x01\x00", b"\x05\x05\x00\x01\0\0\0\0\0\0"]),
            Tunnel,
            Never,
            0,
        ),
        row("SOCKS: no answer in time", HTTP, socks(&[]), Tunnel, Never, 0),
        row("origin TLS: closed", HTTPS, says(open, Close), OriginTls, Never, 0),
        row("origin TLS: reset", HTTPS, says(open, Reset), OriginTls, Never, 0),
        row("origin TLS: not trusted", HTTPS, Scripted("http", other_origin), OriginTls, Never, 0),
        row("origin TLS: no answer in time", HTTPS, says(open, Silence), OriginTls, Never, 0),
        row("the origin closes without an answer", HTTPS, origin_says("", Close), Head, Unknown, 1),
        row("the origin resets without an answer", HTTPS, origin_says("", Reset), Head, Unknown, 1),
        row("the origin answers garbage", HTTPS, origin_says("nonsense\r\n\r\n", Close), Head, Unknown, 1),
        row("the head breaks off", HTTPS, origin_says("HTTP/1.1 200 OK\r\nx: ", Close), Head, Unknown, 1),
        row("plain: the proxy closes without an answer", HTTP, forwards(""), Head, Unknown, 1),
        row("plain: the proxy answers garbage", HTTP, forwards("nonsense\r\n\r\n"), Head, Unknown, 1),
        row(
            "the body breaks off",
            HTTPS,
            origin_says("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", Close),
            Body,
            Saw,
            1,
        ),
        row(
            "plain: the body breaks off",
            HTTP,
            forwards("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
            Body,
            Saw,
            1,
        ),
    ]
}

impl Broken {
    /// It breaks each time, or once and then works.
    async fn start(&self, pki: &Pki, once: bool) -> (Exit, Option<Proxy>) {
        match self {
            Self::Nameless => (Exit::parse("http://u:p@nowhere.example:1").unwrap(), None),
            Self::Dead => {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
                (Exit::parse(&format!("http://u:p@{}", listener.local_addr().unwrap())).unwrap(), None)
            }
            Self::Scripted(scheme, script) => {
                let (script, tls) = (Arc::clone(script), pki.origin.clone());
                let works = self::script(works);
                let proxy = Proxy::start(move |peer| {
                    let script = if once && peer.number() > 0 { &works } else { &script };
                    script(peer, tls.clone())
                });
                let proxy = proxy.await;
                (Exit::parse(&format!("{scheme}://u:p@{}", proxy.address())).unwrap(), Some(proxy))
            }
        }
    }
}

fn client(pki: &Pki, row: &Row) -> ExitClient {
    let proxies = ProxyTls::builder().roots_pem(pki.roots.as_bytes()).build().unwrap();
    let limit = Duration::from_secs(if row.is_timeout() { 1 } else { 10 });
    let builder = pki.builder().proxy_tls(&proxies).tunnel_timeout(limit).tls_timeout(limit);
    let builder = if matches!(row.exit, Broken::Nameless) { builder.resolver(nowhere) } else { builder };
    builder.build().unwrap()
}

fn asked(proxy: &mut Proxy) -> usize {
    proxy.seen().iter().filter(|event| matches!(event, Event::Origin(_))).count()
}

async fn failure_of(client: &ExitClient, method: Method, exit: &Exit, uri: &str) -> Failure {
    let body = if method == Method::POST { "body" } else { "" };
    match send(client, request(method, Some(exit.route()), uri, body)).await {
        Err(error) => error.into_failure(),
        Ok(answer) => within(answer.into_body().collect()).await.unwrap_err().into_failure(),
    }
}

#[tokio::test]
async fn each_way_to_fail_has_its_phase_and_proves_no_more_than_it_may() {
    let shared = Arc::new(Pki::new("shop.example"));
    let run = |row: Row| {
        let pki = Arc::clone(&shared);
        async move {
            for method in [Method::GET, Method::POST] {
                let (exit, mut proxy) = row.exit.start(&pki, false).await;
                let failure = failure_of(&client(&pki, &row), method.clone(), &exit, row.uri).await;
                let what = format!("{method}: {}: {failure:?}", row.what);
                assert_eq!((failure.phase(), failure.seen()), (row.phase, row.seen), "{what}");
                assert_eq!(failure.is_timeout(), row.is_timeout(), "{what}");
                assert_eq!(proxy.as_mut().map_or(0, asked), row.origin, "{what}");
                assert!(!failure.is_blameless(), "{what}");
            }
        }
    };
    let rows: JoinSet<_> = table().into_iter().map(run).collect();
    rows.join_all().await;
}

/// The same table, through the whole stack, with a second exit that works. Which of the two an overloaded proxy leaves the
/// next attempt to is the scheduler's affair, so that the first works by then, too.
#[tokio::test]
async fn what_the_origin_never_saw_goes_on_and_of_the_rest_only_what_is_idempotent() {
    let shared = Arc::new(Pki::new("shop.example"));
    let run = |row: Row| {
        let pki = Arc::clone(&shared);
        async move {
            for method in [Method::GET, Method::POST] {
                let (exit, mut broken) = row.exit.start(&pki, true).await;
                let mut fine = fine(&pki).await;
                let other = Exit::parse(&format!("http://u:p@{}", fine.address())).unwrap();
                let fleet = Fleet::first(&exit, &[exit.clone(), other], client(&pki, &row));
                let answer = fleet.send(method.clone(), row.uri, "body").await;
                let what = format!("{method}: {}: {answer:?}", row.what);
                let goes_on = row.seen == Never || method == Method::GET;
                let origin = broken.as_mut().map_or(0, asked) + asked(&mut fine);
                assert_eq!(origin, row.origin + usize::from(goes_on), "{what}");
                assert_eq!(answer.is_ok(), goes_on, "{what}");
                if let Ok(answer) = answer {
                    let attempts = answer.extensions().get::<Served>().unwrap().attempts();
                    assert_eq!((answer.status().as_u16(), attempts), (200, 2), "{what}");
                }
            }
        }
    };
    let at_the_head = table().into_iter().filter(|row| row.phase != Body);
    at_the_head.map(run).collect::<JoinSet<_>>().join_all().await;
}

/// A reset may overtake the head, so it waits until that was read.
#[tokio::test]
async fn a_body_that_is_reset_came_from_an_origin_that_saw_the_request() {
    let (pki, read) = (Pki::new("shop.example"), Arc::new(Notify::new()));
    let (tls, was_read) = (pki.origin.clone(), Arc::clone(&read));
    let mut proxy = Proxy::start(move |peer| {
        let (tls, was_read) = (tls.clone(), Arc::clone(&was_read));
        async move {
            let Some(mut origin) = peer.tunnel(&tls).await else { return };
            origin.answer("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await;
            was_read.notified().await;
            origin.io.get_ref().0.set_zero_linger().unwrap();
        }
    })
    .await;
    let ask = request(Method::POST, Some(&proxy.route()), HTTPS, "body");
    let answer = send(&pki.client(), ask).await.unwrap();
    read.notify_one();
    let failure = within(answer.into_body().collect()).await.unwrap_err().into_failure();
    assert_eq!((failure.phase(), failure.seen(), asked(&mut proxy)), (Body, Saw, 1));
}

/// A proxy that works, for both schemes.
async fn fine(pki: &Pki) -> Proxy {
    let tls = pki.origin.clone();
    Proxy::start(move |peer| works(peer, tls.clone())).await
}

async fn works(mut peer: Peer<TcpStream>, tls: TlsAcceptor) {
    if peer.is_connect().await {
        peer.tunnel_and_serve(tls).await;
    } else {
        peer.serve().await;
    }
}

/// In absolute-form the proxy may answer itself. A 407 is always its own; of 502, 503 and 504 nobody can tell.
#[tokio::test]
async fn what_a_forwarding_proxy_answers_is_an_answer() {
    for status in [407, 502, 503, 504] {
        let answer = format!("HTTP/1.1 {status} Odd\r\ncontent-length: 4\r\n\r\nwhy?");
        let proxy = Proxy::answering(answer).await;
        let answer = get(&ExitClient::new(), &proxy.route(), HTTP).await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
        assert_eq!(text(answer).await, "why?");
    }
}
