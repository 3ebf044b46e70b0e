//! The time in which a lease is the future's own.

use crate::error::{CarriesRefusal, Error, LeaseError};
use crate::outcome::{Evidence, Outcome, Phase, Seen};
use crate::scheduler::{Hold, LeaseHandle};
use pin_project::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::time::{Instant, Sleep};

/// The future of [`Leased`](super::Leased).
///
/// # Cancel safety
/// Dropping it gives the lease back. That blames nobody, unless the exit had kept the request waiting for long.
#[pin_project]
pub struct LeaseFuture<F> {
    #[pin]
    state: State<F>,
}

#[pin_project(project = StateProj)]
enum State<F> {
    Refused(Option<LeaseError>),
    Sent {
        #[pin]
        answer: F,
        #[pin]
        timer: Option<Sleep>,
        deadline: Instant,
        handle: LeaseHandle,
        /// Last: the client's future goes before the lease does.
        hold: Hold,
    },
    Done,
}

impl<F> LeaseFuture<F> {
    pub(super) const fn refused(refusal: LeaseError) -> Self {
        Self { state: State::Refused(Some(refusal)) }
    }

    pub(super) const fn sent(answer: F, handle: LeaseHandle, hold: Hold, deadline: Instant) -> Self {
        Self { state: State::Sent { answer, timer: None, deadline, handle, hold } }
    }
}

impl<F, T, E> Future for LeaseFuture<F>
where
    F: Future<Output = Result<T, E>>,
    E: CarriesRefusal,
{
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        let out = match state.as_mut().project() {
            StateProj::Refused(refusal) => {
                let refusal = refusal.take().expect("taken once, when the state is left");
                Err(E::from_refusal(refusal))
            }
            StateProj::Sent { answer, mut timer, deadline, handle, .. } => match answer.poll(cx) {
                Poll::Ready(Ok(_)) if handle.evidence().is_none() => Err(E::from_refusal(unclassified())),
                Poll::Ready(out) => out,
                Poll::Pending => {
                    // Made at the first wait, so that an answer at once needs no timer.
                    if timer.is_none() {
                        timer.set(Some(tokio::time::sleep_until(*deadline)));
                    }
                    if let Some(timer) = timer.as_mut().as_pin_mut() {
                        std::task::ready!(timer.poll(cx));
                    }
                    handle.break_off();
                    Err(late(handle).into())
                }
            },
            StateProj::Done => panic!("polled after completion"),
        };
        state.set(State::Done);
        Poll::Ready(out)
    }
}

fn unclassified() -> LeaseError {
    LeaseError::Misuse(
        "the answer was never classified: there is no ClassifyLayer inside LeaseLayer \
         (the order is ExitAwareRetryLayer -> LeaseLayer -> ClassifyLayer -> client)",
    )
}

fn late(handle: &LeaseHandle) -> Error {
    let outcome = Outcome::Interrupted { phase: Phase::Head };
    let evidence = Evidence::of(outcome).seen(Seen::Unknown);
    Error::failed(handle.exit(), evidence, "the request's deadline has passed".into())
}

impl<F> fmt::Debug for LeaseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseFuture").finish_non_exhaustive()
    }
}
