//! One exchange: from a request with a route to the head of its answer.

use super::body::{Held, IncomingBody};
use super::connection::{Connection, Unanswered};
use super::dial::Dialer;
use super::error::{ClientError, unsendable};
use super::idle::{Idle, Kept, Key};
use super::target::Target;
use crate::body::Body;
use crate::exit::Route;
use crate::outcome::{self, Failure, Phase, Seen};
use http::header::CONNECTION;
use http::{HeaderMap, Request, Response, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use std::sync::{Arc, Weak};

/// What the clones of a client share.
pub(super) struct Shared {
    pub(super) dialer: Dialer,
    pub(super) idle: Arc<Idle>,
}

impl Shared {
    pub(super) async fn exchange(
        self: Arc<Self>,
        mut request: Request<Body>,
    ) -> Result<Response<IncomingBody>, ClientError> {
        let Some(route) = request.extensions().get::<Route>().cloned() else {
            return Err(no_route().into());
        };
        let target = Target::of(&request)?;
        target.address(&mut request, &route)?;
        let key =
            Key { exit: route.exit(), https: target.tls.is_some(), authority: target.authority.clone() };

        if let Some(kept) = self.kept(&key, &route).await {
            // What must not be sent twice takes no part in the race of a proxy's close with the next request. The new
            // connection takes the place of the kept one, so that such requests do not fill the pool.
            if key.https || is_repeatable(&request) {
                request = match self.reuse(kept, request, &key, &route).await? {
                    Reused::Answered(answer) => return Ok(answer),
                    Reused::Dead(request) => request,
                };
            }
        }
        // Boxed, so that a request on a waiting connection does not carry the room for a handshake.
        let mut connection = Box::pin(self.dialer.dial(&route, &target)).await?;
        match connection.exchange(request).await {
            Ok(answer) => Ok(self.hold(answer, outcome::Connection::new(), connection, key, route)),
            Err(unanswered) => {
                let failure = match unanswered {
                    Unanswered::NotSent(_, cause) => Failure::new(Phase::Send, Seen::Never).because(cause),
                    Unanswered::MaybeSent { cause, .. } => maybe_sent(cause, false),
                };
                Err(failure.login_accepted(target.tls.is_some()).into())
            }
        }
    }

    /// A connection that may be used again. Behind a fresh route each leads to another exit: none is kept, none is asked for.
    async fn kept(&self, key: &Key, route: &Route) -> Option<Kept> {
        if route.is_fresh() {
            return None;
        }
        self.idle.checkout(key, route).await
    }

    /// Sends a request over a kept connection. If that turns out to be dead, which is nobody's fault, gives the request
    /// back if it may be sent again.
    async fn reuse(
        &self,
        kept: Kept,
        request: Request<Body>,
        key: &Key,
        route: &Route,
    ) -> Result<Reused, Failure> {
        let Kept { mut connection, since } = kept;
        let copy = is_repeatable(&request).then(|| without_body(&request));
        match connection.exchange(request).await {
            Ok(answer) => {
                let kept = outcome::Connection::kept();
                Ok(Reused::Answered(self.hold(answer, kept, connection, key.clone(), route.clone())))
            }
            Err(Unanswered::NotSent(unsent, _)) => {
                self.idle.died(key, since);
                Ok(Reused::Dead(*unsent))
            }
            Err(Unanswered::MaybeSent { cause, heard }) => {
                let raced = !heard && !cause.is_user();
                if raced {
                    self.idle.died(key, since);
                }
                match copy {
                    Some(copy) if raced => Ok(Reused::Dead(copy)),
                    _ => Err(maybe_sent(cause, raced)),
                }
            }
        }
    }

    fn hold(
        &self,
        mut answer: Response<Incoming>,
        carried: outcome::Connection,
        connection: Connection,
        key: Key,
        route: Route,
    ) -> Response<IncomingBody> {
        let keep = !route.is_fresh() && keeps_alive(answer.version(), answer.headers());
        answer.extensions_mut().insert(carried);
        let idle = if keep { Arc::downgrade(&self.idle) } else { Weak::new() };
        answer.map(|body| IncomingBody::new(body, Held { connection, key, route, idle }))
    }
}

/// What came of a kept connection.
enum Reused {
    Answered(Response<IncomingBody>),
    /// It was closed while it idled: here is the request again.
    Dead(Request<Body>),
}

/// Whether a request may go out again on its own (RFC 9110, 9.2.2), and can: no body is lost with the first.
fn is_repeatable(request: &Request<Body>) -> bool {
    request.method().is_idempotent() && request.body().is_end_stream()
}

/// The same request. The caller has seen that it has no body.
fn without_body(request: &Request<Body>) -> Request<Body> {
    let mut copy = Request::new(Body::empty());
    copy.method_mut().clone_from(request.method());
    copy.uri_mut().clone_from(request.uri());
    copy.headers_mut().clone_from(request.headers());
    *copy.version_mut() = request.version();
    copy
}

/// Whether the other side means to go on after this answer. hyper knows too, but only after the fact.
fn keeps_alive(version: Version, headers: &HeaderMap) -> bool {
    let says = |wanted: &str| {
        let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|option| option.trim().eq_ignore_ascii_case(wanted))
    };
    !says("close") && (version == Version::HTTP_11 || says("keep-alive"))
}

fn no_route() -> Failure {
    unsendable("no route: the client goes inside LeaseLayer, which names the exit; nothing was dialled")
}

/// The request was written, wholly or in part, and no head came back. hyper blames the user for a request body that broke.
/// `raced`: the connection was a kept one, and ended without a byte.
fn maybe_sent(cause: hyper::Error, raced: bool) -> Failure {
    let user = cause.is_user() || cause.is_body_write_aborted();
    let phase = if user { Phase::Send } else { Phase::Head };
    Failure::new(phase, Seen::Unknown).blameless(user || raced).because(cause)
}
