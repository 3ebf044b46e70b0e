//! `ExitClient` against proxies that are scripted byte by byte, on loopback.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod blame;
mod evict;
mod flight;
mod forms;
mod fresh;
mod pooling;
mod secrets;
mod stale;
mod storm;
mod tls;
mod tunnel;
mod world;
