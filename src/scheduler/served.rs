//! What a response knows about how it was served.

use super::LeaseHandle;
use super::sync::Ordering;
use crate::error::AttemptRecord;
use crate::exit::ExitId;
use crate::outcome::{Egress, Evidence, Outcome, WireBytes};
use crate::request::Key;
use crate::verdict::Why;
use std::fmt;
use std::time::{Duration, Instant};

/// How a response was served; `ClassifyLayer` puts it into the extensions of every response. Passive: a clone keeps the
/// facts, never the lease.
#[derive(Clone)]
pub struct Served(LeaseHandle);

impl Served {
    pub(super) fn new(handle: LeaseHandle) -> Self {
        Self(handle)
    }

    /// The exit that served it.
    #[must_use]
    pub fn exit(&self) -> ExitId {
        self.0.exit()
    }

    /// The name of the exit's pool.
    #[must_use]
    pub fn pool(&self) -> Key {
        self.0.pool()
    }

    /// What the provider has said of the exit: the address it left from, its country. Few do.
    #[must_use]
    pub fn egress(&self) -> Option<Egress> {
        self.0.held().egress().map(|(egress, _)| egress)
    }

    /// Whether the exit that the key holds left from another address, or country, than when that was last said: the provider
    /// has changed it behind the session.
    #[must_use]
    pub fn has_moved(&self) -> bool {
        self.0.held().egress().is_some_and(|(_, changed)| changed)
    }

    /// How often the exit that the key holds was replaced; `None` if nothing is held. What an identity says with its next
    /// request: [`LeaseRequest::generation`](crate::LeaseRequest::generation).
    #[must_use]
    pub fn generation(&self) -> Option<u32> {
        self.0.generation()
    }

    /// How often the request was sent, this time included. 1 without a retry layer.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.held().attempt.as_ref().map_or(1, |attempt| attempt.count())
    }

    /// The attempts, first to last; the last sixteen if there were more.
    #[must_use]
    pub fn trail(&self) -> Vec<AttemptRecord> {
        match &self.0.held().attempt {
            Some(attempt) => attempt.records().to_vec(),
            None => {
                let alone = AttemptRecord::new(self.exit(), self.outcome(), Duration::ZERO);
                vec![AttemptRecord { bytes: self.bytes(), wire: self.wire(), ..alone }]
            }
        }
    }

    /// What this attempt showed, as it was reported last.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.evidence().expect("an answer is reported before it is served").outcome
    }

    /// How long the request waited between its attempts, all waits together.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.0.held().attempt.as_ref().map_or(Duration::ZERO, |attempt| attempt.waited())
    }

    /// Why the request was not sent again although this answer is no good one (a 403 after the last of its sends, a 503 with
    /// too many retries before it); `None` of a good one, and without a retry layer.
    #[must_use]
    pub fn why(&self) -> Option<Why> {
        self.stopped().map(|(why, _)| why)
    }

    /// When the same request may be served, by tokio's clock, if later it may: as [`Next::At`](crate::Next::At) of an error.
    #[must_use]
    pub fn retry_at(&self) -> Option<Instant> {
        self.stopped().filter(|(why, _)| why.passes()).map(|(_, at)| at)
    }

    fn stopped(&self) -> Option<(Why, Instant)> {
        self.0.held().attempt.as_ref()?.stopped()
    }

    /// Bytes of the response's body that were read so far, without its head and without what the wire adds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.held().bytes.load(Ordering::Relaxed)
    }

    /// Bytes of this attempt between this machine and the exit so far, heads, tunnel and TLS included: what a provider bills.
    /// All of them once the body has ended or is dropped; zero where the client does not count them. What was sent to this
    /// machine and never read is not among them. Those of the attempts before it are in the [trail](Self::trail).
    ///
    /// Over HTTP/2 requests share a connection: each has what went by since another one's end, so that the sum is right and
    /// a single one may be zero. For a bill by request, [`http2(false)`](crate::client::ExitClientBuilder::http2).
    #[must_use]
    pub fn wire(&self) -> WireBytes {
        self.0.held().wire()
    }

    /// Says later what the answer turned out to be ("200, but no price on it"): amends the report of this attempt. Works
    /// after the body has ended, too. It causes no retry.
    pub fn report(&self, outcome: Outcome) {
        self.0.held().report_with(|before| {
            let evidence = Evidence::of(outcome);
            Some(
                before.map_or(evidence, |before| {
                    evidence.seen(before.seen).login_accepted(before.login_accepted)
                }),
            )
        });
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served")
            .field("exit", &self.exit())
            .field("outcome", &self.outcome())
            .field("attempts", &self.attempts())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
