//! Tunnels: bytes both ways between a client and an origin.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};
use tokio::net::TcpStream;

/// Carries bytes both ways until both sides have ended, one has failed, or so many came from the origin.
pub(super) async fn carry<C>(mut client: C, origin: TcpStream, cut_after: Option<u64>)
where
    C: AsyncRead + AsyncWrite + Unpin,
{
    let mut origin = Cut { stream: origin, left: cut_after };
    // Either end's failure ends the tunnel, and both see it.
    let _ = copy_bidirectional(&mut client, &mut origin).await;
}

/// A stream that fails once so many bytes were read from it.
struct Cut {
    stream: TcpStream,
    left: Option<u64>,
}

impl AsyncRead for Cut {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(left) = self.left else { return Pin::new(&mut self.stream).poll_read(cx, buf) };
        if left == 0 {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buf.remaining());
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut part))?;
        let read = part.filled().len();
        buf.advance(read);
        self.left = Some(left - read as u64);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Cut {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
