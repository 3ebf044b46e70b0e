//! One attempt, from the request to the answer's head.

use super::EgressBody;
use super::cap::Cap;
use super::collect::Collect;
use super::failure;
use super::judge::Judged;
use super::layer::{Limits, Terms};
use super::peek::{self, First, Peek, Rest};
use super::service::own;
use super::watch::Watch;
use crate::error::{BoxError, Error, LeaseError};
use crate::outcome::{Failure, Phase, Seen};
use crate::scheduler::LeaseHandle;
use http::Response;
use http::response::Parts;
use http_body::Body;
use pin_project::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

/// The future of [`Classify`](super::Classify).
///
/// # Cancel safety
/// Dropped before the answer's head, it blames nobody; dropped while a page is read, it reports what the head shows; after
/// that the report stands. The lease is not its own.
#[pin_project]
pub struct ClassifyFuture<F, RB> {
    #[pin]
    state: State<F, RB>,
}

/// `Head ─error→ Done`, `Head ─head→ ─┬→ reported, Done`, `├page to be searched→ Peek ─read, or late→ reported, Done or Collect`,
/// `├refused→ reported, Peek ─read, or late→ Done`, `└good, to be whole→ reported, Collect ─read or broken→ Done`
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
    Peek {
        /// First: the body goes, and the word is said, before its lease goes.
        page: Peek<RB>,
        judged: Judged,
        wait: Duration,
        #[pin]
        timeout: Option<Sleep>,
        head: Option<Answered>,
    },
    Collect {
        page: Collect<RB>,
        judged: Judged,
        head: Option<Answered>,
    },
    Done,
}

/// An answer without its body.
struct Answered {
    parts: Parts,
    watch: Watch,
    idle: Duration,
    collect: Option<u64>,
}

impl Answered {
    fn with_body<RB: Body>(self, first: First, rest: Rest<RB>, cap: Cap) -> Response<EgressBody<RB>> {
        let Self { mut parts, watch, idle, .. } = self;
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
                    let mut judged = Judged::of_head(&parts, &handle, *tunnelled, terms);
                    let (cap, idle) = (Cap::of(limits.collect), limits.body_idle);
                    let wait = judged.wait(&parts, &body);
                    let head = Answered { parts, watch: Watch::new(handle), idle, collect: limits.collect };
                    if let Some(wait) = wait {
                        // The answer is there: a deadline leaves it the time to be read.
                        head.watch.handle.set_heard();
                        let page = Peek::new(body, cap);
                        state.set(State::Peek { page, judged, wait, timeout: None, head: Some(head) });
                        continue;
                    }
                    let evidence = judged.report();
                    if body.is_end_stream() {
                        state.set(State::Done);
                        return Poll::Ready(Ok(head.with_body(First::new(), Rest::Nothing, cap)));
                    } else if limits.collect.is_some() && evidence.outcome.is_ok() {
                        state.set(State::collect(Collect::new(body, cap, idle), judged, head));
                    } else if peek::drains(&evidence, &head.parts, &body, &head.watch.handle) {
                        let (page, wait) = (Peek::new(body, cap), peek::MAX_WAIT);
                        state.set(State::Peek { page, judged, wait, timeout: None, head: Some(head) });
                    } else {
                        state.set(State::Done);
                        return Poll::Ready(Ok(head.with_body(First::new(), Rest::Body(body), cap)));
                    }
                }
                StateProj::Peek { page, judged, wait, timeout, head } => {
                    let answered = head.as_ref().expect(TAKEN_ONCE);
                    let handle = &answered.watch.handle;
                    ready!(poll_page(page, *wait, timeout, handle, cx));
                    page.look(&answered.parts.headers, |text| judged.see(&answered.parts, text));
                    let evidence = judged.report();
                    let (mut first, rest, cap) = page.take(handle);
                    let head = head.take().expect(TAKEN_ONCE);
                    if head.collect.is_some() && evidence.outcome.is_ok() {
                        let broken = match rest {
                            Rest::Break(error) => Err(broken(error, &head.watch.handle)),
                            Rest::Nothing | Rest::Body(_) if matches!(first.back(), Some(Err(_))) => {
                                first.pop_back().map_or(Ok(None), |last| last.map(|_| None))
                            }
                            Rest::Nothing => Ok(None),
                            Rest::Body(rest) => Ok(Some(rest)),
                        };
                        let rest = match broken {
                            Ok(rest) => rest,
                            Err(error) => {
                                state.set(State::Done);
                                return Poll::Ready(Err(error));
                            }
                        };
                        let page = Collect::after(first, rest, cap, head.idle);
                        let judged = judged.take();
                        state.set(State::collect(page, judged, head));
                        continue;
                    }
                    state.set(State::Done);
                    return Poll::Ready(Ok(head.with_body(first, rest, cap)));
                }
                StateProj::Collect { page, judged, head } => {
                    let answered = head.as_ref().expect(TAKEN_ONCE);
                    let handle = &answered.watch.handle;
                    let whole = ready!(page.poll(cx, handle));
                    handle.set_collecting(false);
                    if let Ok(whole) = &whole {
                        judged.see_whole(&answered.parts, whole);
                    }
                    let head = head.take().expect(TAKEN_ONCE);
                    state.set(State::Done);
                    return Poll::Ready(whole.map(|whole| head.with_body(whole, Rest::Nothing, Cap::NONE)));
                }
                StateProj::Done => panic!("polled after completion"),
            }
        }
    }
}

/// A body that was to be whole breaks within its attempt.
fn broken(error: BoxError, handle: &LeaseHandle) -> Error {
    let evidence = handle.report_broken_body();
    Error::failed(handle.exit(), evidence, error)
}

const TAKEN_ONCE: &str = "taken once, when the state is left";

impl<F, RB> State<F, RB> {
    fn collect(page: Collect<RB>, judged: Judged, head: Answered) -> Self {
        head.watch.handle.set_collecting(true);
        Self::Collect { page, judged, head: Some(head) }
    }
}

/// As much of a page as is read ahead, or as has come in time.
fn poll_page<RB>(
    page: &mut Peek<RB>,
    wait: Duration,
    mut timeout: Pin<&mut Option<Sleep>>,
    handle: &LeaseHandle,
    cx: &mut Context<'_>,
) -> Poll<()>
where
    RB: Body + Unpin,
    RB::Error: Into<BoxError>,
{
    // The clock goes first, as below. Made at the first wait, so that a page that came with its head needs no timer.
    let late = timeout.as_mut().as_pin_mut().is_some_and(|timeout| timeout.poll(cx).is_ready());
    if page.poll(cx, handle).is_ready() || late {
        return Poll::Ready(());
    }
    if timeout.is_none() {
        timeout.set(Some(tokio::time::sleep(wait)));
        if let Some(timeout) = timeout.as_mut().as_pin_mut() {
            return timeout.poll(cx);
        }
    }
    Poll::Pending
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
