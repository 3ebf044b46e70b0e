//! This crate's layers, and what a caller makes of what they say.

use super::desk::Desk;
use super::service::{Of, SimWorld};
use super::worker::Ask;
use crate::classify::EgressBody;
use crate::draw::mix;
use crate::error::{Error, LeaseError, Next as Cure};
use crate::exit::ExitList;
use crate::lab::sim::contender::{Next, Why};
use crate::lab::sim::scenario::Scenario;
use crate::request::{LeaseRequest, Time};
use crate::scheduler::{Scheduler, Served};
use crate::stack::EgressLayer;
use crate::verdict::{RetryRules, Why as Stop};
use http::{Request, Response};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep_until;
use tower::Layer as _;

pub(super) fn scheduler(scenario: &Scenario, seed: u64) -> Scheduler {
    let list = ExitList::parse(&scenario.list()).expect("the list is our own");
    let rules = RetryRules::default();
    let sends = scenario.sends.unwrap_or_else(|| rules.max_sends()).max(1);
    let builder = Scheduler::builder().exits(list).rules(rules.max_attempts(sends));
    builder.seed(mix(seed)).build().expect("there are exits")
}

pub(super) fn ask(scheduler: &Scheduler, world: SimWorld, scenario: &Scenario) -> Ask {
    let (desk, patience) = (world.desk().clone(), scenario.patience);
    // As long as the request: the world's slow exits answer at last.
    let client = EgressLayer::new(scheduler).attempt_timeout(Duration::MAX).layer(world);
    Arc::new(move |job| {
        let (client, desk) = (client.clone(), desk.clone());
        Box::pin(async move {
            let over = patience.map(|patience| (desk.now() + patience, patience));
            loop {
                let out = client.clone().oneshot(request(&desk, job, over)).await;
                match next(&desk, job, over.map(|(at, _)| at), out) {
                    Next::Wait(at) => sleep_until(desk.instant(at)).await,
                    next => return next,
                }
            }
        })
    })
}

/// `over`: when the job's time is over, and its patience.
fn request(desk: &Desk, job: u32, over: Option<(Time, Duration)>) -> Request<String> {
    let lease = LeaseRequest::per_request();
    let lease = match over {
        None => lease,
        Some((at, patience)) => lease.patience(patience).deadline(at.since(desk.now())),
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
            (served.why(), served.retry_at().map_or(Cure::Never, Cure::At))
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
        (_, Cure::WhenResumed) if refused.is_some() => late(None),
        _ if too_late => late(None),
        _ => Next::GiveUp(Why::Exhausted),
    }
}

/// What cannot be done in time is asked for again when that is said to help: its worker takes another job until then, or there is
/// none but it, and it waits as long as it may.
fn late(desk: &Desk, job: u32, over: Option<Time>, at: Option<Time>) -> Next {
    let now = desk.now();
    let at = at.unwrap_or(now + Duration::from_secs(1)).max(now + Duration::from_millis(1));
    match over {
        _ if desk.sends(job) >= desk.most_sends() => Next::GiveUp(Why::Exhausted),
        None => Next::Park(at),
        Some(over) if at >= over => Next::GiveUp(Why::Late),
        Some(_) => Next::Wait(at),
    }
}
