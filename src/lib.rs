//! stub
mod draw;
pub mod error;
pub mod exit;
mod fleet;
pub mod outcome;
mod pool;
pub mod request;
pub mod verdict;

pub use error::{ConfigError, Error, LeaseError, Next};
pub use exit::{Exit, ExitId, ExitList};
pub use outcome::Outcome;
pub use request::LeaseRequest;
