//! Reads the whole body of a good answer before it goes up, so that one that breaks can be had again.

use super::cap::Cap;
use super::peek::First;
use super::watch::{Idle, brings_something};
use crate::body::into_bytes;
use crate::error::{BoxError, Error};
use crate::outcome::{Failure, Phase, Seen};
use crate::scheduler::LeaseHandle;
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Data of this size is kept as it came; smaller data is gathered, since a frame takes room of its own.
const WHOLE: usize = 4 << 10;
/// Frames that are read before others of the task's thread may go on: a body of empty ones is always ready.
const AT_ONCE: usize = 64;

/// A body that is being collected.
pub(super) struct Collect<RB> {
    rest: Option<RB>,
    whole: First,
    /// Behind what is in `whole`.
    small: BytesMut,
    cap: Cap,
    idle: Idle,
}

impl<RB> Collect<RB> {
    pub(super) fn new(body: RB, cap: Cap, idle: Duration) -> Self {
        Self { rest: Some(body), whole: First::new(), small: BytesMut::new(), cap, idle: Idle::new(idle) }
    }

    /// Of which the first was read already, and is counted.
    pub(super) fn after(first: First, rest: Option<RB>, cap: Cap, idle: Duration) -> Self {
        let (whole, small) = (First::new(), BytesMut::new());
        let mut collect = Self { rest, whole, small, cap, idle: Idle::new(idle) };
        first.into_iter().flatten().for_each(|frame| collect.put(frame));
        collect
    }

    fn put(&mut self, frame: Frame<Bytes>) {
        match frame.into_data() {
            Ok(data) => self.push(data),
            // Trailers are the end. More of them would take room that nobody counts.
            Err(trailers) => {
                self.rest = None;
                self.gather();
                self.whole.push_back(Ok(trailers));
            }
        }
    }

    fn push(&mut self, data: Bytes) {
        if data.len() < WHOLE {
            self.small.extend_from_slice(&data);
        } else {
            self.gather();
            self.whole.push_back(Ok(Frame::data(data)));
        }
    }

    fn gather(&mut self) {
        if !self.small.is_empty() {
            self.whole.push_back(Ok(Frame::data(self.small.split().freeze())));
        }
    }

    fn silent(&mut self, handle: &LeaseHandle) -> Error {
        self.broken(handle, Failure::new(Phase::Body, Seen::Seen).timed_out().into())
    }

    /// The connection goes first, and with it what counts its bytes.
    fn broken(&mut self, handle: &LeaseHandle, error: BoxError) -> Error {
        self.rest = None;
        let evidence = handle.report_broken_body();
        Error::failed(handle.exit(), evidence, error)
    }
}

impl<RB> Collect<RB>
where
    RB: Body + Unpin,
    RB::Error: Into<BoxError>,
{
    /// All of it, or why not.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, handle: &LeaseHandle) -> Poll<Result<First, Error>> {
        // The clock goes first: a body that uses up the task's budget must not stop it.
        let mut late = self.idle.is_over(cx);
        for _ in 0..AT_ONCE {
            let Some(body) = self.rest.as_mut().filter(|body| !body.is_end_stream()) else {
                self.rest = None;
                self.gather();
                return Poll::Ready(Ok(std::mem::take(&mut self.whole)));
            };
            // What says that it will not fit is not read.
            if let Err(too_large) = self.cap.allows(body.size_hint().lower()) {
                self.rest = None;
                return Poll::Ready(Err(too_large.of(handle)));
            }
            match Pin::new(body).poll_frame(cx) {
                Poll::Pending => {
                    if !late {
                        std::task::ready!(self.idle.poll(cx));
                    }
                    return Poll::Ready(Err(self.silent(handle)));
                }
                Poll::Ready(None) => self.rest = None,
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Err(self.broken(handle, error.into())));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    let frame = into_bytes(frame);
                    if brings_something(&frame) {
                        self.idle.rest();
                        late = false;
                    } else if late {
                        return Poll::Ready(Err(self.silent(handle)));
                    }
                    if let Err(error) = self.keep(frame, handle) {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn keep(&mut self, frame: Frame<Bytes>, handle: &LeaseHandle) -> Result<(), Error> {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        if let Err(too_large) = self.cap.take(bytes) {
            self.rest = None;
            return Err(too_large.of(handle));
        }
        handle.add_bytes(bytes);
        self.put(frame);
        Ok(())
    }
}
