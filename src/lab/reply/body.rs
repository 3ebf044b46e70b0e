//! The body of an answer: whole, or cut where the script says.

use crate::lab::broken::Broken;
use crate::lab::clock;
use crate::lab::wire::{Hangup, Meter};
use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Most bytes of a scripted body in one frame, so that larger ones stream.
const CHUNK: usize = 16 * 1024;

/// How long the connection has to write what came before the end of a cut body, if that is another task's work.
const FLUSH: Duration = Duration::from_millis(20);

/// How a cut body ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    Close,
    Reset,
    Stall,
}

/// The body of a lab answer. It always promises its whole length; a cut one fails, or falls silent, before it.
pub struct ReplyBody {
    source: Source,
    /// Bytes to deliver before the end, and the end; `None` delivers all.
    cut: Option<(u64, Ending)>,
    state: State,
    hangup: Option<Arc<Hangup>>,
    /// How long to wait between the last byte and the failure, while others write.
    flush: Option<Pin<Box<Sleep>>>,
    meter: Option<Arc<Meter>>,
}

enum Source {
    Scripted(Bytes),
    Forwarded(Incoming),
}

/// `Flowing ─bytes used up→ Flushing ─polled again→ Ended`. Between the last byte and the failure the server must get a
/// chance to flush: it drops what it has buffered when a body fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Flowing,
    Flushing,
    Ended,
}

impl ReplyBody {
    pub(super) const fn of(body: Bytes, cut: Option<(u64, Ending)>) -> Self {
        Self::new(Source::Scripted(body), cut)
    }

    pub(in crate::lab) const fn empty() -> Self {
        Self::of(Bytes::new(), None)
    }

    /// A body that an exit passes on.
    pub(in crate::lab) const fn forwarded(body: Incoming) -> Self {
        Self::new(Source::Forwarded(body), None)
    }

    const fn new(source: Source, cut: Option<(u64, Ending)>) -> Self {
        Self { source, cut, state: State::Flowing, hangup: None, flush: None, meter: None }
    }

    /// Closes after this many bytes, unless it ends earlier anyway.
    pub(in crate::lab) fn cut_after(mut self, bytes: Option<u64>) -> Self {
        let sooner = |limit: &u64| self.cut.is_none_or(|(own, _)| *limit < own);
        if let Some(limit) = bytes.filter(sooner) {
            self.cut = Some((limit, Ending::Close));
        }
        self
    }

    /// Resets this connection where the script says so.
    pub(in crate::lab) fn on(mut self, hangup: Arc<Hangup>) -> Self {
        self.hangup = Some(hangup);
        self
    }

    /// The same where the body's task is not the one that writes, over HTTP/2: a failed stream drops what is not yet out.
    pub(in crate::lab) fn on_stream(mut self, hangup: Arc<Hangup>) -> Self {
        self.flush = self.cut.is_some().then(|| Box::pin(sleep(FLUSH)));
        self.on(hangup)
    }

    /// Counts what is delivered.
    pub(in crate::lab) fn metered(mut self, meter: Arc<Meter>) -> Self {
        self.meter = Some(meter);
        self
    }

    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.source {
            Source::Scripted(bytes) if bytes.is_empty() => Poll::Ready(None),
            Source::Scripted(bytes) => {
                let chunk = bytes.split_to(bytes.len().min(CHUNK));
                Poll::Ready(Some(Ok(Frame::data(chunk))))
            }
            Source::Forwarded(body) => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(|_| Broken::body())))
            }
        }
    }

    /// The part of a chunk that may go out; notes when there is more than that.
    fn admit(&mut self, mut chunk: Bytes) -> Bytes {
        if let Some((left, _)) = &mut self.cut {
            if chunk.len() as u64 > *left {
                chunk.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                self.state = State::Flushing;
                if let Some(flush) = &mut self.flush {
                    flush.as_mut().reset(clock::now() + FLUSH);
                }
            }
            *left -= chunk.len() as u64;
        }
        if let Some(meter) = &self.meter {
            meter.add_written(chunk.len());
        }
        chunk
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let ending = self.cut.map_or(Ending::Close, |(_, ending)| ending);
        if ending == Ending::Stall {
            return Poll::Pending;
        }
        if self.state == State::Flushing {
            if let Some(flush) = &mut self.flush {
                ready!(flush.as_mut().poll(cx));
            }
            self.state = State::Ended;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let (Ending::Reset, Some(hangup)) = (ending, &self.hangup) {
            hangup.reset();
        }
        Poll::Ready(Some(Err(Broken::body())))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        while self.state == State::Flowing {
            match ready!(self.poll_source(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(chunk) => {
                        let chunk = self.admit(chunk);
                        if chunk.has_remaining() {
                            return Poll::Ready(Some(Ok(Frame::data(chunk))));
                        }
                    }
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                // What came before the failure still goes out.
                Some(Err(_)) => self.state = State::Flushing,
                None => return Poll::Ready(None),
            }
        }
        self.poll_end(cx)
    }

    fn is_end_stream(&self) -> bool {
        let drained = match &self.source {
            Source::Scripted(bytes) => bytes.is_empty(),
            Source::Forwarded(body) => body.is_end_stream(),
        };
        drained && self.state == State::Flowing
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Scripted(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Source::Forwarded(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyBody")
            .field("size", &self.size_hint())
            .field("cut", &self.cut)
            .finish_non_exhaustive()
    }
}
