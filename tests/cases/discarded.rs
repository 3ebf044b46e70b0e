//! Answers that nobody wants: what they held is free before the next attempt.

use crate::bodies::{scheduler, tried};
use crate::shop::*;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::{Frame, SizeHint};
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::{Layer, Service};
use tower_egress::lab::{Broken, Lab, MemoryWorld, Reply, ReplyBody};
use tower_egress::{Body, EgressLayer, ExitId, Served, exit::Route};

const SOCKETS: usize = 2;

/// A client that has two sockets for each exit, each of them an answer's until its body has ended or is dropped.
#[derive(Clone)]
struct Sockets {
    world: MemoryWorld,
    body: fn(ReplyBody) -> Page,
    by_exit: Arc<HashMap<ExitId, Arc<Semaphore>>>,
}

impl Sockets {
    fn new(world: MemoryWorld, body: fn(ReplyBody) -> Page) -> Self {
        let free = |id| (id, Arc::new(Semaphore::new(SOCKETS)));
        let by_exit = Arc::new(world.exits().iter().map(|exit| free(exit.id())).collect());
        Self { world, body, by_exit }
    }

    fn in_use(&self) -> usize {
        self.by_exit.values().map(|sockets| SOCKETS - sockets.available_permits()).sum()
    }
}

/// A page as the site gave it, or what never ends.
enum Page {
    Given(ReplyBody),
    /// As given, without a word on its length.
    Chunked(ReplyBody),
    Endless,
}

struct OnSocket {
    page: Page,
    socket: Option<OwnedSemaphorePermit>,
}

impl http_body::Body for OnSocket {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let next = match &mut self.page {
            Page::Given(body) | Page::Chunked(body) => std::task::ready!(Pin::new(body).poll_frame(cx)),
            Page::Endless => Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 1_000])))),
        };
        if next.is_none() {
            self.socket = None;
        }
        Poll::Ready(next)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.page {
            Page::Given(body) => body.size_hint(),
            Page::Chunked(_) | Page::Endless => SizeHint::default(),
        }
    }
}

impl<B> Service<Request<B>> for Sockets
where
    MemoryWorld: Service<Request<B>, Response = Response<ReplyBody>, Error = Broken>,
    <MemoryWorld as Service<Request<B>>>::Future: Send,
    B: Send + 'static,
{
    type Response = Response<OnSocket>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<Response<OnSocket>, Broken>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut this = self.clone();
        let exit = request.extensions().get::<Route>().unwrap().exit();
        let sockets = Arc::clone(&this.by_exit[&exit]);
        Box::pin(async move {
            let socket = sockets.acquire_owned().await.unwrap();
            poll_fn(|cx| Service::<Request<B>>::poll_ready(&mut this.world, cx)).await?;
            let answer = this.world.call(request).await?;
            Ok(answer.map(|body| OnSocket { page: (this.body)(body), socket: Some(socket) }))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn te_080_the_answers_of_attempts_before_hold_nothing() {
    let mebibyte = || Reply::page(vec![b'x'; 1 << 20]).status(StatusCode::REQUEST_TIMEOUT);
    let small = || Reply::page("busy").status(StatusCode::REQUEST_TIMEOUT);
    let pages: [(&str, Reply, fn(ReplyBody) -> Page); 6] = [
        ("a mebibyte", mebibyte(), Page::Given),
        ("a mebibyte of unknown length", mebibyte(), Page::Chunked),
        ("silent after a thousand bytes", mebibyte().stall_after(1_000), Page::Given),
        ("silent, and of unknown length", mebibyte().stall_after(1_000), Page::Chunked),
        ("without an end", small(), |_| Page::Endless),
        ("a few bytes", small(), Page::Given),
    ];
    for (name, reply, body) in pages {
        let world = Lab::builder().fine(3).in_memory().unwrap();
        world.origin().page("/p", reply);
        let sockets = Sockets::new(world.clone(), body);
        let scheduler = scheduler(&world);
        let stack = EgressLayer::new(&scheduler).layer(sockets.clone());
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let request: Request<Body> = request(Method::GET, &world.tls_url("/p"), "", tried(3));
                let answer = stack.clone().oneshot(request);
                tokio::spawn(async move {
                    let answer = answer.await.unwrap();
                    (answer.status(), answer.extensions().get::<Served>().unwrap().clone())
                })
            })
            .collect();
        for call in calls {
            let (status, served) = call.await.unwrap();
            assert_eq!((status, served.attempts()), (StatusCode::REQUEST_TIMEOUT, 3), "{name}");
            assert!(served.bytes() <= 32 << 10, "{} bytes read ahead: {name}", served.bytes());
        }
        let fleet = scheduler.snapshot();
        assert_eq!((sockets.in_use(), fleet.in_flight, world.origin().requests()), (0, 0, 150), "{name}");
    }
}
