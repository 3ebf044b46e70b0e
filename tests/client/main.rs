//! `ExitClient` against proxies that are scripted byte by byte, on loopback.
#![cfg(feature = "client")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod forms;
mod fresh;
mod https_proxy;
mod local;
mod logins;
mod names;
mod pooling;
#[cfg(feature = "tower-http")]
mod redirects;
mod rotation;
mod secrets;
mod socks;
mod socks_refusals;
mod stale;
mod tls;
mod tunnel;
mod world;
