//! One exchange: from a request with a route to the head of its answer.

use super::body::{Held, IncomingBody};
use super::connection::{Connection, Unanswered};
use super::dial::{Dialer, keep_phrase};
use super::distrust::not_let_in;
use super::error::{ClientError, unsendable};
use super::kept::{Flights, Idle, Kept, Key};
use super::target::{Target, Way};
use crate::body::Body;
use crate::exit::{Bill, ExitId, Keeper, Route};
use crate::outcome::{self, Counts, Failure, Phase, Seen};
use http::header::CONNECTION;
use http::{HeaderMap, Request, Response, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Weak};

/// What the clones of a client share.
pub(super) struct Shared {
    pub(super) dialer: Dialer,
    pub(super) idle: Arc<Idle>,
    pub(super) flights: Flights,
    /// Offered to origins.
    pub(super) http2: bool,
}

/// Where a request goes, and how.
#[derive(Clone)]
struct Course {
    /// Without its bill: a connection is kept for longer than an attempt lasts.
    route: Route,
    bill: Bill,
    target: Target,
    key: Key,
}

impl Course {
    /// Whether a request may go out again on its own (RFC 9110, 9.2.2), and can: no body is lost with the first.
    fn may_repeat(&self, request: &Request<Body>) -> bool {
        request.method().is_idempotent() && request.body().is_end_stream() && !self.route.is_once()
    }

    /// Gives the request the form that the other end of the connection takes. Whatever form it had is overwritten.
    fn form(&self, request: &mut Request<Body>, connection: &Connection) -> Result<(), Failure> {
        if self.key.forwarded {
            self.target.for_exit(request, &self.route)
        } else if connection.is_shared() {
            self.target.for_http2(request)
        } else {
            self.target.for_origin(request)
        }
    }
}

impl Shared {
    pub(super) async fn exchange(
        self: Arc<Self>,
        mut request: Request<Body>,
    ) -> Result<Response<IncomingBody>, ClientError> {
        let mut route = request.extensions_mut().remove::<Route>().ok_or_else(no_route)?;
        let bill = route.take_bill();
        let target = Target::of(&mut request)?;
        let key = Key {
            exit: route.exit(),
            holder: route.holder(),
            https: target.https,
            forwarded: target.way(&route, self.dialer.tunnel_http) == Way::Forward,
            authority: target.authority.clone(),
        };
        let course = Course { route, bill, target, key };

        if let Some(kept) = self.kept(&course).await {
            // What must not be sent twice takes no part in the race of a proxy's close with the next request. The new
            // connection takes the place of the kept one, so that such requests do not fill the pool.
            if !course.key.forwarded || course.may_repeat(&request) {
                request = match self.reuse(kept, request, &course).await? {
                    Reused::Answered(answer) => return Ok(answer),
                    Reused::Dead(request) => request,
                };
            }
        }
        let connection = self.connect(&course).await?;
        self.send(connection, request, &course).await
    }

    /// A connection that may be used again. Behind a fresh route each leads to another exit: none is kept, none is asked for.
    async fn kept(&self, course: &Course) -> Option<Kept> {
        if course.route.is_fresh() {
            return None;
        }
        self.idle.checkout(&course.key, &course.route).await
    }

    /// A new connection, or a share of one that others have dialled meanwhile. Boxed, so that a request on a waiting
    /// connection does not carry the room for a handshake.
    async fn connect(self: &Arc<Self>, course: &Course) -> Result<Connection, Failure> {
        if !course.route.is_fresh() {
            let keeper: Weak<dyn Keeper> = Arc::downgrade(self) as _;
            course.route.keepers().add(&keeper);
        }
        let dial = || -> Pin<Box<_>> { Box::pin(Arc::clone(self).dial(course.clone())) };
        let shareable = course.key.https && self.http2 && !course.route.is_fresh() && self.idle.keeps();
        let joined =
            if shareable { self.flights.join(&course.key, &course.route, || dial()).await } else { None };
        match joined {
            Some(connection) => connection,
            None => dial().await,
        }
    }

    /// Dials. What can be shared is given to the others at once.
    async fn dial(self: Arc<Self>, course: Course) -> Result<Connection, Failure> {
        let Course { route, bill, target, key } = course;
        // The one that others have dialled may have come since this request looked.
        if let Some(shared) = self.idle.share(&key, &route) {
            return Ok(shared);
        }
        let wire = Arc::default();
        let unpaid = Unpaid::new(&bill, &wire);
        let connection = self.dialer.dial(&route, &target, Arc::clone(&wire)).await?;
        unpaid.carried();
        if let Some(share) = connection.share().filter(|_| !route.is_fresh()) {
            self.flights.speaks_http2(&key.authority);
            self.idle.check_in(key, route.way(), share);
        }
        Ok(connection)
    }

    /// Sends a request over a new connection.
    async fn send(
        &self,
        mut connection: Connection,
        mut request: Request<Body>,
        course: &Course,
    ) -> Result<Response<IncomingBody>, ClientError> {
        course.form(&mut request, &connection)?;
        let unpaid = Unpaid::new(&course.bill, connection.wire());
        match connection.exchange(request).await {
            Ok(answer) => {
                unpaid.carried();
                Ok(self.hold(answer, outcome::Connection::new(), connection, course))
            }
            Err(unanswered) => {
                let forwarded = course.key.forwarded;
                let failure = match unanswered {
                    Unanswered::NotSent(_, cause) => not_sent(cause),
                    Unanswered::MaybeSent { cause, heard } => {
                        let refused =
                            (forwarded && !heard).then(|| not_let_in(&course.route, &cause)).flatten();
                        refused.unwrap_or_else(|| maybe_sent(cause, false))
                    }
                };
                let failure = failure.login_accepted(!forwarded);
                Err(failure.after(connection.wire().take()).into())
            }
        }
    }

    /// Sends a request over a kept connection. If that turns out to be dead, which is nobody's fault, gives the request
    /// back if it may be sent again.
    async fn reuse(
        &self,
        kept: Kept,
        mut request: Request<Body>,
        course: &Course,
    ) -> Result<Reused, Failure> {
        let Kept { mut connection, since } = kept;
        course.form(&mut request, &connection)?;
        let copy = course.may_repeat(&request).then(|| without_body(&request));
        let unpaid = Unpaid::new(&course.bill, connection.wire());
        match connection.exchange(request).await {
            Ok(answer) => {
                unpaid.carried();
                let kept = outcome::Connection::kept();
                Ok(Reused::Answered(self.hold(answer, kept, connection, course)))
            }
            Err(Unanswered::NotSent(unsent, _)) => {
                self.idle.died(&course.key, since);
                Ok(Reused::Dead(*unsent))
            }
            Err(Unanswered::MaybeSent { cause, heard }) => {
                let raced = !cause.is_user() && has_ended(&cause, heard);
                if raced {
                    self.idle.died(&course.key, since);
                }
                match copy {
                    Some(copy) if raced => Ok(Reused::Dead(copy)),
                    _ => Err(maybe_sent(cause, raced).after(connection.wire().take())),
                }
            }
        }
    }

    fn hold(
        &self,
        mut answer: Response<Incoming>,
        carried: outcome::Connection,
        connection: Connection,
        Course { route, key, .. }: &Course,
    ) -> Response<IncomingBody> {
        let kept = !route.is_fresh() && self.idle.keeps();
        // A shared one has its place in the pool already.
        let owned = kept && !connection.is_shared() && keeps_alive(answer.version(), answer.headers());
        let (traffic, tunnelled) = (connection.traffic(), !key.forwarded);
        let carried = carried.ending(!owned).tunnelled(tunnelled).counted_by(traffic.clone());
        let carried = carried.leaving_from(connection.egress());
        if !tunnelled {
            keep_phrase(&mut answer);
        }
        answer.extensions_mut().insert(carried);
        let idle = if owned { Arc::downgrade(&self.idle) } else { Weak::new() };
        let (key, way) = (key.clone(), route.way());
        answer.map(|body| IncomingBody::new(body, Held { connection, key, way, idle, traffic }))
    }
}

impl Keeper for Shared {
    fn evict(&self, exit: ExitId) {
        self.idle.evict(exit);
        self.dialer.origin_tls.forget(exit);
    }
}

/// What was counted for an attempt, and has no answer yet that carries it. Dropped so, with the future, it goes on the bill.
struct Unpaid<'a> {
    bill: &'a Bill,
    wire: Arc<Counts>,
}

impl<'a> Unpaid<'a> {
    fn new(bill: &'a Bill, wire: &Arc<Counts>) -> Self {
        Self { bill, wire: Arc::clone(wire) }
    }

    /// An answer carries it from here. What an error carries it has taken.
    fn carried(mut self) {
        self.bill = &None;
    }
}

impl Drop for Unpaid<'_> {
    fn drop(&mut self) {
        if let Some(meter) = self.bill {
            meter.add(self.wire.take());
        }
    }
}

/// What came of a kept connection.
enum Reused {
    Answered(Response<IncomingBody>),
    /// It was closed while it idled: here is the request again.
    Dead(Request<Body>),
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

/// Not one byte was written.
fn not_sent(cause: hyper::Error) -> Failure {
    Failure::new(Phase::Send, Seen::Never).because(cause)
}

/// The request was written, wholly or in part, and no head came back. hyper blames the user for a request body that broke.
/// `raced`: the connection was a kept one, and ended without an answer.
fn maybe_sent(cause: hyper::Error, raced: bool) -> Failure {
    // RFC 9113, 8.7: a refused stream was not looked at.
    if reason(&cause) == Some(h2::Reason::REFUSED_STREAM) {
        return not_sent(cause).blameless(true);
    }
    let user = cause.is_user() || cause.is_body_write_aborted();
    let phase = if user { Phase::Send } else { Phase::Head };
    // HTTP/2 is spoken inside of TLS: what its other end says is the origin's word, whatever the exit.
    let by_origin = of_http2(&cause).is_some_and(h2::Error::is_remote);
    Failure::new(phase, Seen::Unknown).blameless(user || raced || by_origin).because(cause)
}

fn of_http2(cause: &hyper::Error) -> Option<&h2::Error> {
    cause.source().and_then(<dyn Error>::downcast_ref)
}

fn reason(cause: &hyper::Error) -> Option<h2::Reason> {
    of_http2(cause).filter(|cause| cause.is_remote()).and_then(h2::Error::reason)
}

/// Whether it was the connection that ended, which may have crossed with the request. Over HTTP/1.1 not a byte of an answer
/// had come; over HTTP/2 there is always something to hear, and the error says whether the stream or all of it has ended.
fn has_ended(cause: &hyper::Error, heard: bool) -> bool {
    of_http2(cause).map_or(!heard, |cause| cause.is_io() || cause.is_remote() && cause.is_go_away())
}
