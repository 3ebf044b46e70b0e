//! Tower layers for outbound HTTP through a pool of proxy exits.
mod draw;
pub mod error;
pub mod exit;
pub mod outcome;
pub mod request;

pub use error::{ConfigError, Error, LeaseError, Next};
pub use exit::{Exit, ExitId, ExitList};
pub use outcome::Outcome;
pub use request::LeaseRequest;
