//! A stream that remembers what came in: hyper tells neither whether an answer had begun nor that an idle stream has ended.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a stream has seen, for whoever does not own it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    heard: AtomicBool,
    ended: AtomicBool,
}

impl Watch {
    /// From here on, listens anew.
    pub(super) fn forget(&self) {
        self.heard.store(false, Ordering::Relaxed);
    }

    /// Whether a byte came in since.
    pub(super) fn has_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// Whether no more will come.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// A stream under watch.
#[derive(Debug)]
pub(super) struct Watched<T> {
    io: T,
    watch: Arc<Watch>,
}

impl<T> Watched<T> {
    pub(super) fn new(io: T) -> Self {
        Self { io, watch: Arc::default() }
    }

    pub(super) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let full = buf.remaining() == 0;
        let read = ready!(Pin::new(&mut self.io).poll_read(cx, buf));
        if buf.filled().len() > before {
            self.watch.heard.store(true, Ordering::Relaxed);
        } else if read.is_err() || !full {
            self.watch.ended.store(true, Ordering::Relaxed);
        }
        Poll::Ready(read)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
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
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn bytes_and_the_end_are_told_apart() {
        let mut stream = Watched::new(&b"ab"[..]);
        let watch = stream.watch();
        stream.read_exact(&mut [0; 2]).await.unwrap();
        assert_eq!((watch.has_heard(), watch.has_ended()), (true, false));
        watch.forget();
        assert_eq!(stream.read(&mut []).await.unwrap(), 0);
        assert_eq!((watch.has_heard(), watch.has_ended()), (false, false), "nothing was asked for");
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        assert_eq!((watch.has_heard(), watch.has_ended()), (false, true));
    }
}
