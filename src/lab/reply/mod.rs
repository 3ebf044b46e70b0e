//! Scripted answers.

mod body;

pub use body::ReplyBody;

use body::Ending;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use std::future::pending;
use std::time::Duration;
use tokio::time::sleep;

/// An answer as a script gives it: what to say, when, and how far to get. The same on sockets and in memory.
///
/// ```
/// use http::{StatusCode, header::SERVER};
/// use std::time::Duration;
/// use tower_egress::lab::Reply;
///
/// let slow = Reply::page("hello").after(Duration::from_secs(2));
/// let broken = Reply::page("a long page that breaks off").cut_after(6);
/// let busy = Reply::new(StatusCode::SERVICE_UNAVAILABLE).retry_after(Duration::from_secs(30));
/// let named = Reply::page("hello").header(SERVER, http::HeaderValue::from_static("lab"));
/// # let _ = (slow, broken, busy, named);
/// ```
#[derive(Clone, Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    delay: Duration,
    before_head: BeforeHead,
    cut: Option<(u64, Ending)>,
}

/// What happens where the head is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BeforeHead {
    Answer,
    Hang,
    Reset,
    RefuseStream,
}

impl Reply {
    /// An empty answer with this status.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            delay: Duration::ZERO,
            before_head: BeforeHead::Answer,
            cut: None,
        }
    }

    /// 200 with this body, as `text/html`.
    #[must_use]
    pub fn page(body: impl Into<Bytes>) -> Self {
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        Self::new(StatusCode::OK).header(CONTENT_TYPE, html).body(body)
    }

    /// No answer: the connection stays open and silent until the client gives up.
    #[must_use]
    pub fn hang() -> Self {
        Self { before_head: BeforeHead::Hang, ..Self::new(StatusCode::OK) }
    }

    /// No answer: the connection is reset where the head is due. Over HTTP/2 with all that runs on it.
    #[must_use]
    pub fn reset() -> Self {
        Self { before_head: BeforeHead::Reset, ..Self::new(StatusCode::OK) }
    }

    /// No answer: an origin over HTTP/2 resets the request's stream with REFUSED_STREAM, which says that nothing was done with
    /// it; the record counts it all the same. Everywhere else this is a [`reset`](Self::reset).
    #[must_use]
    pub fn refuse_stream() -> Self {
        Self { before_head: BeforeHead::RefuseStream, ..Self::new(StatusCode::OK) }
    }

    /// Sets the status. Default 200.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets a header, replacing one of the same name.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        self.headers.insert(name, value.into());
        self
    }

    /// Asks to be left alone: `Retry-After` in whole seconds, rounded up.
    #[must_use]
    pub fn retry_after(self, wait: Duration) -> Self {
        let part = u64::from(wait.subsec_nanos() > 0);
        self.header(RETRY_AFTER, wait.as_secs().saturating_add(part))
    }

    /// Sets the body. Default empty.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Waits this long before the head.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Promises the whole body, and closes the connection after this many bytes of it; over HTTP/2 resets its stream, and no
    /// other. A shorter body comes whole.
    #[must_use]
    pub fn cut_after(mut self, bytes: u64) -> Self {
        self.cut = Some((bytes, Ending::Close));
        self
    }

    /// As [`cut_after`](Self::cut_after), but with a reset of the connection; over HTTP/2 with all that runs on it.
    #[must_use]
    pub fn reset_after(mut self, bytes: u64) -> Self {
        self.cut = Some((bytes, Ending::Reset));
        self
    }

    /// Promises the whole body, and falls silent after this many bytes of it.
    #[must_use]
    pub fn stall_after(mut self, bytes: u64) -> Self {
        self.cut = Some((bytes, Ending::Stall));
        self
    }

    /// The status, if there is an answer.
    pub(super) fn told(&self) -> Option<StatusCode> {
        (self.before_head == BeforeHead::Answer).then_some(self.status)
    }

    pub(super) fn refuses_stream(&self) -> bool {
        self.before_head == BeforeHead::RefuseStream
    }

    /// Plays the script up to the head. `None`: the connection is to be reset.
    pub(super) async fn play(self, method: &Method) -> Option<Response<ReplyBody>> {
        sleep(self.delay).await;
        match self.before_head {
            BeforeHead::Answer => Some(self.into_response(method)),
            BeforeHead::Hang => pending().await,
            BeforeHead::Reset | BeforeHead::RefuseStream => None,
        }
    }

    fn into_response(mut self, method: &Method) -> Response<ReplyBody> {
        // A tunnel has no body, and hyper sends nothing at all where a length is said.
        let tunnel = method == Method::CONNECT && self.status.is_success();
        let bare = tunnel
            || self.status.is_informational()
            || matches!(self.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if !bare {
            self.headers.entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(self.body.len()));
        }
        let body = if bare || method == Method::HEAD { Bytes::new() } else { self.body };
        let mut response = Response::new(ReplyBody::of(body, self.cut));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
