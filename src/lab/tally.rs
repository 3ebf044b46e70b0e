//! What a proxy counts.

use super::wire::Meter;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an exit or a gateway did so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Traffic {
    /// Connections of clients. In memory each request counts as one.
    pub connections: u64,
    /// CONNECTs asked for, over HTTP or SOCKS. In memory each request to an `https` URI counts as one.
    pub connects: u64,
    /// Of these, those granted or tried to an origin's name and not to its address: what the exit had to resolve. In memory
    /// none.
    pub names: u64,
    /// Absolute-form requests.
    pub requests: u64,
    /// Of these and the CONNECTs, those whose login was refused.
    pub refused_logins: u64,
    /// Bytes read from clients, heads and TLS included. In memory: bytes of request bodies.
    pub bytes_in: u64,
    /// Bytes written to clients, heads and TLS included. In memory: bytes of response bodies.
    pub bytes_out: u64,
}

#[derive(Default)]
pub(super) struct Tally {
    meter: Arc<Meter>,
    connections: AtomicU64,
    connects: AtomicU64,
    names: AtomicU64,
    requests: AtomicU64,
    refused_logins: AtomicU64,
}

impl Tally {
    /// Counts a connection; how many there were before.
    pub(super) fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn request(&self, connect: bool) {
        let counter = if connect { &self.connects } else { &self.requests };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes where a tunnel is to lead.
    pub(super) fn target(&self, host: &str) {
        if host.parse::<IpAddr>().is_err() {
            self.names.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn refused_login(&self) {
        self.refused_logins.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) const fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    pub(super) fn traffic(&self) -> Traffic {
        Traffic {
            connections: self.connections.load(Ordering::Relaxed),
            connects: self.connects.load(Ordering::Relaxed),
            names: self.names.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            refused_logins: self.refused_logins.load(Ordering::Relaxed),
            bytes_in: self.meter.read(),
            bytes_out: self.meter.written(),
        }
    }
}
