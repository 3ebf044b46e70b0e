//! A client of your own, one per exit.
//!
//! Most clients fix their proxy when they are built, and keep connections without asking which exit they lead through. One
//! such client for all exits sends what was leased to one through another. [`PerExit`] makes one for each exit that is
//! used, and keeps the latest.
//!
//! ```
//! use http::{Request, Response};
//! use tower::{Layer as _, service_fn};
//! use tower_egress::{EgressLayer, ExitList, LeaseRequest, PerExit, Scheduler};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let clients = PerExit::new(|route| {
//!     let proxy = route.url(); // what `reqwest::Proxy::all` takes, say
//!     Ok(service_fn(move |_: Request<_>| {
//!         let page = format!("fetched through {proxy}");
//!         async move { Ok::<_, std::io::Error>(Response::new(page)) }
//!     }))
//! });
//! let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
//! let stack = EgressLayer::new(&scheduler).layer(clients.clone());
//!
//! let request = Request::get("https://shop.example/").extension(LeaseRequest::per_request());
//! let response = stack.oneshot(request.body(String::new())?).await?;
//! assert_eq!(response.status(), 200);
//! assert_eq!(clients.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What a client should say
//! [`ClassifyLayer`](crate::ClassifyLayer) reads a client's error by the [`Failure`](crate::outcome::Failure) in its source
//! chain. Without one nothing is proven: the request may have arrived, so it goes again only if it is idempotent. Where the
//! client can tell that an exit was not reached, map its error, as the README's "Your own client" does. What stays
//! unknown with which client is in the table there.
//!
//! # Clients that are no tower service
//! `tower::service_fn` makes one of any async function of a request; it has to give an [`http::Response`]. Inside the layers
//! the request's body is a [`ReplayBody`](crate::retry::ReplayBody) of the caller's.

mod clients;
mod error;
mod service;

pub use error::PerExitError;
pub use service::{PerExit, PerExitFuture};
