//! One connection: the end that sends, and the task that moves its bytes.

#[cfg(test)]
mod tests;

use super::watched::{Stream, Watched};
use crate::body::Body;
use crate::outcome::{Counts, Egress, Failure, Phase, Seen, Traffic};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::{sleep, timeout};

/// Most bytes of an answer's head, and of one read.
const MAX_HEAD: usize = 64 * 1024;
/// Longest wait for a connection whose last answer is read but which has not said yet that it is ready.
const READY_WAIT: Duration = Duration::from_millis(100);
/// How long a connection without owners may take to say good-bye to an end that may not listen.
const GOOD_BYE: Duration = Duration::from_secs(1);

/// What is spoken over a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A connection through one exit to one origin. Over HTTP/1.1 it has one owner: dropped while something is still under way
/// on it, it is torn down at once; dropped idle, it says good-bye. Over HTTP/2 it is shared, and ends with its last owner.
pub(super) struct Connection {
    sender: Sender,
    shared: Arc<Shared>,
}

enum Sender {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

/// What the owners of a connection share.
struct Shared {
    wire: Arc<Counts>,
    /// The task that moves the bytes, and over HTTP/2 the one that feeds it with requests.
    drivers: [Option<AbortHandle>; 2],
    /// How often the exit's connections had been evicted when this one was begun.
    evictions: u32,
    /// What the proxy said of its exit when it made the tunnel.
    egress: Option<Egress>,
    /// A request on it was given up before anything came back.
    doubted: AtomicBool,
}

/// What became of a request that got no answer.
pub(super) enum Unanswered {
    /// Not one byte of it was written: here it is again.
    NotSent(Box<Request<Body>>, hyper::Error),
    /// It may have been read.
    MaybeSent {
        cause: hyper::Error,
        /// A part of an answer came in; over HTTP/2, anything.
        heard: bool,
    },
}

impl Connection {
    /// Starts to speak HTTP over `io`, whose bytes `wire` counts.
    pub(super) async fn start(
        io: Stream,
        protocol: Protocol,
        (wire, evictions, egress): (Arc<Counts>, u32, Option<Egress>),
    ) -> Result<Self, Failure> {
        let io = TokioIo::new(Watched::by(Arc::clone(&wire), io));
        let failed = |cause: hyper::Error| Failure::new(Phase::Send, Seen::Never).because(cause);
        // The driver's error also reaches whoever waits for the answer; while idle it concerns nobody. Spawned as it is: in
        // an async block it would lie twice.
        let (sender, drivers) = match protocol {
            Protocol::Http1 => {
                let mut builder = http1::Builder::new();
                let builder = builder.ignore_invalid_headers_in_responses(true).max_buf_size(MAX_HEAD);
                let (sender, connection) = builder.handshake(io).await.map_err(failed)?;
                (Sender::Http1(sender), [Some(tokio::spawn(connection).abort_handle()), None])
            }
            Protocol::Http2 => {
                let spawned = FirstSpawned::default();
                let mut builder = http2::Builder::new(spawned.clone());
                let builder = builder.max_header_list_size(MAX_HEAD as u32);
                let (sender, connection) = builder.handshake(io).await.map_err(failed)?;
                let feeder = tokio::spawn(connection).abort_handle();
                (Sender::Http2(sender), [spawned.0.get().cloned(), Some(feeder)])
            }
        };
        let doubted = AtomicBool::new(false);
        Ok(Self { sender, shared: Arc::new(Shared { wire, drivers, evictions, egress, doubted }) })
    }

    /// Another owner of the same connection, if it can have several.
    pub(super) fn share(&self) -> Option<Self> {
        match &self.sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => {
                Some(Self { sender: Sender::Http2(sender.clone()), shared: Arc::clone(&self.shared) })
            }
        }
    }

    pub(super) const fn is_shared(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Whether somebody else owns it, too.
    pub(super) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Whether nothing more can, or should, be sent on it.
    pub(super) fn is_closed(&self) -> bool {
        let closed = match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        };
        closed || self.shared.wire.has_ended() || self.shared.doubted.load(Ordering::Relaxed)
    }

    pub(super) fn is_ready(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_ready(),
            Sender::Http2(sender) => sender.is_ready(),
        }
    }

    pub(super) fn evictions(&self) -> u32 {
        self.shared.evictions
    }

    /// What the proxy said of its exit when it made the tunnel.
    pub(super) fn egress(&self) -> Option<Egress> {
        self.shared.egress.clone()
    }

    /// Counts the bytes of the attempt that is under way.
    pub(super) fn traffic(&self) -> Traffic {
        Traffic::on(Arc::clone(&self.shared.wire))
    }

    /// What was counted since the last attempt, for one that has failed.
    pub(super) fn wire(&self) -> &Arc<Counts> {
        &self.shared.wire
    }

    /// How often something came in.
    pub(super) fn reads(&self) -> u32 {
        self.shared.wire.reads()
    }

    /// Somebody has waited in vain, and nothing came in since `reads` was read: the other end may be gone without a word.
    /// Nothing new is sent on it; whoever has waited longer goes on waiting.
    pub(super) fn doubt(&self, reads: u32) {
        if self.is_shared() && self.reads() == reads {
            self.shared.doubted.store(true, Ordering::Relaxed);
        }
    }

    /// Waits a moment until another request can be sent; `None` if it cannot, or if the other side has closed meanwhile.
    pub(super) async fn alive(mut self) -> Option<Self> {
        // An end that has arrived shows only when somebody looks: in the first turn the runtime looks at its sockets, in
        // the second the driver reads.
        for _ in 0..2 {
            yield_now().await;
            if self.is_closed() {
                return None;
            }
        }
        if self.is_ready() {
            return Some(self);
        }
        let ready = match &mut self.sender {
            Sender::Http1(sender) => timeout(READY_WAIT, sender.ready()).await,
            Sender::Http2(sender) => timeout(READY_WAIT, sender.ready()).await,
        };
        matches!(ready, Ok(Ok(()))).then_some(self)
    }

    /// Sends a request and waits for the head of the answer. Dropping the future tears an HTTP/1.1 connection down, and
    /// leaves an HTTP/2 one to the others.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let before = self.reads();
        let waiting = Waiting { connection: self, before };
        let sent = match &mut waiting.connection.sender {
            Sender::Http1(sender) => sender.try_send_request(request).await,
            Sender::Http2(sender) => sender.try_send_request(request).await,
        };
        waiting.over();
        let heard = self.reads() != before;
        sent.map_err(|mut error| match error.take_message() {
            Some(request) => Unanswered::NotSent(Box::new(request), error.into_error()),
            None => Unanswered::MaybeSent { cause: error.into_error(), heard },
        })
    }
}

/// Doubts the connection if it is dropped before it is over.
struct Waiting<'a> {
    connection: &'a mut Connection,
    before: u32,
}

impl Waiting<'_> {
    fn over(mut self) {
        // What is over has heard something, or has failed; either way nobody gave it up.
        self.before = u32::MAX;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.connection.doubt(self.before);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Over HTTP/1.1 there is one owner.
        if matches!(&self.sender, Sender::Http1(sender) if !sender.is_ready()) {
            self.shared.abort();
        }
    }
}

impl Shared {
    fn abort(&self) {
        self.drivers.iter().flatten().for_each(AbortHandle::abort);
    }
}

impl Drop for Shared {
    /// The last owner has gone: the drivers say good-bye and end by themselves, unless the other end takes nothing any
    /// more. What it does not take would keep the socket open for ever.
    fn drop(&mut self) {
        if self.drivers.iter().flatten().all(AbortHandle::is_finished) {
            return;
        }
        let listens = !self.wire.has_ended() && !*self.doubted.get_mut();
        let Some(runtime) = Handle::try_current().ok().filter(|_| listens) else { return self.abort() };
        let drivers = std::mem::take(&mut self.drivers);
        runtime.spawn(async move {
            sleep(GOOD_BYE).await;
            drivers.iter().flatten().for_each(AbortHandle::abort);
        });
    }
}

/// Spawns what hyper wants spawned, and keeps the first: it moves the bytes of an HTTP/2 connection. With it all others
/// end, which send the bodies of requests.
#[derive(Clone, Default)]
struct FirstSpawned(Arc<OnceLock<AbortHandle>>);

impl<F> Executor<F> for FirstSpawned
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, work: F) {
        let spawned = tokio::spawn(work).abort_handle();
        self.0.get_or_init(|| spawned);
    }
}
