//! The wait in line, and the time in which a lease is the future's own.

use super::waiting::{Terms, Waiting, WaitingProj};
use crate::error::{CarriesRefusal, Error, LeaseError};
use crate::outcome::{Evidence, Outcome, Phase, Seen};
use crate::scheduler::{Hold, Lease, LeaseHandle};
use http::Request;
use pin_project::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};
use tower::Service;

/// How long past the deadline an answer that is there may take to come up with its page.
const PAGE: Duration = Duration::from_millis(100);

/// The future of [`Leased`](super::Leased).
///
/// # Cancel safety
/// Dropping it gives the lease back, or the place in the line up. That blames nobody, unless the exit had kept the request
/// waiting for long.
#[pin_project]
pub struct LeaseFuture<S, B>
where
    S: Service<Request<B>>,
{
    #[pin]
    state: State<S, B>,
}

#[pin_project(project = StateProj)]
#[allow(clippy::large_enum_variant, reason = "no variant is rare enough to be worth a box")]
enum State<S, B>
where
    S: Service<Request<B>>,
{
    Refused(Option<LeaseError>),
    Waiting(#[pin] Waiting<S, B>),
    Sent {
        #[pin]
        answer: S::Future,
        #[pin]
        clock: Clock,
        handle: LeaseHandle,
        /// Last: the client's future goes before the lease does.
        hold: Hold,
    },
    Done,
}

impl<S, B> LeaseFuture<S, B>
where
    S: Service<Request<B>>,
{
    pub(super) const fn refused(refusal: LeaseError) -> Self {
        Self { state: State::Refused(Some(refusal)) }
    }

    pub(super) const fn waiting(waiting: Waiting<S, B>) -> Self {
        Self { state: State::Waiting(waiting) }
    }

    /// `service` is ready.
    pub(super) fn sent(service: &mut S, request: Request<B>, lease: Lease, terms: Terms) -> Self {
        Self { state: State::sent(service, request, lease, terms) }
    }
}

impl<S, B> State<S, B>
where
    S: Service<Request<B>>,
{
    fn sent(service: &mut S, mut request: Request<B>, lease: Lease, terms: Terms) -> Self {
        let (hold, handle) = lease.share(terms.attempt, terms.to_body_end);
        request.extensions_mut().insert(handle.billed_route());
        request.extensions_mut().insert(handle.clone());
        let clock = Clock { timer: None, deadline: terms.deadline, extended: false };
        Self::Sent { answer: service.call(request), clock, handle, hold }
    }
}

impl<S, B> Future for LeaseFuture<S, B>
where
    S: Service<Request<B>> + Clone,
    S::Error: CarriesRefusal,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        let out = loop {
            break match state.as_mut().project() {
                StateProj::Refused(refusal) => {
                    let refusal = refusal.take().expect("taken once, when the state is left");
                    Err(S::Error::from_refusal(refusal))
                }
                StateProj::Waiting(mut waiting) => match ready!(waiting.as_mut().poll_lease(cx)) {
                    Ok(lease) => {
                        let WaitingProj { service, request, terms, .. } = waiting.project();
                        let (request, terms) =
                            request.take().zip(terms.take()).expect("taken once, when it is sent");
                        let sent = State::sent(service, request, lease, terms);
                        state.set(sent);
                        continue;
                    }
                    Err(error) => Err(error),
                },
                StateProj::Sent { answer, mut clock, handle, .. } => {
                    // The clock goes first: where the client has used up the task's budget, a timer would say for ever that
                    // it is not time.
                    let late = clock.as_mut().poll(handle, cx).is_ready();
                    match answer.poll(cx) {
                        Poll::Ready(out) => judge(out, handle),
                        Poll::Pending => {
                            // From the first wait on the clock has been asked already.
                            if clock.as_mut().start() {
                                ready!(clock.poll(handle, cx));
                            } else if !late {
                                return Poll::Pending;
                            }
                            handle.break_off();
                            Err(overdue(handle).into())
                        }
                    }
                }
                StateProj::Done => panic!("polled after completion"),
            };
        };
        state.set(State::Done);
        Poll::Ready(out)
    }
}

/// When the future must be over.
#[pin_project]
struct Clock {
    /// Made at the first wait, so that an answer at once needs no timer.
    #[pin]
    timer: Option<Sleep>,
    deadline: Instant,
    extended: bool,
}

impl Clock {
    /// Whether it was not running yet.
    fn start(self: Pin<&mut Self>) -> bool {
        let mut this = self.project();
        let starts = this.timer.is_none();
        if starts {
            this.timer.set(Some(tokio::time::sleep_until(*this.deadline)));
        }
        starts
    }

    /// Ready when the deadline has passed, and a moment later where the answer is there and only its page is being read.
    fn poll(self: Pin<&mut Self>, handle: &LeaseHandle, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let Some(mut timer) = this.timer.as_mut().as_pin_mut() else { return Poll::Pending };
        ready!(timer.as_mut().poll(cx));
        if *this.extended || !handle.is_heard() || handle.is_collecting() {
            return Poll::Ready(());
        }
        *this.extended = true;
        timer.as_mut().reset(*this.deadline + PAGE);
        timer.poll(cx)
    }
}

/// What came from inside, made good where nobody has said what the attempt showed.
fn judge<T, E: CarriesRefusal>(mut out: Result<T, E>, handle: &LeaseHandle) -> Result<T, E> {
    if handle.evidence().is_some() {
        return out;
    }
    match &mut out {
        Ok(_) => Err(E::from_refusal(unclassified())),
        Err(error) => {
            // A layer below this one gave the attempt up. A refusal is no attempt.
            if !error.egress().is_some_and(|error| error.is_refusal()) {
                handle.break_off();
            }
            out
        }
    }
}

fn unclassified() -> LeaseError {
    LeaseError::Misuse(
        "the answer was never classified: there is no ClassifyLayer inside LeaseLayer \
         (the order is ExitAwareRetryLayer -> LeaseLayer -> ClassifyLayer -> client)",
    )
}

fn overdue(handle: &LeaseHandle) -> Error {
    let outcome = Outcome::Interrupted { phase: Phase::Head };
    let evidence = handle.evidence().unwrap_or_else(|| Evidence::of(outcome).seen(Seen::Unknown));
    Error::failed(handle.exit(), evidence, "the request's deadline has passed".into())
}

impl<S, B> fmt::Debug for LeaseFuture<S, B>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseFuture").finish_non_exhaustive()
    }
}
