//! One connection: the end that sends, and the task that moves its bytes.

use super::watched::{Watch, Watched};
use crate::body::Body;
use crate::outcome::{Failure, Phase, Seen};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{AbortHandle, yield_now};
use tokio::time::timeout;

/// Most bytes of an answer's head, and of one read.
const MAX_HEAD: usize = 64 * 1024;
/// Longest wait for a connection whose last answer is read but which has not said yet that it is ready.
const READY_WAIT: Duration = Duration::from_millis(100);

/// A connection through one exit to one origin. Dropped while something is still under way on it, it is torn down at once;
/// dropped idle, it says good-bye.
pub(super) struct Connection {
    sender: SendRequest<Body>,
    watch: Arc<Watch>,
    driver: AbortHandle,
}

/// What became of a request that got no answer.
pub(super) enum Unanswered {
    /// Not one byte of it was written: here it is again.
    NotSent(Box<Request<Body>>, hyper::Error),
    /// It may have been read. `heard`: a part of an answer came in.
    MaybeSent { cause: hyper::Error, heard: bool },
}

impl Connection {
    /// Starts to speak HTTP/1.1 over `io`.
    pub(super) async fn start<T>(io: T) -> Result<Self, Failure>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let io = Watched::new(io);
        let watch = io.watch();
        let (sender, connection) = Builder::new()
            .ignore_invalid_headers_in_responses(true)
            .max_buf_size(MAX_HEAD)
            .handshake(TokioIo::new(io))
            .await
            .map_err(|cause| Failure::new(Phase::Send, Seen::Never).because(cause))?;
        // Its error also reaches whoever waits for the answer; while idle it concerns nobody.
        let driver = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Self { sender, watch, driver })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed() || self.watch.has_ended()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
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
        let ready = timeout(READY_WAIT, self.sender.ready()).await;
        matches!(ready, Ok(Ok(()))).then_some(self)
    }

    /// Sends a request and waits for the head of the answer. Dropping the future tears the connection down.
    pub(super) async fn exchange(
        &mut self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, Unanswered> {
        self.watch.forget();
        let sent = self.sender.try_send_request(request).await;
        sent.map_err(|mut error| match error.take_message() {
            Some(request) => Unanswered::NotSent(Box::new(request), error.into_error()),
            None => Unanswered::MaybeSent { cause: error.into_error(), heard: self.watch.has_heard() },
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_ready() {
            self.driver.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Connection;
    use crate::body::Body;
    use http::Request;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
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
        let mut connection = Connection::start(near).await.unwrap();
        let request = Request::get("http://shop.example/").body(Body::empty()).unwrap();
        assert_eq!(connection.exchange(request).await.ok().map(|answer| answer.status().as_u16()), Some(204));
        let far = far.join().unwrap();
        let connection = connection.alive().await.expect("the other side is there");
        drop(far);
        assert!(connection.is_ready() && !connection.is_closed(), "nobody has looked yet");
        assert!(connection.alive().await.is_none());
    }
}
