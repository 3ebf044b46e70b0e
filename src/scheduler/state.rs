//! Waiting for a state of the whole fleet.

use super::Scheduler;
use super::clock::Sleep;
use super::place::poll_alarm;
use crate::fleet::{Reached, State, Ticket};
use pin_project::{pin_project, pinned_drop};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

/// When to ask again if the line is full.
const AGAIN: Duration = Duration::from_secs(1);

/// Ready when the fleet has reached a state; see [`Scheduler::running`] and
/// [`Operator::drain`](crate::scheduler::Operator::drain).
///
/// # Cancel safety
/// Dropping it leaves no trace.
#[pin_project(PinnedDrop)]
#[must_use = "futures do nothing unless polled"]
pub struct Until {
    scheduler: Scheduler,
    state: State,
    ticket: Option<Ticket>,
    #[pin]
    alarm: Option<Sleep>,
}

impl Until {
    pub(super) const fn new(scheduler: Scheduler, state: State) -> Self {
        Self { scheduler, state, ticket: None, alarm: None }
    }
}

impl Scheduler {
    /// Whether a state of the fleet is reached; if not, the ticket is woken when it may be.
    fn reach(&self, state: State, ticket: Option<Ticket>, waker: &Waker) -> Reached {
        let waker = waker.clone();
        let mut guarded = self.guarded();
        let now = self.now();
        let reached = guarded.fleet.reach(now, state, ticket);
        // Kept first: it may be called right below.
        let spare = match reached {
            Reached::NotYet { ticket, .. } => guarded.wakers.keep(ticket, waker),
            Reached::Yes | Reached::NoRoom => ticket.and_then(|ticket| guarded.wakers.take(ticket)),
        };
        self.unlock(guarded, now);
        drop(spare);
        reached
    }
}

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            let at = match this.scheduler.reach(*this.state, *this.ticket, cx.waker()) {
                Reached::Yes => {
                    *this.ticket = None;
                    return Poll::Ready(());
                }
                Reached::NotYet { ticket, until } => {
                    *this.ticket = Some(ticket);
                    this.scheduler.instant(until)
                }
                Reached::NoRoom => this.scheduler.instant(this.scheduler.now() + AGAIN),
            };
            ready!(poll_alarm(this.alarm.as_mut(), at, cx));
        }
    }
}

#[pinned_drop]
impl PinnedDrop for Until {
    fn drop(self: Pin<&mut Self>) {
        if let Some(ticket) = self.ticket {
            self.scheduler.leave(ticket);
        }
    }
}

impl fmt::Debug for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Until").field("state", &self.state).finish_non_exhaustive()
    }
}
