//! A stream under watch: what it carries is counted, whether it has ended is known, and bytes that were read too far come
//! first. hyper tells neither whether an answer had begun nor that an idle stream has ended.

use crate::outcome::{Counts, WireBytes};
use bytes::{Buf as _, Bytes};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Anything that bytes go through, both ways.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A stage on the way to the origin, whatever lies below.
pub(super) type Stream = Box<dyn Duplex>;

/// A stream under watch.
pub(super) struct Watched<T> {
    io: T,
    /// Boxed: few have any, and each connection has two of these.
    first: Option<Box<Bytes>>,
    watch: Option<Arc<Counts>>,
    wire: Option<Arc<Counts>>,
}

impl<T> Watched<T> {
    /// Tells `watch` what comes in.
    pub(super) const fn by(watch: Arc<Counts>, io: T) -> Self {
        Self { io, first: None, watch: Some(watch), wire: None }
    }

    /// Counts what goes by.
    pub(super) const fn counted(wire: Arc<Counts>, io: T) -> Self {
        Self { io, first: None, watch: None, wire: Some(wire) }
    }

    /// Reads these bytes first, which came together with what was before.
    pub(super) fn after(first: Bytes, io: T) -> Self {
        let first = (!first.is_empty()).then(|| Box::new(first));
        Self { io, first, watch: None, wire: None }
    }

    fn has_read(&self, bytes: usize, asked: bool) {
        if let Some(watch) = &self.watch {
            if bytes > 0 {
                watch.has_read();
            } else if asked {
                watch.end();
            }
        }
        self.count(0, bytes);
    }

    fn count(&self, sent: usize, received: usize) {
        if let Some(wire) = &self.wire {
            wire.add(WireBytes::new(sent as u64, received as u64));
        }
    }

    fn has_written(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.count(*bytes, 0);
        }
        written
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(first) = &mut self.first {
            let fits = first.len().min(buf.remaining());
            buf.put_slice(&first[..fits]);
            first.advance(fits);
            if first.is_empty() {
                self.first = None;
            }
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let full = buf.remaining() == 0;
        let read = ready!(Pin::new(&mut self.io).poll_read(cx, buf));
        self.has_read(buf.filled().len() - before, read.is_err() || !full);
        Poll::Ready(read)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.has_written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.has_written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::Watched;
    use crate::outcome::{Counts, WireBytes};
    use bytes::Bytes;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    #[tokio::test]
    async fn bytes_and_the_end_are_told_apart() {
        let watch = Arc::new(Counts::default());
        let mut stream = Watched::by(Arc::clone(&watch), &b"ab"[..]);
        stream.read_exact(&mut [0; 2]).await.unwrap();
        assert_eq!((watch.reads(), watch.has_ended()), (1, false));
        assert_eq!(stream.read(&mut []).await.unwrap(), 0);
        assert_eq!((watch.reads(), watch.has_ended()), (1, false), "nothing was asked for");
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        assert_eq!((watch.reads(), watch.has_ended()), (1, true));
    }

    #[tokio::test]
    async fn what_was_read_too_far_comes_first_in_reads_of_any_size() {
        let mut stream = Watched::after(Bytes::from_static(b"early"), &b" late"[..]);
        let mut two = [0; 2];
        stream.read_exact(&mut two).await.unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert_eq!((&two[..], rest.as_str()), (&b"ea"[..], "rly late"));
    }

    #[tokio::test]
    async fn both_directions_are_counted() {
        let (near, mut far) = duplex(64);
        let wire = Arc::new(Counts::default());
        let mut near = Watched::counted(Arc::clone(&wire), near);
        near.write_all(b"hello").await.unwrap();
        far.write_all(b"hi").await.unwrap();
        near.read_exact(&mut [0; 2]).await.unwrap();
        assert_eq!(wire.now(), WireBytes::new(5, 2));
        assert_eq!((wire.take(), wire.now()), (WireBytes::new(5, 2), WireBytes::default()));
    }
}
