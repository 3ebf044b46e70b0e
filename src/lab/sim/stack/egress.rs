//! This crate's layers, and what a caller makes of what they say.

use super::desk::Desk;
use super::service::{Of, SimWorld};
use super::worker::Ask;
use crate::classify::EgressBody;
use crate::draw::mix;
use crate::error::{Error, LeaseError, Next as Cure};
use crate::exit::ExitList;
use crate::lab::sim::contender::{MOST_SENDS, Next, Why};
use crate::lab::sim::scenario::Scenario;
use crate::request::{LeaseRequest, Time};
use crate::scheduler::{Scheduler, Served};
use crate::stack::EgressLayer;
use crate::verdict::Why as Stop;
use http::{Request, Response};
use std::sync::Arc;
use std::time::Duration;
use tower::Layer as _;

pub(super) fn scheduler(scenario: &Scenario, seed: u64) -> Scheduler {
    let list = ExitList::parse(&scenario.list()).expect("the list is our own");
    Scheduler::builder().exits(list).seed(mix(seed)).build().expect("there are exits")
}

pub(super) fn ask(scheduler: &Scheduler, world: SimWorld, scenario: &Scenario) -> Ask {
    let (desk, patience) = (world.desk().clone(), scenario.patience);
    // As long as the request: the world's slow exits answer at last.
    let client = EgressLayer::new(scheduler).attempt_timeout(Duration::MAX).layer(world);
    let lease = match patience {
        None => LeaseRequest::per_request(),
        Some(patience) => LeaseRequest::per_request().patience(patience).deadline(patience),
    };
    Arc::new(move |job| {
        let mut request = Request::new(String::new());
        let uri = format!("https://site{}.test/{job}", desk.origin(job));
        *request.uri_mut() = uri.parse().expect("a URI");
        request.extensions_mut().insert(lease.clone());
        request.extensions_mut().insert(Of(job));
        let (client, desk) = (client.clone(), desk.clone());
        Box::pin(async move {
            let out = client.oneshot(request).await;
            next(&desk, job, patience, out)
        })
    })
}

fn next(
    desk: &Desk,
    job: u32,
    patience: Option<Duration>,
    out: Result<Response<EgressBody<String>>, Error>,
) -> Next {
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
    let late = |at| late(desk, job, patience, at);
    match (why, cure) {
        (Some(Stop::RequestBlocked), _) => Next::GiveUp(Why::Request),
        (Some(Stop::Exhausted), _) => Next::GiveUp(Why::Exhausted),
        (_, Cure::At(at)) => late(Some(desk.time(at))),
        (_, Cure::WhenResumed) if refused.is_some() => late(None),
        _ if too_late => late(None),
        _ => Next::GiveUp(Why::Exhausted),
    }
}

/// What cannot be done in time is put aside, or given up where it must be done in time.
fn late(desk: &Desk, job: u32, patience: Option<Duration>, at: Option<Time>) -> Next {
    let now = desk.now();
    match (at, patience) {
        _ if desk.sends(job) >= MOST_SENDS => Next::GiveUp(Why::Exhausted),
        (Some(at), None) => Next::Park(at.max(now + Duration::from_millis(1))),
        (None, None) => Next::Park(now + Duration::from_secs(1)),
        (_, Some(_)) => Next::GiveUp(Why::Late),
    }
}
