//! A body that is sent again is the same body, or none.

use super::ReplayBody;
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Frames one by one, of unknown length, and not `Unpin`.
#[derive(Default)]
#[pin_project::pin_project]
struct Stream {
    frames: VecDeque<Frame<Bytes>>,
    #[pin]
    _pinned: PhantomPinned,
}

fn stream(data: &[&'static str]) -> Stream {
    let frames = data.iter().map(|data| Frame::data(Bytes::from_static(data.as_bytes()))).collect();
    Stream { frames, ..Stream::default() }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.project().frames.pop_front().map(Ok))
    }
}

async fn read<B>(body: ReplayBody<B>) -> Bytes
where
    ReplayBody<B>: Body<Data = Bytes, Error = crate::error::BoxError>,
{
    body.collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn an_empty_body_is_always_replayable() {
    let body = ReplayBody::new(Full::<Bytes>::default(), 0);
    assert!(body.is_end_stream() && body.is_replayable());
    assert_eq!(body.size_hint().exact(), Some(0));
    assert!(read(body.clone()).await.is_empty());
    assert!(body.is_replayable());
}

#[tokio::test]
async fn a_body_in_memory_is_the_same_again() {
    let sent = ReplayBody::new(Full::<Bytes>::from("price=42"), 8);
    let (again, third) = (sent.clone(), sent.clone());
    assert_eq!(sent.size_hint().exact(), Some(8));
    assert_eq!(read(sent).await, "price=42");
    assert!(again.is_replayable());
    assert_eq!((again.size_hint().exact(), again.is_end_stream()), (Some(8), false));
    assert_eq!(read(again).await, "price=42");
    assert_eq!(read(third.clone()).await, "price=42");
}

#[tokio::test]
async fn a_body_over_the_cap_is_sent_once_and_whole() {
    for body in [stream(&["price", "=42"]), stream(&["price=42"])] {
        let sent = ReplayBody::new(body, 7);
        let again = sent.clone();
        assert!(again.is_replayable(), "nobody has asked for a frame");
        assert_eq!(read(sent).await, "price=42");
        assert!(!again.is_replayable());
        again.collect().await.unwrap_err();
    }
    let sent = ReplayBody::new(Full::<Bytes>::from("price=42"), 7);
    let again = sent.clone();
    assert_eq!(read(sent).await, "price=42");
    assert!(!again.is_replayable());
}

#[tokio::test]
async fn empty_frames_are_not_kept_without_bound() {
    for (frames, again) in [(1_024, true), (1_025, false), (100_000, false)] {
        let sent = ReplayBody::new(stream(&vec![""; frames]), 64);
        let next = sent.clone();
        assert!(read(sent).await.is_empty());
        assert_eq!(next.is_replayable(), again, "{frames}");
    }
}

#[tokio::test]
async fn of_a_half_sent_body_the_next_attempt_gets_what_was_kept_and_then_the_rest() {
    let mut sent = ReplayBody::new(stream(&["price", "=", "42"]), 64);
    let (mut again, third) = (sent.clone(), sent.clone().clone());
    assert_eq!(sent.frame().await.unwrap().unwrap().into_data().unwrap(), "price");
    assert!(again.is_replayable());
    assert_eq!(again.frame().await.unwrap().unwrap().into_data().unwrap(), "price");
    assert!(sent.frame().await.unwrap().is_err(), "what is still being sent does not take the rest away");
    assert_eq!(again.frame().await.unwrap().unwrap().into_data().unwrap(), "=");
    assert_eq!(read(third).await, "price=42");

    // Over the cap it is whole once more, and then gone.
    let mut sent = ReplayBody::new(stream(&["price", "=42"]), 7);
    let (again, third) = (sent.clone(), sent.clone().clone());
    assert_eq!(sent.frame().await.unwrap().unwrap().into_data().unwrap(), "price");
    assert_eq!(read(again).await, "price=42");
    assert!(!third.is_replayable());
    assert!(!third.is_end_stream() && third.size_hint().exact().is_none(), "it is not empty, but gone");
    third.collect().await.unwrap_err();

    // What is still being sent cannot take the body over the cap once the next attempt has claimed it.
    let mut sent = ReplayBody::new(stream(&["price", "=42"]), 7);
    let again = sent.clone();
    assert_eq!(sent.frame().await.unwrap().unwrap().into_data().unwrap(), "price");
    again.claim();
    assert!(sent.frame().await.unwrap().is_err());
    assert_eq!(read(again).await, "price=42");
}

#[tokio::test]
async fn what_did_not_say_its_length_does_not_the_second_time_either() {
    for data in [&["price", "=42"][..], &[]] {
        let sent = ReplayBody::new(stream(data), 64);
        let again = sent.clone();
        assert_eq!((sent.is_end_stream(), sent.size_hint().exact()), (false, None));
        assert_eq!(read(sent).await, data.concat());
        assert_eq!((again.is_end_stream(), again.size_hint().exact()), (false, None));
        assert_eq!(read(again).await, data.concat());
    }
}

#[tokio::test]
async fn a_body_that_breaks_is_gone() {
    let sent = ReplayBody::new(Breaks::default(), 64);
    let again = sent.clone();
    sent.collect().await.unwrap_err();
    assert!(!again.is_replayable());
    again.collect().await.unwrap_err();
}

/// Breaks after its first frame.
#[derive(Default)]
struct Breaks(bool);

impl Body for Breaks {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let first = !std::mem::replace(&mut self.0, true);
        let broken = || Err(std::io::Error::other("the disk is gone"));
        Poll::Ready(Some(if first { Ok(Frame::data(Bytes::from_static(b"price"))) } else { broken() }))
    }
}

#[tokio::test]
async fn an_untouched_body_of_any_size_goes_again() {
    let sent = ReplayBody::new(stream(&["price", "=42"]), 0);
    let again = sent.clone();
    drop(sent);
    assert!(again.is_replayable());
    assert_eq!(read(again).await, "price=42");
}

#[tokio::test]
async fn an_attempt_that_was_given_up_cannot_take_the_bytes_of_the_next() {
    let mut old = ReplayBody::new(stream(&["price", "=42"]), 64);
    let mut new = old.clone();
    assert_eq!(new.frame().await.unwrap().unwrap().into_data().unwrap(), "price");
    assert!(old.frame().await.unwrap().is_err());
    assert_eq!(read(new).await, "=42");
}

#[tokio::test]
async fn trailers_are_part_of_the_body() {
    let trailers = HeaderMap::from_iter([(http::header::ETAG, http::HeaderValue::from_static("x"))]);
    let mut body = stream(&["price"]);
    body.frames.push_back(Frame::trailers(trailers.clone()));
    let sent = ReplayBody::new(body, 64);
    let again = sent.clone();
    for body in [sent, again] {
        assert_eq!(body.collect().await.unwrap().trailers(), Some(&trailers));
    }
}
