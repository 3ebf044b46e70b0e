//! This crate's layers, and what a caller makes of what they say.

use super::desk::Desk;
use super::service::{Of, SimWorld};
use super::worker::Ask;
use crate::classify::EgressBody;
use crate::draw::mix;
use crate::error::{Error, LeaseError, Next as Cure};
use crate::exit::Gateway;
use crate::lab::sim::contender::{AGAIN, Next, Why};
use crate::lab::sim::scenario::{FIRST, SECOND, Scenario, class};
use crate::request::{LeaseRequest, Time};
use crate::scheduler::{Builder, Event, Scheduler, Served};
use crate::stack::EgressLayer;
use crate::verdict::{RetryRules, Why as Stop};
use http::{Request, Response};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep_until;
use tower::Layer as _;

pub(super) fn scheduler(scenario: &Scenario, desk: &Desk, seed: u64) -> Scheduler {
    let rules = RetryRules::default();
    let sends = scenario.sends.unwrap_or_else(|| rules.max_sends()).max(1);
    let builder = Scheduler::builder().rules(rules.max_attempts(sends)).seed(mix(seed));
    let builder = if scenario.sessions { builder } else { builder.exits(scenario.listed()) };
    let builder = scenario.sessions(FIRST).into_iter().fold(builder, Builder::gateway);
    let classed = |builder: Builder, (name, weight)| builder.class(name, weight);
    let desk = desk.clone();
    let observed = scenario.classes().fold(builder, classed).observe(move |_, event| {
        if matches!(event, Event::CredentialStopped { .. }) {
            desk.login_is_stopped();
        }
    });
    observed.build().expect("there are exits")
}

/// The gateways whose login gets another password, and when their operator says so.
pub(super) fn renewals(scenario: &Scenario) -> Vec<(Time, Gateway)> {
    let renewed = scenario.gateways.iter().zip(scenario.sessions(SECOND));
    renewed.filter_map(|(rules, gateway)| Some((Time::ZERO + rules.renewed_at()?, gateway))).collect()
}

pub(super) fn ask(scheduler: &Scheduler, world: SimWorld, scenario: &Scenario) -> Ask {
    let (desk, patience, classed) = (world.desk().clone(), scenario.patience, scenario.classed());
    // As long as the request: the world's slow exits answer at last.
    let client = EgressLayer::new(scheduler).attempt_timeout(Duration::MAX).layer(world);
    Arc::new(move |job| {
        let (client, desk) = (client.clone(), desk.clone());
        Box::pin(async move {
            let over = patience.map(|patience| (desk.now() + patience, patience));
            loop {
                let out = client.clone().oneshot(request(&desk, job, over, classed)).await;
                match next(&desk, job, over.map(|(at, _)| at), out) {
                    Next::Anew(at) => sleep_until(desk.instant(at)).await,
                    next => return next,
                }
            }
        })
    })
}

/// `over`: when the job's time is over, and its patience; `classed`: as [`class`] takes it.
fn request(desk: &Desk, job: u32, over: Option<(Time, Duration)>, classed: Option<u32>) -> Request<String> {
    let lease = LeaseRequest::per_request();
    let lease = match over {
        None => lease,
        Some((at, patience)) => lease.patience(patience).deadline(at.since(desk.now())),
    };
    let lease = match class(classed, job) {
        None => lease,
        Some(class) => lease.class(class),
    };
    let mut request = Request::new(String::new());
    let uri = format!("https://site{}.test/{job}", desk.origin(job));
    *request.uri_mut() = uri.parse().expect("a URI");
    request.extensions_mut().insert(lease);
    request.extensions_mut().insert(Of(job));
    request
}

fn next(desk: &Desk, job: u32, over: Option<Time>, out: Result<Response<EgressBody<String>>, Error>) -> Next {
    let (why, cure) = match &out {
        Ok(response) => {
            let Some(served) = response.extensions().get::<Served>() else { return Next::GiveUp(Why::Fatal) };
            if served.outcome().is_ok() {
                return Next::Done;
            }
            let cure = match served.why() {
                Some(Stop::FleetStopped) => Cure::WhenResumed,
                _ => served.retry_at().map_or(Cure::Never, Cure::At),
            };
            (served.why(), cure)
        }
        Err(error) => (error.why(), error.next()),
    };
    let refused = out.err().filter(Error::is_refusal);
    let too_late =
        refused.as_ref().and_then(Error::refusal).is_some_and(|it| matches!(it, LeaseError::DeadlinePassed));
    let late = |at| late(desk, job, over, at);
    match (why, cure) {
        (Some(Stop::RequestBlocked), _) => Next::GiveUp(Why::Request),
        (_, Cure::At(at)) => late(Some(desk.time(at))),
        (_, Cure::WhenResumed) if over.is_none() => stand(desk, job),
        (_, Cure::WhenResumed) => late(None),
        _ if too_late => late(None),
        _ => Next::GiveUp(Why::Exhausted),
    }
}

/// What cannot be done in time is asked for again when that is said to help: its worker takes another job until then, or there is
/// none but it, and it waits as long as it may.
fn late(desk: &Desk, job: u32, over: Option<Time>, at: Option<Time>) -> Next {
    let now = desk.now();
    let at = at.unwrap_or(now + AGAIN).max(now + Duration::from_millis(1));
    match over {
        _ if desk.sends(job) >= desk.most_sends() => Next::GiveUp(Why::Exhausted),
        None => Next::Park(at),
        Some(over) if at >= over => Next::GiveUp(Why::Late),
        Some(_) => Next::Anew(at),
    }
}

/// Nothing may go before somebody has mended a login: its worker stands still, and asks anew every second.
fn stand(desk: &Desk, job: u32) -> Next {
    if desk.sends(job) >= desk.most_sends() {
        return Next::GiveUp(Why::Exhausted);
    }
    Next::Anew(desk.now() + AGAIN)
}
