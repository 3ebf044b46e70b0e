//! Two foreign clients, each made for one exit.

use http::{Request, Response, Uri};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceBuilder, ServiceExt as _, service_fn};
use tower_egress::Body;
use tower_egress::exit::Route;
use tower_egress::outcome::{Failure, Phase, Seen};
use tower_egress::retry::ReplayBody;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Asked = Request<ReplayBody<Body>>;
pub(crate) type Page = BoxBody<bytes::Bytes, BoxError>;
/// One type for both, so that each test asks both the same.
pub(crate) type Foreign = BoxCloneSyncService<Asked, Response<Page>, Failure>;

/// Which client a test runs over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Kind {
    Hyper,
    Reqwest,
}

pub(crate) const KINDS: [Kind; 2] = [Kind::Hyper, Kind::Reqwest];

impl Kind {
    pub(crate) fn client(self, route: &Route, tls: &rustls::ClientConfig) -> Result<Foreign, BoxError> {
        // Roots may be shared, sessions not: a ticket shown through two exits tells the site that they are one client.
        let mut tls = tls.clone();
        tls.resumption = Resumption::default();
        match self {
            Self::Hyper => over_hyper(route, &tls),
            Self::Reqwest => over_reqwest(route, &tls),
        }
    }
}

/// Trusts the lab's sites alone.
pub(crate) fn trust(ca_pem: &str) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
    rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// reqwest, as the README shows it, and with the lab's roots.
fn over_reqwest(route: &Route, tls: &rustls::ClientConfig) -> Result<Foreign, BoxError> {
    let mut proxy = reqwest::Proxy::all(route.url())?;
    if let Some(login) = route.credential() {
        proxy = proxy.basic_auth(login.user(), login.password());
    }
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .proxy(proxy)
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let send = move |request: Asked| {
        let client = client.clone();
        async move {
            let request = reqwest::Request::try_from(request.map(reqwest::Body::wrap));
            let answer = client.execute(request.map_err(unsendable)?).await.map_err(|error| {
                if error.is_connect() { Failure::not_connected(error) } else { unproven(error) }
            })?;
            Ok(Response::from(answer).map(|body| body.map_err(Into::into).boxed()))
        }
    };
    Ok(BoxCloneSyncService::new(service_fn(send)))
}

/// hyper-util's client over a connector that goes through one exit.
fn over_hyper(route: &Route, tls: &rustls::ClientConfig) -> Result<Foreign, BoxError> {
    let login = route.credential().and_then(|login| login.basic().cloned());
    let proxy: Uri = route.url().parse()?;
    let mut tunnel = Tunnel::new(proxy.clone(), HttpConnector::new());
    if let Some(login) = &login {
        tunnel = tunnel.with_auth(login.clone());
    }
    let tunnel = HttpsConnectorBuilder::new()
        .with_tls_config(tls.clone())
        .https_only()
        .enable_http1()
        .wrap_connector(tunnel);
    let through = Through { proxy, forward: HttpConnector::new(), tunnel };
    let client = Client::builder(TokioExecutor::new()).build::<_, ReplayBody<Body>>(through);
    let with_login = move |mut request: Asked| {
        // In a tunnel it would be the origin's to read.
        if let Some(login) = login.clone().filter(|_| request.uri().scheme_str() == Some("http")) {
            request.headers_mut().insert(http::header::PROXY_AUTHORIZATION, login);
        }
        request
    };
    let client = ServiceBuilder::new()
        .map_request(with_login)
        .map_response(|answer: Response<hyper::body::Incoming>| {
            answer.map(|body| body.map_err(Into::into).boxed())
        })
        .map_err(
            |error: Error| if error.is_connect() { Failure::not_connected(error) } else { unproven(error) },
        )
        .service(client);
    Ok(BoxCloneSyncService::new(client))
}

fn unsendable(error: reqwest::Error) -> Failure {
    Failure::new(Phase::Request, Seen::Never).because(error)
}

fn unproven(error: impl Into<BoxError>) -> Failure {
    Failure::new(Phase::Head, Seen::Unknown).because(error)
}

/// Plain requests to the proxy itself, all others through its tunnels. `Tunnel` alone would tunnel both.
#[derive(Clone)]
struct Through {
    proxy: Uri,
    forward: HttpConnector,
    tunnel: HttpsConnector<Tunnel<HttpConnector>>,
}

impl Service<Uri> for Through {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Self { proxy, forward, tunnel } = self.clone();
        Box::pin(async move {
            if to.scheme_str() == Some("http") {
                return Ok(Stream(MaybeHttpsStream::Http(forward.oneshot(proxy).await?)));
            }
            Ok(Stream(tunnel.oneshot(to).await?))
        })
    }
}

struct Stream(MaybeHttpsStream<TokioIo<TcpStream>>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        // To the proxy itself: requests are sent in absolute-form.
        let forward = matches!(self.0, MaybeHttpsStream::Http(_));
        self.0.connected().proxy(forward)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
