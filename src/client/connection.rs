//! One connection: the end that sends, and the task that moves its bytes.

use super::watched::{Stream, Watch, Watched};
use crate::body::Body;
use crate::outcome::{Counts, Failure, Phase, Seen, Traffic};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::timeout;

/// Most bytes of an answer's head, and of one read.
const MAX_HEAD: usize = 64 * 1024;
/// Longest wait for a connection whose last answer is read but which has not said yet that it is ready.
const READY_WAIT: Duration = Duration::from_millis(100);

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
    watch: Arc<Watch>,
    wire: Arc<Counts>,
    driver: AbortHandle,
    /// How often the exit's connections had been evicted when this one was begun.
    evictions: u32,
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
        (wire, evictions): (Arc<Counts>, u32),
    ) -> Result<Self, Failure> {
        let watch = Arc::new(Watch::default());
        let io = TokioIo::new(Watched::by(Arc::clone(&watch), io));
        let failed = |cause: hyper::Error| Failure::new(Phase::Send, Seen::Never).because(cause);
        // The driver's error also reaches whoever waits for the answer; while idle it concerns nobody. Spawned as it is: in
        // an async block it would lie twice.
        let (sender, driver) = match protocol {
            Protocol::Http1 => {
                let mut builder = http1::Builder::new();
                let builder = builder.ignore_invalid_headers_in_responses(true).max_buf_size(MAX_HEAD);
                let (sender, connection) = builder.handshake(io).await.map_err(failed)?;
                (Sender::Http1(sender), tokio::spawn(connection).abort_handle())
            }
            Protocol::Http2 => {
                let mut builder = http2::Builder::new(TokioExecutor::new());
                let builder = builder.max_header_list_size(MAX_HEAD as u32);
                let (sender, connection) = builder.handshake(io).await.map_err(failed)?;
                (Sender::Http2(sender), tokio::spawn(connection).abort_handle())
            }
        };
        let doubted = AtomicBool::new(false);
        Ok(Self { sender, shared: Arc::new(Shared { watch, wire, driver, evictions, doubted }) })
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
        closed || self.shared.watch.has_ended() || self.shared.doubted.load(Ordering::Relaxed)
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

    /// Counts the bytes of the attempt that is under way.
    pub(super) fn traffic(&self) -> Traffic {
        Traffic::on(Arc::clone(&self.shared.wire))
    }

    /// What was counted since the last attempt, for one that has failed.
    pub(super) fn wire(&self) -> &Counts {
        &self.shared.wire
    }

    /// How often something came in.
    pub(super) fn reads(&self) -> u64 {
        self.shared.watch.reads()
    }

    /// Somebody has waited in vain, and nothing came in since `reads` was read: the other end may be gone without a word.
    /// Nothing new is sent on it; whoever has waited longer goes on waiting.
    pub(super) fn doubt(&self, reads: u64) {
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
    before: u64,
}

impl Waiting<'_> {
    fn over(mut self) {
        // What is over has heard something, or has failed; either way nobody gave it up.
        self.before = u64::MAX;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.connection.doubt(self.before);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // An HTTP/2 connection ends by itself with its last sender, unless its other end takes nothing any more.
        let ends = match &self.sender {
            Sender::Http1(sender) => !sender.is_ready(),
            Sender::Http2(_) => !self.is_in_use() && self.is_closed(),
        };
        if ends {
            self.shared.driver.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Connection, Protocol};
    use crate::body::Body;
    use http::Request;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;
    use tokio::net::TcpStream;

    /// The runtime's only thread is held up while the other side closes: it cannot have noticed.
    #[tokio::test]
    async fn an_end_that_has_arrived_is_seen_before_the_connection_is_used() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let far = thread::spawn(move || {
            let (mut far, _) = listener.accept().unwrap();
            assert_ne!(far.read(&mut [0; 1024]).unwrap(), 0);
            far.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
            far
        });
        let mut connection =
            Connection::start(Box::new(near), Protocol::Http1, (Arc::default(), 0)).await.unwrap();
        let request = Request::get("http://shop.example/").body(Body::empty()).unwrap();
        assert_eq!(connection.exchange(request).await.ok().map(|answer| answer.status().as_u16()), Some(204));
        let far = far.join().unwrap();
        let connection = connection.alive().await.expect("the other side is there");
        drop(far);
        assert!(connection.is_ready() && !connection.is_closed(), "nobody has looked yet");
        assert!(connection.alive().await.is_none());
    }
}
