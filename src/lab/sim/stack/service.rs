//! The simulated world as a service, where a client would stand.

use super::desk::Desk;
use crate::draw::below;
use crate::exit::Route;
use crate::lab::lock::Lock;
use crate::lab::sim::luck::{For, Luck};
use crate::lab::sim::scenario::{Exits, Scenario};
use crate::lab::sim::world::{Answer, Attempt, Leg};
use crate::outcome::{AuthReason, Connection, Evidence, Failure, Outcome, Phase, RetryAfter, Seen};
use bytes::Bytes;
use http::header::{PROXY_AUTHENTICATE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::sleep_until;
use tower::Service;

/// Whose request it is.
#[derive(Clone, Copy)]
pub(super) struct Of(pub(super) u32);

/// What the classifier is to see in an answer, for those who have none.
#[derive(Clone, Copy)]
pub(super) struct Told(pub(super) Evidence);

#[derive(Clone)]
pub(super) struct SimWorld {
    desk: Desk,
    exits: Arc<Lock<Exits>>,
    count: u32,
    /// By whose luck it takes a random exit where a request names none.
    pub(super) pick: Option<Luck>,
}

impl SimWorld {
    pub(super) fn new(desk: Desk, scenario: &Scenario) -> Self {
        let exits = Arc::new(Lock::new(Exits::new(scenario)));
        Self { desk, exits, count: scenario.exits, pick: None }
    }

    pub(super) const fn desk(&self) -> &Desk {
        &self.desk
    }

    /// A route with a password that its operator has replaced leads nowhere.
    fn exit<B>(&self, job: u32, request: &Request<B>) -> Option<u32> {
        let random = |luck: Luck| {
            let draw = luck.draw(For::Policy, &[job.into(), self.desk.sends(job).into()]);
            below(draw, self.count as usize) as u32
        };
        let Some(route) = request.extensions().get::<Route>() else { return self.pick.map(random) };
        let mut exits = self.exits.lock();
        exits.is_current(self.desk.now(), route).then(|| exits.of(route)).flatten()
    }
}

type Exchange = Pin<Box<dyn Future<Output = Result<Response<String>, Failure>> + Send>>;

impl<B> Service<Request<B>> for SimWorld {
    type Response = Response<String>;
    type Error = Failure;
    type Future = Exchange;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Exchange {
        let Some(Of(job)) = request.extensions().get().copied() else { return nowhere() };
        let Some(exit) = self.exit(job, &request) else { return nowhere() };
        let (attempt, leg) = self.desk.send(job, exit);
        Box::pin(exchange(UnderWay { desk: self.desk.clone(), attempt, leg: Some(leg) }, leg))
    }
}

fn nowhere() -> Exchange {
    Box::pin(std::future::ready(Err(Failure::new(Phase::Request, Seen::Never))))
}

/// Until it is answered or dropped.
struct UnderWay {
    desk: Desk,
    attempt: Attempt,
    leg: Option<Leg>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.desk.attempt_is_over(&self.attempt, self.leg.as_ref());
    }
}

async fn exchange(mut way: UnderWay, mut leg: Leg) -> Result<Response<String>, Failure> {
    let UnderWay { desk, attempt, leg: on } = &mut way;
    loop {
        match leg {
            Leg::Arrives(at) => {
                sleep_until(desk.instant(at)).await;
                let (at, answer) = desk.arrive(attempt);
                leg = Leg::Answered(at, answer);
                *on = Some(leg);
            }
            Leg::Answered(at, answer) => {
                sleep_until(desk.instant(at)).await;
                *on = None;
                desk.answered(attempt, &answer);
                return said(&answer);
            }
        }
    }
}

/// The answer from which the classifier makes this evidence.
fn said(answer: &Answer) -> Result<Response<String>, Failure> {
    let evidence = answer.evidence;
    let (status, wait) = match evidence.outcome {
        Outcome::Ok => (StatusCode::OK, None),
        Outcome::Blocked { .. } => (StatusCode::FORBIDDEN, None),
        Outcome::RateLimited { retry_after } => (StatusCode::TOO_MANY_REQUESTS, retry_after),
        Outcome::OriginError { status } => (status, None),
        Outcome::ProxyError { phase } | Outcome::Interrupted { phase } => {
            return Err(Failure::new(phase, evidence.seen).login_accepted(evidence.login_accepted));
        }
        Outcome::GatewayOverloaded { .. } => {
            return Err(no_tunnel(StatusCode::SERVICE_UNAVAILABLE, evidence.seen));
        }
        Outcome::AuthError { reason: AuthReason::Quota } => {
            return Err(no_tunnel(StatusCode::PAYMENT_REQUIRED, evidence.seen));
        }
        Outcome::AuthError { .. } => {
            return Err(no_tunnel(StatusCode::PROXY_AUTHENTICATION_REQUIRED, evidence.seen));
        }
        _ => return Err(Failure::new(Phase::Head, Seen::Unknown)),
    };
    let mut response = Response::new(String::new());
    *response.status_mut() = status;
    response.extensions_mut().insert(Told(evidence));
    // Each attempt opens a tunnel of its own, which proves the login.
    response.extensions_mut().insert(Connection::new());
    let wait = wait.map(RetryAfter::wait);
    response.headers_mut().extend(wait.map(|wait| (RETRY_AFTER, wait.as_secs().into())));
    Ok(response)
}

/// The gateway's reply to a CONNECT.
fn no_tunnel(status: StatusCode, seen: Seen) -> Failure {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = status;
    if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
        let asks = HeaderValue::from_static("Basic realm=\"gateway\"");
        answer.headers_mut().insert(PROXY_AUTHENTICATE, asks);
    }
    Failure::new(Phase::Tunnel, seen).refused(answer)
}
