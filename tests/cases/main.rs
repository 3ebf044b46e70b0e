//! What went wrong for others who send requests through pools of exits, each as a scenario that must go well here. A test is
//! named after its case and what it promises, and asserts on what the site and the exits saw.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attempts;
mod bodies;
mod cancel;
mod connects;
mod discarded;
mod failover;
mod hints;
mod jitter;
mod never_direct;
mod numbers;
mod pages;
mod placement;
mod redirects;
mod repeats;
mod rests;
mod shop;
mod speakers;
mod stacks;
mod walls;
