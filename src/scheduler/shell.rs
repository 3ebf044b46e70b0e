//! The shell around the decisions: clock and lock.

use super::held::Held;
use super::sync::{Mutex, MutexGuard, lock};
use super::{Builder, Lease, Operator, Snapshot, events};
use crate::draw::{Stream, draw, unit};
use crate::error::LeaseError;
use crate::exit::ExitId;
use crate::fleet::{Fleet, FleetConfig, Receipt, Refusal, Release, RetryAsk};
use crate::outcome::Evidence;
use crate::request::{LeaseRequest, Origin, Time};
use crate::verdict::Verdict;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Who may go out through which exit, now. A clone is another handle to the same fleet, and costs a reference count.
///
/// All methods are short and never wait.
#[derive(Clone)]
pub struct Scheduler(Arc<Shell>);

struct Shell {
    fleet: Mutex<Fleet>,
    /// [`Time::ZERO`]. tokio's clock, so that paused tests work.
    start: tokio::time::Instant,
    /// Wall time at `start`; it is read once, and monotonic from there.
    wall: SystemTime,
    seed: u64,
    /// Counter of the draws for waits.
    waits: AtomicU64,
}

impl Scheduler {
    /// Starts building one.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    #[expect(clippy::disallowed_methods, reason = "where the clock starts")]
    pub(super) fn start(mut config: FleetConfig) -> Self {
        let wall = SystemTime::now();
        let epoch = wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        config.epoch = u64::try_from(epoch).unwrap_or(u64::MAX);
        let seed = config.seed;
        let fleet = Mutex::new(Fleet::new(config));
        let (start, waits) = (tokio::time::Instant::now(), AtomicU64::new(0));
        Self(Arc::new(Shell { fleet, start, wall, seed, waits }))
    }

    /// Leases an exit for one attempt. Never waits.
    ///
    /// # Errors
    /// The [`LeaseError`] says why not, and what would cure it. A request that names no origin is a misuse: there is no
    /// URI here to take it from.
    ///
    /// ```
    /// use tower_egress::{ExitList, LeaseRequest, Next, Outcome, Scheduler};
    ///
    /// let exits = ExitList::parse("203.0.113.7:8080")?;
    /// let scheduler = Scheduler::builder().exits(exits).build()?;
    /// let lease = scheduler.lease(&LeaseRequest::new("sku-42").origin("shop.example"))?;
    /// lease.report(Outcome::Ok);
    ///
    /// let refused = scheduler.lease(&LeaseRequest::new("sku-42")).unwrap_err();
    /// assert_eq!(refused.next(), Next::Bug);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lease(&self, ask: &LeaseRequest) -> Result<Lease, LeaseError> {
        let Some(origin) = &ask.origin else {
            return Err(LeaseError::Misuse(
                "the request names no origin; say it with LeaseRequest::origin, or send the request through LeaseLayer",
            ));
        };
        if let Some(what) = ask.contradiction() {
            return Err(LeaseError::Misuse(what));
        }
        let granted = {
            let mut fleet = self.fleet();
            let now = self.now();
            if ask.trail.deadline.is_some_and(|deadline| deadline <= now) {
                return Err(LeaseError::DeadlinePassed);
            }
            fleet.lease(now, ask, origin)
        };
        match granted {
            Ok(grant) => {
                // Owned before the event goes out: if a subscriber panics, the lease goes back.
                let lease = Lease::new(Held::new(self.clone(), grant, origin.clone()));
                events::leased(ask, origin, &lease);
                Ok(lease)
            }
            Err(refusal) => {
                let error = self.refused(refusal, origin);
                events::refused(ask, origin, &error);
                Err(error)
            }
        }
    }

    /// The state of the fleet now. Costs a walk over origins and exits.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let fleet = self.fleet();
        fleet.snapshot(self.now())
    }

    #[inline]
    pub(super) fn report(&self, receipt: &Receipt, evidence: &Evidence, amends: Option<&Evidence>) {
        self.act(|fleet, now| fleet.report(now, receipt, evidence, amends));
    }

    /// One verb of the fleet; what its owner should know of is told after the lock is released.
    #[inline]
    pub(super) fn act<T>(&self, verb: impl FnOnce(&mut Fleet, Time) -> T) -> T {
        let (out, notices) = {
            let mut fleet = self.fleet();
            let now = self.now();
            let out = verb(&mut fleet, now);
            (out, fleet.take_notices())
        };
        if let Some(notices) = notices {
            notices.into_iter().for_each(events::noticed);
        }
        out
    }

    /// Acts on the fleet as a person.
    #[must_use]
    pub const fn operator(&self) -> Operator<'_> {
        Operator(self)
    }

    #[inline]
    pub(super) fn release(&self, receipt: &Receipt, how: Release, evidence: Option<&Evidence>) {
        self.fleet().release(receipt, how, evidence);
    }

    pub(super) fn ended_well(&self, receipt: &Receipt) {
        self.fleet().ended_well(receipt);
    }

    /// The verdict, and if it stops, when the first exit may serve the request.
    pub(super) fn retry(&self, ask: &RetryAsk<'_>) -> (Verdict, Time) {
        let mut fleet = self.fleet();
        let now = self.now();
        let verdict = fleet.retry(now, ask);
        let soonest = if matches!(verdict, Verdict::Stop(_)) { fleet.soonest(now, ask) } else { now };
        (verdict, soonest)
    }

    /// A number in 0..1 that differs from call to call, so that those who wait for the same exit do not come together.
    pub(super) fn jitter(&self, exit: ExitId) -> f64 {
        let turn = self.0.waits.fetch_add(1, Ordering::Relaxed);
        unit(draw(self.0.seed, Stream::Wait, exit.as_u64(), turn))
    }

    /// Fixes when the request must be over, unless an earlier attempt has.
    pub(crate) fn fix_deadline(&self, ask: &mut LeaseRequest) -> tokio::time::Instant {
        let limit = ask.deadline;
        let deadline = *ask.trail.deadline.get_or_insert_with(|| self.now() + limit);
        self.instant(deadline)
    }

    /// Wall time, monotonic since the scheduler was built.
    pub(super) fn wall_now(&self) -> SystemTime {
        self.0.wall + self.now().since(Time::ZERO)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    #[inline]
    fn fleet(&self) -> MutexGuard<'_, Fleet> {
        lock(&self.0.fleet)
    }

    /// Read under the lock where a decision follows, so that the decisions see time in order.
    #[inline]
    pub(super) fn now(&self) -> Time {
        let elapsed = self.0.start.elapsed();
        let nanos = elapsed.as_secs().saturating_mul(1_000_000_000);
        Time::from_nanos(nanos.saturating_add(u64::from(elapsed.subsec_nanos())))
    }

    pub(super) fn instant(&self, time: Time) -> tokio::time::Instant {
        /// What "never" becomes where a clock cannot count as far.
        const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);
        let start = self.0.start;
        start.checked_add(time.since(Time::ZERO)).unwrap_or_else(|| start + FAR)
    }

    #[cold]
    fn refused(&self, refusal: Refusal, origin: &Origin) -> LeaseError {
        let at = |time| -> Instant { self.instant(time).into_std() };
        let now = self.now();
        match refusal {
            Refusal::NoUsableExit { retry_at, counts } => LeaseError::NoUsableExit {
                origin: origin.clone(),
                retry_at: at(retry_at),
                retry_in: retry_at.since(now),
                counts,
            },
            Refusal::FleetStopped => LeaseError::FleetStopped,
            Refusal::Misuse(what) => LeaseError::Misuse(what),
            Refusal::Moved { from, to, generation } => LeaseError::Moved { from, to, generation },
            Refusal::Busy { bound, retry_at } => {
                LeaseError::Busy { bound, retry_at: at(retry_at), retry_in: retry_at.since(now) }
            }
        }
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").finish_non_exhaustive()
    }
}
