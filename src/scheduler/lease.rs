//! The owning guard.

use super::handle::{self, Hold, LeaseHandle};
use super::held::Held;
use super::sync::Ordering;
use super::{Attempt, Reason, Receipt, Release};
use crate::exit::{ExitId, Route};
use crate::fleet::RetryAsk;
use crate::outcome::{Evidence, WireBytes};
use crate::request::LeaseRequest;
use crate::verdict::{Verdict, Why};
use std::fmt;
use std::time::Duration;

/// The right to one attempt through one exit. One lease is one attempt is one unit of evidence.
///
/// Dropping it gives it back: as done if it was reported, else as dropped, which blames nobody unless the exit had kept the
/// caller waiting for long.
#[must_use = "a lease that is dropped unreported teaches the fleet nothing"]
pub struct Lease(Option<Held>);

impl Lease {
    pub(super) fn new(held: Held) -> Self {
        Self(Some(held))
    }

    fn held(&self) -> &Held {
        self.0.as_ref().expect("a lease is empty only once it was consumed")
    }

    /// The exit.
    #[must_use]
    pub fn exit(&self) -> ExitId {
        self.held().receipt.exit
    }

    /// What a client needs to dial it.
    #[must_use]
    pub fn route(&self) -> &Route {
        &self.held().route
    }

    /// Why this exit.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.held().reason
    }

    /// How often the exit that the key holds was replaced; `None` if nothing is held.
    #[must_use]
    pub fn generation(&self) -> Option<u32> {
        self.held().receipt.generation()
    }

    /// Whether this attempt is the one trial of an exit that had to rest: others wait for what it shows.
    #[must_use]
    pub fn is_trial(&self) -> bool {
        self.held().trial
    }

    /// The proof of this lease.
    #[must_use]
    pub fn receipt(&self) -> Receipt {
        self.held().receipt
    }

    /// Says what the attempt showed: an [`Outcome`](crate::Outcome), or [`Evidence`] with its proofs. A second report
    /// amends the first.
    #[inline]
    pub fn report(&self, evidence: impl Into<Evidence>) {
        self.held().report(&evidence.into());
    }

    /// Adds bytes that the attempt has cost on the wire, heads, tunnel and TLS included: what a provider bills. They count for
    /// the exit and the origin when the lease ends; see [`Snapshot::wire`](super::Snapshot::wire).
    ///
    /// ```
    /// use tower_egress::{ExitList, LeaseRequest, Outcome, Scheduler, outcome::WireBytes};
    ///
    /// let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
    /// let lease = scheduler.lease(&LeaseRequest::per_request().origin("shop.example"))?;
    /// lease.report(Outcome::Ok);
    /// lease.add_wire(WireBytes::new(900, 14_000));
    /// drop(lease);
    /// assert_eq!(scheduler.snapshot().wire.total(), 14_900);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_wire(&self, wire: WireBytes) {
        self.held().add_wire(wire);
    }

    /// Gives the lease back, saying how it ended.
    pub fn release(mut self, how: Release) {
        if let Some(mut held) = self.0.take() {
            held.release_own(Some(how));
        }
    }

    /// Gives the lease back and asks what to do next: the wait, and the request to [acquire](super::Scheduler::acquire) with
    /// after it, which carries what this attempt has shown. The deadline runs from the first lease; the request counts as
    /// [repeatable](LeaseRequest::repeatable) only if it says so. The request keeps its turn among all retries: dropped before
    /// it is leased again, with all its clones, it gives the turn to the next.
    ///
    /// # Errors
    /// Why the request is not to be sent again; [`Why::Unreported`] if nothing was reported; [`Why::Parked`], with the time
    /// until it may be, if too many retries are before it.
    pub fn retry(mut self, mut ask: LeaseRequest) -> Result<(Duration, LeaseRequest), Why> {
        let Some(mut held) = self.0.take() else { return Err(Why::Done) };
        held.release_own(None);
        let Some(evidence) = held.evidence() else { return Err(Why::Unreported) };
        let receipt = held.receipt;
        receipt.record(&mut ask.trail, &evidence);
        let deadline = *ask.trail.deadline.get_or_insert(receipt.sent + ask.deadline);
        let repeatable = ask.repeatable.unwrap_or(false);
        let (verdict, turn, _) = held.scheduler.retry(&RetryAsk {
            receipt,
            evidence,
            ask: &ask,
            repeatable,
            replayable: true,
            deadline,
        });
        match verdict {
            Verdict::Stop(why) => Err(why),
            Verdict::Retry { delay, .. } => {
                ask.trail.turn = turn;
                Ok((delay, ask))
            }
        }
    }

    /// For the layers: one allocation, then countable holds and passive handles. From here on the request counts as sent
    /// only once somebody [starts](LeaseHandle::start) it.
    pub(crate) fn share(mut self, attempt: Option<Attempt>, to_body_end: bool) -> (Hold, LeaseHandle) {
        let mut held = self.0.take().expect("a lease is empty only once it was consumed");
        held.attempt = attempt;
        held.started.store(false, Ordering::Relaxed);
        handle::share(held, to_body_end)
    }
}

impl Drop for Lease {
    #[inline]
    fn drop(&mut self) {
        if let Some(held) = &mut self.0 {
            held.release_own(None);
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(held) = &self.0 else { return f.write_str("Lease") };
        f.debug_struct("Lease")
            .field("exit", &held.receipt.exit)
            .field("origin", &held.origin)
            .field("reason", &held.reason)
            .finish_non_exhaustive()
    }
}
