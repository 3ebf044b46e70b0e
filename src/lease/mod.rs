//! Picks the exit of each attempt and holds it until the response's body ends.
//!
//! [`LeaseLayer`] goes outside `ClassifyLayer` and inside `ExitAwareRetryLayer`. Where no exit may serve a request now, it
//! waits in line, as long as the request has patience, without holding a permit of the services below; what it is refused
//! then says what would cure it. It never sends a request without an exit.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//! use tower_egress::{ClassifyLayer, ExitList, LeaseLayer, LeaseRequest, Scheduler, exit::Route};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
//! let client = ServiceBuilder::new()
//!     .layer(LeaseLayer::new(&scheduler).with(|parts| LeaseRequest::new(parts.uri.path())))
//!     .layer(ClassifyLayer::new())
//!     .service(service_fn(|request: http::Request<Full<Bytes>>| async move {
//!         let route = request.extensions().get::<Route>().expect("put there by the lease layer");
//!         Ok::<_, std::io::Error>(http::Response::new(Full::new(Bytes::from(route.host().to_owned()))))
//!     }));
//! let request = http::Request::get("https://shop.example/p/42").body(Full::default())?;
//! let response = client.oneshot(request).await?;
//! assert_eq!(scheduler.snapshot().in_flight, 1, "the body is still open");
//! drop(response);
//! assert_eq!(scheduler.snapshot().in_flight, 0);
//! # Ok(())
//! # }
//! ```

mod future;
mod layer;
mod service;
mod waiting;

pub use future::LeaseFuture;
pub use layer::LeaseLayer;
pub use service::Leased;
