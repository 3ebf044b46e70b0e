//! `ExitClient` against proxies that are scripted byte by byte, on loopback.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod answers;
mod blame;
mod evict;
mod exit_tls;
mod forms;
mod frames;
mod fresh;
mod http2;
mod keys;
mod many;
mod phases;
mod pooling;
mod secrets;
mod stack;
mod stale;
mod streams;
mod tls;
mod tunnel;
mod world;
