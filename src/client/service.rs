//! One exchange: from a request with a route to the head of its answer.

use super::body::{Held, IncomingBody};
use super::connection::{Connection, Unanswered};
use super::dial::Dialer;
use super::error::{ClientError, unsendable};
use super::idle::{Idle, Key};
use super::target::Target;
use crate::body::Body;
use crate::exit::Route;
use crate::outcome::{Failure, Phase, Seen};
use http::header::CONNECTION;
use http::{HeaderMap, Request, Response, Version};
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

        if let Some(mut connection) = self.idle.checkout(&key, &route).await {
            match connection.exchange(request).await {
                Ok(answer) => return Ok(self.hold(answer, connection, key, route)),
                // It died while it idled, which is nobody's fault. Once, and on a new connection.
                Err(Unanswered::NotSent(unsent, _)) => request = *unsent,
                Err(Unanswered::MaybeSent(cause)) => return Err(maybe_sent(cause).into()),
            }
        }
        // Boxed, so that a request on a waiting connection does not carry the room for a handshake.
        let mut connection = Box::pin(self.dialer.dial(&route, &target)).await?;
        match connection.exchange(request).await {
            Ok(answer) => Ok(self.hold(answer, connection, key, route)),
            Err(unanswered) => {
                let failure = match unanswered {
                    Unanswered::NotSent(_, cause) => Failure::new(Phase::Send, Seen::Never).because(cause),
                    Unanswered::MaybeSent(cause) => maybe_sent(cause),
                };
                Err(failure.login_accepted(target.tls.is_some()).into())
            }
        }
    }

    fn hold(
        &self,
        answer: Response<Incoming>,
        connection: Connection,
        key: Key,
        route: Route,
    ) -> Response<IncomingBody> {
        let keep = keeps_alive(answer.version(), answer.headers());
        let idle = if keep { Arc::downgrade(&self.idle) } else { Weak::new() };
        answer.map(|body| IncomingBody::new(body, Held { connection, key, route, idle }))
    }
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
fn maybe_sent(cause: hyper::Error) -> Failure {
    let phase = if cause.is_user() || cause.is_body_write_aborted() { Phase::Send } else { Phase::Head };
    Failure::new(phase, Seen::Unknown).because(cause)
}
