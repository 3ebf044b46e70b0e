//! What a caller asks for.
//!
//! ```
//! use std::time::Duration;
//! use tower_egress::request::{LeaseRequest, Origin};
//!
//! // One exit for all requests about this product at one site, for at most ten minutes.
//! let sticky = LeaseRequest::new("sku-42").windowed(Duration::from_secs(600));
//! // Another exit for every request.
//! let spread = LeaseRequest::per_request();
//! // A plain caller names the site; the lease layer takes it from the URI.
//! let plain = sticky.origin(Origin::new("shop.example"));
//! # let _ = (spread, plain);
//! ```

mod ask;
mod classes;
mod filter;
mod hold;
mod key;
mod origin;
#[cfg(test)]
mod tests;
mod time;
mod trail;

pub use ask::LeaseRequest;
pub(crate) use classes::Classes;
pub(crate) use filter::Filter;
pub use hold::{Affinity, Freshness, Granularity, OnLoss, Scope};
pub use key::Key;
pub use origin::Origin;
pub(crate) use time::Time;
pub(crate) use trail::{Kept, Taken, Trail};
