//! What is promised of the fleet as a whole: who may serve whom, how hot a pair is, who holds what.

use super::*;
use crate::request::{Affinity, Granularity};
use std::collections::HashSet;

mod heat;
mod holding;
mod states;

fn per() -> LeaseRequest {
    LeaseRequest::per_request()
}

/// Exact turns, whatever the heat.
fn turns() -> LeaseRequest {
    LeaseRequest::new("any").affinity(Affinity::RoundRobin).granularity(Granularity::PerRequest)
}

fn by_the_article(count: u16) -> Setup {
    Setup { rules: RetryRules::article(), ..config(count) }
}

/// How long the [held](held) exit rests at a site.
fn rest(world: &mut World, origin: &str) -> Duration {
    match world.at(origin, &held()) {
        Err(Refusal::NoUsableExit { retry_at, .. }) => retry_at.since(world.now),
        other => panic!("it rests at {origin}: {other:?}"),
    }
}
