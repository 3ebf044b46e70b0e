use super::{Connection, Protocol};
use crate::body::Body;
use http::Request;
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf, duplex,
};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;

/// The runtime's only thread is held up while the other side closes: it cannot have noticed.
#[tokio::test]
async fn an_end_that_has_arrived_is_seen_before_the_connection_is_used() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let far = thread::spawn(move || {
        let (mut far, _) = listener.accept().unwrap();
        assert_ne!(far.read(&mut [0; 1024]).unwrap(), 0);
        far.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        far
    });
    let mut connection =
        Connection::start(Box::new(near), Protocol::Http1, (Arc::default(), 0, None)).await.unwrap();
    let request = Request::get("http://shop.example/").body(Body::empty()).unwrap();
    assert_eq!(connection.exchange(request).await.ok().map(|answer| answer.status().as_u16()), Some(204));
    let far = far.join().unwrap();
    let connection = connection.alive().await.expect("the other side is there");
    drop(far);
    assert!(connection.is_ready() && !connection.is_closed(), "nobody has looked yet");
    assert!(connection.alive().await.is_none());
}

/// Tells when it is closed.
struct Closing(DuplexStream, #[allow(dead_code, reason = "dropped with it")] oneshot::Sender<()>);

impl AsyncRead for Closing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Closing {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

fn post(body: Vec<u8>) -> Request<Body> {
    Request::post("https://shop.example/").body(Body::from(body)).unwrap()
}

/// The other end answers, and then takes not one byte more: there is no way to say good-bye to it.
#[tokio::test(start_paused = true)]
async fn an_http2_connection_ends_with_its_owner_even_if_the_other_end_stalls() {
    for cancelled in [false, true] {
        let (near, far) = duplex(4 * 1024);
        let (closed, closes) = oneshot::channel();
        let near = Closing(near, closed);
        let origin = tokio::spawn(async move {
            let mut far = h2::server::Builder::new()
                .initial_window_size(1 << 20)
                .handshake::<_, bytes::Bytes>(far)
                .await
                .unwrap();
            let (request, mut respond) = far.accept().await.unwrap().unwrap();
            respond.send_response(http::Response::new(()), true).unwrap();
            // The answer goes out, and nothing is read any more.
            let _ = timeout(Duration::from_millis(1), far.accept()).await;
            std::future::pending::<()>().await;
            drop((request, respond, far));
        });
        let mut connection =
            Connection::start(Box::new(near), Protocol::Http2, (Arc::default(), 0, None)).await.unwrap();
        let sent = connection.exchange(post(vec![0; 512 * 1024]));
        if cancelled {
            assert!(timeout(Duration::ZERO, sent).await.is_err());
        } else {
            assert_eq!(sent.await.ok().map(|answer| answer.status().as_u16()), Some(200));
        }
        drop(connection);
        timeout(Duration::from_secs(60), closes).await.expect("it is closed in time").unwrap_err();
        origin.abort();
    }
}

/// An answer that came before the request was read leaves an HTTP/1.1 connection that seems to idle.
#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_even_if_the_other_end_reads_nothing() {
    let (near, mut far) = duplex(1024);
    let (closed, closes) = oneshot::channel();
    let mut connection =
        Connection::start(Box::new(Closing(near, closed)), Protocol::Http1, (Arc::default(), 0, None))
            .await
            .unwrap();
    let sent = connection.exchange(post(vec![0; 16 * 1024]));
    let answered = async {
        assert_ne!(far.read(&mut [0; 64]).await.unwrap(), 0);
        far.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    };
    let (answer, ()) = tokio::join!(sent, answered);
    assert_eq!(answer.ok().map(|answer| answer.status().as_u16()), Some(200));
    yield_now().await;
    assert!(connection.is_ready(), "it seems to idle");
    drop(connection);
    timeout(Duration::from_secs(60), closes).await.expect("it is closed in time").unwrap_err();
}
