//! Bodies that move and bring nothing.

use crate::support::*;
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Sleep, sleep};
use tower::{Layer as _, service_fn};
use tower_egress::outcome::Phase;
use tower_egress::{EgressLayer, Outcome};

const PAUSE: Duration = Duration::from_secs(10);

/// A frame without a byte every ten seconds, as HTTP/2 allows it; for an hour.
struct Drip(Pin<Box<Sleep>>, usize);

impl Body for Drip {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.1 == 0 {
            return Poll::Ready(None);
        }
        ready!(self.0.as_mut().poll(cx));
        self.0.set(sleep(PAUSE));
        self.1 -= 1;
        Poll::Ready(Some(Ok(Frame::data(Bytes::new()))))
    }
}

#[tokio::test(start_paused = true)]
async fn empty_frames_do_not_keep_a_body_alive() {
    for collects in [false, true] {
        let (scheduler, start) = (scheduler(1), now());
        let answer = || async { Ok::<_, Infallible>(Response::new(Drip(Box::pin(sleep(PAUSE)), 360))) };
        let layer = EgressLayer::new(&scheduler);
        let layer = if collects { layer.collect(1024) } else { layer };
        let stack = layer.layer(service_fn(move |_| answer()));
        let error = match stack.oneshot(post("https://shop.example/", "buy")).await {
            Ok(answer) => answer.into_body().collect().await.map(drop).unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.outcome(), Some(Outcome::Interrupted { phase: Phase::Body }));
        assert_eq!(now() - start, PAUSE * 3, "30 s without a byte");
    }
}
