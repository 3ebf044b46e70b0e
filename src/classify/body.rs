//! The response body: counts, watches, holds the lease.

use super::drain::First;
use crate::body::into_bytes;
use crate::error::{BoxError, Error};
use crate::outcome::{Failure, Phase, Seen};
use crate::scheduler::{Hold, LeaseHandle};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// The body of a response that came through an exit.
///
/// It holds the lease until it has ended or is dropped. If it breaks, or nothing comes for the idle time, it ends with an
/// [`Error`] and the success that its head had reported is amended. The default is an empty body.
pub struct EgressBody<RB> {
    first: First,
    rest: Option<RB>,
    idle: Idle,
    /// Until the end was seen.
    watch: Option<Watch>,
}

impl<RB: Body> EgressBody<RB> {
    pub(super) fn new(rest: Option<RB>, first: First, handle: LeaseHandle, idle: Duration) -> Self {
        let hold = handle.hold();
        let watch = Watch { handle, _hold: hold };
        let rest = rest.filter(|rest| !rest.is_end_stream());
        let watch = rest.is_some().then_some(watch);
        Self { first, rest, idle: Idle { limit: idle, timer: None, running: false }, watch }
    }
}

impl<RB> EgressBody<RB> {
    /// The end, once: settles the count and gives the lease back.
    fn end(&mut self) -> Option<Watch> {
        self.rest = None;
        self.idle.timer = None;
        self.watch.take()
    }

    fn broken(&mut self, error: BoxError) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Poll::Ready(self.end().map(|watch| {
            let evidence = watch.handle.report_broken_body();
            Err(Error::failed(watch.handle.exit(), evidence, error))
        }))
    }
}

impl<RB> Body for EgressBody<RB>
where
    RB: Body + Unpin,
    RB::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        if let Some(frame) = this.first.pop_front() {
            return Poll::Ready(Some(frame));
        }
        let Some(rest) = &mut this.rest else { return Poll::Ready(None) };
        // The clock goes first: a body that uses up the task's budget must not stop it.
        let late = this.idle.is_over(cx);
        match Pin::new(&mut *rest).poll_frame(cx) {
            Poll::Pending => {
                if !late {
                    std::task::ready!(this.idle.poll(cx));
                }
                this.broken(Failure::new(Phase::Body, Seen::Seen).timed_out().into())
            }
            Poll::Ready(Some(Ok(frame))) => {
                this.idle.running = false;
                let frame = into_bytes(frame);
                if let (Some(watch), Some(data)) = (&this.watch, frame.data_ref()) {
                    watch.handle.add_bytes(data.len());
                }
                // A reader that goes by the length may never ask again.
                if rest.is_end_stream() {
                    this.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => this.broken(error.into()),
            Poll::Ready(None) => {
                this.end();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
        let read =
            self.first.iter().flatten().filter_map(Frame::data_ref).map(|data| data.len() as u64).sum();
        if read == 0 {
            return rest;
        }
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(read));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(read));
        }
        hint
    }
}

/// Time without a frame while somebody waits for one.
struct Idle {
    limit: Duration,
    /// Boxed, so that the body stays `Unpin`; made at the first wait and used again.
    timer: Option<Pin<Box<Sleep>>>,
    running: bool,
}

impl Idle {
    /// Whether a wait that has begun was too long.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        self.running && self.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready())
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let limit = self.limit;
        let sleep = || tokio::time::sleep(limit);
        let timer = match &mut self.timer {
            None => self.timer.insert(Box::pin(sleep())),
            Some(timer) => {
                if !self.running {
                    timer.set(sleep());
                }
                timer
            }
        };
        self.running = true;
        timer.as_mut().poll(cx)
    }
}

/// A type of its own, so that the body needs no `Drop` and can be taken apart.
struct Watch {
    handle: LeaseHandle,
    _hold: Option<Hold>,
}

impl Drop for Watch {
    /// The count is settled before the lease goes: fields are dropped after this.
    fn drop(&mut self) {
        self.handle.settle();
    }
}

impl<RB> Default for EgressBody<RB> {
    fn default() -> Self {
        let idle = Idle { limit: Duration::ZERO, timer: None, running: false };
        Self { first: First::new(), rest: None, idle, watch: None }
    }
}

impl<RB> fmt::Debug for EgressBody<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressBody")
            .field("exit", &self.watch.as_ref().map(|watch| watch.handle.exit()))
            .field("ended", &self.watch.is_none())
            .finish_non_exhaustive()
    }
}
