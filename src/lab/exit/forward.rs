//! The exit's own connection to an origin.

use crate::lab::lock::Lock;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// Connects to an origin from the exit's own address. To one at ::1 from there, since IPv6 has no other loopback address.
pub(super) async fn dial(source: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let (socket, source) = match to {
        SocketAddr::V4(_) => (TcpSocket::new_v4()?, source),
        SocketAddr::V6(_) => (TcpSocket::new_v6()?, IpAddr::V6(Ipv6Addr::LOCALHOST)),
    };
    socket.bind(SocketAddr::new(source, 0))?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The connection that one client's requests are forwarded over; kept for its next request from the same address to the
/// same origin.
#[derive(Default)]
pub(super) struct Upstream(Lock<Option<Connection>>);

struct Connection {
    source: IpAddr,
    to: SocketAddr,
    sender: SendRequest<Incoming>,
    _driver: Driver,
}

/// Ends with its owner.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Upstream {
    pub(super) async fn send(
        &self,
        source: IpAddr,
        to: SocketAddr,
        mut request: Request<Incoming>,
    ) -> io::Result<Response<Incoming>> {
        let kept = self.0.lock().take().filter(|kept| (kept.source, kept.to) == (source, to));
        if let Some(mut kept) = kept {
            // A kept connection may have been closed by the origin: what was not sent goes over a new one.
            match kept.send(request).await {
                Ok(response) => return Ok(self.keep(kept, response)),
                Err(Unsent(Some(unsent))) => request = unsent,
                Err(Unsent(None)) => return Err(io::ErrorKind::ConnectionReset.into()),
            }
        }
        let mut fresh = Connection::open(source, to).await?;
        match fresh.send(request).await {
            Ok(response) => Ok(self.keep(fresh, response)),
            Err(_) => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }

    fn keep(&self, connection: Connection, response: Response<Incoming>) -> Response<Incoming> {
        *self.0.lock() = Some(connection);
        response
    }
}

/// A failed send, with the request if none of it went out.
struct Unsent(Option<Request<Incoming>>);

impl Connection {
    async fn open(source: IpAddr, to: SocketAddr) -> io::Result<Self> {
        let stream = dial(source, to).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let driver = tokio::spawn(async move {
            // Its failure is also that of the request on it.
            let _ = connection.await;
        });
        Ok(Self { source, to, sender, _driver: Driver(driver) })
    }

    async fn send(&mut self, request: Request<Incoming>) -> Result<Response<Incoming>, Unsent> {
        if self.sender.ready().await.is_err() {
            return Err(Unsent(Some(request)));
        }
        self.sender.try_send_request(request).await.map_err(|mut error| Unsent(error.take_message()))
    }
}
