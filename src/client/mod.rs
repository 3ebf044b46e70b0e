//! The wire: an HTTP client whose connections belong to exits.
//!
//! [`ExitClient`] sends a request through the exit that its [`Route`](crate::exit::Route) names and through no other. It
//! goes inside the three layers, which put the route there; without one it dials nothing.
//!
//! ```
//! use http::Request;
//! use tower::ServiceExt as _;
//! use tower_egress::client::ExitClient;
//! use tower_egress::outcome::Phase;
//! use tower_egress::Body;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), http::Error> {
//! let lost = Request::get("https://shop.example/p/42").body(Body::empty())?;
//! let error = ExitClient::new().oneshot(lost).await.expect_err("never direct");
//! assert_eq!(error.failure().phase(), Phase::Request);
//! assert!(error.to_string().contains("no route"));
//! # Ok(())
//! # }
//! ```
//!
//! # On the wire
//! | exit | `http://` requests | `https://` requests | the origin's name is resolved |
//! |---|---|---|---|
//! | `http://`, `https://` | absolute-form, each with the exit's login; a tunnel with [`tunnel_http`](ExitClientBuilder::tunnel_http) | CONNECT, TLS to the origin inside | at the exit |
//! | `socks5h://` | a tunnel | a tunnel, TLS to the origin inside | at the exit |
//! | `socks5://` | the same | the same | here |
//! | `socks4a://`, `socks4://` | the same, over IPv4 alone | the same | at the exit, here |
//! | [`Exit::local`](crate::Exit::local) | a connection from that address | the same, with TLS | here |
//!
//! In a tunnel neither side sees what is the other's: the login never enters it, and the exit sees no request. TLS to an
//! `https://` exit is another one than that to the origin, with its own roots and name ([`ProxyTls`](crate::exit::ProxyTls)).
//! Proxies of the environment are ignored.
//!
//! HTTP/1.1 is spoken to exits, HTTP/1.1 or HTTP/2 to `https://` origins, as they choose. Over HTTP/2 one connection through
//! an exit serves all requests to an origin, and a burst to a cold one waits for a single dial. TLS sessions are resumed
//! by who holds an exit, and through that exit alone: a ticket shown through two exits would tell the origin that they are
//! one client. What takes another exit a request shakes hands in full each time.
//!
//! # Which failure proves what
//! A [`Failure`](crate::outcome::Failure) names the phase that broke. Up to and including TLS with the origin the request
//! was not sent, so that any method may be repeated. The same holds for a kept connection that takes nothing more, and for
//! an HTTP/2 stream that the origin refused. After that nobody knows, and only what is idempotent is sent again.
//!
//! # Limits
//! An answer's head has at most 64 KiB and 100 headers, the answer to a CONNECT at most 16 KiB. Of a refused CONNECT up to
//! 4 KiB of body are kept, with 250 ms to arrive. Bodies of answers are streamed and have no limit here. Upgrades
//! (WebSocket) and a caller's own CONNECT are not supported.

mod body;
mod builder;
mod connection;
mod dial;
mod distrust;
mod egress;
mod error;
mod kept;
mod service;
mod target;
mod watched;

pub use body::IncomingBody;
pub use builder::ExitClientBuilder;
pub use dial::{Resolve, Resolving};
pub use egress::{EgressClient, ResponseBody};
pub use error::ClientError;

use crate::body::Body;
use crate::error::BoxError;
use bytes::Bytes;
use http::{Request, Response};
use service::Shared;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::Service;

/// Sends requests through the exit that their [`Route`](crate::exit::Route) extension names. Its clones share their idle
/// connections.
///
/// Connections are kept per exit, scheme and authority, and used again only with the login that opened them: a lease's
/// exit is the socket's exit, always. Through a gateway that rotates by itself ([`Route::is_fresh`]) each request has a
/// connection of its own, which ends with the answer. How an answer was carried is in its extensions, as
/// [`Connection`](crate::outcome::Connection).
///
/// [`Route::is_fresh`]: crate::exit::Route::is_fresh
///
/// The other side may close a kept connection just when it is used again. So `http://` requests go over kept connections
/// only if they can be sent again, which is if their method is idempotent and they have no body; all others take a new
/// one. In tunnels every request may meet a kept connection. If that ends without a byte of an answer, a request that can
/// be sent again, or was provably not sent, goes out once more, through the same exit; any other fails, and no exit is to
/// blame ([`Failure::is_blameless`](crate::outcome::Failure::is_blameless)). An exit that closes right after an answer
/// without saying so is remembered for a minute, in which its `http://` connections are not kept.
///
/// Needs a tokio runtime with time and I/O.
///
/// # Errors
/// [`ClientError`], with the [`Failure`](crate::outcome::Failure) as its source. What the origin or, for `http://`, the
/// proxy answers is an answer and no error, whatever its status.
///
/// # Cancel safety
/// Dropping the future cancels the dial, or closes the connection that the request was on.
#[derive(Clone)]
pub struct ExitClient(Arc<Shared>);

impl ExitClient {
    /// A client with the defaults, which are [the builder's](ExitClientBuilder), and the platform's roots. If those cannot
    /// be had, https requests fail with the reason, and http ones work.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "it reads the platform's roots; a default should cost nothing"
    )]
    pub fn new() -> Self {
        Self::builder().with_platform()
    }

    /// Configures a client.
    #[must_use]
    pub const fn builder() -> ExitClientBuilder {
        ExitClientBuilder::new()
    }
}

impl<B> Service<Request<B>> for ExitClient
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<IncomingBody>;
    type Error = ClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(Arc::clone(&self.0).exchange(request.map(Body::new)))
    }
}

impl fmt::Debug for ExitClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExitClient").finish_non_exhaustive()
    }
}
