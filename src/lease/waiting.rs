//! The wait for an exit: in line, without a permit of the client's.

use crate::error::{CarriesRefusal, LeaseError};
use crate::scheduler::{Attempt, Lease, Place};
use http::Request;
use pin_project::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::time::{Instant, Sleep};
use tower::Service;

/// What an attempt needs besides its lease.
pub(super) struct Terms {
    pub(super) attempt: Option<Attempt>,
    pub(super) deadline: Instant,
    pub(super) to_body_end: bool,
}

/// Waits to be called, then for the client to be ready, and leases last.
#[pin_project(project = WaitingProj)]
pub(super) struct Waiting<S, B> {
    #[pin]
    place: Place,
    /// Made anew when it is called, so that nobody waits with a permit in hand.
    pub(super) service: S,
    pub(super) request: Option<Request<B>>,
    pub(super) terms: Option<Terms>,
    called: bool,
    /// The request's deadline, while the client is not ready.
    #[pin]
    deadline: Option<Sleep>,
}

impl<S, B> Waiting<S, B> {
    /// `service` is not ready, and holds nothing.
    pub(super) fn new(place: Place, service: S, request: Request<B>, terms: Terms) -> Self {
        let (request, terms) = (Some(request), Some(terms));
        Self { place, service, request, terms, called: false, deadline: None }
    }

    /// A lease, with the service ready to send through it.
    pub(super) fn poll_lease(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Lease, S::Error>>
    where
        S: Service<Request<B>> + Clone,
        S::Error: CarriesRefusal,
    {
        let mut this = self.project();
        loop {
            if !*this.called {
                ready!(this.place.as_mut().poll_called(cx));
                *this.called = true;
            }
            if this.service.poll_ready(cx)?.is_pending() {
                if this.deadline.is_none() {
                    let deadline = this.terms.as_ref().map(|terms| tokio::time::sleep_until(terms.deadline));
                    this.deadline.set(deadline);
                }
                if let Some(deadline) = this.deadline.as_mut().as_pin_mut() {
                    ready!(deadline.poll(cx));
                }
                return Poll::Ready(Err(S::Error::from_refusal(LeaseError::DeadlinePassed)));
            }
            this.deadline.set(None);
            match this.place.claim() {
                Some(Ok(lease)) => {
                    if let Some(attempt) = this.terms.as_ref().and_then(|terms| terms.attempt.as_ref()) {
                        attempt.has_waited(this.place.waited());
                    }
                    return Poll::Ready(Ok(lease));
                }
                Some(Err(refusal)) => return Poll::Ready(Err(S::Error::from_refusal(refusal))),
                None => {
                    // Its turn was over before the client was ready: the permit goes back.
                    *this.service = this.service.clone();
                    *this.called = false;
                }
            }
        }
    }
}
