//! An origin on a socket.

use super::Origin;
use crate::lab::broken::Broken;
use crate::lab::digest::BodyDigest;
use crate::lab::reply::ReplyBody;
use crate::lab::seen::Arrival;
use crate::lab::wire::{Hangup, Wire};
use crate::outcome::{Failure, Phase, Seen};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::HandshakeKind;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

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
    serve(wire, Caller { origin, peer, tls: false, hangup }).await;
}

pub(in crate::lab) async fn serve_tls(origin: Origin, tls: TlsAcceptor, stream: TcpStream, peer: IpAddr) {
    origin.count_connection(peer);
    let wire = Wire::new(stream, Arc::default());
    let hangup = wire.hangup();
    // A client that does not trust the lab's root ends here.
    let Ok(stream) = tls.accept(wire).await else { return };
    if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) {
        origin.count_resumed(peer);
    }
    serve(stream, Caller { origin, peer, tls: true, hangup }).await;
}

async fn serve<I>(io: I, caller: Caller)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request| caller.clone().answer(request));
    // The error is the script's own, or the client's going away: both are in the record.
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(io), service).await;
}

impl Caller {
    async fn answer(self, request: Request<Incoming>) -> Result<Response<ReplyBody>, Broken> {
        let (head, body) = request.into_parts();
        let method = head.method.clone();
        let (peer, tls) = (self.peer, self.tls);
        let body = match BodyDigest::read(body).await {
            Ok(body) => body,
            Err((part, _)) => {
                self.origin.see(Arrival { peer, tls, head, body: part });
                return Err(Broken::new("the request broke off", Failure::new(Phase::Send, Seen::Unknown)));
            }
        };
        let seen = self.origin.see(Arrival { peer, tls, head, body });
        match self.origin.answer(&seen).play(&method).await {
            Some(response) => Ok(response.map(|body| body.on(self.hangup))),
            None => {
                self.hangup.reset();
                Err(Broken::new("the origin reset the connection", Failure::new(Phase::Head, Seen::Unknown)))
            }
        }
    }
}
