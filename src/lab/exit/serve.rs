//! One client's connection to an exit, or to a gateway.

use super::forward::{Upstream, dial};
use super::hop;
use super::tunnel::Tunnel;
use crate::lab::Reply;
use crate::lab::broken::Broken;
use crate::lab::lock::Lock;
use crate::lab::network::Network;
use crate::lab::proxy::{Ask, Meeting, Proxy, bad_gateway};
use crate::lab::reply::ReplyBody;
use crate::lab::wire::{Hangup, Wire};
use crate::outcome::{Failure, Phase, Seen};
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::{Future, poll_fn};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpStream;
use tokio::time::sleep;

struct Client<P> {
    proxy: P,
    /// How many connections there were before.
    number: u64,
    network: Arc<Network>,
    hangup: Arc<Hangup>,
    upstream: Upstream,
    /// Set by a CONNECT that was granted; taken when the connection has been upgraded.
    tunnel: Lock<Option<Tunnel>>,
    /// Set by an answer after which the connection closes.
    closing: AtomicBool,
}

pub(in crate::lab) async fn serve<P: Proxy>(proxy: P, network: Arc<Network>, stream: TcpStream) {
    let number = proxy.tally().connection();
    let wire = Wire::new(stream, Arc::clone(proxy.tally().meter()));
    let hangup = wire.hangup();
    let client = Arc::new(Client {
        proxy,
        number,
        network,
        hangup,
        upstream: Upstream::default(),
        tunnel: Lock::default(),
        closing: AtomicBool::new(false),
    });
    let service = service_fn(|request| {
        let client = Arc::clone(&client);
        async move { client.answer(request).await }
    });
    let connection =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(wire), service);
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
        if let Some(tunnel) = tunnel {
            tunnel.run().await;
        }
    }
}

impl<P: Proxy> Client<P> {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<ReplyBody>, Broken> {
        let connect = request.method() == Method::CONNECT;
        let login = request.headers().get(PROXY_AUTHORIZATION);
        let meeting = self.proxy.meet(Ask { connection: self.number, connect, login });
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
        let Some(to) = self.resolve(request.uri(), None) else {
            return self.play(bad_gateway("no such host in the lab\n"), &method).await;
        };
        let Ok(origin) = dial(source, to).await else {
            return self.play(bad_gateway("the origin cannot be reached\n"), &method).await;
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
        let Some(to) = self.resolve(request.uri(), Some(80)) else {
            return self.play(bad_gateway("no such host in the lab\n"), &method).await;
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

    fn resolve(&self, uri: &Uri, own_port: Option<u16>) -> Option<SocketAddr> {
        self.network.address(uri.host()?, uri.port_u16().or(own_port)?)
    }

    async fn play(&self, reply: Reply, method: &Method) -> Result<Response<ReplyBody>, Broken> {
        match reply.play(method).await {
            Some(response) => Ok(response.map(|body| body.on(Arc::clone(&self.hangup)))),
            None => {
                self.hangup.reset();
                Err(Broken::new("the exit reset the connection", Failure::new(Phase::Head, Seen::Unknown)))
            }
        }
    }
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
