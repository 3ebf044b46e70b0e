//! The body of an answer, which holds its connection until it has ended.

use super::connection::Connection;
use super::error::ClientError;
use super::kept::{Idle, Key};
use crate::exit::KeptWay;
use crate::outcome::Traffic;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::fmt;
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll};

/// The body of an answer. It holds the connection until it was read to its end; then the connection serves the next
/// request through the same exit. Dropped before that, it closes the connection. The default is an empty body.
///
/// It is as long as the origin makes it: whoever collects it sets the limit.
#[derive(Default)]
pub struct IncomingBody {
    body: Option<Incoming>,
    held: Option<Held>,
    /// How much had come in over the connection when the body was last asked for more in vain.
    waiting: Option<u32>,
}

/// A connection on loan, and where it goes when the answer has been read.
pub(super) struct Held {
    pub(super) connection: Connection,
    pub(super) key: Key,
    pub(super) way: KeptWay,
    /// Where it goes; nowhere, if it serves no more, or serves others already.
    pub(super) idle: Weak<Idle>,
    pub(super) traffic: Traffic,
}

impl Held {
    fn give_back(self) {
        self.traffic.end();
        // Without its client a connection is of no use to anybody.
        if let Some(idle) = self.idle.upgrade() {
            idle.check_in(self.key, self.way, self.connection);
        }
    }
}

impl IncomingBody {
    pub(super) fn new(body: Incoming, held: Held) -> Self {
        let mut this = Self { body: Some(body), held: Some(held), waiting: None };
        this.give_back_if_ended();
        this
    }

    /// Gives the connection back as soon as the last byte is out: readers that know the length do not ask again.
    fn give_back_if_ended(&mut self) {
        if self.is_end_stream() {
            self.give_back();
        }
    }

    /// The answer was not read to its end.
    fn let_go(&mut self) {
        if let Some(held) = self.held.take() {
            held.traffic.end();
        }
    }

    fn give_back(&mut self) {
        if let Some(held) = self.held.take() {
            held.give_back();
        }
    }
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = ClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ClientError>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = match Pin::new(body).poll_frame(cx) {
            Poll::Pending => {
                self.waiting = self.held.as_ref().map(|held| held.connection.reads());
                return Poll::Pending;
            }
            Poll::Ready(frame) => frame,
        };
        self.waiting = None;
        match frame {
            Some(Ok(frame)) => {
                self.give_back_if_ended();
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(cause)) => {
                self.body = None;
                self.let_go();
                Poll::Ready(Some(Err(ClientError::in_body(cause))))
            }
            None => {
                self.give_back();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for IncomingBody {
    fn drop(&mut self) {
        let Some(held) = &self.held else { return };
        if let Some(reads) = self.waiting {
            held.connection.doubt(reads);
        }
        // A ready connection has read the whole answer, even if nobody has read it from here.
        if !held.connection.is_shared() && held.connection.is_ready() {
            self.give_back();
        } else {
            self.let_go();
        }
    }
}

impl fmt::Debug for IncomingBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingBody").field("ended", &self.is_end_stream()).finish_non_exhaustive()
    }
}
