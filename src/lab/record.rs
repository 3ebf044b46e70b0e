//! What an origin remembers.

use super::seen::{Arrival, SeenRequest};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Most requests that an origin's record keeps; the first ones stay, later ones are only counted.
pub const MAX_RECORD: usize = 100_000;
/// Most addresses that an origin keeps counts of.
const MAX_PEERS: usize = 65_536;

/// What one address did at an origin.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct PeerCounts {
    /// Connections it opened. In memory there are none.
    pub connections: u64,
    /// TLS handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Requests that arrived.
    pub requests: u64,
}

#[derive(Default)]
pub(super) struct Record {
    log: Vec<SeenRequest>,
    requests: u64,
    connections: u64,
    peers: BTreeMap<IpAddr, PeerCounts>,
}

impl Record {
    pub(super) fn request(&mut self, arrival: Arrival, at: Duration) -> SeenRequest {
        let number = self.requests;
        self.requests += 1;
        self.count(arrival.peer, |counts| counts.requests += 1);
        let seen = SeenRequest::new(arrival, number, at);
        if self.log.len() < MAX_RECORD {
            self.log.push(seen.clone());
        }
        seen
    }

    pub(super) fn connection(&mut self, peer: IpAddr) {
        self.connections += 1;
        self.count(peer, |counts| counts.connections += 1);
    }

    pub(super) fn resumed(&mut self, peer: IpAddr) {
        self.count(peer, |counts| counts.resumed += 1);
    }

    fn count(&mut self, peer: IpAddr, add: impl FnOnce(&mut PeerCounts)) {
        if self.peers.len() < MAX_PEERS || self.peers.contains_key(&peer) {
            add(self.peers.entry(peer).or_default());
        }
    }

    pub(super) fn log(&self) -> Vec<SeenRequest> {
        self.log.clone()
    }

    pub(super) const fn requests(&self) -> u64 {
        self.requests
    }

    pub(super) const fn connections(&self) -> u64 {
        self.connections
    }

    pub(super) fn peers(&self) -> BTreeMap<IpAddr, PeerCounts> {
        self.peers.clone()
    }
}
