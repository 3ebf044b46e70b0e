//! What the README promises of a request and of a fleet, end to end. What is decided without a request is tested beside the
//! decisions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod requests;
mod shared;
#[path = "../cases/shop.rs"]
#[allow(dead_code, reason = "the cases need more of it")]
mod shop;
mod wire;
