//! Clients of other crates, one per exit, against the lab on loopback; and what `PerExit` keeps and drops.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod clients;
mod comfort;
mod kept;
mod parity;
mod secrets;
mod world;
