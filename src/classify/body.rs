//! The response body: counts, watches, holds the lease.

use super::cap::Cap;
use super::peek::{First, Rest};
use super::watch::{Idle, Watch, brings_something};
use crate::body::into_bytes;
use crate::error::{BoxError, Error};
use crate::outcome::{Failure, Phase, Seen};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The body of a response that came through an exit.
///
/// It holds the lease until it has ended or is dropped. If it breaks, or nothing comes for the idle time, it ends with an
/// [`Error`] and the success that its head had reported is amended. The default is an empty body.
pub struct EgressBody<RB> {
    first: First,
    rest: Option<RB>,
    /// It broke off behind what was read ahead.
    cut: Option<BoxError>,
    idle: Idle,
    cap: Cap,
    /// Until the end was seen.
    watch: Option<Watch>,
}

impl<RB: Body> EgressBody<RB> {
    /// What was read of a body, and the rest of it.
    pub(super) fn new(first: First, rest: Rest<RB>, cap: Cap, watch: Watch, idle: Duration) -> Self {
        let (rest, cut) = match rest {
            Rest::Nothing => (None, None),
            Rest::Body(rest) => (Some(rest).filter(|rest| !rest.is_end_stream()), None),
            Rest::Break(error) => (None, Some(error)),
        };
        let watch = (rest.is_some() || cut.is_some()).then_some(watch);
        Self { first, rest, cut, idle: Idle::new(idle), cap, watch }
    }
}

impl<RB> EgressBody<RB> {
    /// The end, once: settles the count and gives the lease back.
    fn end(&mut self) -> Option<Watch> {
        self.rest = None;
        self.idle.stop();
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
        if let Some(error) = this.cut.take() {
            return this.broken(error);
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
                let frame = into_bytes(frame);
                if brings_something(&frame) {
                    this.idle.rest();
                } else if late {
                    return this.broken(Failure::new(Phase::Body, Seen::Seen).timed_out().into());
                }
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                if let Err(too_large) = this.cap.take(bytes) {
                    return Poll::Ready(this.end().map(|watch| Err(too_large.of(&watch.handle))));
                }
                if let Some(watch) = &this.watch {
                    watch.handle.add_bytes(bytes);
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
        self.first.is_empty() && self.cut.is_none() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let nothing = || if self.cut.is_some() { SizeHint::new() } else { SizeHint::with_exact(0) };
        let rest = self.rest.as_ref().map_or_else(nothing, Body::size_hint);
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

impl<RB> Default for EgressBody<RB> {
    fn default() -> Self {
        let (idle, cap) = (Idle::new(Duration::ZERO), Cap::NONE);
        Self { first: First::new(), rest: None, cut: None, idle, cap, watch: None }
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
