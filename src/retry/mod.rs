//! Sends a request again, through another exit, where that can cure it.
//!
//! [`ExitAwareRetryLayer`] is the outermost of the three, so that every attempt leases anew. What the attempts learn stays
//! together: exits that failed are avoided, the deadline runs over all of them, and the caller gets the last response or
//! the last real error, with the trail of attempts. An error says [why](crate::Error::why) nothing was sent again.
//!
//! A retry that is refused a lease waits until an exit comes back, within the request's
//! [patience](crate::LeaseRequest::patience) and deadline; the wait is no attempt. Comes none in time, the caller gets the
//! error of the last attempt. If that had ended with an answer (403, 429), the answer is gone, for it was dropped for the
//! retry: then the caller gets the refusal, and its [`outcome`](crate::Error::outcome) and [`exit`](crate::Error::exit)
//! are those of the last attempt.
//!
//! A request is sent again only where that is safe: always if the origin provably saw nothing; else only if its method is
//! idempotent (RFC 9110, 9.2.2), or [`LeaseRequest::repeatable`](crate::LeaseRequest::repeatable) says so. Its body must be
//! repeatable too; see [`ReplayBody`].
//!
//! # Differs from tower's
//! It drives tower's own [`Retry`](tower::retry::Retry) with [`ExitAwarePolicy`], and adds the slot that copies of the
//! request share, without which an attempt could not know what the one before it learned.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use tower::{ServiceBuilder, service_fn};
//! use tower_egress::{
//!     ClassifyLayer, ExitAwareRetryLayer, ExitList, LeaseLayer, LeaseRequest, Scheduler, Served,
//! };
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let exits = ExitList::parse("203.0.113.7:8080\n203.0.113.8:8080")?;
//! let scheduler = Scheduler::builder().exits(exits).build()?;
//! static SENT: AtomicU32 = AtomicU32::new(0);
//! let client = ServiceBuilder::new()
//!     .layer(ExitAwareRetryLayer::new(&scheduler))
//!     .layer(LeaseLayer::new(&scheduler).default_lease(LeaseRequest::per_request()))
//!     .layer(ClassifyLayer::new())
//!     .service(service_fn(|_request: http::Request<_>| async {
//!         let refused = SENT.fetch_add(1, Ordering::Relaxed) == 0;
//!         let answer = http::Response::builder().status(if refused { 403 } else { 200 });
//!         Ok::<_, std::io::Error>(answer.body(Full::<Bytes>::default()).expect("valid"))
//!     }));
//! let request = http::Request::get("https://shop.example/p/42").body(Full::<Bytes>::default())?;
//! let response = client.oneshot(request).await?;
//! assert_eq!(response.status(), 200);
//! let trail = response.extensions().get::<Served>().expect("on every response").trail();
//! assert_eq!(trail.len(), 2);
//! assert_ne!(trail[0].exit, trail[1].exit);
//! # Ok(())
//! # }
//! ```

mod body;
mod future;
mod layer;
mod policy;
mod service;
#[cfg(test)]
mod tests;

pub use body::ReplayBody;
pub use future::RetryFuture;
pub use layer::ExitAwareRetryLayer;
pub use policy::ExitAwarePolicy;
pub use service::ExitAwareRetry;
