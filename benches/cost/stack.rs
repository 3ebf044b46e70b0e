//! What the layers cost a request, without I/O. `benches/README.md` has the commands and the figures.
//!
//! A round builds a request, sends it through a stack around a client that answers at once, and reads the answer's body to
//! its end. Tracing is off. All stacks get the same request, so that the difference between two rows is the layers'.

use crate::measure::{Case, Round, Table};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, Uri};
use http_body::Body;
use http_body_util::Full;
use std::hint::black_box;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tower::retry::{Policy, RetryLayer};
use tower::{Layer, Service};
use tower_egress::outcome::Connection;
use tower_egress::{EgressLayer, ExitList, LeaseRequest, Scheduler};

pub(crate) const TABLE: Table = Table { name: "stack", cases, first: || {}, holds: |_| true };

type Sent = Request<Full<Bytes>>;

/// Answers at once, with a small page and, as `ExitClient` does, with a word on its connection beside it.
#[derive(Clone)]
struct Client;

impl<B> Service<Request<B>> for Client {
    type Response = Response<Full<Bytes>>;
    type Error = io::Error;
    type Future = std::future::Ready<Result<Response<Full<Bytes>>, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        black_box(request);
        let mut answer = Response::new(Full::new(Bytes::from_static(b"<h1>9.99</h1>")));
        answer.extensions_mut().insert(Connection::kept());
        std::future::ready(Ok(answer))
    }
}

/// Retries nothing. A policy that may retry must keep a copy of the request; `clones` does that much.
#[derive(Clone)]
struct NoOp {
    clones: bool,
}

impl<R, E> Policy<Sent, R, E> for NoOp {
    type Future = std::future::Ready<()>;

    fn retry(&mut self, _: &mut Sent, _: &mut Result<R, E>) -> Option<Self::Future> {
        None
    }

    fn clone_request(&mut self, request: &Sent) -> Option<Sent> {
        self.clones.then(|| request.clone())
    }
}

fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(out) => out,
        Poll::Pending => panic!("nothing here waits"),
    }
}

/// Rounds through a stack, with `headers` of the request's own.
fn rounds<S, B>(mut stack: S, headers: usize) -> Round
where
    S: Service<Sent, Response = Response<B>> + 'static,
    S::Error: std::fmt::Debug,
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Debug,
{
    const NAMES: [&str; 8] =
        ["accept", "accept-language", "cookie", "dnt", "referer", "user-agent", "x-a", "x-b"];
    let uri = Uri::from_static("https://shop.example/p/42");
    let ask = LeaseRequest::new("sku-42");
    let mut round = move || {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = uri.clone();
        for name in &NAMES[..headers] {
            let value = HeaderValue::from_static("text/html;q=0.9");
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
        request.extensions_mut().insert(ask.clone());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(stack.poll_ready(&mut cx).is_ready());
        let mut body = ready(stack.call(request)).expect("an answer").into_body();
        while let Some(frame) = ready(std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)))
        {
            black_box(frame.expect("a frame"));
        }
    };
    (0..1_000).for_each(|_| round());
    Box::new(round)
}

fn egress() -> EgressLayer {
    let exits: String = (0..100).map(|at| format!("10.0.0.{at}:8080\n")).collect();
    let exits = ExitList::parse(&exits).expect("a list");
    EgressLayer::new(&Scheduler::builder().exits(exits).seed(7).build().expect("exits"))
}

fn cases() -> Vec<Case> {
    // Of the allocations the request's own are four without headers and eight with, and the answer's two.
    let of = |headers, instructions, allocations| {
        [
            Case::new(format!("bare client, {headers} headers"), move || rounds(Client, headers)),
            Case::new(format!("tower's Retry, no-op policy, {headers} headers"), move || {
                rounds(RetryLayer::new(NoOp { clones: false }).layer(Client), headers)
            }),
            Case::new(format!("tower's Retry, that keeps a copy, {headers} headers"), move || {
                rounds(RetryLayer::new(NoOp { clones: true }).layer(Client), headers)
            }),
            Case::new(format!("EgressLayer, {headers} headers"), move || {
                rounds(egress().layer(Client), headers)
            })
            .within(instructions, allocations),
        ]
    };
    of(0, 10_680, 12).into_iter().chain(of(8, 15_190, 18)).collect()
}
