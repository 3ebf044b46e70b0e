//! Names the outcome of each attempt where the facts are, and reports it.
//!
//! [`ClassifyLayer`] goes directly around the client, inside the lease layer. It looks at the answer's head once, reports
//! through the lease it finds in the request, and wraps the body: a body that breaks, or stalls, amends the report; one
//! that the caller drops blames nobody. It answers with a [`Served`](crate::Served) in the response's extensions.
//!
//! | answer | outcome |
//! |---|---|
//! | 2xx, 3xx, 404, 410 | ok |
//! | 429 | rate limited |
//! | 403; any refusal with `cf-mitigated: challenge` | blocked |
//! | 5xx, 408 | origin error |
//! | 407 to a plain `http://` request: the proxy's own | auth error |
//! | 451 | target denied |
//! | other 4xx; 407 through a tunnel | fatal: the request's own fault |
//! | no tunnel, refused with 401, 407 | auth error |
//! | no tunnel, refused with 429, 500, 503, 509 | gateway overloaded |
//! | no tunnel, refused with 502, 504 | target unreachable |
//! | no tunnel, refused with 403, 451 | target denied |
//! | no tunnel, refused with another status | proxy error |
//! | no tunnel, refused by SOCKS: no method, login | auth error |
//! | no tunnel, refused by SOCKS with 2 | target denied |
//! | no tunnel, refused by SOCKS with 3, 4, 5, or Tor's 0xf0 to 0xf7 | target unreachable |
//! | no tunnel, refused by SOCKS with another code | proxy error |
//! | the origin's name or port cannot be had from an own address, or for `socks5://` | target unreachable |
//! | broken with proof that the origin saw nothing | proxy error |
//! | broken without proof; no head in time | interrupted |
//!
//! A tunnel (`https://`) shows who speaks: the proxy until it stands, the origin after that. A plain `http://` request is
//! answered by either, and but for 407 a status cannot tell which: a proxy's own 401 counts as fatal, its 403 as a block,
//! its 500 or 502 as the origin's error. Of squid (`X-Squid-Error`) and tinyproxy (`Server`), which say that an answer is
//! theirs, it is known: what they cannot reach is target unreachable, what they will not, target denied.
//!
//! What a site means otherwise, a [`Rule`] says: it is asked before the table.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_egress::{ClassifyLayer, ExitList, LeaseLayer, LeaseRequest, Outcome, Scheduler, Served};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
//! let client = ServiceBuilder::new()
//!     .layer(LeaseLayer::new(&scheduler).default_lease(LeaseRequest::per_request()))
//!     .layer(ClassifyLayer::new())
//!     .service(service_fn(|_request: http::Request<Full<Bytes>>| async {
//!         let answer = http::Response::builder().status(429).header("retry-after", "3");
//!         Ok::<_, std::io::Error>(answer.body(Full::new(Bytes::from_static(b"slow down"))).expect("valid"))
//!     }));
//! let request = http::Request::get("https://shop.example/p/42").body(Full::default())?;
//! let response = client.oneshot(request).await?;
//! let served = response.extensions().get::<Served>().expect("on every response");
//! assert!(matches!(served.outcome(), Outcome::RateLimited { retry_after: Some(_) }));
//! # Ok(())
//! # }
//! ```

mod body;
mod cap;
mod collect;
mod failure;
mod future;
mod judge;
mod layer;
mod pages;
mod peek;
mod proxies;
pub mod rule;
mod service;
mod status;
#[cfg(test)]
mod tests;
mod watch;

pub use body::EgressBody;
pub use future::ClassifyFuture;
pub use layer::ClassifyLayer;
pub use rule::{Answer, Rule};
pub use service::Classify;
