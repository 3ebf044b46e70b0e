//! Reads the small page that comes with a refusal, so that its connection can serve again: a response that is dropped
//! unread costs its connection.

use super::cap::Cap;
use crate::body::into_bytes;
use crate::error::{BoxError, Error};
use crate::outcome::{Connection, Evidence, Outcome};
use crate::scheduler::LeaseHandle;
use bytes::Bytes;
use http::response::Parts;
use http_body::{Body, Frame};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Most that is read ahead.
const MAX_BYTES: usize = 16 << 10;
/// Most frames that are read ahead: empty ones count too.
const MAX_FRAMES: usize = 64;
/// Longest that an answer is kept back for its page.
pub(super) const MAX_WAIT: Duration = Duration::from_millis(100);

/// Frames that were read ahead, and at last perhaps the error that ended them.
pub(super) type First = VecDeque<Result<Frame<Bytes>, Error>>;

/// Whether the answer is likely to be followed by another attempt. Everything else goes up at once.
pub(super) fn wants(evidence: &Evidence) -> bool {
    matches!(
        evidence.outcome,
        Outcome::RateLimited { .. } | Outcome::Blocked { .. } | Outcome::OriginError { .. }
    )
}

/// Whether there is a connection to win by it. Without a retry layer the answer is its reader's at once; and a page that is
/// longer than is read ahead costs its connection in any case.
pub(super) fn helps(parts: &Parts, body: &impl Body, handle: &LeaseHandle) -> bool {
    let ending = parts.extensions.get().is_some_and(Connection::is_ending);
    handle.is_retried()
        && !ending
        && !handle.route().is_fresh()
        && body.size_hint().lower() <= MAX_BYTES as u64
}

/// A body with its first frames read.
#[derive(Debug)]
pub(super) struct Drain<RB> {
    rest: Option<RB>,
    first: First,
    bytes: usize,
    cap: Cap,
}

impl<RB> Drain<RB> {
    pub(super) fn new(body: RB, cap: Cap) -> Self {
        Self { rest: Some(body), first: First::new(), bytes: 0, cap }
    }

    /// What was read, the rest, and how long that may be.
    pub(super) fn take(&mut self) -> (First, Option<RB>, Cap) {
        (std::mem::take(&mut self.first), self.rest.take(), self.cap)
    }
}

impl<RB> Drain<RB>
where
    RB: Body + Unpin,
    RB::Error: Into<BoxError>,
{
    /// Ready when the body has ended, or as much was read as may be.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, handle: &LeaseHandle) -> Poll<()> {
        while self.bytes < MAX_BYTES && self.first.len() < MAX_FRAMES {
            let Some(body) = self.rest.as_mut().filter(|body| !body.is_end_stream()) else { break };
            match std::task::ready!(Pin::new(body).poll_frame(cx)) {
                None => self.rest = None,
                Some(Ok(frame)) => {
                    let frame = into_bytes(frame);
                    let bytes = frame.data_ref().map_or(0, Bytes::len);
                    if let Err(too_large) = self.cap.take(bytes) {
                        self.rest = None;
                        self.first.push_back(Err(too_large.of(handle)));
                        break;
                    }
                    handle.add_bytes(bytes);
                    self.bytes += bytes;
                    self.first.push_back(Ok(frame));
                }
                Some(Err(error)) => {
                    self.rest = None;
                    let evidence = handle.report_broken_body();
                    self.first.push_back(Err(Error::failed(handle.exit(), evidence, error.into())));
                }
            }
        }
        Poll::Ready(())
    }
}
