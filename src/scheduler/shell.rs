//! The shell around the decisions: clock and lock.

use super::after::{After, after};
use super::clock;
use super::events::Observers;
use super::sync::{Mutex, MutexGuard, lock};
use super::wakers::Wakers;
use super::{Acquire, Builder, Lease, Operator, Snapshot, Until};
use crate::error::LeaseError;
use crate::fleet::{Fleet, FleetConfig, Forecast, Receipt, Release, RetryAsk, State, Taken};
use crate::outcome::{Evidence, WireBytes};
use crate::request::{Kept, LeaseRequest, Origin, Time};
use crate::site::{Site, Sites};
use crate::verdict::{Verdict, Why};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Who may go out through which exit, now. A clone is another handle to the same fleet, and costs a reference count.
///
/// All methods are short and none blocks; [`acquire`](Self::acquire) and [`running`](Self::running) return futures.
#[derive(Clone)]
pub struct Scheduler(Arc<Shell>);

struct Shell {
    guarded: Mutex<Guarded>,
    /// [`Time::ZERO`]. tokio's clock, so that paused tests work.
    start: tokio::time::Instant,
    /// Wall time at `start`; it is read once, and monotonic from there.
    wall: SystemTime,
    observers: Observers,
    /// What holds at single sites; also in the fleet. Behind a lock of its own, so that an answer need not wait for a decision.
    sites: Mutex<Arc<Sites>>,
    /// Held by who tells events.
    telling: Mutex<()>,
}

/// What the one lock guards.
pub(super) struct Guarded {
    pub(super) fleet: Fleet,
    pub(super) wakers: Wakers,
}

impl Scheduler {
    /// Starts building one.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn start(mut config: FleetConfig, observers: Observers) -> Self {
        let (start, wall) = clock::start();
        let epoch = wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        config.epoch = u64::try_from(epoch).unwrap_or(u64::MAX);
        let sites = Mutex::new(Arc::clone(&config.sites));
        let guarded = Mutex::new(Guarded { fleet: Fleet::new(config), wakers: Wakers::default() });
        Self(Arc::new(Shell { guarded, start, wall, observers, sites, telling: Mutex::default() }))
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
        let origin = Self::check(ask)?;
        ask.trail.take_turn();
        let mut guarded = self.listening();
        let now = self.now();
        if ask.trail.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(LeaseError::DeadlinePassed);
        }
        match guarded.fleet.lease_in_turn(now, ask, origin) {
            Ok(grant) => {
                let after = after(guarded, now);
                if after.is_nothing() {
                    return Ok(self.granted(grant, origin.clone()));
                }
                // Owned before anybody hears of it: if an observer panics, it goes back.
                let lease = self.granted(grant, origin.clone());
                self.finish(after);
                Ok(lease)
            }
            Err(refusal) => {
                self.unlock(guarded, now);
                Err(self.refused(refusal, origin))
            }
        }
    }

    /// As [`lease`](Self::lease), but waits in line where no exit may serve now: until the first may, for the request's
    /// [patience](LeaseRequest::patience) at most, and within its deadline. First come, first served, among those who wait
    /// for the same; those who wait for something else are not held up. If no exit can come back in time, it is refused at
    /// once. At most 10,000 requests wait.
    ///
    /// # Cancel safety
    /// Dropping the future gives the place up and leaves no trace. Who is called and does not come within 100 ms passes its
    /// turn on, and keeps its place.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    ///
    /// # Panics
    /// Polled outside of a tokio runtime with time.
    ///
    /// ```
    /// use tower_egress::{ExitList, LeaseRequest, Outcome, Scheduler, outcome::BlockedBy};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
    /// let ask = LeaseRequest::per_request().origin("shop.example");
    /// scheduler.lease(&ask)?.report(Outcome::RateLimited { retry_after: None });
    /// assert!(scheduler.lease(&ask).is_err(), "it rests for a second");
    /// let lease = scheduler.acquire(&ask).await?;
    /// lease.report(Outcome::Ok);
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquire(&self, ask: &LeaseRequest) -> Acquire {
        Acquire::new(self.clone(), ask.clone())
    }

    /// Ready while something may go at all: not while every login is stopped, and not while the fleet is drained (what asks
    /// then is told to stop, with [`LeaseError::Closed`]). Where a worker parks after an error whose [`next`](crate::Error::next) is [`WhenResumed`](crate::Next::WhenResumed).
    ///
    /// ```
    /// # use tower_egress::{ExitList, Scheduler};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
    /// scheduler.running().await; // at once, while nothing is stopped
    /// # Ok(())
    /// # }
    /// ```
    pub fn running(&self) -> Until {
        Until::new(self.clone(), State::Running)
    }

    /// The origin of a request that can be asked for.
    pub(super) fn check(ask: &LeaseRequest) -> Result<&Origin, LeaseError> {
        let Some(origin) = &ask.origin else {
            return Err(LeaseError::Misuse(
                "the request names no origin; say it with LeaseRequest::origin, or send the request through LeaseLayer",
            ));
        };
        match ask.contradiction() {
            Some(what) => Err(LeaseError::Misuse(what)),
            None => Ok(origin),
        }
    }

    /// The state of the fleet now. Costs a walk over origins and exits.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let guarded = self.guarded();
        guarded.fleet.snapshot(self.now())
    }

    /// How many requests a second a site serves in the long run, and what limits it: the gap between two uses of an exit that its
    /// 429s have taught, the leases that may be out there at once, or the exits' pools. A figure for now: it follows what is
    /// learned within seconds, and knows no limit that nothing has met yet. Costs a walk over the exits.
    ///
    /// ```
    /// use tower_egress::scheduler::LimitedBy;
    /// use tower_egress::{ExitList, Scheduler, exit::Pool};
    ///
    /// let list = ExitList::parse("203.0.113.7:8080\n203.0.113.8:8080")?;
    /// let spaced = Pool::new("dc", list).interval(std::time::Duration::from_secs(2));
    /// let forecast = Scheduler::builder().pool(spaced).build()?.forecast("shop.example");
    /// assert_eq!(forecast.per_second, Some(1.0));
    /// assert_eq!(forecast.limited_by, LimitedBy::Exits { exits: 2 });
    /// let told = "about 1.0 requests a second at shop.example: 2 exits at the limits of their pools";
    /// assert_eq!(forecast.to_string(), told);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn forecast(&self, site: impl Into<Origin>) -> Forecast {
        let site = site.into();
        let guarded = self.guarded();
        guarded.fleet.forecast(self.now(), &site)
    }

    /// Says what of it was taken.
    #[inline]
    pub(super) fn report(
        &self,
        receipt: &Receipt,
        evidence: &Evidence,
        amends: Option<&Taken>,
    ) -> (After, Option<Taken>) {
        let mut guarded = self.guarded();
        let now = self.now();
        let taken = guarded.fleet.report(now, receipt, evidence, amends);
        (after(guarded, now), taken)
    }

    /// One verb of the fleet. Who may go now is woken, and what has happened is told, after the lock is released.
    #[inline]
    pub(super) fn act<T>(&self, verb: impl FnOnce(&mut Fleet, Time) -> T) -> T {
        self.act_with(|guarded, now| verb(&mut guarded.fleet, now))
    }

    /// The same, where wakers have a part in it.
    #[inline]
    pub(super) fn act_with<T>(&self, verb: impl FnOnce(&mut Guarded, Time) -> T) -> T {
        let mut guarded = self.listening();
        let now = self.now();
        let out = verb(&mut guarded, now);
        self.unlock(guarded, now);
        out
    }

    /// Acts on the fleet as a person.
    #[must_use]
    pub const fn operator(&self) -> Operator<'_> {
        Operator(self)
    }

    /// Whom to wake once no lock is held, and what was taken of an end without a word.
    #[inline]
    pub(super) fn release(
        &self,
        receipt: &Receipt,
        how: Release,
        evidence: Option<&Evidence>,
        wire: WireBytes,
    ) -> (After, Option<Taken>) {
        let mut guarded = self.guarded();
        if wire.total() > 0 {
            guarded.fleet.spend(receipt, wire);
        }
        let (waits, taken) = guarded.fleet.release(receipt, how, evidence);
        // What happened is told with the next verb, and what was given up is closed with it: a drop runs no observer.
        let after = waits.then(|| {
            let called = guarded.call(self.now());
            After::wakes(called)
        });
        (after.unwrap_or_default(), taken)
    }

    /// What has come after a lease's end: bytes on the wire, and whether its body ended well.
    pub(super) fn ended(&self, receipt: &Receipt, wire: WireBytes, good: bool) {
        let spent = wire.total() > 0;
        if !spent && !good {
            return;
        }
        let mut guarded = self.guarded();
        if spent {
            guarded.fleet.spend(receipt, wire);
        }
        if good {
            guarded.fleet.ended_well(receipt);
        }
    }

    /// The verdict, the turn that is kept for it, and if it stops, when the request may be served.
    pub(super) fn retry(&self, ask: &RetryAsk<'_>) -> (Verdict, Option<Kept>, Time) {
        let (verdict, booking, soonest) = self.act(|fleet, now| {
            let (verdict, booking) = fleet.retry_at_turn(now, ask);
            let soonest = match verdict {
                Verdict::Retry { .. } => now,
                Verdict::Stop(Why::Parked { retry_in }) => now + retry_in,
                Verdict::Stop(_) => fleet.soonest(now, ask),
            };
            (verdict, booking, soonest)
        });
        (verdict, booking.map(|booking| self.keep(booking)), soonest)
    }

    /// When the request must be over; never, if nobody has fixed that yet.
    pub(crate) fn deadline(&self, ask: &LeaseRequest) -> tokio::time::Instant {
        self.instant(ask.trail.deadline.unwrap_or(Time::MAX))
    }

    /// Wall time, monotonic since the scheduler was built.
    pub(super) fn wall_now(&self) -> SystemTime {
        self.0.wall + self.now().since(Time::ZERO)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    #[inline]
    pub(super) fn guarded(&self) -> MutexGuard<'_, Guarded> {
        lock(&self.0.guarded)
    }

    /// With the fleet told whether anybody listens.
    #[inline]
    fn listening(&self) -> MutexGuard<'_, Guarded> {
        let all = self.0.observers.listen();
        let mut guarded = self.guarded();
        guarded.fleet.events().listen(all);
        guarded
    }

    /// What holds at single sites from now on.
    pub(super) fn set_sites(&self, sites: Arc<Sites>) {
        *lock(&self.0.sites) = sites;
    }

    /// What holds at a site alone.
    pub(super) fn site(&self, origin: &Origin) -> Option<Arc<Site>> {
        lock(&self.0.sites).of(origin.as_str()).cloned()
    }

    pub(super) fn observers(&self) -> &Observers {
        &self.0.observers
    }

    pub(super) fn telling(&self) -> &Mutex<()> {
        &self.0.telling
    }

    /// Wall time of a moment.
    pub(super) fn wall(&self, at: Time) -> SystemTime {
        self.0.wall + at.since(Time::ZERO)
    }

    /// Read under the lock where a decision follows, so that the decisions see time in order.
    #[inline]
    pub(super) fn now(&self) -> Time {
        let elapsed = clock::since(self.0.start);
        let nanos = elapsed.as_secs().saturating_mul(1_000_000_000);
        Time::from_nanos(nanos.saturating_add(u64::from(elapsed.subsec_nanos())))
    }

    pub(super) fn instant(&self, time: Time) -> tokio::time::Instant {
        /// What "never" becomes where a clock cannot count as far.
        const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);
        let start = self.0.start;
        start.checked_add(time.since(Time::ZERO)).unwrap_or_else(|| start + FAR)
    }
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").finish_non_exhaustive()
    }
}
