#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
pub mod classify;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "config")]
pub mod config;
mod draw;
pub mod error;
pub mod exit;
mod fleet;
mod knobs;
#[cfg(feature = "lab")]
pub mod lab;
pub mod lease;
pub mod outcome;
pub mod per_exit;
mod pool;
#[cfg(feature = "tower-http")]
pub mod redirect;
pub mod request;
pub mod retry;
pub mod scheduler;
mod share;
pub mod site;
mod stack;
#[cfg(feature = "tower-http")]
pub mod trace;
pub mod verdict;

pub use body::Body;
pub use classify::{ClassifyLayer, EgressBody};
#[cfg(feature = "client")]
pub use client::{EgressClient, ExitClient};
#[cfg(feature = "config")]
pub use config::Config;
pub use error::{ConfigError, Error, LeaseError, Next};
pub use exit::{Exit, ExitId, ExitList, Gateway, Pool};
pub use lease::LeaseLayer;
pub use outcome::Outcome;
pub use per_exit::PerExit;
pub use request::{Affinity, Freshness, Granularity, LeaseRequest, OnLoss, Scope};
pub use retry::ExitAwareRetryLayer;
pub use scheduler::{Lease, LeaseHandle, Scheduler, Served};
pub use site::Site;
pub use stack::EgressLayer;
