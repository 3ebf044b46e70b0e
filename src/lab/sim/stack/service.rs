//! The simulated world as a service, where a client would stand.

use super::desk::Desk;
use crate::draw::below;
use crate::exit::{ExitId, ExitList, Route};
use crate::lab::sim::luck::{For, Luck};
use crate::lab::sim::scenario::Scenario;
use crate::lab::sim::world::{Answer, Attempt, Leg};
use crate::outcome::{Evidence, Failure, Outcome, Phase, RetryAfter, Seen};
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{Request, Response, StatusCode};
use std::collections::HashMap;
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
    exits: Arc<HashMap<ExitId, u32>>,
    count: u32,
    /// By whose luck it takes a random exit where a request names none.
    pub(super) pick: Option<Luck>,
}

impl SimWorld {
    pub(super) fn new(desk: Desk, scenario: &Scenario) -> Self {
        let list = ExitList::parse(&scenario.list()).unwrap_or_default();
        let exits = (0..).zip(list).map(|(at, exit)| (exit.id(), at)).collect();
        Self { desk, exits: Arc::new(exits), count: scenario.exits, pick: None }
    }

    pub(super) const fn desk(&self) -> &Desk {
        &self.desk
    }

    fn exit<B>(&self, job: u32, request: &Request<B>) -> Option<u32> {
        let named = request.extensions().get::<Route>().and_then(|route| self.exits.get(&route.exit()));
        let random = |luck: Luck| {
            let draw = luck.draw(For::Policy, &[job.into(), self.desk.sends(job).into()]);
            below(draw, self.count as usize) as u32
        };
        named.copied().or_else(|| self.pick.map(random))
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
            let mut answer = Response::new(Bytes::new());
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return Err(Failure::new(Phase::Tunnel, evidence.seen).refused(answer));
        }
        _ => return Err(Failure::new(Phase::Head, Seen::Unknown)),
    };
    let mut response = Response::new(String::new());
    *response.status_mut() = status;
    response.extensions_mut().insert(Told(evidence));
    let wait = wait.map(RetryAfter::wait);
    response.headers_mut().extend(wait.map(|wait| (RETRY_AFTER, wait.as_secs().into())));
    Ok(response)
}
