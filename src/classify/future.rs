//! One attempt, from the request to the answer's head.

use super::EgressBody;
use super::drain::{self, Drain, First};
use super::layer::{Limits, Terms};
use super::service::own;
use super::{failure, status};
use crate::error::{BoxError, Error, LeaseError};
use crate::outcome::{Connection, Failure, Phase, Seen};
use crate::scheduler::LeaseHandle;
use http::Response;
use http::header::RETRY_AFTER;
use http::response::Parts;
use http_body::Body;
use pin_project::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;
use tokio::time::Sleep;

/// The future of [`Classify`](super::Classify).
///
/// # Cancel safety
/// Dropped before it has reported, it blames nobody; after that the report stands. The lease is not its own.
#[pin_project]
pub struct ClassifyFuture<F, RB> {
    #[pin]
    state: State<F, RB>,
}

/// `Head ─error→ Done`, `Head ─head→ reported ─┬→ Done`, `└refused→ Drain ─read or 100 ms→ Done`
#[pin_project(project = StateProj)]
#[allow(clippy::large_enum_variant, reason = "boxing the client's future would cost an allocation a request")]
enum State<F, RB> {
    Misuse(&'static str),
    Head {
        #[pin]
        attempt: F,
        #[pin]
        timeout: Option<Sleep>,
        handle: LeaseHandle,
        tunnelled: bool,
        terms: Terms,
    },
    Drain {
        page: Drain<RB>,
        parts: Option<Parts>,
        #[pin]
        timeout: Sleep,
        handle: LeaseHandle,
        limits: Limits,
    },
    Done,
}

impl<F, RB> ClassifyFuture<F, RB> {
    pub(super) const fn misuse(why: &'static str) -> Self {
        Self { state: State::Misuse(why) }
    }

    pub(super) const fn head(attempt: F, handle: LeaseHandle, tunnelled: bool, terms: Terms) -> Self {
        Self { state: State::Head { attempt, timeout: None, handle, tunnelled, terms } }
    }
}

impl<F, RB, E> Future for ClassifyFuture<F, RB>
where
    F: Future<Output = Result<Response<RB>, E>>,
    E: Into<BoxError>,
    RB: Body + Unpin,
    RB::Error: Into<BoxError>,
{
    type Output = Result<Response<EgressBody<RB>>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Misuse(why) => {
                    let error = Error::refused(LeaseError::Misuse(why));
                    state.set(State::Done);
                    return Poll::Ready(Err(error));
                }
                StateProj::Head { attempt, timeout, handle, tunnelled, terms } => {
                    let answer = ready!(poll_head(attempt, timeout, &terms.limits, cx));
                    let (handle, mut tunnelled, limits) = (handle.clone(), *tunnelled, terms.limits);
                    let (parts, body) = match answer {
                        Ok(response) => response.into_parts(),
                        Err(error) => {
                            state.set(State::Done);
                            return Poll::Ready(Err(failed(error, &handle)));
                        }
                    };
                    // A client that does not say what it used was at least told to use a connection of its own.
                    let over = parts.extensions.get::<Connection>();
                    let kept = over.map_or_else(|| !handle.route().is_fresh(), Connection::is_kept);
                    tunnelled |= over.is_some_and(Connection::is_tunnelled);
                    let carried = status::Carried { tunnelled, kept };
                    // The clock is read for a date alone.
                    let dated = parts.headers.contains_key(RETRY_AFTER);
                    let now = if dated { handle.wall_now() } else { SystemTime::UNIX_EPOCH };
                    let evidence = status::head(parts.status, &parts.headers, carried, now);
                    let evidence = terms.rules.judge(&parts, &handle, tunnelled, evidence);
                    handle.report(evidence);
                    if !drain::wants(&evidence) || body.is_end_stream() {
                        state.set(State::Done);
                        return Poll::Ready(Ok(answered(parts, Some(body), First::new(), handle, limits)));
                    }
                    let (page, parts) = (Drain::new(body), Some(parts));
                    let timeout = tokio::time::sleep(drain::MAX_WAIT);
                    state.set(State::Drain { page, parts, timeout, handle, limits });
                }
                StateProj::Drain { page, parts, mut timeout, handle, limits } => {
                    let late = timeout.as_mut().poll(cx).is_ready();
                    if page.poll(cx, handle).is_pending() && !late {
                        return Poll::Pending;
                    }
                    let parts = parts.take().expect("taken once, when the state is left");
                    let (rest, first) = (page.rest.take(), std::mem::take(&mut page.first));
                    let response = answered(parts, rest, first, handle.clone(), *limits);
                    state.set(State::Done);
                    return Poll::Ready(Ok(response));
                }
                StateProj::Done => panic!("polled after completion"),
            }
        }
    }
}

/// The client's answer, or its error, or that it took too long.
fn poll_head<F, RB, E>(
    attempt: Pin<&mut F>,
    mut timeout: Pin<&mut Option<Sleep>>,
    limits: &Limits,
    cx: &mut Context<'_>,
) -> Poll<Result<Response<RB>, BoxError>>
where
    F: Future<Output = Result<Response<RB>, E>>,
    E: Into<BoxError>,
{
    // The clock goes first: where the client has used up the task's budget, a timer would say for ever that it is not time.
    let late = timeout.as_mut().as_pin_mut().is_some_and(|timeout| timeout.poll(cx).is_ready());
    if let Poll::Ready(answer) = attempt.poll(cx) {
        return Poll::Ready(answer.map_err(Into::into));
    }
    if !late {
        // Made at the first wait, so that an answer at once needs no timer.
        if timeout.is_none() {
            timeout.set(Some(tokio::time::sleep(limits.attempt)));
        }
        if let Some(timeout) = timeout.as_mut().as_pin_mut() {
            ready!(timeout.poll(cx));
        }
    }
    Poll::Ready(Err(Failure::new(Phase::Head, Seen::Unknown).timed_out().into()))
}

fn failed(error: BoxError, handle: &LeaseHandle) -> Error {
    match own(error) {
        Ok(own) => own,
        Err(error) => {
            let evidence = failure::error(&*error, handle.wall_now());
            handle.report(evidence);
            Error::failed(handle.exit(), evidence, error)
        }
    }
}

fn answered<RB: Body>(
    mut parts: Parts,
    rest: Option<RB>,
    first: First,
    handle: LeaseHandle,
    limits: Limits,
) -> Response<EgressBody<RB>> {
    parts.extensions.insert(handle.served());
    Response::from_parts(parts, EgressBody::new(rest, first, handle, limits.body_idle))
}

impl<F, RB> fmt::Debug for ClassifyFuture<F, RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassifyFuture").finish_non_exhaustive()
    }
}
