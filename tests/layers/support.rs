//! A client that does what it is told, and what the tests ask again and again.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Once;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service;
use tower_egress::exit::Route;
use tower_egress::outcome::{Connection, Failure, Phase, Seen};
use tower_egress::{ExitId, ExitList, LeaseRequest, Scheduler};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Req = Request<Full<Bytes>>;

/// A scheduler over `n` exits, 192.0.2.1 and on.
pub(crate) fn scheduler(n: usize) -> Scheduler {
    listen();
    let list: String = (1..=n).map(|i| format!("192.0.2.{i}:8080\n")).collect();
    Scheduler::builder().exits(ExitList::parse(&list).unwrap()).seed(1).build().unwrap()
}

pub(crate) fn get(uri: &str) -> Req {
    with(Request::get(uri), "", LeaseRequest::per_request())
}

pub(crate) fn post(uri: &str, body: &'static str) -> Req {
    with(Request::post(uri), body, LeaseRequest::per_request())
}

pub(crate) fn with(request: http::request::Builder, body: &'static str, ask: LeaseRequest) -> Req {
    request.extension(ask).body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap()
}

/// What the client does with one request.
pub(crate) enum Step {
    /// Answers with a status, headers and a body.
    Answer(u16, &'static [(&'static str, &'static str)], Page),
    Fail(Failure),
    /// Fails with an error of an unknown type.
    Unknown,
    Hang,
    /// Never answers, and uses up the task's budget whenever it is asked.
    Greedy,
    /// Waits, then does something else.
    After(Duration, Box<Self>),
    /// Answers over this connection.
    Over(Connection, Box<Self>),
}

/// More than is read ahead.
pub(crate) const LARGE: &str = match std::str::from_utf8(&[b'x'; 20 << 10]) {
    Ok(text) => text,
    Err(_) => unreachable!(),
};

pub(crate) fn status(status: u16) -> Step {
    Step::Answer(status, &[], Page::default())
}

pub(crate) fn answer(status: u16, headers: &'static [(&'static str, &'static str)]) -> Step {
    Step::Answer(status, headers, Page::default())
}

pub(crate) fn page(status: u16, parts: impl IntoIterator<Item = Part>) -> Step {
    Step::Answer(status, &[], Page::of(parts))
}

pub(crate) fn fail(phase: Phase, seen: Seen) -> Step {
    Step::Fail(Failure::new(phase, seen))
}

/// What a client saw of one request.
#[derive(Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) exit: ExitId,
    pub(crate) body: Bytes,
}

/// Does one step for each request. It reads the request's body first, unless the step fails before it is sent.
#[derive(Clone, Default)]
pub(crate) struct Script(Rc<RefCell<(VecDeque<Step>, Vec<Sent>)>>);

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self(Rc::new(RefCell::new((steps.into_iter().collect(), Vec::new()))))
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        std::mem::take(&mut self.0.borrow_mut().1)
    }

    /// The exits of the requests that were sent.
    pub(crate) fn exits(&self) -> Vec<ExitId> {
        self.sent().iter().map(|sent| sent.exit).collect()
    }

    pub(crate) fn steps_left(&self) -> usize {
        self.0.borrow().0.len()
    }
}

impl<B> Service<Request<B>> for Script
where
    B: Body + Unpin + 'static,
    B::Error: std::fmt::Debug,
{
    type Response = Response<Page>;
    type Error = ClientError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Page>, ClientError>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let script = self.clone();
        Box::pin(async move {
            let exit = request.extensions().get::<Route>().expect("never without a route").exit();
            let mut step = script.0.borrow_mut().0.pop_front().expect("no more requests");
            while let Step::After(wait, then) = step {
                tokio::time::sleep(wait).await;
                step = *then;
            }
            let mut over = None;
            if let Step::Over(connection, then) = step {
                (over, step) = (Some(connection), *then);
            }
            let unsent = matches!(&step, Step::Fail(failure) if failure.seen() == Seen::Never);
            let body = match unsent {
                true => Bytes::new(),
                false => request.into_body().collect().await.unwrap().to_bytes(),
            };
            script.0.borrow_mut().1.push(Sent { exit, body });
            match step {
                Step::Answer(status, headers, page) => {
                    let mut response = Response::new(page);
                    if let Some(connection) = over {
                        response.extensions_mut().insert(connection);
                    }
                    *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
                    for (name, value) in headers {
                        response.headers_mut().append(*name, value.parse().unwrap());
                    }
                    Ok(response)
                }
                Step::Fail(failure) => Err(ClientError(Some(failure))),
                Step::Unknown => Err(ClientError(None)),
                Step::Hang => std::future::pending().await,
                Step::Greedy => poll_fn(use_up).await,
                Step::After(..) | Step::Over(..) => unreachable!("unwrapped above"),
            }
        })
    }
}

/// A client's own error type, with the failure in its source chain.
#[derive(Debug)]
pub(crate) struct ClientError(Option<Failure>);

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("client error")
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.as_ref().map(|failure| failure as _)
    }
}

/// One poll of a body.
pub(crate) enum Part {
    Data(&'static str),
    Trailers,
    Error,
    /// Pending once; wakes itself.
    Yield,
    /// Pending for so long.
    Wait(Duration),
    /// Such a wait that has begun.
    Until(Pin<Box<tokio::time::Sleep>>),
    /// Pending for ever.
    Stall,
    /// Pending for ever, and uses up the task's budget.
    Greedy,
}

/// A response body that does what it is told, then ends.
#[derive(Default)]
pub(crate) struct Page {
    parts: VecDeque<Part>,
    /// Says with the last frame that it is the last.
    knows_its_end: bool,
    /// Says how long it will be at least.
    least: u64,
}

impl Page {
    pub(crate) fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        Self { parts: parts.into_iter().collect(), knows_its_end: true, least: 0 }
    }

    pub(crate) fn of_at_least(least: u64, parts: impl IntoIterator<Item = Part>) -> Self {
        Self { least, ..Self::of(parts) }
    }
}

impl Body for Page {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match self.parts.pop_front() {
            None => Poll::Ready(None),
            Some(Part::Data(data)) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(data.as_bytes()))))),
            Some(Part::Trailers) => Poll::Ready(Some(Ok(Frame::trailers(HeaderMap::new())))),
            Some(Part::Error) => Poll::Ready(Some(Err(std::io::Error::other("reset")))),
            Some(Part::Yield) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Part::Wait(wait)) => {
                let mut timer = Box::pin(tokio::time::sleep(wait));
                if timer.as_mut().poll(cx).is_ready() {
                    return self.poll_frame(cx);
                }
                self.parts.push_front(Part::Until(timer));
                Poll::Pending
            }
            Some(Part::Until(mut timer)) => {
                if timer.as_mut().poll(cx).is_ready() {
                    return self.poll_frame(cx);
                }
                self.parts.push_front(Part::Until(timer));
                Poll::Pending
            }
            Some(Part::Stall) => {
                self.parts.push_front(Part::Stall);
                Poll::Pending
            }
            Some(Part::Greedy) => {
                self.parts.push_front(Part::Greedy);
                use_up(cx)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.knows_its_end && self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(self.least);
        hint
    }
}

/// As a busy socket does: takes all that tokio grants the task before it must yield.
fn use_up<T>(cx: &mut Context<'_>) -> Poll<T> {
    while std::pin::pin!(tokio::task::consume_budget()).poll(cx).is_ready() {}
    Poll::Pending
}

/// Polls once.
pub(crate) async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}

/// Time on tokio's clock, paused or not.
#[expect(clippy::disallowed_methods, reason = "a test may read the paused clock")]
pub(crate) fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

thread_local! {
    /// What this test's thread has traced, a line for each event.
    static HEARD: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Listens to all events of the crate. Called before the first of them, for `tracing` remembers who listens.
pub(crate) fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| tracing::subscriber::set_global_default(Listener).expect("the only one"));
}

/// What this test has traced.
pub(crate) fn heard() -> String {
    HEARD.take()
}

struct Listener;

impl tracing::field::Visit for Listener {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        HEARD.with_borrow_mut(|heard| write!(heard, "{}={value:?} ", field.name()).unwrap());
    }
}

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "tower_egress"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Self);
        HEARD.with_borrow_mut(|heard| heard.push('\n'));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
