//! A scripted proxy, an origin behind its tunnels, and the client's side of a test.

mod socks;
mod tls;

pub(crate) use socks::Socks;
pub(crate) use tls::{Authority, Hello};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use rustls::HandshakeKind;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower::ServiceExt as _;
use tower_egress::client::{ClientError, ExitClientBuilder, IncomingBody};
use tower_egress::exit::{Exit, Route};
use tower_egress::{Body, ExitClient};

pub(crate) const USER: &str = "the-user";
pub(crate) const PASSWORD: &str = "the-password";

/// What the proxy and the origin behind it saw, in order.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// A connection was accepted.
    Accepted(usize),
    /// The head of a request to the proxy itself.
    Proxy(String),
    /// What a SOCKS proxy was sent, message by message.
    Socks(Vec<u8>),
    /// What a TLS proxy was greeted with.
    Hello(Hello),
    /// A handshake of the origin.
    Handshake(HandshakeKind),
    /// A request to the origin: head and body.
    Origin(String),
    /// The script of this connection has ended.
    Ended(usize),
}

/// A proxy that runs one script for each connection.
pub(crate) struct Proxy {
    address: SocketAddr,
    events: UnboundedReceiver<Event>,
    accept: AbortHandle,
}

impl Proxy {
    pub(crate) async fn start<F, S>(script: F) -> Self
    where
        F: Fn(Peer<TcpStream>) -> S + Send + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tap, events) = unbounded_channel();
        let accept = tokio::spawn(async move {
            for number in 0.. {
                let (io, _) = listener.accept().await.unwrap();
                let _ = tap.send(Event::Accepted(number));
                let ended = tap.clone();
                let running = script(Peer { io, number, tap: tap.clone(), read: Vec::new() });
                tokio::spawn(async move {
                    running.await;
                    let _ = ended.send(Event::Ended(number));
                });
            }
        });
        Self { address, events, accept: accept.abort_handle() }
    }

    /// A proxy that reads one head and answers with these bytes, then closes when the client does.
    pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::start(move |mut peer| {
            let answer = Arc::clone(&answer);
            async move {
                peer.proxy_head().await;
                peer.send(&answer).await;
                peer.until_closed().await;
            }
        })
        .await
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The exit with the usual login.
    pub(crate) fn route(&self) -> Route {
        self.route_as(USER, PASSWORD)
    }

    pub(crate) fn route_as(&self, user: &str, password: &str) -> Route {
        Exit::parse(&format!("http://{user}:{password}@{}", self.address)).unwrap().route().clone()
    }

    pub(crate) fn route_without_login(&self) -> Route {
        self.route_by("http", "")
    }

    /// The exit by another scheme, with a login as a spec has it: `user:password@`, or nothing.
    pub(crate) fn route_by(&self, scheme: &str, login: &str) -> Route {
        Exit::parse(&format!("{scheme}://{login}{}", self.address)).unwrap().route().clone()
    }

    pub(crate) async fn event(&mut self) -> Event {
        within(self.events.recv()).await.unwrap()
    }

    /// Waits until the script of a connection has ended.
    pub(crate) async fn ended(&mut self, number: usize) {
        while self.event().await != Event::Ended(number) {}
    }

    /// Whether everything that was seen has been asked for.
    pub(crate) fn is_quiet(&self) -> bool {
        self.events.is_empty()
    }

    /// What was seen so far and not yet asked for.
    pub(crate) fn seen(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accept.abort();
    }
}

pub(crate) fn accepted(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Accepted(_))).count()
}

/// The proxy's end of a connection, or the origin's inside a tunnel.
pub(crate) struct Peer<T> {
    pub(crate) io: T,
    number: usize,
    pub(crate) tap: UnboundedSender<Event>,
    pub(crate) read: Vec<u8>,
}

impl<T> Peer<T> {
    /// The same peer over what a handshake makes of its stream, if it succeeds.
    pub(crate) async fn secured<U, H: Future<Output = Option<U>>>(
        self,
        handshake: impl FnOnce(T, UnboundedSender<Event>) -> H,
    ) -> Option<Peer<U>> {
        let Self { io, number, tap, .. } = self;
        let io = handshake(io, tap.clone()).await?;
        Some(Peer { io, number, tap, read: Vec::new() })
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Peer<T> {
    /// Reads one head; `None` at the end of the stream.
    async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head: Vec<u8> = self.read.drain(..at + 4).collect();
                return Some(String::from_utf8(head).unwrap());
            }
            if self.io.read_buf(&mut self.read).await.ok()? == 0 {
                return None;
            }
        }
    }

    pub(crate) async fn proxy_head(&mut self) -> Option<String> {
        let head = self.head().await?;
        let _ = self.tap.send(Event::Proxy(head.clone()));
        Some(head)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        // The client may have had enough already.
        let _ = self.io.write_all(bytes).await;
        let _ = self.io.flush().await;
    }

    /// Whether the other side still takes something.
    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.io.write_all(bytes).await.is_ok()
    }

    /// One packet for each byte, as far as the kernel plays along.
    pub(crate) async fn send_slowly(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.send(&[*byte]).await;
            tokio::task::yield_now().await;
        }
    }

    /// Reads whatever comes next; false at the end of the stream.
    pub(crate) async fn some(&mut self) -> bool {
        self.read.clear();
        matches!(self.io.read_buf(&mut self.read).await, Ok(1..))
    }

    /// Whether a CONNECT comes next.
    pub(crate) async fn is_connect(&mut self) -> bool {
        while self.read.len() < 7 {
            if !matches!(self.io.read_buf(&mut self.read).await, Ok(1..)) {
                return false;
            }
        }
        self.read.starts_with(b"CONNECT")
    }

    /// How many bytes come until the client closes.
    pub(crate) async fn rest(&mut self) -> usize {
        self.until_closed().await;
        std::mem::take(&mut self.read).len()
    }

    pub(crate) async fn until_closed(&mut self) {
        while matches!(self.io.read_buf(&mut self.read).await, Ok(1..)) {}
    }

    /// All that comes until the client closes.
    pub(crate) async fn all(&mut self) -> Vec<u8> {
        self.until_closed().await;
        std::mem::take(&mut self.read)
    }

    /// Answers one request as an origin would; false at the end of the stream.
    pub(crate) async fn answer(&mut self, answer: &str) -> bool {
        self.answer_by(|_| answer.to_owned()).await
    }

    /// Answers one request by its head.
    pub(crate) async fn answer_by(&mut self, answer: impl FnOnce(&str) -> String) -> bool {
        let Some(head) = self.head().await else { return false };
        let answer = answer(&head);
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        while self.read.len() < length {
            assert_ne!(self.io.read_buf(&mut self.read).await.unwrap(), 0, "the body is cut off");
        }
        let body: Vec<u8> = self.read.drain(..length).collect();
        let _ = self.tap.send(Event::Origin(head + std::str::from_utf8(&body).unwrap()));
        self.send(answer.as_bytes()).await;
        true
    }

    /// Answers `ok` until the client closes.
    pub(crate) async fn serve(mut self) {
        while self.answer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await {}
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Becomes the origin at the far end of the tunnel.
    pub(crate) async fn accept(self, tls: &TlsAcceptor) -> Option<Peer<TlsStream<T>>> {
        let handshake = |io, tap: UnboundedSender<Event>| async move {
            let io = tls.accept(io).await.ok()?;
            let _ = tap.send(Event::Handshake(io.get_ref().1.handshake_kind().unwrap()));
            Some(io)
        };
        self.secured(handshake).await
    }

    /// Accepts one CONNECT, and becomes the origin behind it.
    pub(crate) async fn tunnel(mut self, tls: &TlsAcceptor) -> Option<Peer<TlsStream<T>>> {
        self.proxy_head().await?;
        self.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
        self.accept(tls).await
    }

    /// Accepts one CONNECT and serves the origin behind it.
    pub(crate) async fn tunnel_and_serve(self, tls: TlsAcceptor) {
        if let Some(origin) = self.tunnel(&tls).await {
            origin.serve().await;
        }
    }
}

/// A certificate authority of one test, and an origin with its certificate.
pub(crate) struct Pki {
    pub(crate) roots: String,
    pub(crate) origin: TlsAcceptor,
}

impl Pki {
    pub(crate) fn new(name: &str) -> Self {
        Self::speaking(name, &[])
    }

    /// The origin chooses the first of these protocols that is offered.
    pub(crate) fn speaking(name: &str, protocols: &[&str]) -> Self {
        let authority = Authority::new();
        let mut config = authority.server(name);
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self { roots: authority.roots, origin: TlsAcceptor::from(Arc::new(config)) }
    }

    /// A builder that trusts this authority alone.
    pub(crate) fn builder(&self) -> ExitClientBuilder {
        ExitClient::builder().roots_pem(self.roots.as_bytes())
    }

    pub(crate) fn client(&self) -> ExitClient {
        self.builder().build().unwrap()
    }

    /// A proxy that opens every tunnel, to this origin.
    pub(crate) async fn proxy(&self) -> Proxy {
        let origin = self.origin.clone();
        Proxy::start(move |peer| peer.tunnel_and_serve(origin.clone())).await
    }
}

/// A resolver that finds nobody, and asks nobody.
pub(crate) async fn nowhere(_: String) -> io::Result<Vec<IpAddr>> {
    Err(io::Error::other("no such name"))
}

/// A client for failures before TLS matters. It has roots of its own: a machine may have none.
pub(crate) fn any_client() -> ExitClient {
    Pki::new("shop.example").client()
}

pub(crate) fn request(method: Method, route: Option<&Route>, uri: &str, body: &'static str) -> Request<Body> {
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri.parse().unwrap();
    if let Some(route) = route {
        request.extensions_mut().insert(route.clone());
    }
    request
}

pub(crate) async fn send(
    client: &ExitClient,
    request: Request<Body>,
) -> Result<Response<IncomingBody>, ClientError> {
    within(client.clone().oneshot(request)).await
}

pub(crate) async fn get(
    client: &ExitClient,
    route: &Route,
    uri: &str,
) -> Result<Response<IncomingBody>, ClientError> {
    send(client, request(Method::GET, Some(route), uri, "")).await
}

pub(crate) async fn text(answer: Response<IncomingBody>) -> String {
    let body = within(answer.into_body().collect()).await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// Takes the first step of some work that cannot be over yet, and no other.
pub(crate) async fn begin(work: &mut (impl Future + Unpin)) {
    let pending = poll_fn(|cx| Poll::Ready(Pin::new(&mut *work).poll(cx).is_pending())).await;
    assert!(pending, "it is over already");
}

/// A failing test must end.
pub(crate) async fn within<F: Future>(work: F) -> F::Output {
    timeout(Duration::from_secs(20), work).await.expect("took too long")
}
