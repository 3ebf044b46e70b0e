//! A socket that counts its bytes and can end with a reset.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Bytes both ways.
#[derive(Default)]
pub(super) struct Meter {
    read: AtomicU64,
    written: AtomicU64,
}

impl Meter {
    pub(super) fn add_read(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn add_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

/// Says, from within the HTTP exchange, that the connection under it ends with a reset.
#[derive(Default)]
pub(super) struct Hangup {
    reset: AtomicBool,
    told: Notify,
}

impl Hangup {
    pub(super) fn reset(&self) {
        self.reset.store(true, Ordering::Relaxed);
        self.told.notify_one();
    }

    /// Ends when it is time to drop the connection; for one that serves many exchanges at once, none of which can end it.
    pub(super) fn told(&self) -> Notified<'_> {
        self.told.notified()
    }
}

pub(super) struct Wire {
    stream: TcpStream,
    meter: Arc<Meter>,
    hangup: Arc<Hangup>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, meter: Arc<Meter>) -> Self {
        // Without it the small writes of a test wait for delayed acknowledgements.
        let _ = stream.set_nodelay(true);
        Self { stream, meter, hangup: Arc::default() }
    }

    pub(super) fn hangup(&self) -> Arc<Hangup> {
        Arc::clone(&self.hangup)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.hangup.reset.load(Ordering::Relaxed) {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.meter.add_read(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        self.meter.add_written(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs))?;
        self.meter.add_written(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
