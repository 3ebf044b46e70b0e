//! A place in the line.

use super::clock::{Instant, Sleep, sleep_until};
use super::held::Held;
use super::wakers::wake;
use super::{Lease, Scheduler};
use crate::error::LeaseError;
use crate::fleet::{Grant, Ticket, Turn};
use crate::request::{LeaseRequest, Origin, Time};
use pin_project::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

/// A request that stands in line.
///
/// # Cancel safety
/// Dropping it gives the place up, and what was kept for it. The next one is called at once.
#[pin_project]
pub(crate) struct Place {
    owned: Owned,
    origin: Origin,
    since: Time,
    /// Made at the first poll: where there is no runtime it panics, and the place must be somebody's then.
    #[pin]
    alarm: Option<Sleep>,
}

/// A ticket that leaves the line with its owner.
struct Owned {
    scheduler: Scheduler,
    ticket: Ticket,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.scheduler.leave(self.ticket);
    }
}

impl Scheduler {
    /// A lease, or a place in the line. Fixes when the request must be over, unless an earlier attempt has.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub(crate) fn lease_or_wait(&self, ask: &mut LeaseRequest) -> Result<Result<Lease, Place>, LeaseError> {
        let origin = Self::check(ask)?.clone();
        ask.trail.take_turn();
        ask.trail.turn = None;
        self.act(|fleet, now| {
            let limit = ask.deadline;
            let deadline = *ask.trail.deadline.get_or_insert_with(|| now + limit);
            if deadline <= now {
                return Err(LeaseError::DeadlinePassed);
            }
            let patience = deadline.min(now + ask.patience);
            // Owned before anybody hears of it: if an observer panics, it goes back.
            match fleet.lease_or_wait(now, ask, &origin, patience) {
                Turn::Granted(grant) => Ok(Ok(self.granted(grant, origin))),
                Turn::Refused(refusal) => Err(self.refused(refusal, &origin)),
                Turn::Wait { ticket } => {
                    let owned = Owned { scheduler: self.clone(), ticket };
                    Ok(Err(Place { owned, origin, since: now, alarm: None }))
                }
            }
        })
    }

    /// When a ticket looks again by itself, if it is not due now.
    fn poll_ticket(&self, ticket: Ticket, waker: &Waker) -> Option<Time> {
        let waker = waker.clone();
        let mut guarded = self.guarded();
        let now = self.now();
        let until = guarded.fleet.wait(now, ticket);
        // Kept first: it may be called right below.
        let spare = if until.is_some() { guarded.wakers.keep(ticket, waker) } else { Some(waker) };
        self.unlock(guarded, now);
        drop(spare);
        until
    }

    /// From a drop: tells nobody anything, but wakes who may go.
    pub(super) fn leave(&self, ticket: Ticket) {
        let mut guarded = self.guarded();
        let now = self.now();
        guarded.fleet.leave(now, ticket);
        let waker = guarded.wakers.take(ticket);
        let called = guarded.call(now);
        drop(guarded);
        wake(called);
        drop(waker);
    }

    #[inline]
    pub(super) fn granted(&self, grant: Grant, origin: Origin) -> Lease {
        Lease::new(Held::new(self.clone(), grant, origin))
    }
}

/// Sets the alarm, and is ready when it goes off.
pub(super) fn poll_alarm(mut alarm: Pin<&mut Option<Sleep>>, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
    match alarm.as_mut().as_pin_mut() {
        Some(alarm) => alarm.reset(at),
        None => alarm.set(Some(sleep_until(at))),
    }
    alarm.as_pin_mut().map_or(Poll::Pending, |alarm| alarm.poll(cx))
}

impl Place {
    /// Ready when it is called, or its patience is over: it should [`claim`](Self::claim) then.
    pub(crate) fn poll_called(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let Owned { scheduler, ticket } = this.owned;
        while let Some(until) = scheduler.poll_ticket(*ticket, cx.waker()) {
            ready!(poll_alarm(this.alarm.as_mut(), scheduler.instant(until), cx));
        }
        Poll::Ready(())
    }

    /// `None` if it must wait on, at its old place.
    pub(crate) fn claim(&self) -> Option<Result<Lease, LeaseError>> {
        let Owned { scheduler, ticket } = &self.owned;
        // A ticket that is done with leaves no waker.
        let (done, _waker) = scheduler.act_with(|guarded, now| match guarded.fleet.claim(now, *ticket) {
            Turn::Wait { .. } => (None, None),
            Turn::Granted(grant) => {
                (Some(Ok(scheduler.granted(grant, self.origin.clone()))), guarded.wakers.take(*ticket))
            }
            Turn::Refused(refusal) => {
                (Some(Err(scheduler.refused(refusal, &self.origin))), guarded.wakers.take(*ticket))
            }
        });
        done
    }

    /// How long it has waited.
    pub(crate) fn waited(&self) -> Duration {
        self.owned.scheduler.now().since(self.since)
    }
}

/// The future of [`Scheduler::acquire`].
///
/// # Cancel safety
/// Dropping it gives the place in the line up, and leaves no trace: the next one is called.
#[pin_project]
#[must_use = "futures do nothing unless polled"]
pub struct Acquire {
    scheduler: Scheduler,
    ask: LeaseRequest,
    #[pin]
    place: Option<Place>,
}

impl Acquire {
    pub(super) fn new(scheduler: Scheduler, ask: LeaseRequest) -> Self {
        Self { scheduler, ask, place: None }
    }
}

impl Future for Acquire {
    type Output = Result<Lease, LeaseError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if this.place.is_none() {
            match this.scheduler.lease_or_wait(this.ask) {
                Err(refusal) => return Poll::Ready(Err(refusal)),
                Ok(Ok(lease)) => return Poll::Ready(Ok(lease)),
                Ok(Err(place)) => this.place.set(Some(place)),
            }
        }
        loop {
            let Some(mut place) = this.place.as_mut().as_pin_mut() else { return Poll::Pending };
            ready!(place.as_mut().poll_called(cx));
            if let Some(out) = place.claim() {
                this.place.set(None);
                return Poll::Ready(out);
            }
        }
    }
}

impl fmt::Debug for Acquire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("ask", &self.ask).finish_non_exhaustive()
    }
}
