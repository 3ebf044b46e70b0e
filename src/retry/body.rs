//! A request body that can be sent again if it is small.

use crate::body::into_bytes;
use crate::error::BoxError;
use crate::scheduler::sync::{Mutex, lock};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Most frames that are kept: empty ones take room too.
const MAX_FRAMES: usize = 1024;

/// A request body whose clones are the same body for another attempt.
///
/// Nothing is read ahead and nothing is copied: frames are kept by reference as they pass, up to the cap and 1,024 of them. So
///
/// - an empty body can always be sent again;
/// - any body can, as long as nobody has asked it for a frame: an attempt that never reached the origin costs nothing;
/// - one that fits under the cap can, in memory or streaming, trailers included. Of one that is half sent the next attempt
///   gets what was kept, and goes on with the rest;
/// - a larger one is sent once: as soon as more than the cap has passed, nothing is kept.
///
/// A clone that is polled after a later clone was gets an error, never another's bytes.
pub struct ReplayBody<B>(Option<Part<B>>);

struct Part<B> {
    shared: Arc<Mutex<Shared<B>>>,
    /// The next of the kept frames.
    at: usize,
    /// Which attempt this is for.
    turn: u32,
}

struct Shared<B> {
    /// Boxed, because a body that may not move is polled behind a lock. `None` once it has ended.
    inner: Option<Pin<Box<B>>>,
    kept: Vec<Frame<Bytes>>,
    bytes: usize,
    cap: usize,
    /// It said at first how long it is. What did not does not later either, so that all attempts are framed alike.
    sized: bool,
    /// A frame went by that was not kept, or the body broke.
    gone: bool,
    /// The latest attempt that was polled.
    turn: u32,
}

impl<B> Part<B> {
    /// The body has gone with an attempt before: it is no empty one.
    const fn is_too_late(&self, shared: &Shared<B>) -> bool {
        self.turn > shared.turn && shared.gone
    }
}

impl<B: Body> ReplayBody<B> {
    /// Wraps a body; `cap` bounds the bytes that are kept.
    #[must_use]
    pub fn new(body: B, cap: usize) -> Self {
        if body.is_end_stream() {
            return Self(None);
        }
        // What says that it will not fit is not even begun to be kept.
        let gone = body.size_hint().lower() > cap as u64;
        let cap = if gone { 0 } else { cap };
        let sized = body.size_hint().exact().is_some();
        let (inner, kept) = (Some(Box::pin(body)), Vec::new());
        let shared = Shared { inner, kept, bytes: 0, cap, sized, gone: false, turn: 0 };
        Self(Some(Part { shared: Arc::new(Mutex::new(shared)), at: 0, turn: 0 }))
    }

    /// Whether a clone would be the whole body.
    #[must_use]
    pub fn is_replayable(&self) -> bool {
        self.0.as_ref().is_none_or(|part| !lock(&part.shared).gone)
    }

    /// The attempt before this one is over: what may still be sending for it gets nothing more, so that it cannot run over the
    /// cap while this one waits.
    pub(super) fn claim(&self) {
        if let Some(part) = &self.0 {
            let mut shared = lock(&part.shared);
            if !shared.gone {
                shared.turn = shared.turn.max(part.turn);
            }
        }
    }
}

impl<B> Clone for ReplayBody<B> {
    /// The whole body again, from its first byte.
    fn clone(&self) -> Self {
        Self(self.0.as_ref().map(|part| Part {
            shared: Arc::clone(&part.shared),
            at: 0,
            turn: part.turn.saturating_add(1),
        }))
    }
}

impl<B> Body for ReplayBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let Some(part) = &mut this.0 else { return Poll::Ready(None) };
        let mut shared = lock(&part.shared);
        if part.turn < shared.turn {
            return Poll::Ready(Some(Err("the body has gone to a later attempt".into())));
        }
        if part.is_too_late(&shared) {
            return Poll::Ready(Some(Err("the body was sent already and not kept".into())));
        }
        shared.turn = part.turn;
        if let Some(frame) = shared.kept.get(part.at) {
            part.at += 1;
            return Poll::Ready(Some(Ok(copy(frame))));
        }
        let next = std::task::ready!(shared.poll(cx));
        if matches!(next, Some(Ok(_))) && !shared.gone {
            part.at += 1;
        }
        drop(shared);
        if next.is_none() {
            this.0 = None;
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|part| {
            let shared = lock(&part.shared);
            let ended = shared.inner.is_none() && part.at >= shared.kept.len();
            ended && shared.sized && !part.is_too_late(&shared)
        })
    }

    fn size_hint(&self) -> SizeHint {
        let Some(part) = &self.0 else { return SizeHint::with_exact(0) };
        let shared = lock(&part.shared);
        if part.is_too_late(&shared) {
            return SizeHint::default();
        }
        let left = shared.kept.iter().skip(part.at).filter_map(Frame::data_ref);
        let left: u64 = left.map(|data| data.len() as u64).sum();
        let rest = shared.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), |inner| inner.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(left));
        if let Some(upper) = rest.upper().filter(|_| shared.sized) {
            hint.set_upper(upper.saturating_add(left));
        }
        hint
    }
}

impl<B> Shared<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let next = std::task::ready!(inner.as_mut().poll_frame(cx));
        let ended = inner.is_end_stream();
        let next = match next {
            Some(Ok(frame)) => Some(Ok(self.keep(into_bytes(frame)))),
            Some(Err(error)) => {
                self.give_up();
                Some(Err(error.into()))
            }
            None => None,
        };
        if ended || !matches!(next, Some(Ok(_))) {
            self.inner = None;
        }
        Poll::Ready(next)
    }

    fn keep(&mut self, frame: Frame<Bytes>) -> Frame<Bytes> {
        self.bytes = self.bytes.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        if self.bytes > self.cap || self.kept.len() >= MAX_FRAMES {
            self.give_up();
        } else if !self.gone {
            self.kept.push(copy(&frame));
        }
        frame
    }

    fn give_up(&mut self) {
        self.gone = true;
        self.kept = Vec::new();
    }
}

/// A reference to the same bytes.
fn copy(frame: &Frame<Bytes>) -> Frame<Bytes> {
    match (frame.data_ref(), frame.trailers_ref()) {
        (Some(data), _) => Frame::data(data.clone()),
        (None, trailers) => Frame::trailers(trailers.cloned().unwrap_or_default()),
    }
}

impl<B> fmt::Debug for ReplayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayBody").field("empty", &self.0.is_none()).finish_non_exhaustive()
    }
}
