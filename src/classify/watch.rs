//! What goes along with a body until it ends: the lease, and the time in which nothing comes.

use crate::scheduler::{Hold, LeaseHandle};
use bytes::Bytes;
use http_body::Frame;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// Holds the lease of a body. A type of its own, so that the body needs no `Drop` and can be taken apart.
pub(super) struct Watch {
    pub(super) handle: LeaseHandle,
    _hold: Option<Hold>,
}

impl Watch {
    /// From the head on.
    pub(super) fn new(handle: LeaseHandle) -> Self {
        let hold = handle.hold();
        Self { handle, _hold: hold }
    }
}

impl Drop for Watch {
    /// The count is settled before the lease goes: fields are dropped after this.
    fn drop(&mut self) {
        self.handle.settle();
    }
}

/// Whether a body has moved: HTTP/2 has frames without a byte, and an origin that sends them for ever sends nothing.
pub(super) fn brings_something(frame: &Frame<Bytes>) -> bool {
    frame.data_ref().is_none_or(|data| !data.is_empty())
}

/// Time without a byte while somebody waits for one.
pub(super) struct Idle {
    limit: Duration,
    /// Boxed, so that the body stays `Unpin`; made at the first wait and used again.
    timer: Option<Pin<Box<Sleep>>>,
    running: bool,
}

impl Idle {
    pub(super) const fn new(limit: Duration) -> Self {
        Self { limit, timer: None, running: false }
    }

    /// Whether a wait that has begun was too long.
    pub(super) fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        self.running && self.timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready())
    }

    /// Something came.
    pub(super) const fn rest(&mut self) {
        self.running = false;
    }

    /// Nothing more will come.
    pub(super) fn stop(&mut self) {
        self.timer = None;
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
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
