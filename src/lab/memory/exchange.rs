//! One exchange in memory: what a client on sockets would meet, in the same order.

use super::MemoryWorld;
use crate::error::BoxError;
use crate::exit::Route;
use crate::lab::broken::Broken;
use crate::lab::digest::BodyDigest;
use crate::lab::proxy::{Ask, Login, Meeting, Proxy, bad_gateway};
use crate::lab::seen::Arrival;
use crate::lab::{Origin, Reply, ReplyBody};
use crate::outcome::{Connection, Failure, Phase, Seen};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Body;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use tokio::time::sleep;

/// Most bytes of a refused tunnel's answer that are kept, as of a client on sockets.
const MAX_REFUSAL: usize = 16 * 1024;

pub(super) async fn exchange<B>(
    world: MemoryWorld,
    request: Request<B>,
) -> Result<Response<ReplyBody>, Broken>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (head, body) = request.into_parts();
    let Some(route) = head.extensions.get::<Route>().cloned() else {
        return Err(unsent("a request without a Route goes nowhere: never direct"));
    };
    let tls = match head.uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(unsent("the URI is not absolute")),
    };
    let no_exit = |what| Broken::new(what, Failure::new(Phase::ExitTcp, Seen::Never));
    let proxy = world.proxy_of(&route).ok_or_else(|| no_exit("no such exit in this world"))?;
    if proxy.is_dead() {
        return Err(no_exit("the exit is dead"));
    }
    let origin = world.site(head.uri.host().unwrap_or_default());
    let connection = proxy.tally().connection();
    let login = route.credential().map(Login::from);
    let ask = Ask { connection, connect: tls, login: login.as_ref() };
    let Meeting { source, delay, own, cut_after, .. } = proxy.meet(ask);
    sleep(delay).await;
    let pass = Pass { proxy, source, cut_after, tls };
    match own {
        Some(reply) => pass.own(reply, &head.method).await,
        None => pass.meet_origin(origin, head, body).await,
    }
}

fn unsent(what: &'static str) -> Broken {
    Broken::new(what, Failure::new(Phase::Request, Seen::Never))
}

/// A request on its way through an exit.
struct Pass<'a> {
    proxy: &'a dyn Proxy,
    source: IpAddr,
    cut_after: Option<u64>,
    tls: bool,
}

impl Pass<'_> {
    /// Plays what the exit says: to CONNECT a refusal of the tunnel, to a forwarded request the answer.
    async fn own(&self, reply: Reply, method: &Method) -> Result<Response<ReplyBody>, Broken> {
        let tunnel = || Failure::new(Phase::Tunnel, Seen::Never);
        match reply.play(method).await {
            None if self.tls => Err(Broken::new("the exit reset the connection", tunnel())),
            None => {
                let failure = Failure::new(Phase::Head, Seen::Unknown);
                Err(Broken::new("the exit reset the connection", failure))
            }
            Some(answer) if self.tls => {
                let open = answer.status().is_success();
                let failure = if open {
                    Failure::new(Phase::OriginTls, Seen::Never)
                } else {
                    tunnel().refused(collect(answer).await)
                };
                Err(Broken::new("the exit opened no tunnel", failure))
            }
            Some(answer) => Ok(self.deliver(answer)),
        }
    }

    async fn meet_origin<B>(
        &self,
        origin: Option<&Origin>,
        head: Parts,
        body: B,
    ) -> Result<Response<ReplyBody>, Broken>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let method = head.method.clone();
        let Some(origin) = origin else {
            return self.own(bad_gateway("no such host in the lab\n"), &method).await;
        };
        let (peer, tls) = (self.source, self.tls);
        let body = match BodyDigest::read(body).await {
            Ok(body) => body,
            Err((part, error)) => {
                origin.see(Arrival { peer, tls, head, body: part });
                let failure = Failure::new(Phase::Send, Seen::Unknown).because(error);
                return Err(Broken::new("the request's body broke off", failure));
            }
        };
        self.proxy.tally().meter().add_read(usize::try_from(body.len).unwrap_or(usize::MAX));
        let seen = origin.see(Arrival { peer, tls, head, body });
        match origin.answer(&seen).play(&method).await {
            Some(answer) => Ok(self.deliver(answer.map(|body| body.cut_after(self.cut_after)))),
            None if tls => {
                let failure = Failure::new(Phase::Head, Seen::Unknown);
                Err(Broken::new("the origin reset the connection", failure))
            }
            None => self.own(bad_gateway("the origin gave no answer\n"), &method).await,
        }
    }

    fn deliver(&self, answer: Response<ReplyBody>) -> Response<ReplyBody> {
        let mut answer = answer.map(|body| body.metered(Arc::clone(self.proxy.tally().meter())));
        answer.extensions_mut().insert(Connection::new());
        answer
    }
}

/// A refusal with as much of its body as a client would read.
async fn collect(answer: Response<ReplyBody>) -> Response<Bytes> {
    let (head, mut body) = answer.into_parts();
    let mut text = BytesMut::new();
    while text.len() < MAX_REFUSAL {
        let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await else { break };
        if let Some(data) = frame.data_ref() {
            text.extend_from_slice(&data[..data.len().min(MAX_REFUSAL - text.len())]);
        }
    }
    Response::from_parts(head, text.freeze())
}
