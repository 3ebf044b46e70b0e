//! The slot of one request, shared by all copies of it: what an attempt learns reaches the next through here.

use super::handle::Shared;
use super::sync::{AtomicBool, Mutex, Ordering, lock};
use super::{Receipt, Scheduler};
use crate::error::{AttemptRecord, Error};
use crate::fleet::RetryAsk;
use crate::outcome::{Evidence, WireBytes};
use crate::request::{LeaseRequest, Time};
use crate::verdict::{Verdict, Why};
use http::Extensions;
use smallvec::SmallVec;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Most attempts a slot remembers.
const MAX_RECORDS: usize = 16;

/// The retry layer puts it into the request's extensions.
#[derive(Clone)]
pub(crate) struct Attempt(Arc<Slot>);

struct Slot {
    scheduler: Scheduler,
    idempotent: bool,
    /// Whether an attempt has asked before.
    asked: AtomicBool,
    state: Mutex<State>,
}

/// A request's extensions. A map of them costs an allocation for each, and two more; most requests carry no more than what
/// they lease, and are sent once.
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one, and a box is what it saves")]
#[derive(Default)]
enum Carried {
    #[default]
    Nothing,
    Ask(LeaseRequest),
    More(Extensions),
}

impl Carried {
    fn of(extensions: &Extensions) -> Self {
        match (extensions.len(), extensions.get::<LeaseRequest>()) {
            (0, _) => Self::Nothing,
            (1, Some(ask)) => Self::Ask(ask.clone()),
            _ => Self::More(extensions.clone()),
        }
    }

    fn give(&self, extensions: &mut Extensions) {
        match self {
            Self::Nothing => {}
            Self::Ask(ask) => drop(extensions.insert(ask.clone())),
            Self::More(all) => extensions.clone_from(all),
        }
    }
}

#[derive(Default)]
struct State {
    /// What the request carried when it came, for its copies.
    carried: Carried,
    /// What was leased last, with the trail of the request. Written by the lease layer: the retry layer's copy of the
    /// request carries no lease request if the lease layer makes it.
    ask: Option<LeaseRequest>,
    /// The last attempt's report; taken by the verdict.
    last: Option<(Receipt, Evidence)>,
    /// Weak, because the lease knows the slot.
    current: Weak<Shared>,
    /// Two in place: few requests are sent more often, and a slot above a kilobyte costs the allocator a slow path.
    records: SmallVec<[AttemptRecord; 2]>,
    /// How many records went, to keep within the bound.
    forgotten: u32,
    /// The wait before the attempt to come.
    wait: Duration,
    waited: Duration,
    kept: Option<Error>,
    /// The request is over.
    over: bool,
    /// Why the request was not sent again, and when it may be served.
    stopped: Option<(Why, Instant)>,
}

impl Attempt {
    /// The slot of a request, which is put into its extensions.
    pub(crate) fn of(scheduler: Scheduler, idempotent: bool, extensions: &mut Extensions) -> Self {
        let state = Mutex::new(State { carried: Carried::of(extensions), ..State::default() });
        let attempt = Self(Arc::new(Slot { scheduler, idempotent, asked: AtomicBool::new(false), state }));
        extensions.insert(attempt.clone());
        attempt
    }

    /// Gives a copy of the request what the first one carried.
    pub(crate) fn carry(&self, extensions: &mut Extensions) {
        // Taken out, because to clone what it holds is somebody else's code.
        let carried = mem::take(&mut lock(&self.0.state).carried);
        carried.give(extensions);
        lock(&self.0.state).carried = carried;
        extensions.insert(self.clone());
    }

    /// The request is over: what only another attempt would need goes, for bodies and answers keep the slot, and what a
    /// request carries may keep its answer.
    pub(crate) fn end(&self) {
        let mut state = lock(&self.0.state);
        if mem::replace(&mut state.over, true) {
            return;
        }
        let over = (mem::take(&mut state.carried), state.ask.take(), state.kept.take());
        drop(state);
        drop(over);
    }

    /// Whether the slot's decisions are made by this scheduler.
    pub(crate) fn is_of(&self, scheduler: &Scheduler) -> bool {
        self.0.scheduler.is(scheduler)
    }

    /// Gives a request what the attempts before it have learned.
    pub(crate) fn resume(&self, ask: &mut LeaseRequest) {
        if !self.0.asked.load(Ordering::Acquire) {
            return;
        }
        if let Some(before) = &lock(&self.0.state).ask {
            ask.trail.clone_from(&before.trail);
        }
    }

    pub(crate) fn asked(&self, ask: LeaseRequest) {
        let _before = lock(&self.0.state).ask.replace(ask); // dropped without the lock
        self.0.asked.store(true, Ordering::Release);
    }

    pub(super) fn follow(&self, lease: &Arc<Shared>) {
        lock(&self.0.state).current = Arc::downgrade(lease);
    }

    /// Notes a report. `place` is where the same lease's report before it went; answers where this one is.
    pub(super) fn note(&self, place: Option<u32>, receipt: Receipt, evidence: Evidence) -> u32 {
        let mut state = lock(&self.0.state);
        let newest = state.count();
        if let Some(place) = place {
            if let Some(record) = state.record(place) {
                record.outcome = evidence.outcome;
            }
            if place + 1 < newest {
                return place; // a late word on an earlier attempt is no news for the next verdict
            }
            state.last = Some((receipt, evidence));
            return place;
        }
        if state.records.len() == MAX_RECORDS {
            state.records.remove(0);
            state.forgotten += 1;
        }
        let waited = mem::take(&mut state.wait);
        state.records.push(AttemptRecord::new(receipt.exit, evidence.outcome, waited));
        state.last = Some((receipt, evidence));
        newest
    }

    /// An attempt has ended: what it has cost so far.
    pub(super) fn settle(&self, place: u32, bytes: u64, wire: WireBytes) {
        if let Some(record) = lock(&self.0.state).record(place) {
            (record.bytes, record.wire) = (bytes, wire);
        }
    }

    pub(crate) fn records(&self) -> Arc<[AttemptRecord]> {
        lock(&self.0.state).records.as_slice().into()
    }

    pub(super) fn count(&self) -> u32 {
        lock(&self.0.state).count()
    }

    pub(super) fn stopped(&self) -> Option<(Why, Instant)> {
        lock(&self.0.state).stopped
    }

    pub(super) fn waited(&self) -> Duration {
        lock(&self.0.state).waited
    }

    /// Parks the real error while the retry waits, so that a refusal of the next lease cannot hide it.
    pub(crate) fn keep(&self, error: Error) {
        lock(&self.0.state).kept = Some(error);
    }

    pub(crate) fn kept(&self) -> Option<Error> {
        lock(&self.0.state).kept.take()
    }

    /// A layer between retry and lease gave the attempt up, and the verdict is asked before the lease is given back.
    pub(crate) fn break_off(&self) {
        let current = lock(&self.0.state).current.upgrade();
        if let Some(lease) = current {
            lease.break_off();
        }
    }

    /// The attempt to come has waited in line.
    pub(crate) fn has_waited(&self, time: Duration) {
        let mut state = lock(&self.0.state);
        state.wait += time;
        state.waited += time;
    }

    /// Now, on the scheduler's clock.
    pub(crate) fn now(&self) -> Instant {
        let scheduler = &self.0.scheduler;
        scheduler.instant(scheduler.now()).into_std()
    }

    /// A time of which one knows how far it is.
    fn in_time(&self, at: Time) -> (Instant, Duration) {
        let scheduler = &self.0.scheduler;
        (scheduler.instant(at).into_std(), at.since(scheduler.now()))
    }

    /// What the request does next, and if it stops with an error, when it may be served. By the slot, because the
    /// lease may sit in a body, or be gone.
    pub(crate) fn retry(&self, replayable: bool) -> (Verdict, Option<(Instant, Duration)>) {
        let _outdated; // dropped without the lock
        let mut state = lock(&self.0.state);
        let State { ask, last, wait, waited, kept, stopped, .. } = &mut *state;
        // Nothing was reported if the next lease was refused: then the error that asked for it stays parked.
        let (Some((receipt, evidence)), Some(ask)) = (last.take(), ask) else {
            return (Verdict::Stop(Why::Done), None);
        };
        _outdated = kept.take();
        // Most attempts end here: what there is nothing to cure asks nobody.
        if evidence.outcome.is_ok() {
            return (Verdict::Stop(Why::Done), None);
        }
        receipt.record(&mut ask.trail, &evidence);
        let deadline = *ask.trail.deadline.get_or_insert(receipt.sent + ask.deadline);
        let repeatable = ask.repeatable.unwrap_or(self.0.idempotent);
        let scheduler = &self.0.scheduler;
        let (verdict, turn, soonest) =
            scheduler.retry(&RetryAsk { receipt, evidence, ask, repeatable, replayable, deadline });
        let at = self.in_time(soonest);
        match verdict {
            Verdict::Retry { delay, .. } => {
                *wait = delay;
                *waited += delay;
                // Given back with the slot, if the request ends before it is sent again.
                ask.trail.turn = turn;
            }
            Verdict::Stop(why) => *stopped = Some((why, at.0)),
        }
        (verdict, Some(at))
    }
}

impl State {
    fn count(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX).saturating_add(self.forgotten)
    }

    fn record(&mut self, place: u32) -> Option<&mut AttemptRecord> {
        let at = place.checked_sub(self.forgotten)?;
        self.records.get_mut(at as usize)
    }
}
