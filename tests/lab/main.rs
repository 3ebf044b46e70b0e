//! The lab keeps its promises.

#![allow(clippy::unwrap_used, reason = "a test, its functions included")]

mod gateway;
mod http2;
mod https;
mod ipv6;
mod kinds;
mod loopback;
mod memory;
mod socks;
mod trust;

use bytes::Bytes;
use tower_egress::lab::{LabExit, LabGateway, MemoryWorld, Origin, Reply, ReplyBody};

#[test]
fn handles_cross_threads() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    fn body<T: http_body::Body<Data = Bytes> + Send + Unpin + 'static>() {}
    shared::<MemoryWorld>();
    shared::<LabExit>();
    shared::<LabGateway>();
    shared::<Origin>();
    shared::<Reply>();
    body::<ReplyBody>();
}
