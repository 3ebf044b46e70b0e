//! The lab in memory: the same exits and sites as one [`Service`], without sockets. It waits by tokio's
//! clock alone, so that a test under paused time runs an hour in a millisecond.
//!
//! It stands where `ExitClient` stands: below the layers, which put a [`Route`] into each request. So
//! a test of your own stack is short, and asserts on what the site saw:
//!
//! ```
//! use http::{Request, StatusCode};
//! use std::time::Duration;
//! use tower::Layer;
//! use tower_egress::lab::{Lab, Reply};
//! use tower_egress::{EgressLayer, LeaseRequest, Scheduler, Served};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // One exit that works, one that the site refuses, one where nothing listens.
//! let world = Lab::builder().fine(1).refused(1).dead(1).in_memory()?;
//! world.origin().page("/late", Reply::page("9.99").after(Duration::from_secs(20)));
//!
//! let scheduler = Scheduler::builder().exits(world.exits()).seed(7).build()?;
//! let client = EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request()).layer(world.clone());
//! for _ in 0..5 {
//!     let request = Request::get(world.url("/late")).body(String::new())?;
//!     let response = client.clone().oneshot(request).await?;
//!     assert_eq!(response.status(), StatusCode::OK);
//!     let served = response.extensions().get::<Served>().expect("on every response");
//!     assert_eq!(served.exit(), world.exit(0).exit().id());
//! }
//! let asked = world.origin().peers();
//! assert_eq!(asked[&world.exit(0).source()].requests, 5);
//! assert!(asked.keys().all(|peer| world.exit_at(*peer).is_some()), "nothing went direct");
//! # Ok(())
//! # }
//! ```

mod exchange;

use super::proxy::Proxy;
use super::world::World;
use super::{Broken, LabExit, LabGateway, Origin, ReplyBody};
use crate::error::BoxError;
use crate::exit::{ExitId, ExitList, Route};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::Service;

/// A lab in memory; see the [module](self). A clone is a handle on the same world.
///
/// A request to an `https` URI goes as if through a tunnel of its own: what the exit answers to CONNECT ends it with a
/// failure, and a site's reset is seen as one. A request to an `http` URI is forwarded: the exit's answers are answers.
/// Without a `Route` there is an error and nothing is asked. Failures are [`Broken`].
#[derive(Clone)]
pub struct MemoryWorld(Arc<Inner>);

struct Inner {
    world: World,
    by_id: HashMap<ExitId, usize>,
}

impl MemoryWorld {
    pub(super) fn new(world: World) -> Self {
        let by_id = (0..).zip(&world.exits).map(|(at, exit)| (exit.exit().id(), at)).collect();
        Self(Arc::new(Inner { world, by_id }))
    }

    /// The exits as the crate takes them, in the order they were built, the dead ones included.
    #[must_use]
    pub fn exits(&self) -> ExitList {
        self.0.world.exit_list()
    }

    /// An exit, counted from 0 in the order they were built.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn exit(&self, at: usize) -> &LabExit {
        &self.0.world.exits[at]
    }

    /// The exit that leaves from this address: whose request a site has seen.
    #[must_use]
    pub fn exit_at(&self, source: IpAddr) -> Option<&LabExit> {
        self.0.world.exit_at(source)
    }

    /// The first gateway.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn gateway(&self) -> &LabGateway {
        &self.0.world.gateways[0]
    }

    /// The gateways in the order they were built.
    #[must_use]
    pub fn gateways(&self) -> &[LabGateway] {
        &self.0.world.gateways
    }

    /// The gateway with a session at this address: whose request a site has seen.
    #[must_use]
    pub fn gateway_at(&self, source: IpAddr) -> Option<&LabGateway> {
        self.0.world.gateway_at(source)
    }

    /// The first site.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.0.world.origin()
    }

    /// A site by its name.
    #[must_use]
    pub fn site(&self, host: &str) -> Option<&Origin> {
        self.0.world.network.origin(host)
    }

    /// A page of the first site, like `http://shop.test/p/1`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        self.0.world.url("http", path)
    }

    /// A page of the first site, like `https://shop.test/p/1`.
    #[must_use]
    pub fn tls_url(&self, path: &str) -> String {
        self.0.world.url("https", path)
    }

    /// Where a route leads: to an exit by its name, to a gateway by its address, since its exits are as many as its tokens.
    fn proxy_of(&self, route: &Route) -> Option<&dyn Proxy> {
        if let Some(at) = self.0.by_id.get(&route.exit()) {
            return Some(self.exit(*at));
        }
        let host: IpAddr = route.host().parse().ok()?;
        let at = |gateway: &&LabGateway| gateway.address() == SocketAddr::new(host, route.port());
        self.gateways().iter().find(at).map(|gateway| -> &dyn Proxy { gateway })
    }
}

impl<B> Service<Request<B>> for MemoryWorld
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<ReplyBody>;
    type Error = Broken;
    type Future = MemoryFuture;

    /// Always ready.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> MemoryFuture {
        MemoryFuture(Box::pin(exchange::exchange(self.clone(), request)))
    }
}

impl fmt::Debug for MemoryWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryWorld").field(&self.0.world).finish()
    }
}

/// An exchange with a [`MemoryWorld`].
///
/// # Cancel safety
/// Dropping it is a client that goes away: what the site has seen stays in its record.
#[must_use = "futures do nothing unless polled"]
pub struct MemoryFuture(Pin<Box<dyn Future<Output = Result<Response<ReplyBody>, Broken>> + Send>>);

impl Future for MemoryFuture {
    type Output = Result<Response<ReplyBody>, Broken>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for MemoryFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryFuture")
    }
}
