//! `ExitClient`, alone and in the layers, and a hundred of each peer.

use super::far::Far;
use super::hop::Forward;
use super::world::{Client, World, list, read, trust};
use http::{Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use std::time::Duration;
use tower::{Layer, ServiceExt as _};
use tower_egress::client::ExitClient;
use tower_egress::exit::Route;
use tower_egress::{Body, EgressLayer, LeaseRequest, Scheduler};

/// As long as the peers keep a connection.
const IDLE: Duration = Duration::from_secs(90);

pub(crate) fn exit_client(far: &Far) -> ExitClient {
    let builder = ExitClient::builder().roots_pem(far.root_pem.as_bytes()).idle_timeout(IDLE);
    builder.build().expect("a client")
}

/// `ExitClient` with routes in the place of the layers.
pub(crate) struct Alone {
    client: ExitClient,
    uri: Uri,
    routes: Vec<Route>,
}

impl Alone {
    /// Goes through the first `exits` in turn.
    pub(crate) fn new(far: &Far, world: World, exits: usize) -> Self {
        let routes = list(far).into_iter().take(exits).map(|exit| exit.route().clone()).collect();
        Self { client: exit_client(far), uri: world.page().parse().expect("a URI"), routes }
    }
}

impl Client for Alone {
    async fn page(&self, turn: usize) {
        let mut request = Request::new(Body::empty());
        request.uri_mut().clone_from(&self.uri);
        request.extensions_mut().insert(self.routes[turn % self.routes.len()].clone());
        read(self.client.clone().oneshot(request).await.expect("an answer").into_body()).await;
    }
}

/// The whole: the three layers around `ExitClient`.
pub(crate) struct Layered {
    stack: <EgressLayer as Layer<ExitClient>>::Service,
    uri: Uri,
    asks: Vec<LeaseRequest>,
}

impl Layered {
    /// Asks for `asks` in turn.
    pub(crate) fn new(far: &Far, world: World, asks: Vec<LeaseRequest>) -> Self {
        let scheduler = Scheduler::builder().exits(list(far)).seed(7).build().expect("exits");
        let stack = EgressLayer::new(&scheduler).layer(exit_client(far));
        Self { stack, uri: world.page().parse().expect("a URI"), asks }
    }
}

impl Client for Layered {
    async fn page(&self, turn: usize) {
        let mut request = Request::new(Body::empty());
        request.uri_mut().clone_from(&self.uri);
        request.extensions_mut().insert(self.asks[turn % self.asks.len()].clone());
        read(self.stack.clone().oneshot(request).await.expect("an answer").into_body()).await;
    }
}

/// hyper-util's legacy client, one for each exit.
pub(crate) struct Hyper<C> {
    clients: Vec<legacy::Client<C, Body>>,
    uri: Uri,
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp
}

impl<C: Connect + Clone + Send + Sync + 'static> Hyper<C> {
    fn of(far: &Far, world: World, connector: impl Fn(Uri) -> C) -> Self {
        let client = |address| {
            let proxy = format!("http://{address}").parse().expect("a URI");
            legacy::Client::builder(TokioExecutor::new()).build(connector(proxy))
        };
        Self { clients: far.exits.iter().map(client).collect(), uri: world.page().parse().expect("a URI") }
    }
}

pub(crate) fn hyper_forward(far: &Far) -> Hyper<Forward> {
    Hyper::of(far, World::Forward, |proxy| Forward::new(proxy, tcp()))
}

pub(crate) fn hyper_tunnel(far: &Far) -> Hyper<HttpsConnector<Tunnel<HttpConnector>>> {
    let tls = trust(far);
    Hyper::of(far, World::Tunnel, |proxy| {
        let https = HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_only().enable_http1();
        https.wrap_connector(Tunnel::new(proxy, tcp()))
    })
}

impl<C: Connect + Clone + Send + Sync + 'static> Client for Hyper<C> {
    async fn page(&self, turn: usize) {
        let mut request = Request::new(Body::empty());
        request.uri_mut().clone_from(&self.uri);
        let client = &self.clients[turn % self.clients.len()];
        read(client.request(request).await.expect("an answer").into_body()).await;
    }
}

/// reqwest, one for each exit.
pub(crate) struct Reqwest {
    clients: Vec<reqwest::Client>,
    url: reqwest::Url,
}

impl Reqwest {
    pub(crate) fn new(far: &Far, world: World) -> Self {
        let tls = trust(far);
        let client = |address| {
            let proxy = reqwest::Proxy::all(format!("http://{address}")).expect("a proxy");
            let builder = reqwest::Client::builder().tls_backend_preconfigured(tls.clone()).proxy(proxy);
            builder.build().expect("a client")
        };
        Self { clients: far.exits.iter().map(client).collect(), url: world.page().parse().expect("a URL") }
    }
}

impl Client for Reqwest {
    async fn page(&self, turn: usize) {
        let client = &self.clients[turn % self.clients.len()];
        let mut answer = client.get(self.url.clone()).send().await.expect("an answer");
        let mut bytes = 0;
        while let Some(chunk) = answer.chunk().await.expect("a chunk") {
            bytes += chunk.len();
        }
        assert_eq!(bytes, 13, "the whole page");
    }
}
