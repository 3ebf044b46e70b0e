//! Reads the start of a body before its answer goes up: to search it for what the head did not say, and so that the
//! connection of a small refused page can serve again, which a response that is dropped unread costs.
//!
//! Not a byte is lost by it: the frames that were read, trailers and errors included, go up first and as they came.

use super::cap::{Cap, TooLarge};
use super::pages::{MAX_BYTES, Page, unpack};
use crate::body::into_bytes;
use crate::error::{BoxError, Error};
use crate::outcome::{Connection, Evidence, Outcome};
use crate::scheduler::LeaseHandle;
use bytes::Bytes;
use http::HeaderMap;
use http::response::Parts;
use http_body::{Body, Frame};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Most frames that are read ahead: empty ones count too.
const MAX_FRAMES: usize = 64;
/// Longest that an answer is kept back for its page.
pub(super) const MAX_WAIT: Duration = Duration::from_millis(100);

/// Frames that were read ahead, and at last perhaps the error that ended them.
pub(super) type First = VecDeque<Result<Frame<Bytes>, Error>>;

/// What comes after them.
pub(super) enum Rest<RB> {
    Nothing,
    Body(RB),
    /// It broke off there. Whoever reads so far is told, and the attempt amended then, as with any body that breaks: that it was
    /// read ahead makes no other attempt of it.
    Break(BoxError),
}

/// Whether the answer is likely to be followed by another attempt, and there is a connection to win by reading it. Without a
/// retry layer the answer is its reader's at once; and a page that is longer than is read ahead costs its connection in any
/// case.
pub(super) fn drains(evidence: &Evidence, parts: &Parts, body: &impl Body, handle: &LeaseHandle) -> bool {
    let refused = matches!(
        evidence.outcome,
        Outcome::RateLimited { .. } | Outcome::Blocked { .. } | Outcome::OriginError { .. }
    );
    let ending = parts.extensions.get().is_some_and(Connection::is_ending);
    refused
        && handle.is_retried()
        && !ending
        && !handle.route().is_fresh()
        && body.size_hint().lower() <= MAX_BYTES as u64
}

/// A body with its first frames read.
pub(super) struct Peek<RB> {
    rest: Option<RB>,
    first: First,
    bytes: usize,
    cap: Cap,
    end: Option<End>,
}

/// How reading ahead has ended, where it could not go on. Told after what the attempt has shown.
enum End {
    Broken(BoxError),
    TooLarge(TooLarge),
}

impl<RB> Peek<RB> {
    pub(super) const fn new(body: RB, cap: Cap) -> Self {
        Self { rest: Some(body), first: First::new(), bytes: 0, cap, end: None }
    }

    /// What was read, the rest, and how long that may be. Once the attempt is reported: a body that is too long amends that.
    pub(super) fn take(&mut self, handle: &LeaseHandle) -> (First, Rest<RB>, Cap) {
        let rest = match self.end.take() {
            None => self.rest.take().map_or(Rest::Nothing, Rest::Body),
            Some(end) => {
                // The connection goes first, and with it what counts its bytes.
                self.rest = None;
                match end {
                    End::TooLarge(too_large) => {
                        self.first.push_back(Err(too_large.of(handle)));
                        Rest::Nothing
                    }
                    End::Broken(error) => Rest::Break(error),
                }
            }
        };
        (std::mem::take(&mut self.first), rest, self.cap)
    }
}

impl<RB> Peek<RB>
where
    RB: Body + Unpin,
    RB::Error: Into<BoxError>,
{
    /// Ready when the body has ended, or as much was read as may be.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, handle: &LeaseHandle) -> Poll<()> {
        while self.bytes < MAX_BYTES && self.first.len() < MAX_FRAMES && self.end.is_none() {
            let Some(body) = self.rest.as_mut().filter(|body| !body.is_end_stream()) else { break };
            match std::task::ready!(Pin::new(body).poll_frame(cx)) {
                None => self.rest = None,
                Some(Ok(frame)) => {
                    let frame = into_bytes(frame);
                    let bytes = frame.data_ref().map_or(0, Bytes::len);
                    if let Err(too_large) = self.cap.take(bytes) {
                        self.end = Some(End::TooLarge(too_large));
                        break;
                    }
                    handle.add_bytes(bytes);
                    self.bytes += bytes;
                    self.first.push_back(Ok(frame));
                }
                Some(Err(error)) => self.end = Some(End::Broken(error.into())),
            }
        }
        Poll::Ready(())
    }

    /// Whether nothing is left to read.
    fn is_whole(&self) -> bool {
        self.end.is_none() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    /// What was read, unpacked, for `look`; nothing if it is packed in a way that is not known.
    pub(super) fn look<T>(&self, headers: &HeaderMap, look: impl FnOnce(Option<Page<'_>>) -> T) -> T {
        look_at(&self.first, self.is_whole(), headers, look)
    }
}

/// The start of a body that was read, unpacked, for `look`.
pub(super) fn look_at<T>(
    read: &First,
    whole: bool,
    headers: &HeaderMap,
    look: impl FnOnce(Option<Page<'_>>) -> T,
) -> T {
    let (start, all) = start_of(read);
    match unpack(headers, start) {
        Some((text, ended)) => look(Some(Page { text: &text, whole: whole && all && ended })),
        None => look(None),
    }
}

/// At most [`MAX_BYTES`] of what was read, and whether that is all of it. Copied only where it came in several frames.
fn start_of(read: &First) -> (Cow<'_, [u8]>, bool) {
    let mut data = read.iter().flatten().filter_map(Frame::data_ref).filter(|data| !data.is_empty());
    let (first, second) = (data.next(), data.next());
    let first: &[u8] = first.map_or(&[], |first| first);
    let Some(second) = second else {
        return (first[..first.len().min(MAX_BYTES)].into(), first.len() <= MAX_BYTES);
    };
    let mut start = Vec::with_capacity(MAX_BYTES);
    let mut all = true;
    for data in [first, second].into_iter().chain(data.map(|data| &data[..])) {
        let room = MAX_BYTES - start.len();
        all &= data.len() <= room;
        start.extend_from_slice(&data[..data.len().min(room)]);
    }
    (start.into(), all)
}
