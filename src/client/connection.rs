//! One connection: the end that sends, and the task that moves its bytes.

use crate::body::Body;
use crate::outcome::{Failure, Phase, Seen};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Most bytes of an answer's head, and of one read.
const MAX_HEAD: usize = 64 * 1024;
/// Longest wait for a connection whose last answer is read but which has not said yet that it is ready.
const READY_WAIT: Duration = Duration::from_millis(100);

/// A connection through one exit to one origin. Dropped while something is still under way on it, it is torn down at once;
/// dropped idle, it says good-bye.
pub(super) struct Connection {
    sender: SendRequest<Body>,
    driver: AbortHandle,
}

/// What became of a request that got no answer.
pub(super) enum Unanswered {
    /// Not one byte of it was written: here it is again.
    NotSent(Box<Request<Body>>, hyper::Error),
    /// It may have been read.
    MaybeSent(hyper::Error),
}

impl Connection {
    /// Starts to speak HTTP/1.1 over `io`.
    pub(super) async fn start<T>(io: T) -> Result<Self, Failure>
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, connection) = Builder::new()
            .ignore_invalid_headers_in_responses(true)
            .max_buf_size(MAX_HEAD)
            .handshake(TokioIo::new(io))
            .await
            .map_err(|cause| Failure::new(Phase::Send, Seen::Never).because(cause))?;
        // Its error also reaches whoever waits for the answer; while idle it concerns nobody.
        let driver = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        Ok(Self { sender, driver })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Waits a moment until another request can be sent; `None` if it cannot.
    pub(super) async fn ready(mut self) -> Option<Self> {
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
        self.sender.try_send_request(request).await.map_err(|mut error| match error.take_message() {
            Some(request) => Unanswered::NotSent(Box::new(request), error.into_error()),
            None => Unanswered::MaybeSent(error.into_error()),
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
