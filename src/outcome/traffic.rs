//! Bytes on the wire: what a provider bills.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::sync::Arc;
use std::sync::OnceLock;
#[cfg(feature = "client")]
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes between this machine and an exit, heads, tunnel and TLS included; what TCP and IP add is not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct WireBytes {
    /// To the exit.
    pub sent: u64,
    /// From the exit.
    pub received: u64,
}

impl WireBytes {
    /// So many to the exit, and so many from it.
    #[must_use]
    pub const fn new(sent: u64, received: u64) -> Self {
        Self { sent, received }
    }

    /// Both directions, which is what most providers bill.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.sent.saturating_add(self.received)
    }
}

impl Add for WireBytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.sent.saturating_add(other.sent), self.received.saturating_add(other.received))
    }
}

impl AddAssign for WireBytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// What a connection has carried and seen, for whoever does not own it.
#[derive(Default)]
pub(crate) struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
    #[cfg(feature = "client")]
    reads: AtomicU32,
    #[cfg(feature = "client")]
    ended: AtomicBool,
}

#[cfg(feature = "client")]
impl Counts {
    pub(crate) fn add(&self, bytes: WireBytes) {
        self.sent.fetch_add(bytes.sent, Ordering::Relaxed);
        self.received.fetch_add(bytes.received, Ordering::Relaxed);
    }

    /// Something came in for whoever speaks over the connection.
    pub(crate) fn has_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// How often something came in: an unchanged number means that nothing did.
    pub(crate) fn reads(&self) -> u32 {
        self.reads.load(Ordering::Relaxed)
    }

    /// No more will come.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether no more will come.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

impl Counts {
    pub(crate) fn now(&self) -> WireBytes {
        WireBytes::new(self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    /// What has come since the last time.
    #[cfg(feature = "client")]
    pub(crate) fn take(&self) -> WireBytes {
        WireBytes::new(self.sent.swap(0, Ordering::Relaxed), self.received.swap(0, Ordering::Relaxed))
    }
}

/// The bytes of one attempt on the wire, which are counted until its answer has been read. Of a connection that attempts
/// share (HTTP/2) each has what went by since another one's end: their sum is right, the parts are not.
#[derive(Clone)]
pub struct Traffic(Arc<Inner>);

struct Inner {
    /// Of the connection, since an attempt on it has ended.
    counts: Arc<Counts>,
    ended: OnceLock<WireBytes>,
}

impl Traffic {
    /// An attempt whose bytes are known: for clients of your own that count themselves.
    #[must_use]
    pub fn of(bytes: WireBytes) -> Self {
        Self(Arc::new(Inner { counts: Arc::default(), ended: OnceLock::from(bytes) }))
    }

    /// An attempt on a connection that counts so.
    #[cfg(feature = "client")]
    pub(crate) fn on(counts: Arc<Counts>) -> Self {
        Self(Arc::new(Inner { counts, ended: OnceLock::new() }))
    }

    /// The bytes so far; once the answer has been read, all of them.
    #[must_use]
    pub fn bytes(&self) -> WireBytes {
        self.0.ended.get().copied().unwrap_or_else(|| self.0.counts.now())
    }

    /// The attempt is over; how much it was, the first time.
    #[cfg(feature = "client")]
    pub(crate) fn end(&self) -> Option<WireBytes> {
        if self.0.ended.get().is_some() {
            return None;
        }
        let bytes = self.0.counts.take();
        self.0.ended.set(bytes).ok().map(|()| bytes)
    }
}

impl fmt::Debug for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.bytes(), f)
    }
}
