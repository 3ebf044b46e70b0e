//! A place in the line.

use super::held::Held;
use super::shell::unlock;
use super::{Lease, Scheduler, events};
use crate::error::LeaseError;
use crate::fleet::{Grant, Ticket, Turn};
use crate::request::{LeaseRequest, Origin, Time};
use pin_project::{pin_project, pinned_drop};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Leases, or waits in line to be called.
///
/// # Cancel safety
/// Dropping it gives the place up, and what was kept for it. The next one is called at once.
#[pin_project(PinnedDrop)]
pub(crate) struct Place {
    scheduler: Scheduler,
    ask: LeaseRequest,
    origin: Origin,
    /// `None` before and after.
    ticket: Option<Ticket>,
    since: Time,
    /// Made at the first poll: where there is no runtime it panics, and the place must be somebody's then.
    #[pin]
    alarm: Option<Sleep>,
}

impl Scheduler {
    /// A lease, or a place in the line.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub(crate) fn lease_or_wait(&self, ask: &LeaseRequest) -> Result<Result<Lease, Place>, LeaseError> {
        let origin = Self::check(ask)?;
        let turn = self.act(|fleet, now| {
            let deadline = ask.trail.deadline.unwrap_or(now + ask.deadline);
            if ask.trail.deadline.is_some_and(|deadline| deadline <= now) {
                return Err(LeaseError::DeadlinePassed);
            }
            let patience = deadline.min(now + ask.patience);
            Ok((fleet.lease_or_wait(now, ask, origin, patience), now))
        });
        let (turn, since) = turn.inspect_err(|error| events::refused(ask, origin, error))?;
        match turn {
            Turn::Granted(grant) => Ok(Ok(self.granted(grant, ask, origin))),
            Turn::Refused(refusal) => Err(self.refuse(refusal, ask, origin)),
            Turn::Wait { ticket, .. } => Ok(Err(Place {
                scheduler: self.clone(),
                ask: ask.clone(),
                origin: origin.clone(),
                ticket: Some(ticket),
                since,
                alarm: None,
            })),
        }
    }
}

impl Scheduler {
    /// When a ticket looks again by itself, if it is not due now.
    fn poll_ticket(&self, ticket: Ticket, waker: &Waker) -> Option<Time> {
        let waker = waker.clone();
        let mut guarded = self.guarded();
        let now = self.now();
        let until = guarded.fleet.wait(now, ticket);
        // Kept first: it may be called right below.
        let _spare = if until.is_some() { guarded.wakers.keep(ticket, waker) } else { Some(waker) };
        unlock(guarded, now);
        until
    }

    /// A ticket that is done with leaves no waker.
    fn claim(&self, ticket: Ticket) -> Turn {
        let (turn, _waker) = self.act_with(|guarded, now| {
            let turn = guarded.fleet.claim(now, ticket);
            let done = !matches!(turn, Turn::Wait { .. });
            (turn, if done { guarded.wakers.take(ticket) } else { None })
        });
        turn
    }

    /// From a drop: tells nobody anything, but wakes who may go.
    pub(super) fn leave(&self, ticket: Ticket) {
        let mut guarded = self.guarded();
        let now = self.now();
        guarded.fleet.leave(now, ticket);
        let _waker = guarded.wakers.take(ticket); // dropped without the lock
        unlock(guarded, now);
    }

    /// A grant, owned before anybody hears of it: if a subscriber panics, the lease goes back.
    #[inline]
    pub(super) fn granted(&self, grant: Grant, ask: &LeaseRequest, origin: &Origin) -> Lease {
        let lease = Lease::new(Held::new(self.clone(), grant, origin.clone()));
        events::leased(ask, origin, &lease);
        lease
    }
}

/// Sets the alarm, and is ready when it goes off.
pub(super) fn poll_alarm(mut alarm: Pin<&mut Option<Sleep>>, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
    match alarm.as_mut().as_pin_mut() {
        Some(alarm) => alarm.reset(at),
        None => alarm.set(Some(tokio::time::sleep_until(at))),
    }
    alarm.as_pin_mut().map_or(Poll::Pending, |alarm| alarm.poll(cx))
}

impl Place {
    /// Ready when it is called, or its patience is over: it should [`claim`](Self::claim) then.
    pub(crate) fn poll_called(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let Some(ticket) = *this.ticket else { return Poll::Ready(()) };
        while let Some(until) = this.scheduler.poll_ticket(ticket, cx.waker()) {
            ready!(poll_alarm(this.alarm.as_mut(), this.scheduler.instant(until), cx));
        }
        Poll::Ready(())
    }

    /// `None` if it must wait on, at its old place.
    pub(crate) fn claim(self: Pin<&mut Self>) -> Option<Result<Lease, LeaseError>> {
        let this = self.project();
        let ticket = (*this.ticket)?;
        let turn = this.scheduler.claim(ticket);
        let scheduler = &*this.scheduler;
        let done = match turn {
            Turn::Wait { .. } => return None,
            Turn::Granted(grant) => Ok(scheduler.granted(grant, this.ask, this.origin)),
            Turn::Refused(refusal) => Err(scheduler.refuse(refusal, this.ask, this.origin)),
        };
        *this.ticket = None;
        Some(done)
    }

    /// How long it has waited.
    pub(crate) fn waited(&self) -> Duration {
        self.scheduler.now().since(self.since)
    }
}

#[pinned_drop]
impl PinnedDrop for Place {
    fn drop(self: Pin<&mut Self>) {
        if let Some(ticket) = self.ticket {
            self.scheduler.leave(ticket);
        }
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
