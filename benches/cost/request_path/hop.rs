//! A connector for hyper-util's legacy client that goes to a forward proxy: requests over it are in absolute-form.

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tower::{BoxError, Service};

#[derive(Clone)]
pub(crate) struct Forward {
    proxy: Uri,
    tcp: HttpConnector,
}

impl Forward {
    pub(crate) fn new(proxy: Uri, tcp: HttpConnector) -> Self {
        Self { proxy, tcp }
    }
}

impl Service<Uri> for Forward {
    type Response = Hop;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Hop, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let dialled = self.tcp.call(self.proxy.clone());
        Box::pin(async { Ok(Hop(dialled.await?)) })
    }
}

/// A connection to a forward proxy. All of it is the socket's, vectored writes too.
pub(crate) struct Hop(TokioIo<TcpStream>);

impl Connection for Hop {
    fn connected(&self) -> Connected {
        self.0.connected().proxy(true)
    }
}

impl Read for Hop {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Hop {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
