//! A scripted proxy, an origin behind its tunnels, and the client's side of a test.

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{HandshakeKind, ServerConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
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
        Exit::parse(&format!("http://{}", self.address)).unwrap().route().clone()
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
    tap: UnboundedSender<Event>,
    read: Vec<u8>,
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

    /// One packet for each byte, as far as the kernel plays along.
    pub(crate) async fn send_slowly(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.send(&[*byte]).await;
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn until_closed(&mut self) {
        while matches!(self.io.read_buf(&mut self.read).await, Ok(1..)) {}
    }

    /// Answers one request as an origin would; false at the end of the stream.
    pub(crate) async fn answer(&mut self, answer: &str) -> bool {
        let Some(head) = self.head().await else { return false };
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
}

impl Peer<TcpStream> {
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Becomes the origin at the far end of the tunnel.
    pub(crate) async fn accept(
        self,
        tls: &TlsAcceptor,
    ) -> Option<Peer<tokio_rustls::server::TlsStream<TcpStream>>> {
        let io = tls.accept(self.io).await.ok()?;
        let kind = io.get_ref().1.handshake_kind().unwrap();
        let _ = self.tap.send(Event::Handshake(kind));
        Some(Peer { io, number: self.number, tap: self.tap, read: Vec::new() })
    }

    /// Accepts one CONNECT and serves the origin behind it.
    pub(crate) async fn tunnel_and_serve(mut self, tls: TlsAcceptor) {
        if self.proxy_head().await.is_none() {
            return;
        }
        self.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
        if let Some(origin) = self.accept(&tls).await {
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
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let roots = authority.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(authority, key);
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
            .unwrap();
        Self { roots, origin: Arc::new(config).into() }
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

/// A failing test must end.
pub(crate) async fn within<F: Future>(work: F) -> F::Output {
    timeout(Duration::from_secs(20), work).await.expect("took too long")
}
