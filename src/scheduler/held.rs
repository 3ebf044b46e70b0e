//! What a lease is made of, whoever owns it.

use super::spent::Spent;
use super::sync::{AtomicBool, AtomicU64, Mutex, Ordering, get_mut, lock};
use super::{Attempt, Reason, Receipt, Release, Scheduler};
use crate::exit::Route;
use crate::fleet::{Grant, Taken};
use crate::outcome::{Egress, Evidence, Traffic, WireBytes};
use crate::request::Origin;
use std::time::{Duration, SystemTime};

/// A granted lease. It does not know when it ends: its owner releases it exactly once.
///
/// Locks are taken in this order: `said`, then the attempt slot's, then the scheduler's.
pub(super) struct Held {
    pub(super) scheduler: Scheduler,
    pub(super) receipt: Receipt,
    pub(super) route: Route,
    pub(super) reason: Reason,
    /// The one trial of an exit or pair that had to rest.
    pub(super) trial: bool,
    pub(super) origin: Origin,
    pub(super) attempt: Option<Attempt>,
    /// Whether the request was handed to the client; a plain caller's counts as handed over.
    pub(super) started: AtomicBool,
    /// Its answer is there, and its page is read before anything is said of it.
    pub(super) heard: AtomicBool,
    /// Its answer is to come up whole, and is being read.
    pub(super) collecting: AtomicBool,
    pub(super) bytes: AtomicU64,
    said: Mutex<Said>,
}

/// What was said of the attempt.
#[derive(Default)]
struct Said {
    last: Option<Reported>,
    /// The lease is over: what is said from now on is told at once.
    over: bool,
    /// Boxed: a plain caller seldom counts, and should not carry it.
    spent: Option<Box<Spent>>,
    /// What its exit has revealed, and whether that is not what its holder knew.
    egress: Option<(Egress, bool)>,
}

impl Said {
    /// The lease is over, and its body with it unless it is `running`. Answers what the fleet is to be told.
    #[inline]
    fn end(&mut self, running: bool) -> WireBytes {
        self.over = true;
        self.spent.as_mut().map_or_else(WireBytes::default, |spent| spent.end(running))
    }

    fn wire(&self) -> WireBytes {
        self.spent.as_ref().map_or_else(WireBytes::default, |spent| spent.so_far())
    }
}

#[derive(Clone, Copy)]
struct Reported {
    taken: Taken,
    /// Its place among the attempts of the request, if there is a slot that counts them.
    place: Option<u32>,
}

impl Held {
    #[inline]
    pub(super) fn new(scheduler: Scheduler, grant: Grant, origin: Origin) -> Self {
        Self {
            scheduler,
            receipt: grant.receipt,
            route: grant.route,
            reason: grant.reason,
            trial: grant.trial,
            origin,
            attempt: None,
            started: AtomicBool::new(true),
            heard: AtomicBool::new(false),
            collecting: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            said: Mutex::default(),
        }
    }

    pub(super) fn evidence(&self) -> Option<Evidence> {
        lock(&self.said).last.map(|reported| reported.taken.evidence)
    }

    /// Reports what `judge` makes of the last report. One lock around all of it, so that each report amends the one before.
    pub(super) fn report_with(&self, judge: impl FnOnce(Option<Evidence>) -> Option<Evidence>) {
        let after = {
            let mut said = lock(&self.said);
            let last = &mut said.last;
            let before = last.map(|reported| reported.taken.evidence);
            let Some(evidence) = judge(before) else { return };
            let amends = last.map(|reported| reported.taken);
            let (after, taken) = self.scheduler.report(&self.receipt, &evidence, amends.as_ref());
            // What is not taken was not said: a broken body makes no refusal less.
            if let Some(taken) = taken {
                let place = last.and_then(|reported| reported.place);
                let place = self.attempt.as_ref().map(|attempt| attempt.note(place, self.receipt, evidence));
                *last = Some(Reported { taken, place });
            }
            after
        };
        self.scheduler.finish(after);
    }

    /// Not generic, so that the evidence of a known outcome is known where it is reported.
    pub(super) fn report(&self, evidence: &Evidence) {
        self.report_with(|_| Some(*evidence));
    }

    /// The answer has begun: what counts its bytes on the wire until it has been read.
    pub(super) fn count(&self, traffic: Traffic) {
        lock(&self.said).spent.get_or_insert_default().count(traffic);
    }

    /// More bytes on the wire, from whoever counts them.
    pub(super) fn add_wire(&self, wire: WireBytes) {
        if wire.total() == 0 {
            return;
        }
        let mut said = lock(&self.said);
        said.spent.get_or_insert_default().add(wire);
        if said.over {
            self.settle(&mut said, true, false);
        }
    }

    /// What the answer has revealed of its exit.
    pub(super) fn reveal(&self, egress: &Egress) {
        let changed = self.scheduler.act(|fleet, now| fleet.reveal(now, &self.receipt, egress));
        lock(&self.said).egress = Some((egress.clone(), changed));
    }

    /// The same, as it was revealed last.
    pub(super) fn egress(&self) -> Option<(Egress, bool)> {
        lock(&self.said).egress.clone()
    }

    /// Bytes on the wire so far.
    pub(super) fn wire(&self) -> WireBytes {
        lock(&self.said).wire()
    }

    /// How long ago the lease was given.
    pub(super) fn age(&self) -> Duration {
        self.scheduler.now().since(self.receipt.sent)
    }

    /// The body of a lease that ended at the head is over: only now is it known what it cost, and whether the exit did its
    /// part.
    pub(super) fn settle_late(&self) {
        let mut said = lock(&self.said);
        let good = said.last.is_some_and(|last| last.taken.evidence.is_good_end());
        self.settle(&mut said, false, good);
    }

    /// What has come after the lease's end.
    fn settle(&self, said: &mut Said, running: bool, good: bool) {
        let wire = said.end(running);
        self.note_end(said);
        self.scheduler.ended(&self.receipt, wire, good);
    }

    /// By the layers. A head is no good end of a lease whose body is still to come; at the end its bytes go into the trail.
    pub(super) fn release_shared(&self, at_end: bool) {
        let after = {
            let mut said = lock(&self.said);
            let wire = said.end(!at_end);
            if at_end || wire.total() > 0 {
                self.note_end(&said);
            }
            let last = &mut said.last;
            let how = self.ended(last.is_some());
            let evidence = last.as_ref().filter(|_| at_end).map(|last| last.taken.evidence);
            let (after, taken) = self.scheduler.release(&self.receipt, how, evidence.as_ref(), wire);
            // Whoever still has a handle may have a later word, and it amends this one.
            if let Some(taken) = taken {
                *last = Some(Reported { taken, place: None });
            }
            after
        };
        self.scheduler.finish(after);
    }

    /// The attempt's bytes go into the trail.
    fn note_end(&self, said: &Said) {
        if let (Some(attempt), Some(place)) = (&self.attempt, said.last.and_then(|last| last.place)) {
            attempt.settle(place, self.bytes.load(Ordering::Relaxed), said.wire());
        }
    }

    /// As [`release`](Self::release), where nobody else can look.
    #[inline]
    pub(super) fn release_own(&mut self, how: Option<Release>) {
        let reported = get_mut(&mut self.said).last.is_some();
        let how = how.unwrap_or_else(|| self.ended(reported));
        let said = get_mut(&mut self.said);
        let wire = said.end(false);
        let last = said.last.as_ref().map(|reported| &reported.taken.evidence);
        let (after, _) = self.scheduler.release(&self.receipt, how, last, wire);
        self.scheduler.finish(after);
    }

    fn ended(&self, reported: bool) -> Release {
        match (reported, self.started.load(Ordering::Acquire)) {
            (true, _) => Release::Done,
            (false, true) => Release::Dropped { after: self.age() },
            (false, false) => Release::NotAttempted,
        }
    }

    pub(super) fn wall_now(&self) -> SystemTime {
        self.scheduler.wall_now()
    }
}
