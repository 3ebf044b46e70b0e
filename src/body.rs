//! The request body of the crate: one client sends bytes, strings and streams.

use crate::error::BoxError;
use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A request body, whatever it is made from: nothing, bytes, a string, or any [`http_body::Body`]. It names one type where
/// a client would otherwise need one for each kind of body.
///
/// ```
/// use http_body::Body as _;
/// use tower_egress::Body;
///
/// let form = Body::from("a=1&b=2");
/// assert_eq!(form.size_hint().exact(), Some(7));
/// assert!(Body::empty().is_end_stream());
/// ```
#[derive(Default)]
pub struct Body(Kind);

#[derive(Default)]
enum Kind {
    #[default]
    Empty,
    Bytes(Bytes),
    Stream(Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send>>),
}

impl Body {
    /// A body of no bytes.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// Wraps any body. It is boxed, unless it is empty or a `Body` already.
    #[must_use]
    pub fn new<B>(body: B) -> Self
    where
        B: http_body::Body + Send + 'static,
        B::Data: Buf,
        B::Error: Into<BoxError>,
    {
        if body.is_end_stream() {
            return Self::empty();
        }
        let mut slot = Some(body);
        if let Some(own) = (&mut slot as &mut dyn Any).downcast_mut::<Option<Self>>() {
            return own.take().unwrap_or_default();
        }
        slot.map_or_else(Self::empty, |body| Self(Kind::Stream(Box::pin(AsBytes { body }))))
    }

    /// A copy, if it is in memory; `None` of a stream. What redirect policies clone a body with. The bytes are shared.
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        match &self.0 {
            Kind::Empty => Some(Self::empty()),
            Kind::Bytes(bytes) => Some(Self(Kind::Bytes(bytes.clone()))),
            Kind::Stream(_) => None,
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::empty() } else { Self(Kind::Bytes(bytes)) }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Kind::Empty => Poll::Ready(None),
            Kind::Bytes(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Kind::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Kind::Stream(stream) => stream.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Bytes(_) => false,
            Kind::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Bytes(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(stream) => stream.size_hint(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is sent may be a secret; how much of it is not.
        f.debug_struct("Body")
            .field("size", &http_body::Body::size_hint(self).exact())
            .finish_non_exhaustive()
    }
}

/// A body of any buffers and error as one of `Bytes` and a boxed error.
#[pin_project::pin_project]
struct AsBytes<B> {
    #[pin]
    body: B,
}

impl<B> http_body::Body for AsBytes<B>
where
    B: http_body::Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.project().body.poll_frame(cx).map(|frame| Some(frame?.map(into_bytes).map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A frame with its data as `Bytes`; no copy if it is `Bytes` already.
pub(crate) fn into_bytes<D: Buf>(frame: Frame<D>) -> Frame<Bytes> {
    frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
}

#[cfg(test)]
mod tests {
    use super::{Body, Kind};
    use bytes::Bytes;
    use http_body::Body as _;
    use http_body_util::{BodyExt as _, Full};
    use std::collections::VecDeque;
    use std::task::{Context, Poll, Waker};

    fn read(body: Body) -> Bytes {
        let mut collect = std::pin::pin!(body.collect());
        match collect.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(whole) => whole.expect("no error in memory").to_bytes(),
            Poll::Pending => panic!("a body in memory is always ready"),
        }
    }

    #[test]
    fn in_memory_bodies_know_their_size_before_and_after() {
        let bodies = [
            Body::from("hello"),
            Body::from(String::from("hello")),
            Body::from(b"hello".to_vec()),
            Body::from(Bytes::from_static(b"hello")),
            Body::new(Full::new(Bytes::from_static(b"hello"))),
        ];
        for mut body in bodies {
            assert_eq!(body.size_hint().exact(), Some(5));
            assert!(!body.is_end_stream());
            let frame = std::pin::Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
            assert!(
                matches!(frame, Poll::Ready(Some(Ok(frame))) if frame.data_ref().is_some_and(|d| d == "hello"))
            );
            assert_eq!(body.size_hint().exact(), Some(0));
            assert!(body.is_end_stream());
        }
    }

    #[test]
    fn nothing_is_boxed_for_an_empty_body_or_an_own_one() {
        assert!(matches!(Body::new(Full::<Bytes>::default()).0, Kind::Empty));
        assert!(matches!(Body::from("").0, Kind::Empty));
        assert!(matches!(Body::new(Body::from("x")).0, Kind::Bytes(_)));
        assert!(matches!(Body::new(Body::new(Full::new(Bytes::from("x")))).0, Kind::Stream(_)));
    }

    #[test]
    fn any_buffer_is_sent_as_bytes() {
        let deque = VecDeque::from(b"wrapped".to_vec());
        assert_eq!(read(Body::new(Full::new(deque))), "wrapped");
    }

    #[test]
    fn debug_shows_the_size_and_not_the_content() {
        let shown = format!("{:?}", Body::from("password=hunter2"));
        assert_eq!(shown, "Body { size: Some(16), .. }");
    }

    #[test]
    fn a_body_is_send() {
        fn send<T: Send + 'static>() {}
        send::<Body>();
    }
}
