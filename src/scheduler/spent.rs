//! What an attempt has cost on the wire, until the fleet is told.

use crate::outcome::{Traffic, WireBytes};

/// The bytes of one attempt. What goes on counting (a body that is still read) is told once, at its end, because only then is
/// it known which of a shared connection's bytes are its own.
#[derive(Default)]
pub(super) struct Spent {
    /// Said, and not told yet.
    said: WireBytes,
    told: WireBytes,
    /// What counts until the answer has been read.
    running: Option<Traffic>,
}

impl Spent {
    pub(super) fn count(&mut self, traffic: Traffic) {
        self.running = Some(traffic);
    }

    pub(super) fn add(&mut self, wire: WireBytes) {
        self.said += wire;
    }

    /// All so far.
    pub(super) fn so_far(&self) -> WireBytes {
        let running = self.running.as_ref().map_or_else(WireBytes::default, Traffic::bytes);
        self.told + self.said + running
    }

    /// The lease is over, and its body with it unless it is `running`. Answers what the fleet is to be told.
    pub(super) fn end(&mut self, running: bool) -> WireBytes {
        let mut due = std::mem::take(&mut self.said);
        if !running {
            if let Some(traffic) = self.running.take() {
                due += traffic.bytes();
            }
        }
        self.told += due;
        due
    }
}
