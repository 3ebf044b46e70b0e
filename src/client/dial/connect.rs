//! CONNECT: a tunnel through an HTTP proxy, or its refusal with everything the proxy said.
//!
//! hyper's own connection reads the answer. It is driven in place instead of spawned, so that the socket comes back with
//! the bytes that were read too far.

use super::Failed;
use crate::body::Body;
use crate::client::watched::{Stream, Watched};
use crate::error::BoxError;
use crate::outcome::{Egress, Failure, Phase, ReasonPhrase, Seen};
use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection};
use hyper_util::rt::TokioIo;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::timeout;

/// Most bytes of an answer's head.
const MAX_HEAD: usize = 16 * 1024;
/// Most bytes of a refusal's body.
const MAX_REFUSAL: usize = 4 * 1024;
/// Longest wait for a refusal's body once its head is there.
const REFUSAL_WAIT: Duration = Duration::from_millis(250);

/// A refusal whose head is here.
pub(super) struct Refusal {
    proxy: Proxy,
    answer: Response<Incoming>,
}

impl Refusal {
    /// Reads the body, as far as it comes in time. The head is worth having without it.
    pub(super) async fn read(self) -> Failure {
        let Self { mut proxy, answer } = self;
        let (head, mut body) = answer.into_parts();
        let mut read = BytesMut::new();
        // Late or broken: what has come stays.
        let _ = timeout(REFUSAL_WAIT, proxy.read(&mut body, &mut read)).await;
        let mut answer = Response::from_parts(head, read.freeze());
        keep_phrase(&mut answer);
        Failure::new(Phase::Tunnel, Seen::Never).refused(answer)
    }
}

/// Says the reason phrase beside an answer that has one of its own.
pub(in crate::client) fn keep_phrase<B>(answer: &mut Response<B>) {
    if let Some(phrase) = answer.extensions().get::<hyper::ext::ReasonPhrase>() {
        let phrase = ReasonPhrase::new(phrase.as_bytes().to_vec());
        answer.extensions_mut().insert(phrase);
    }
}

/// Asks the proxy at the other end of `io` for a tunnel. It may say where that leaves from.
pub(super) async fn open(io: Stream, connect: Request<Body>) -> Result<(Stream, Option<Egress>), Failed> {
    let (mut sender, connection) = Builder::new()
        .ignore_invalid_headers_in_responses(true)
        .max_buf_size(MAX_HEAD)
        .max_header_size(MAX_HEAD)
        .handshake(TokioIo::new(io))
        .await
        .map_err(failed)?;
    let mut proxy = Proxy { connection, over: false };
    let mut sent = pin!(sender.try_send_request(connect));
    let answer = poll_fn(|cx| {
        let over = proxy.drive(cx);
        match sent.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(answer.map_err(|error| failed(error.into_error()))),
            Poll::Pending => over.map(|cause| Err(failed(cause))),
        }
    })
    .await?;
    if !answer.status().is_success() {
        return Err(Failed::Refused(Box::new(Refusal { proxy, answer })));
    }
    let egress = Egress::from_connect(answer.headers());
    let parts = proxy.connection.into_parts();
    let io = parts.io.into_inner();
    let io = if parts.read_buf.is_empty() { io } else { Box::new(Watched::after(parts.read_buf, io)) };
    Ok((io, egress))
}

fn failed(cause: impl Into<BoxError>) -> Failure {
    Failure::new(Phase::Tunnel, Seen::Never).because(cause)
}

/// The proxy's side of the conversation until it is a tunnel.
struct Proxy {
    connection: Connection<TokioIo<Stream>, Body>,
    over: bool,
}

impl Proxy {
    /// Moves bytes; ready with the reason once no more will come.
    fn drive(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let eof = || io::ErrorKind::UnexpectedEof.into();
        if self.over {
            return Poll::Ready(eof());
        }
        let end = ready!(self.connection.poll_without_shutdown(cx));
        self.over = true;
        Poll::Ready(end.err().map_or_else(eof, io::Error::other))
    }

    /// Reads a body up to the cap, to its end, or until it breaks.
    async fn read(&mut self, body: &mut Incoming, into: &mut BytesMut) {
        while into.len() < MAX_REFUSAL {
            let Some(Ok(frame)) = poll_fn(|cx| self.poll_frame(body, cx)).await else { return };
            let data: Bytes = frame.into_data().unwrap_or_default();
            into.extend_from_slice(&data[..data.len().min(MAX_REFUSAL - into.len())]);
        }
    }

    fn poll_frame(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, hyper::Error>>> {
        let over = self.drive(cx).is_ready();
        match Pin::new(body).poll_frame(cx) {
            Poll::Pending if over => Poll::Ready(None),
            frame => frame,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Failed, open};
    use crate::body::Body;
    use http::{Method, Request};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    /// What comes out of a tunnel whose proxy answers with these bytes in one write, and what the proxy reads from it.
    async fn through(answer: Vec<u8>) -> Result<(String, String), Failed> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut far, _) = listener.accept().await.unwrap();
        far.write_all(&answer).await.unwrap();
        let mut connect = Request::new(Body::empty());
        *connect.method_mut() = Method::CONNECT;
        *connect.uri_mut() = "shop.example:443".parse().unwrap();
        let (mut tunnel, _) = open(Box::new(near), connect).await?;
        far.write_all(b"late").await.unwrap();
        far.shutdown().await.unwrap();
        let (mut down, mut up) = (String::new(), String::new());
        tunnel.read_to_string(&mut down).await.unwrap();
        tunnel.write_all(b"up").await.unwrap();
        drop(tunnel);
        far.read_to_string(&mut up).await.unwrap();
        Ok((down, up))
    }

    #[tokio::test]
    async fn te_040_bytes_that_arrive_with_the_head_belong_to_the_tunnel() {
        for head in [
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.0 200\n\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n",
            "HTTP/1.1 200 OK\r\nProxy Connection: keep-alive\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            for early in [String::new(), "early".to_owned(), "e".repeat(20_000)] {
                let Ok((down, up)) = through([head, &early].concat().into_bytes()).await else {
                    panic!("{head:?} opens a tunnel");
                };
                assert_eq!(down, early + "late", "{head:?}");
                assert!(up.ends_with("\r\n\r\nup"), "{up:?}");
            }
        }
    }
}
