//! One client's connection to an exit, or to a gateway, that speaks HTTP.

use super::forward::Upstream;
use super::front::{Unreached, Visit};
use super::{hop, tunnel};
use crate::lab::Reply;
use crate::lab::broken::Broken;
use crate::lab::lock::Lock;
use crate::lab::proxy::{Ask, Login, Meeting, Proxy, bad_gateway};
use crate::lab::reply::ReplyBody;
use crate::outcome::{Failure, Phase, Seen};
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::sleep;

const UNKNOWN: &str = "no such host in the lab\n";
const REFUSED: &str = "the origin cannot be reached\n";

struct Client<P> {
    visit: Visit<P>,
    upstream: Upstream,
    /// Set by a CONNECT that was granted; taken when the connection has been upgraded.
    tunnel: Lock<Option<Tunnel>>,
    /// Set by an answer after which the connection closes.
    closing: AtomicBool,
}

/// A granted CONNECT.
struct Tunnel {
    client: OnUpgrade,
    origin: TcpStream,
    cut_after: Option<u64>,
}

pub(super) async fn serve<P, I>(visit: Visit<P>, io: I)
where
    P: Proxy,
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let client = Arc::new(Client {
        visit,
        upstream: Upstream::default(),
        tunnel: Lock::default(),
        closing: AtomicBool::new(false),
    });
    let service = service_fn(|request| {
        let client = Arc::clone(&client);
        async move { client.answer(request).await }
    });
    let connection =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(io), service);
    let mut connection = pin!(connection.with_upgrades());
    let end = poll_fn(|cx| {
        let polled = connection.as_mut().poll(cx);
        if polled.is_pending() && client.closing.swap(false, Ordering::Relaxed) {
            // The head is written, so that it is too late to announce it.
            connection.as_mut().graceful_shutdown();
            return connection.as_mut().poll(cx);
        }
        polled
    });
    // The error is the script's own, or the client's going away.
    if end.await.is_ok() {
        let tunnel = client.tunnel.lock().take();
        if let Some(Tunnel { client, origin, cut_after }) = tunnel {
            if let Ok(client) = client.await {
                tunnel::carry(TokioIo::new(client), origin, cut_after).await;
            }
        }
    }
}

impl<P: Proxy> Client<P> {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<ReplyBody>, Broken> {
        let connect = request.method() == Method::CONNECT;
        let login = request.headers().get(PROXY_AUTHORIZATION).and_then(Login::basic);
        let ask = Ask { connection: self.visit.number, connect, login: login.as_ref() };
        let meeting = self.visit.proxy.meet(ask);
        let Meeting { source, delay, own, cut_after, closes_after_answer } = meeting;
        sleep(delay).await;
        let answer = match own {
            None if connect => self.connect(request, source, cut_after).await,
            None => self.forward(request, source, cut_after).await,
            Some(reply) => self.play(reply, request.method()).await,
        };
        if closes_after_answer && !connect {
            self.closing.store(true, Ordering::Relaxed);
        }
        answer
    }

    async fn connect(
        &self,
        request: Request<Incoming>,
        source: IpAddr,
        cut_after: Option<u64>,
    ) -> Result<Response<ReplyBody>, Broken> {
        let method = request.method().clone();
        let reached = match authority(request.uri(), None) {
            Some((host, port)) => self.visit.reach(host, port, source).await,
            None => Err(Unreached::Unknown),
        };
        let origin = match reached {
            Ok(origin) => origin,
            Err(Unreached::Unknown) => return self.play(bad_gateway(UNKNOWN), &method).await,
            Err(Unreached::Refused) => return self.play(bad_gateway(REFUSED), &method).await,
        };
        *self.tunnel.lock() = Some(Tunnel { client: hyper::upgrade::on(request), origin, cut_after });
        Ok(Response::new(ReplyBody::empty()))
    }

    async fn forward(
        &self,
        mut request: Request<Incoming>,
        source: IpAddr,
        cut_after: Option<u64>,
    ) -> Result<Response<ReplyBody>, Broken> {
        let method = request.method().clone();
        if request.uri().scheme_str() != Some("http") {
            let wrong = Reply::page("this is a proxy: http:// in absolute form, or CONNECT\n");
            return self.play(wrong.status(StatusCode::BAD_REQUEST), &method).await;
        }
        let known = authority(request.uri(), Some(80));
        let Some(to) = known.and_then(|(host, port)| self.visit.network().address(host, port)) else {
            return self.play(bad_gateway(UNKNOWN), &method).await;
        };
        into_origin_form(&mut request);
        match self.upstream.send(source, to, request).await {
            Ok(mut response) => {
                hop::strip(response.headers_mut());
                Ok(response.map(|body| ReplyBody::forwarded(body).cut_after(cut_after)))
            }
            Err(_) => self.play(bad_gateway("the origin gave no answer\n"), &method).await,
        }
    }

    async fn play(&self, reply: Reply, method: &Method) -> Result<Response<ReplyBody>, Broken> {
        match reply.play(method).await {
            Some(response) => Ok(response.map(|body| body.on(Arc::clone(&self.visit.hangup)))),
            None => {
                self.visit.hangup.reset();
                Err(Broken::new("the exit reset the connection", Failure::new(Phase::Head, Seen::Unknown)))
            }
        }
    }
}

/// Host, without the brackets of an IPv6 address, and port.
fn authority(uri: &Uri, own_port: Option<u16>) -> Option<(&str, u16)> {
    let host = uri.host()?;
    let host = host.strip_prefix('[').and_then(|v6| v6.strip_suffix(']')).unwrap_or(host);
    Some((host, uri.port_u16().or(own_port)?))
}

/// Turns a proxy's request into an origin's: the path alone, the URI's authority as `Host` (RFC 9112, 3.2.2), and nothing
/// that was meant for this hop.
fn into_origin_form(request: &mut Request<Incoming>) {
    hop::strip(request.headers_mut());
    let uri = std::mem::take(request.uri_mut());
    let host = uri.port().map_or_else(
        || uri.host().unwrap_or_default().to_owned(),
        |port| format!("{}:{port}", uri.host().unwrap_or_default()),
    );
    if let Ok(host) = HeaderValue::try_from(host) {
        request.headers_mut().insert(HOST, host);
    }
    let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
}
