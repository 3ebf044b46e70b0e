//! `ExitClient` against proxies that are scripted byte by byte, on loopback.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod answers;
mod bill;
mod blame;
mod egress;
mod evict;
mod exit_tls;
mod flight;
mod forms;
mod frames;
mod fresh;
mod http2;
mod https_proxy;
mod keys;
mod local;
mod logins;
mod many;
mod names;
mod phases;
mod pooling;
#[cfg(feature = "tower-http")]
mod redirects;
mod rotation;
mod secrets;
mod signals;
mod socks;
mod socks4;
mod socks_refusals;
mod stack;
mod stale;
mod storm;
mod streams;
mod tls;
mod tunnel;
mod world;
