//! Bodies of requests: sent again as they were, or not at all.

use crate::shop::*;
use allocation_counter::measure;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use sha1::{Digest, Sha1};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tower::Layer;
use tower_egress::lab::{Lab, MemoryWorld, Reply};
use tower_egress::verdict::RetryRules;
use tower_egress::{Body, EgressClient, EgressLayer, ExitClient, LeaseRequest, Outcome, Scheduler, Served};

pub(crate) fn tried(attempts: u32) -> LeaseRequest {
    LeaseRequest::per_request().attempts(NonZeroU32::new(attempts).unwrap()).repeatable(true)
}

/// Frames of unknown length in all.
struct Frames(VecDeque<Frame<Bytes>>);

impl Frames {
    fn of(data: impl IntoIterator<Item = Bytes>) -> Self {
        Self(data.into_iter().map(Frame::data).collect())
    }
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn scheduler(world: &MemoryWorld) -> Scheduler {
    Scheduler::builder().exits(world.exits()).seed(7).build().unwrap()
}

fn post(url: &str, body: Body, ask: LeaseRequest) -> Request<Body> {
    let post = Request::post(url).header(CONTENT_TYPE, "text/plain").extension(ask);
    post.body(body).unwrap()
}

#[tokio::test]
async fn te_010_what_is_sent_again_is_the_same_to_the_byte() {
    let lab = Lab::builder().fine(3).start().await.unwrap();
    // The site reads a body before it answers, and tells what it was at the second time.
    lab.origin().respond(|seen| match seen.number() % 2 {
        0 => Reply::new(StatusCode::SERVICE_UNAVAILABLE),
        _ => Reply::page(hex(seen.body_sha1())),
    });
    let rules = RetryRules::negotiated();
    let scheduler = Scheduler::builder().exits(lab.exits()).seed(7).rules(rules).build().unwrap();
    let exits = ExitClient::builder().roots_pem(lab.ca_pem().as_bytes()).build().unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).replay_cap(1 << 20).layer(exits));
    let long: Bytes = (0..1 << 20).map(|at: u32| at as u8).collect();
    let parts = |size| long.chunks(size).map(Bytes::copy_from_slice).collect::<Vec<_>>();
    let kilobyte = long.slice(..1_000);
    for (name, body, whole) in [
        ("a kilobyte", Body::from(kilobyte.clone()), kilobyte.clone()),
        ("nothing", Body::empty(), Bytes::new()),
        ("a mebibyte", Body::from(long.clone()), long.clone()),
        ("a stream", Body::new(Frames::of(parts(10_000))), long.clone()),
    ] {
        let before = lab.origin().seen().len();
        let answer = client.send(post(&lab.tls_url("/p"), body, tried(3))).await.unwrap();
        assert_eq!(answer.extensions().get::<Served>().unwrap().attempts(), 2, "{name}");
        let told = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(told, hex(Sha1::digest(&whole)), "{name}");
        let seen = lab.origin().seen().split_off(before);
        let what = seen.iter().map(|seen| (seen.body_sha1(), seen.body_len(), seen.headers().clone()));
        let what: Vec<_> = what.collect();
        assert_eq!((what.len(), what[0].1), (2, whole.len() as u64), "{name}");
        assert_eq!(what[0], what[1], "{name}");
    }
    // What cannot be kept is sent once, and what the site said is the answer.
    let over: Bytes = [&long[..], b"."].concat().into();
    for body in [Body::from(over.clone()), Body::new(Frames::of([long.clone(), Bytes::from_static(b".")]))] {
        let before = lab.origin().requests();
        let answer = client.send(post(&lab.tls_url("/p"), body, tried(3))).await.unwrap();
        assert_eq!((answer.status(), lab.origin().requests() - before), (StatusCode::SERVICE_UNAVAILABLE, 1));
        let seen = lab.origin().seen().pop().unwrap();
        assert_eq!(hex(seen.body_sha1()), hex(Sha1::digest(&over)), "whole, that once");
        client.send(post(&lab.tls_url("/p"), Body::empty(), tried(1))).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn te_010_trailers_are_sent_again_too() {
    let world = Lab::builder().fine(2).in_memory().unwrap();
    let sent = Rc::new(RefCell::new(Vec::new()));
    let keep = Rc::clone(&sent);
    let client = tower::service_fn(move |request: Request<tower_egress::retry::ReplayBody<Body>>| {
        let sent = Rc::clone(&keep);
        async move {
            let whole = request.into_body().collect().await?;
            let trailers = whole.trailers().cloned();
            let mut sent = sent.borrow_mut();
            sent.push((whole.to_bytes(), trailers));
            let mut answer = Response::new(Full::<Bytes>::default());
            *answer.status_mut() =
                if sent.len() == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
            Ok::<_, tower::BoxError>(answer)
        }
    });
    let mut frames = Frames::of([Bytes::from_static(b"price="), Bytes::from_static(b"42")]);
    let trailers = HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("x"))]);
    frames.0.push_back(Frame::trailers(trailers.clone()));
    let stack = EgressLayer::new(&scheduler(&world)).layer(client);
    let answer = stack.oneshot(post(&world.tls_url("/p"), Body::new(frames), tried(3))).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let whole = (Bytes::from_static(b"price=42"), Some(trailers));
    assert_eq!(*sent.borrow(), [whole.clone(), whole]);
}

/// 8 MiB that are nowhere whole.
fn stream() -> Body {
    struct Chunks(u32);
    impl http_body::Body for Chunks {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            const CHUNK: &[u8] = &[7; 64 << 10];
            let left = self.0.checked_sub(1);
            Poll::Ready(left.map(|left| {
                self.0 = left;
                Ok(Frame::data(Bytes::from_static(CHUNK)))
            }))
        }
    }
    Body::new(Chunks(128))
}

/// Runs on this thread alone, under paused time, and answers the most memory that was had at once.
pub(crate) fn peak(run: impl Future<Output = ()>) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.unwrap();
    measure(|| runtime.block_on(run)).bytes_max
}

#[test]
fn te_028_a_stream_is_sent_once_and_its_answer_is_the_answer() {
    for (status, outcome) in
        [(200, Outcome::Ok), (503, Outcome::OriginError { status: StatusCode::SERVICE_UNAVAILABLE })]
    {
        let world = Lab::builder().fine(3).in_memory().unwrap();
        world.origin().respond(move |_| Reply::new(StatusCode::from_u16(status).unwrap()));
        let stack = EgressLayer::new(&scheduler(&world)).layer(world.clone());
        let most = peak(async {
            let put = Request::put(world.tls_url("/p")).extension(tried(3)).body(stream()).unwrap();
            let (answered, served) = read(stack.oneshot(put).await.unwrap()).await;
            assert_eq!((answered, served.attempts(), served.outcome()), (status, 1, outcome));
        });
        assert_eq!((world.origin().requests(), world.origin().seen()[0].body_len()), (1, 8 << 20));
        assert!(most < 256 << 10, "{most} bytes of a stream of 8 MiB, of which 64 KiB may be kept");
    }
}

#[tokio::test(start_paused = true)]
async fn te_028_a_stream_that_nobody_has_asked_for_goes_on_through_another_exit_whatever_its_length() {
    let mut met = 0;
    for seed in 0..6 {
        let shop = Shop::with(Lab::builder().dead(1).fine(1), seed, RetryRules::default());
        let ask = LeaseRequest::per_request(); // a POST, of which nobody has said that it may be repeated
        let answer = shop.send(post(&shop.world.tls_url("/p"), stream(), ask)).await.unwrap();
        let (status, served) = read(answer).await;
        met += u32::from(served.attempts() == 2);
        assert_eq!((status, shop.world.origin().requests()), (200, 1));
        assert_eq!(shop.world.origin().seen()[0].body_len(), 8 << 20);
    }
    assert!(met > 0, "some met the dead exit first");
}
