//! Configuration files: defaults, numbers, places, and that no text is too odd to be refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod defaults;
mod files;
mod numbers;
mod odd;
mod reload;
