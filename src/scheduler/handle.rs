//! A lease in the hands of the layers: holds that own it, handles that only know it.

use super::held::Held;
use super::sync::{AtomicU32, Ordering};
use super::{Reason, Receipt, Served};
use crate::exit::{ExitId, Meter, Route};
use crate::fleet::SLOW;
use crate::outcome::{Egress, Evidence, Outcome, Phase, Seen, Traffic, WireBytes};
use crate::request::{Key, Origin};
use crate::site::Site;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

pub(super) struct Shared {
    pub(super) held: Held,
    holds: AtomicU32,
    to_body_end: bool,
}

pub(super) fn share(held: Held, to_body_end: bool) -> (Hold, LeaseHandle) {
    let shared = Arc::new(Shared { held, holds: AtomicU32::new(1), to_body_end });
    if let Some(attempt) = &shared.held.attempt {
        attempt.follow(&shared);
    }
    (Hold(Arc::clone(&shared)), LeaseHandle(shared))
}

/// A body that broke.
const BROKEN: Evidence = Evidence::of(Outcome::Interrupted { phase: Phase::Body }).seen(Seen::Seen);

fn broken(before: Evidence) -> Option<Evidence> {
    amended(before, BROKEN)
}

/// What a body shows after its head was reported. Only a success is taken back: a refusal says more than its page.
fn amended(before: Evidence, shown: Evidence) -> Option<Evidence> {
    let shown = shown.login_accepted(before.login_accepted).retry_after(before.retry_after);
    before.outcome.is_ok().then_some(shown)
}

impl Shared {
    /// Reports an attempt that was broken off from outside, unless it was never begun or has said what it showed. As with a
    /// caller who goes away, that is the exit's fault only if it had kept the request waiting for long.
    pub(super) fn break_off(&self) {
        if self.held.started.load(Ordering::Acquire) {
            let outcome = Outcome::Interrupted { phase: Phase::Head };
            let evidence = Evidence::of(outcome).seen(Seen::Unknown).blameless(self.held.age() < SLOW);
            let collecting = self.held.collecting.load(Ordering::Acquire);
            self.held.report_with(|before| match before {
                None => Some(evidence),
                // A body that falls silent has a time limit of its own: this one was only longer than there is time.
                Some(before) => Some(broken(before)?.blameless(true)).filter(|_| collecting),
            });
        }
    }
}

impl Meter for Shared {
    fn add(&self, wire: WireBytes) {
        self.held.add_wire(wire);
    }
}

/// One of the lease's owners: the future is one, each open body is one. The last to go gives the lease back.
pub(crate) struct Hold(Arc<Shared>);

impl Drop for Hold {
    fn drop(&mut self) {
        if self.0.holds.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.held.release_shared(self.0.to_body_end);
        }
    }
}

/// The lease of a request, as the services below the lease layer find it in the request's extensions, beside the
/// [`Route`]. Passive: a clone keeps the facts, never the lease.
#[derive(Clone)]
pub struct LeaseHandle(Arc<Shared>);

impl LeaseHandle {
    /// The exit.
    #[must_use]
    pub fn exit(&self) -> ExitId {
        self.0.held.receipt.exit
    }

    /// What a client needs to dial it.
    #[must_use]
    pub fn route(&self) -> &Route {
        &self.0.held.route
    }

    /// The same for this attempt: what it has cost comes here even if nobody waits for it.
    pub(crate) fn billed_route(&self) -> Route {
        let meter: Arc<dyn Meter> = self.0.clone();
        self.route().clone().billed_to(meter)
    }

    /// The site it is leased for.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.0.held.origin
    }

    /// What holds at that site alone, if anything was said of it.
    pub(crate) fn site(&self) -> Option<Arc<Site>> {
        self.0.held.scheduler.site(self.origin())
    }

    /// The name of the exit's pool.
    #[must_use]
    pub fn pool(&self) -> Key {
        self.0.held.scheduler.guarded().fleet.pool_of(&self.0.held.receipt)
    }

    /// Says what the answer, or the reply to the CONNECT before it, revealed of the exit: for a client of your own.
    pub fn reveal(&self, egress: &Egress) {
        self.0.held.reveal(egress);
    }

    /// Why this exit.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.0.held.reason
    }

    /// How often the exit that the key holds was replaced; `None` if nothing is held.
    #[must_use]
    pub fn generation(&self) -> Option<u32> {
        self.0.held.receipt.generation()
    }

    /// The proof of this lease.
    #[must_use]
    pub fn receipt(&self) -> Receipt {
        self.0.held.receipt
    }

    /// False the second time: one lease is one attempt.
    pub(crate) fn start(&self) -> bool {
        !self.0.held.started.swap(true, Ordering::AcqRel)
    }

    /// Whether a retry layer asked for it.
    pub(crate) fn is_retried(&self) -> bool {
        self.0.held.attempt.is_some()
    }

    pub(crate) fn evidence(&self) -> Option<Evidence> {
        self.0.held.evidence()
    }

    pub(crate) fn report(&self, evidence: Evidence) {
        self.0.held.report(&evidence);
    }

    /// The body broke after the head was reported. Only a success is taken back: a refusal says more than the broken page
    /// that came with it.
    pub(crate) fn report_broken_body(&self) -> Evidence {
        self.0.held.report_with(|before| broken(before?));
        BROKEN
    }

    /// The body is longer than may be collected. As with a broken one.
    pub(crate) fn report_too_large(&self, cap: u64) -> Evidence {
        let too_large = Evidence::of(Outcome::TooLarge { cap });
        self.0.held.report_with(|before| amended(before?, too_large));
        too_large
    }

    /// Whether the answer is to come up whole, and is being read: an attempt that is broken off then breaks in its body.
    pub(crate) fn is_collecting(&self) -> bool {
        self.0.held.collecting.load(Ordering::Acquire)
    }

    /// Whether the answer's head is there.
    pub(crate) fn is_heard(&self) -> bool {
        self.evidence().is_some() || self.0.held.heard.load(Ordering::Acquire)
    }

    /// The head is there, and is reported once its page has been looked at.
    pub(crate) fn set_heard(&self) {
        self.0.held.heard.store(true, Ordering::Release);
    }

    pub(crate) fn set_collecting(&self, collecting: bool) {
        self.0.held.collecting.store(collecting, Ordering::Release);
    }

    /// See [`Shared::break_off`].
    pub(crate) fn break_off(&self) {
        self.0.break_off();
    }

    pub(crate) fn add_bytes(&self, bytes: usize) {
        self.0.held.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Adds bytes that the attempt has cost on the wire, for a client of your own that counts them itself and can say so
    /// neither beside an answer ([`Connection::counted_by`](crate::outcome::Connection::counted_by)) nor in an error
    /// ([`Failure::after`](crate::outcome::Failure::after)). At any time: what is added after the lease has ended counts too.
    pub fn add_wire(&self, wire: WireBytes) {
        self.0.held.add_wire(wire);
    }

    /// The answer has begun: what counts its bytes on the wire until it has been read.
    pub(crate) fn count(&self, traffic: Traffic) {
        self.0.held.count(traffic);
    }

    /// The body is over: ended, broken off or dropped. A lease that lasts until then settles when it ends.
    pub(crate) fn settle(&self) {
        if !self.0.to_body_end {
            self.0.held.settle_late();
        }
    }

    /// For the body, at the head. `None` if the lease ends there, or has ended.
    pub(crate) fn hold(&self) -> Option<Hold> {
        if !self.0.to_body_end {
            return None;
        }
        let more = |holds: u32| (holds > 0).then(|| holds + 1);
        self.0.holds.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Hold(Arc::clone(&self.0)))
    }

    pub(crate) fn served(&self) -> Served {
        Served::new(self.clone())
    }

    pub(crate) fn wall_now(&self) -> SystemTime {
        self.0.held.wall_now()
    }

    pub(super) fn held(&self) -> &Held {
        &self.0.held
    }
}

impl fmt::Debug for LeaseHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseHandle")
            .field("exit", &self.exit())
            .field("origin", self.origin())
            .field("reason", &self.reason())
            .finish_non_exhaustive()
    }
}
