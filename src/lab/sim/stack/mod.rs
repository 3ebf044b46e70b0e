//! The second harness: the same worlds and the same work, done by the layers themselves as tasks under tokio's paused clock.

mod desk;
mod egress;
mod service;
#[cfg(test)]
mod tests;
mod tower;
mod worker;

use super::journal::Entry;
use super::luck::Luck;
use super::metrics::Run;
use super::scenario::{Scenario, worker_starts};
use crate::scheduler::Scheduler;
use desk::Desk;
use service::SimWorld;
use std::sync::Arc;
use tokio::task::unconstrained;
use worker::{Ask, Breaks};

/// Whose layers do the work in [`run_stack`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Client {
    /// This crate's [`EgressLayer`](crate::EgressLayer) with its defaults, but that an attempt may take as long as its request.
    Egress,
    /// `tower::retry` around a random exit, up to eight sends, with the numbers of its default backoff and its default budget.
    /// Each request clones the same generator, as tower's own do, so that all wait alike.
    Tower,
    /// The same with a generator for each request.
    TowerJitter,
}

impl Client {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Egress => "ours",
            Self::Tower => "tower",
            Self::TowerJitter => "tower-jitter",
        }
    }
}

/// Plays a scenario with real layers around the simulated world: as [`run`](super::run) does, to the same decisions where the
/// rules are the same. To be run on a current-thread runtime whose clock is paused; else it takes the scenario's own time, and
/// no two runs are alike. All worlds can be played so.
///
/// ```
/// use tower_egress::lab::sim::{Client, Policy, Scenario, run, run_stack};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let world = Scenario::named("T").expect("each exit may ask twice in a second").pool(20, 8).jobs(100);
/// let stack = run_stack(&world, Client::Egress, 7).await;
/// assert_eq!(stack.log, run(&world, Policy::Ours, 7).log);
/// # }
/// ```
///
/// # Panics
/// Outside of a tokio runtime with time.
pub async fn run_stack(scenario: &Scenario, client: Client, seed: u64) -> Run {
    play(scenario, client, seed, Breaks::default()).await.run
}

struct Played {
    run: Run,
    #[cfg_attr(not(test), expect(dead_code, reason = "for who compares them one by one"))]
    entries: Vec<Entry>,
    #[cfg_attr(not(test), expect(dead_code, reason = "for who looks whether all came back"))]
    scheduler: Option<Scheduler>,
}

async fn play(scenario: &Scenario, client: Client, seed: u64, breaks: Breaks) -> Played {
    let luck = Luck::new(seed);
    let desk = Desk::new(scenario, client.name(), seed);
    let mut world = SimWorld::new(desk.clone(), scenario);
    let (ask, scheduler): (Ask, _) = match client {
        Client::Egress => {
            let scheduler = egress::scheduler(scenario, &desk, seed);
            (egress::ask(&scheduler, world, scenario), Some(scheduler))
        }
        Client::Tower | Client::TowerJitter => {
            let own = Luck::new(!seed);
            world.pick = Some(own);
            (tower::ask(world, own, client == Client::TowerJitter), None)
        }
    };
    let task = Arc::new(worker::Task { desk: desk.clone(), ask, breaks, luck });
    let mut begin = Vec::new();
    for (id, (_, comes)) in (0..).zip(scenario.work(luck)) {
        if let Some(at) = comes {
            begin.push((worker::alarm(&desk, at).await, Some(id)));
        }
    }
    for worker in 0..scenario.workers() {
        begin.push((worker::alarm(&desk, worker_starts(worker)).await, None));
    }
    if let Some(scheduler) = &scheduler {
        for (at, gateway) in egress::renewals(scenario) {
            let (alarm, scheduler) = (worker::alarm(&desk, at).await, scheduler.clone());
            tokio::spawn(unconstrained(async move {
                alarm.await;
                let _ = scheduler.operator().set_gateway(&gateway);
            }));
        }
    }
    for (alarm, job) in begin {
        tokio::spawn(worker::begin(Arc::clone(&task), alarm, job));
    }
    desk.is_over(scenario.horizon).await;
    let (run, entries) = desk.end(scenario.horizon);
    Played { run, entries, scheduler }
}
