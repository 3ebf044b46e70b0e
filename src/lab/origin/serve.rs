//! An origin on a socket.

use super::Origin;
use crate::lab::broken::Broken;
use crate::lab::digest::BodyDigest;
use crate::lab::reply::ReplyBody;
use crate::lab::seen::Arrival;
use crate::lab::tls::{HTTP2, offering_http2};
use crate::lab::wire::{Hangup, Wire};
use crate::outcome::{Failure, Phase, Seen};
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::HandshakeKind;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// What an origin offers by ALPN, with HTTP/2 and without.
#[derive(Clone)]
pub(in crate::lab) struct Offers {
    both: TlsAcceptor,
    http1: TlsAcceptor,
}

impl Offers {
    pub(in crate::lab) fn of(http1: TlsAcceptor) -> Self {
        Self { both: offering_http2(&http1), http1 }
    }
}

/// Who is connected, and how.
#[derive(Clone)]
struct Caller {
    origin: Origin,
    peer: IpAddr,
    tls: bool,
    hangup: Arc<Hangup>,
}

pub(in crate::lab) async fn serve_plain(origin: Origin, stream: TcpStream, peer: IpAddr) {
    origin.count_connection(peer);
    let wire = Wire::new(stream, Arc::default());
    let hangup = wire.hangup();
    serve_http1(wire, Caller { origin, peer, tls: false, hangup }).await;
}

pub(in crate::lab) async fn serve_tls(origin: Origin, offers: Offers, stream: TcpStream, peer: IpAddr) {
    origin.count_connection(peer);
    let wire = Wire::new(stream, Arc::default());
    let hangup = wire.hangup();
    let tls = if origin.0.http1_only.load(Ordering::Relaxed) { offers.http1 } else { offers.both };
    // A client that does not trust the lab's root ends here.
    let Ok(stream) = tls.accept(wire).await else { return };
    let session = stream.get_ref().1;
    if session.handshake_kind() == Some(HandshakeKind::Resumed) {
        origin.count_resumed(peer);
    }
    let http2 = session.alpn_protocol() == Some(HTTP2);
    let caller = Caller { origin, peer, tls: true, hangup };
    if http2 { serve_http2(stream, caller).await } else { serve_http1(stream, caller).await }
}

async fn serve_http1<I>(io: I, caller: Caller)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| caller.clone().answer(request));
    let connection =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(io), service);
    drive(connection, http1::Connection::graceful_shutdown, &caller).await;
}

async fn serve_http2<I>(io: I, caller: Caller)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let of = caller.clone();
    let service = service_fn(move |request| of.clone().answer(request));
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(io), service);
    drive(connection, http2::Connection::graceful_shutdown, &caller).await;
}

/// Serves until the end, or the script's reset, and lets go when the origin asks for it.
async fn drive<C: Future>(connection: C, let_go: impl Fn(Pin<&mut C>), caller: &Caller) {
    let (mut connection, mut reset) = (pin!(connection), pin!(caller.hangup.told()));
    let (mut leave, mut leaving) = (pin!(caller.origin.0.leave.notified()), false);
    poll_fn(|cx| {
        if !leaving && leave.as_mut().poll(cx).is_ready() {
            leaving = true;
            let_go(connection.as_mut());
        }
        // The error is the script's own, or the client's going away: both are in the record.
        match connection.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => reset.as_mut().poll(cx),
        }
    })
    .await;
}

impl Caller {
    async fn answer(self, request: Request<Incoming>) -> Result<Response<ReplyBody>, Broken> {
        let (head, body) = request.into_parts();
        let (method, version) = (head.method.clone(), head.version);
        let (peer, tls) = (self.peer, self.tls);
        let body = match BodyDigest::read(body).await {
            Ok(body) => body,
            Err((part, _)) => {
                self.origin.see(Arrival { peer, tls, head, body: part });
                return Err(Broken::new("the request broke off", Failure::new(Phase::Send, Seen::Unknown)));
            }
        };
        let seen = self.origin.see(Arrival { peer, tls, head, body });
        let reply = self.origin.answer(&seen);
        let refuses = reply.refuses_stream() && version == Version::HTTP_2;
        match reply.play(&method).await {
            Some(response) if version == Version::HTTP_2 => {
                Ok(response.map(|body| body.on_stream(self.hangup)))
            }
            Some(response) => Ok(response.map(|body| body.on(self.hangup))),
            None if refuses => Err(refused_stream()),
            None => {
                self.hangup.reset();
                Err(Broken::new("the origin reset the connection", Failure::new(Phase::Head, Seen::Unknown)))
            }
        }
    }
}

/// hyper finds the reason among the sources.
fn refused_stream() -> Broken {
    let reason = h2::Error::from(h2::Reason::REFUSED_STREAM);
    let failure = Failure::new(Phase::Head, Seen::Never).because(reason);
    Broken::new("the origin refused the stream", failure)
}
