//! `ExitClient` and its layers against daemons that others wrote: tinyproxy, squid, dante and microsocks as exits, nginx as
//! the site. It is no part of a plain `cargo test`, since it needs their packages:
//!
//! ```text
//! apt-get install -y --no-install-recommends nginx tinyproxy-bin squid-openssl dante-server microsocks
//! cargo test --all-features --test peers
//! ```
//!
//! Each test starts its own, on loopback addresses and ports that nobody else has. A proxy connects from an address of its
//! own, so that the site's log proves through which exit a request came.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod daemon;
mod dante;
mod fetch;
mod half;
mod microsocks;
mod nginx;
mod pki;
#[path = "../examples/program.rs"]
mod program;
mod proxy;
mod squid;
mod through;
mod tinyproxy;
