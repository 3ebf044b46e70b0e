//! Bodies of answers: read in their time, and no longer than allowed.

use crate::bodies::{peak, scheduler, tried};
use crate::shop::*;
use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};
use http::header::CONTENT_ENCODING;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, ServiceBuilder, ServiceExt};
use tower_egress::lab::{Lab, MemoryWorld, Reply, ReplyBody};
use tower_egress::outcome::{FailureDomain, Phase};
use tower_egress::retry::ReplayBody;
use tower_egress::verdict::Why;
use tower_egress::{Body, EgressBody, EgressClient, EgressLayer, LeaseRequest, Outcome, Scheduler, Served};
use tower_http::decompression::DecompressionLayer;

const BROKEN: Outcome = Outcome::Interrupted { phase: Phase::Body };

/// A byte at a time, and a while after each.
struct Slow<B> {
    body: B,
    ready: Bytes,
    pause: Pin<Box<tokio::time::Sleep>>,
    every: Duration,
}

impl<B: http_body::Body<Data = Bytes> + Unpin> http_body::Body for Slow<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.ready.is_empty() {
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => self.ready = frame.into_data().unwrap(),
                end => return Poll::Ready(end),
            }
        }
        std::task::ready!(self.pause.as_mut().poll(cx));
        let next = now() + self.every;
        self.pause.as_mut().reset(next);
        Poll::Ready(Some(Ok(Frame::data(self.ready.split_to(1)))))
    }
}

/// A site whose `/slow` takes 10 s for 50 bytes, and whose `/stalls` goes no further than 100.
fn sluggish(
    layer: impl FnOnce(EgressLayer) -> EgressLayer,
) -> (MemoryWorld, Scheduler, EgressClient<EgressBody<Slow<ReplyBody>>>) {
    let world = Lab::builder().fine(2).in_memory().unwrap();
    world.origin().page("/slow", Reply::page(vec![b'a'; 50]));
    world.origin().page("/stalls", Reply::page(vec![b'b'; 200]).stall_after(100));
    let (scheduler, every) = (scheduler(&world), millis(200));
    let client =
        ServiceExt::<Request<ReplayBody<Body>>>::map_response(world.clone(), move |answer: Response<_>| {
            let pause = || Box::pin(tokio::time::sleep(every));
            answer.map(|body| Slow { body, ready: Bytes::new(), pause: pause(), every })
        });
    let layer = layer(EgressLayer::new(&scheduler).body_idle_timeout(millis(500)));
    (world, scheduler, EgressClient::of(layer.layer(client)))
}

#[tokio::test(start_paused = true)]
async fn te_122_a_body_may_take_as_long_as_it_moves() {
    // Chosen: the deadline of a request ends at the head of its answer, unless bodies are collected; then it covers them too.
    let (ten, three) = (secs(10), secs(3));
    let whole = |layer: EgressLayer| layer.collect(1_000);
    let asked = |deadline| LeaseRequest::per_request().deadline(deadline);
    let get = |world: &MemoryWorld, ask| request(Method::GET, &world.tls_url("/slow"), "", ask);
    for ask in [asked(secs(600)), asked(three)] {
        let (world, scheduler, client) = sluggish(|layer| layer);
        let start = now();
        let answer = client.send(get(&world, ask)).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes().len(), 50);
        assert_eq!((now() - start, scheduler.snapshot().in_flight), (ten, 0));
    }
    let (world, _, client) = sluggish(whole);
    let start = now();
    let answer = client.send(get(&world, asked(secs(600)))).await.unwrap();
    assert_eq!((answer.into_body().collect().await.unwrap().to_bytes().len(), now() - start), (50, ten));

    let (world, scheduler, client) = sluggish(whole);
    let start = now();
    let error = client.send(get(&world, asked(three))).await.unwrap_err();
    assert_eq!((error.outcome(), now() - start), (Some(BROKEN), three), "cut, and in its body");
    assert_eq!((world.origin().requests(), scheduler.snapshot().in_flight), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn te_122_a_body_that_stalls_ends_in_its_idle_time_and_is_not_asked_for_again_once_its_head_was_given()
{
    let ask = || LeaseRequest::per_request().deadline(secs(600));
    let (world, scheduler, client) = sluggish(|layer| layer);
    let answer = client.send(request(Method::GET, &world.tls_url("/stalls"), "", ask())).await.unwrap();
    let (served, mut body) = (answer.extensions().get::<Served>().unwrap().clone(), answer.into_body());
    let mut last = now();
    let error = loop {
        match body.frame().await.unwrap() {
            Ok(_) => last = now(),
            Err(error) => break error,
        }
    };
    assert_eq!((now() - last, served.bytes()), (millis(500), 100));
    assert_eq!((error.outcome(), served.outcome()), (Some(BROKEN), BROKEN));
    assert!(error.to_string().contains("answer body timed out"), "{error}");
    assert_eq!((world.origin().requests(), scheduler.snapshot().in_flight), (1, 0));

    // Collected, nobody has been given its head: another exit is asked.
    let (world, scheduler, client) = sluggish(|layer| layer.collect(1_000));
    let stalls = request(Method::GET, &world.tls_url("/stalls"), "", ask().attempts(2.try_into().unwrap()));
    let error = client.send(stalls).await.unwrap_err();
    assert_eq!((error.outcome(), error.why()), (Some(BROKEN), Some(Why::Exhausted)));
    let [one, two] = seen(world.origin())[..] else { panic!("{error}") };
    assert_ne!(one, two);
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

/// About a mebibyte that unpacks to a gibibyte: a mebibyte of nothing, packed, as often as needed. Its checksum is wrong, but
/// nobody comes as far.
pub(crate) fn bomb() -> Bytes {
    let mut part = Vec::with_capacity(64 << 10);
    let mut packer = Compress::new(Compression::best(), false);
    packer.compress_vec(&[0; 1 << 20], &mut part, FlushCompress::Full).unwrap();
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let end = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    [&head[..], &part.repeat(1_024), &end].concat().into()
}

#[test]
fn te_098_a_small_page_that_unpacks_to_a_gibibyte_costs_the_cap_and_no_more() {
    const CAP: usize = 64 << 10;
    let bomb = bomb();
    assert!((1 << 19..2 << 20).contains(&bomb.len()), "{}", bomb.len());
    for (status, collect) in [(200, true), (200, false), (403, true), (403, false)] {
        let world = Lab::builder().fine(2).in_memory().unwrap();
        let packed = Reply::page(bomb.clone()).header(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        world.origin().page("/p", packed.status(StatusCode::from_u16(status).unwrap()));
        let scheduler = scheduler(&world);
        let layer = EgressLayer::new(&scheduler);
        let layer = if collect { layer.collect(CAP) } else { layer };
        let stack =
            ServiceBuilder::new().layer(layer).layer(DecompressionLayer::new()).service(world.clone());
        let ask = tried(if status == 200 { 4 } else { 1 });
        let most = peak(async {
            let answer = stack.oneshot(request(Method::GET, &world.tls_url("/p"), "", ask)).await;
            let too_large = Outcome::TooLarge { cap: CAP as u64 };
            if (status, collect) == (200, true) {
                let error = answer.unwrap_err();
                assert_eq!((error.outcome(), error.why()), (Some(too_large), Some(Why::NoCure)));
                assert_eq!(too_large.domain(), FailureDomain::Origin);
                let read = error.attempts()[0].bytes;
                assert!(error.attempts().len() == 1 && read <= CAP as u64, "{read} unpacked bytes");
                return;
            }
            let answer = answer.unwrap();
            let served = answer.extensions().get::<Served>().unwrap().clone();
            assert!(served.bytes() <= 32 << 10, "{} unpacked bytes read ahead", served.bytes());
            let mut body = answer.into_body();
            while served.bytes() < 8 << 20 {
                match body.frame().await.unwrap() {
                    Ok(_) => {}
                    Err(error) => {
                        assert!(collect && served.bytes() <= CAP as u64, "{error}");
                        assert_eq!((error.outcome(), body.frame().await.is_none()), (Some(too_large), true));
                        return;
                    }
                }
            }
            assert!(!collect, "it streams to who reads it");
        });
        assert!(most < 4 << 20, "{most} bytes at once: {status} {collect}");
        let fleet = scheduler.snapshot();
        assert_eq!((world.origin().requests(), fleet.in_flight, fleet.exits.dead), (1, 0, 0));
        assert_eq!(fleet.outcomes.too_large, u64::from((status, collect) == (200, true)));
        assert_eq!(fleet.hottest.len(), usize::from(status == 403), "nobody is charged for it: {fleet}");
    }
}
