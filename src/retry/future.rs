//! All attempts of one request.

use super::{ExitAwarePolicy, ReplayBody};
use crate::error::{CarriesRefusal, LeaseError, Next};
use crate::scheduler::Attempt;
use crate::verdict::Why;
use http::Request;
use http_body::Body;
use pin_project::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower::Service;
use tower::retry::future::ResponseFuture;

/// The future of [`ExitAwareRetry`](super::ExitAwareRetry). The bounds are those of tower's own future.
///
/// # Cancel safety
/// Dropping it ends the attempt that is under way; between attempts nothing is held.
#[pin_project]
pub struct RetryFuture<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
    S::Error: CarriesRefusal,
    B: Body,
{
    #[pin]
    state: State<S, B>,
}

#[pin_project(project = StateProj)]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one")]
enum State<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
    S::Error: CarriesRefusal,
    B: Body,
{
    Misuse(&'static str),
    Passing(#[pin] S::Future),
    Running {
        #[pin]
        answer: ResponseFuture<ExitAwarePolicy, S, Request<ReplayBody<B>>>,
        /// Last: the attempt that is under way goes first.
        attempt: Ending,
    },
}

/// Ends the request with its future.
struct Ending(Attempt);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<S, B> RetryFuture<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
    S::Error: CarriesRefusal,
    B: Body,
{
    pub(super) const fn misuse(why: &'static str) -> Self {
        Self { state: State::Misuse(why) }
    }

    pub(super) const fn passing(answer: S::Future) -> Self {
        Self { state: State::Passing(answer) }
    }

    pub(super) const fn running(
        answer: ResponseFuture<ExitAwarePolicy, S, Request<ReplayBody<B>>>,
        attempt: Attempt,
    ) -> Self {
        Self { state: State::Running { answer, attempt: Ending(attempt) } }
    }
}

impl<S, B> Future for RetryFuture<S, B>
where
    S: Service<Request<ReplayBody<B>>> + Clone,
    S::Error: CarriesRefusal,
    B: Body,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Misuse(why) => Poll::Ready(Err(S::Error::from_refusal(LeaseError::Misuse(why)))),
            StateProj::Passing(answer) => answer.poll(cx),
            StateProj::Running { answer, attempt } => answer.poll(cx).map(|mut out| {
                if let Err(error) = &mut out {
                    complete(error, &attempt.0);
                }
                attempt.0.end();
                out
            }),
        }
    }
}

/// The last error gets its trail. A refusal that only ended the retries gives way to the error that asked for them; a
/// misuse does not.
fn complete<E: CarriesRefusal>(error: &mut E, attempt: &Attempt) {
    let kept = attempt.kept();
    let Some(error) = error.egress() else { return };
    if let Some(refusal) = error.refusal().filter(|refusal| refusal.next() != Next::Bug) {
        let wait = refusal.retry_in().unwrap_or_default();
        let (why, at) = match refusal.next() {
            Next::At(at) if matches!(refusal, LeaseError::OriginHeld { .. }) => (Why::OriginHeld, at),
            Next::At(at) => (Why::NoUsableExit, at),
            Next::WhenResumed => (Why::FleetStopped, attempt.now()),
            // What is lost is for the caller to accept: no later time would help.
            _ if matches!(refusal, LeaseError::Moved { .. }) => (Why::ExitLost, attempt.now()),
            _ if matches!(refusal, LeaseError::Closed) => (Why::Drained, attempt.now()),
            _ => (Why::Deadline, attempt.now()),
        };
        if let Some(mut real) = kept {
            real.stop(why, (at, wait));
            *error = real;
        }
    }
    error.attach(attempt.records());
}

impl<S, B> fmt::Debug for RetryFuture<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
    S::Error: CarriesRefusal,
    B: Body,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryFuture").finish_non_exhaustive()
    }
}
