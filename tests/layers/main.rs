//! The three layers over a scripted client, under paused time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cancel;
mod classify;
mod collected;
mod composed;
mod drained;
mod dripping;
mod forged;
mod kept;
mod lease;
mod observers;
mod order;
mod pages;
mod parked;
mod plain;
mod retry;
mod rules;
mod secrets;
mod storm;
mod support;
#[cfg(feature = "tower-http")]
mod tower_http;
mod waiting;
mod wakes;
mod wire;
