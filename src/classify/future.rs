//! One attempt, from the request to the answer's head.

use super::EgressBody;
use super::cap::Cap;
use super::collect::Collect;
use super::drain::{self, Drain, First};
use super::layer::{Limits, Terms};
use super::service::own;
use super::watch::Watch;
use super::{failure, gateway, status};
use crate::error::{BoxError, Error, LeaseError};
use crate::outcome::{Connection, Evidence, Failure, Phase, Seen};
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
use std::time::{Duration, SystemTime};
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

/// `Head ─error→ Done`, `Head ─head→ reported ─┬→ Done`, `├refused→ Drain ─read or 100 ms→ Done`,
/// `└good, to be whole→ Collect ─read or broken→ Done`
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
        /// First: the body goes before its lease does.
        page: Drain<RB>,
        #[pin]
        timeout: Sleep,
        head: Option<Answered>,
    },
    Collect {
        page: Collect<RB>,
        head: Option<Answered>,
    },
    Done,
}

/// An answer without its body.
struct Answered {
    parts: Parts,
    watch: Watch,
    idle: Duration,
}

impl Answered {
    fn with_body<RB: Body>(self, first: First, rest: Option<RB>, cap: Cap) -> Response<EgressBody<RB>> {
        let Self { mut parts, watch, idle } = self;
        parts.extensions.insert(watch.handle.served());
        Response::from_parts(parts, EgressBody::new(first, rest, cap, watch, idle))
    }
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
                    let (handle, limits) = (handle.clone(), terms.limits);
                    let (parts, body) = match answer {
                        Ok(response) => response.into_parts(),
                        Err(error) => {
                            state.set(State::Done);
                            return Poll::Ready(Err(failed(error, &handle)));
                        }
                    };
                    let evidence = judge(&parts, &handle, *tunnelled, terms);
                    let drains = drain::wants(&evidence) && drain::helps(&parts, &body, &handle);
                    let (cap, idle) = (Cap::of(limits.collect), limits.body_idle);
                    let head = Answered { parts, watch: Watch::new(handle), idle };
                    if body.is_end_stream() {
                        state.set(State::Done);
                        return Poll::Ready(Ok(head.with_body(First::new(), None, cap)));
                    } else if limits.collect.is_some() && evidence.outcome.is_ok() {
                        head.watch.handle.set_collecting(true);
                        let page = Collect::new(body, cap, idle);
                        state.set(State::Collect { page, head: Some(head) });
                    } else if drains {
                        let timeout = tokio::time::sleep(drain::MAX_WAIT);
                        state.set(State::Drain { page: Drain::new(body, cap), timeout, head: Some(head) });
                    } else {
                        state.set(State::Done);
                        return Poll::Ready(Ok(head.with_body(First::new(), Some(body), cap)));
                    }
                }
                StateProj::Drain { page, mut timeout, head } => {
                    let late = timeout.as_mut().poll(cx).is_ready();
                    let answered = head.as_ref().expect(TAKEN_ONCE);
                    if page.poll(cx, &answered.watch.handle).is_pending() && !late {
                        return Poll::Pending;
                    }
                    let (first, rest, cap) = page.take();
                    let response = head.take().expect(TAKEN_ONCE).with_body(first, rest, cap);
                    state.set(State::Done);
                    return Poll::Ready(Ok(response));
                }
                StateProj::Collect { page, head } => {
                    let handle = &head.as_ref().expect(TAKEN_ONCE).watch.handle;
                    let whole = ready!(page.poll(cx, handle));
                    handle.set_collecting(false);
                    let head = head.take().expect(TAKEN_ONCE);
                    state.set(State::Done);
                    return Poll::Ready(whole.map(|whole| head.with_body(whole, None, Cap::NONE)));
                }
                StateProj::Done => panic!("polled after completion"),
            }
        }
    }
}

const TAKEN_ONCE: &str = "taken once, when the state is left";

/// What the head shows; reported, and with it what counts the bytes to come.
fn judge(parts: &Parts, handle: &LeaseHandle, tunnelled: bool, terms: &Terms) -> Evidence {
    // A client that does not say what it used was at least told to use a connection of its own.
    let over = parts.extensions.get::<Connection>();
    let kept = over.map_or_else(|| !handle.route().is_fresh(), Connection::is_kept);
    let tunnelled = tunnelled || over.is_some_and(Connection::is_tunnelled);
    let (vendor, phrase) = (handle.route().vendor(), gateway::phrase(&parts.extensions));
    let carried = status::Carried { tunnelled, kept, vendor, phrase };
    // The clock is read for a date alone.
    let dated = parts.headers.contains_key(RETRY_AFTER);
    let now = if dated { handle.wall_now() } else { SystemTime::UNIX_EPOCH };
    let evidence = status::head(parts.status, &parts.headers, carried, now);
    let evidence = terms.rules.judge(parts, handle, tunnelled, evidence);
    if let Some(traffic) = over.and_then(Connection::traffic) {
        handle.count(traffic.clone());
    }
    if let Some(egress) = gateway::egress(vendor, &parts.headers, over, tunnelled) {
        handle.reveal(&egress);
    }
    handle.report(evidence);
    evidence
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
    // Made at the first wait, so that an answer at once needs no timer. From then on it has been asked already.
    if timeout.is_none() {
        timeout.set(Some(tokio::time::sleep(limits.attempt)));
        if let Some(timeout) = timeout.as_mut().as_pin_mut() {
            ready!(timeout.poll(cx));
        }
    } else if !late {
        return Poll::Pending;
    }
    Poll::Ready(Err(Failure::new(Phase::Head, Seen::Unknown).timed_out().into()))
}

fn failed(error: BoxError, handle: &LeaseHandle) -> Error {
    match own(error) {
        Ok(own) => own,
        Err(error) => {
            let (evidence, wire) = failure::error(&*error, handle.route().vendor(), handle.wall_now());
            handle.add_wire(wire);
            handle.report(evidence);
            Error::failed(handle.exit(), evidence, error)
        }
    }
}

impl<F, RB> fmt::Debug for ClassifyFuture<F, RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassifyFuture").finish_non_exhaustive()
    }
}
