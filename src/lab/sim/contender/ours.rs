//! This crate's fleet, driven as the scheduler and the layers drive it.

use super::{Contender, Next, Why};
use crate::draw::mix;
use crate::exit::{ExitId, ExitList, Gateway, Pool};
use crate::fleet::{
    Bounds, Cause, Event, Fleet, FleetConfig, Forecast, Grant, Member, Refusal, Release, RetryAsk, Ticket,
    Turn,
};
use crate::knobs::{Knobs, Lane};
use crate::lab::sim::job::Job;
use crate::lab::sim::scenario::Scenario;
use crate::lab::sim::world::World;
use crate::outcome::Evidence;
use crate::request::{Classes, LeaseRequest, Origin, Time, Trail};
use crate::verdict::{RetryRules, Verdict, Why as Stop};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Whoever is told to come back does so until a job was sent so often in vain, unless the scenario says otherwise.
pub(in crate::lab::sim) const MOST_SENDS: u32 = 8;

/// Which fleet: its rules, and which of its parts are on.
#[derive(Clone, Default, Debug)]
pub(in crate::lab::sim) struct Parts {
    pub(in crate::lab::sim) rules: RetryRules,
    pub(in crate::lab::sim) knobs: Knobs,
}

pub(in crate::lab::sim) struct Ours {
    fleet: Fleet,
    /// Which exit of the world a lease's is. A session is the next one of its gateway when it is met first.
    exits: HashMap<ExitId, u32>,
    /// Sessions met, by gateway, and exits that there are.
    met: Vec<u32>,
    all: u32,
    stops: u64,
    /// The gateways with another password.
    renewals: Vec<Gateway>,
    origins: Vec<Origin>,
    jobs: HashMap<u32, Held>,
    /// Whose ticket it is.
    waiting: HashMap<Ticket, u32>,
    called: VecDeque<u32>,
    /// Sends in vain of jobs that were put aside, and the most of one job.
    sent: HashMap<u32, u32>,
    sends: u32,
    /// Of the whole job, for jobs that are put aside and taken up again.
    patience: Option<Duration>,
    lane: Option<(Lane, f64)>,
    /// Which jobs are price checks, where these are a class.
    prices: Option<u32>,
}

struct Held {
    ask: LeaseRequest,
    grant: Option<Grant>,
    ticket: Option<Ticket>,
    deadline: Time,
}

impl Ours {
    pub(in crate::lab::sim) fn new(scenario: &Scenario, seed: u64, parts: Parts) -> Self {
        let (pool, exits) = pool(scenario);
        let lane = parts.knobs.lane.map(|lane| (lane, parts.rules.share()));
        let config = FleetConfig {
            pools: vec![pool],
            sites: Arc::default(),
            member: Member { index: 0, of: 1 },
            rules: parts.rules,
            seed: mix(seed),
            epoch: 0,
            bounds: Bounds::default(),
            knobs: parts.knobs,
            classes: classes(scenario),
        };
        let origins = (0..scenario.origins.len()).map(|at| Origin::from(format!("site{at}.test"))).collect();
        Self {
            fleet: Fleet::new(config),
            exits,
            met: vec![0; scenario.gateways.len()],
            all: scenario.exits,
            stops: 0,
            renewals: scenario.sessions("second"),
            origins,
            jobs: HashMap::new(),
            waiting: HashMap::new(),
            called: VecDeque::new(),
            sent: HashMap::new(),
            sends: scenario.sends.unwrap_or(MOST_SENDS),
            patience: scenario.patience,
            lane,
            prices: scenario.prices.filter(|_| scenario.weights.is_some()),
        }
    }

    fn ask(&self, job: &Job) -> LeaseRequest {
        let ask = LeaseRequest::per_request().origin(self.origins[job.origin as usize].clone());
        let class = |one_in: u32| if job.id % one_in.max(1) == 0 { "prices" } else { "bulk" };
        let ask = match self.prices {
            None => ask,
            Some(one_in) => ask.class(class(one_in)),
        };
        match self.patience {
            None => ask,
            Some(patience) => ask.patience(patience).deadline(patience),
        }
    }

    /// Asks for a lease, as the lease layer does.
    fn lease(&mut self, now: Time, job: u32) -> Next {
        let Some(held) = self.jobs.get(&job) else { return Next::GiveUp(Why::Fatal) };
        if held.deadline <= now {
            return self.late(now, job, None);
        }
        let patience = held.deadline.min(now + held.ask.patience);
        let name = held.ask.origin.clone().expect("each job has one");
        let turn = self.fleet.lease_or_wait(now, &held.ask, &name, patience);
        self.serve(now);
        self.turn(now, job, turn)
    }

    fn turn(&mut self, now: Time, job: u32, turn: Turn) -> Next {
        let Some(held) = self.jobs.get_mut(&job) else { return Next::GiveUp(Why::Fatal) };
        match turn {
            Turn::Granted(grant) => {
                let exit = exit_of(&mut self.exits, &mut self.met, self.all, &grant);
                held.grant = Some(grant);
                self.step_out(now, job);
                Next::Send(exit)
            }
            Turn::Wait { ticket } => {
                held.ticket = Some(ticket);
                self.waiting.insert(ticket, job);
                let until = self.fleet.wait(now, ticket);
                self.serve(now);
                match until {
                    Some(until) => Next::Wait(until),
                    None => self.claim(now, job, ticket),
                }
            }
            Turn::Refused(refusal) => {
                self.step_out(now, job);
                if refusal == Refusal::FleetStopped && self.patience.is_none() {
                    return self.stand(now, job);
                }
                self.late(now, job, retry_at(&refusal))
            }
        }
    }

    /// A place that is done with is left, as whoever owned it is dropped.
    fn step_out(&mut self, now: Time, job: u32) {
        if let Some(ticket) = self.jobs.get_mut(&job).and_then(|held| held.ticket.take()) {
            self.waiting.remove(&ticket);
            self.fleet.leave(now, ticket);
            self.serve(now);
        }
    }

    fn claim(&mut self, now: Time, job: u32, ticket: Ticket) -> Next {
        let turn = self.fleet.claim(now, ticket);
        self.serve(now);
        self.turn(now, job, turn)
    }

    /// What cannot be done in time is asked for again, as a caller would who is told when to come back: its worker takes another
    /// job until then, or there is none but it.
    fn late(&mut self, now: Time, job: u32, retry_at: Option<Time>) -> Next {
        let Some(held) = self.jobs.remove(&job) else { return Next::GiveUp(Why::Fatal) };
        let sent = self.sent.entry(job).or_default();
        *sent += held.ask.trail.sends;
        if *sent >= self.sends {
            return Next::GiveUp(Why::Exhausted);
        }
        let at = retry_at.unwrap_or(now + Duration::from_secs(1)).max(now + Duration::from_millis(1));
        if self.patience.is_none() {
            return Next::Park(at);
        }
        if at >= held.deadline {
            return Next::GiveUp(Why::Late);
        }
        let mut ask = held.ask;
        ask.trail = Trail { deadline: Some(held.deadline), ..Trail::default() };
        self.jobs.insert(job, Held { ask, grant: None, ticket: None, deadline: held.deadline });
        Next::Wait(at)
    }

    /// Nothing may go before somebody has done something about it. Its caller knows that, and looks again every second.
    fn stand(&mut self, now: Time, job: u32) -> Next {
        if let Some(held) = self.jobs.get_mut(&job) {
            held.deadline = now + held.ask.deadline;
            held.ask.trail.deadline = Some(held.deadline);
        }
        Next::Wait(now + Duration::from_secs(1))
    }

    /// Runs the line, and notes who was called.
    fn serve(&mut self, now: Time) {
        self.fleet.serve(now);
        while let Some(ticket) = self.fleet.poll_wake() {
            self.called.extend(self.waiting.get(&ticket));
        }
        if !self.fleet.events().is_empty() {
            let stops = |(_, event): &(Time, Event)| matches!(event, Event::CredentialStopped { .. });
            self.stops += self.fleet.events().take().iter().filter(|told| stops(told)).count() as u64;
        }
    }

    fn stopped(&mut self, now: Time, job: u32, why: Stop, retry_at: Time) -> Next {
        match why {
            // As often as other designs send: its caller asks again.
            Stop::NoUsableExit | Stop::Deadline | Stop::OriginHeld | Stop::Exhausted => {
                self.late(now, job, Some(retry_at))
            }
            Stop::FleetStopped if self.patience.is_none() => self.stand(now, job),
            Stop::FleetStopped => self.late(now, job, None),
            Stop::Parked { retry_in } => self.late(now, job, Some(now + retry_in)),
            Stop::RequestBlocked => {
                self.jobs.remove(&job);
                Next::GiveUp(Why::Request)
            }
            _ => {
                self.jobs.remove(&job);
                Next::GiveUp(Why::Exhausted)
            }
        }
    }
}

/// The exits as a list, or as sessions of the gateways whose logins they share; and which of the world's each is.
fn pool(scenario: &Scenario) -> (Pool, HashMap<ExitId, u32>) {
    if scenario.sessions {
        let sessions = scenario.sessions("first").into_iter();
        return (sessions.fold(Pool::new("default", ExitList::default()), Pool::and), HashMap::new());
    }
    let list = ExitList::parse(&scenario.list()).expect("the list is our own");
    let exits = (0..).zip(list.clone()).map(|(at, exit)| (exit.id(), at)).collect();
    (Pool::new("default", list), exits)
}

fn classes(scenario: &Scenario) -> Classes {
    let mut classes = Classes::default();
    if let Some((prices, bulk)) = scenario.weights {
        classes.add("prices".into(), prices);
        classes.add("bulk".into(), bulk);
    }
    classes
}

/// A session is met first when it is leased.
fn exit_of(exits: &mut HashMap<ExitId, u32>, met: &mut [u32], all: u32, grant: &Grant) -> u32 {
    if let Some(known) = exits.get(&grant.receipt.exit) {
        return *known;
    }
    let gateways = u32::try_from(met.len()).unwrap_or(1).max(1);
    let number = Scenario::gateway_of(grant.route.host());
    let Some(turn) = met.get_mut(number as usize) else { return 0 };
    let exit = (*turn * gateways + number) % all;
    *turn += 1;
    exits.insert(grant.receipt.exit, exit);
    exit
}

fn retry_at(refusal: &Refusal) -> Option<Time> {
    refusal.facts().1
}

impl Contender for Ours {
    fn begin(&mut self, now: Time, job: &Job, _: &World) -> Next {
        let mut ask = self.ask(job);
        let deadline = *ask.trail.deadline.get_or_insert(now + ask.deadline);
        self.jobs.insert(job.id, Held { ask, grant: None, ticket: None, deadline });
        self.lease(now, job.id)
    }

    fn resume(&mut self, now: Time, job: &Job, _: &World) -> Next {
        match self.jobs.get(&job.id).and_then(|held| held.ticket) {
            None => self.lease(now, job.id),
            Some(ticket) => {
                let until = self.fleet.wait(now, ticket);
                self.serve(now);
                match until {
                    Some(until) => Next::Wait(until),
                    None => self.claim(now, job.id, ticket),
                }
            }
        }
    }

    fn answered(&mut self, now: Time, job: &Job, _: u32, evidence: &Evidence, _: &World) -> Next {
        let Some(held) = self.jobs.get_mut(&job.id) else { return Next::GiveUp(Why::Fatal) };
        let Some(grant) = held.grant.take() else { return Next::GiveUp(Why::Fatal) };
        let receipt = grant.receipt;
        self.fleet.report(now, &receipt, evidence, None);
        self.serve(now);
        // A page as small as those of refusals mostly are is read with its head: the lease is over before the verdict.
        self.fleet.release(&receipt, Release::Done, Some(evidence));
        self.serve(now);
        let Some(held) = self.jobs.get_mut(&job.id) else { return Next::GiveUp(Why::Fatal) };
        if evidence.outcome.is_ok() {
            self.jobs.remove(&job.id);
            return Next::Done;
        }
        receipt.record(&mut held.ask.trail, evidence);
        let (ask, deadline) = (&held.ask, held.deadline);
        let ask =
            RetryAsk { receipt, evidence: *evidence, ask, repeatable: true, replayable: true, deadline };
        let verdict = self.fleet.retry(now, &ask);
        let soonest = if matches!(verdict, Verdict::Stop(_)) { self.fleet.soonest(now, &ask) } else { now };
        self.serve(now);
        match verdict {
            Verdict::Stop(why) => self.stopped(now, job.id, why, soonest),
            Verdict::Retry { delay, .. } => Next::Wait(now + delay),
        }
    }

    fn deadline(&self, job: u32) -> Time {
        self.jobs.get(&job).map_or(Time::MAX, |held| held.deadline)
    }

    fn called(&mut self) -> Option<u32> {
        self.called.pop_front()
    }

    fn resting(&self, now: Time) -> Vec<(u32, u32)> {
        let at = |(exit, origin): (ExitId, &Origin)| {
            let origin = self.origins.iter().position(|known| known == origin)?;
            Some((u32::try_from(origin).ok()?, *self.exits.get(&exit)?))
        };
        self.fleet.resting(now).filter_map(at).collect()
    }

    fn cause(&self, now: Time) -> Option<Cause> {
        Some(self.fleet.cause(now, self.origins.first()?))
    }

    fn retries_a_second(&self, successes: f64) -> Option<f64> {
        self.lane.map(|(lane, share)| lane.floor.max(share * successes))
    }

    fn forecast(&self, now: Time) -> Option<Forecast> {
        Some(self.fleet.forecast(now, self.origins.first()?))
    }

    fn stops(&self) -> u64 {
        self.stops
    }

    fn renewed(&mut self, now: Time, gateway: usize) {
        if let Some(renewed) = self.renewals.get(gateway) {
            self.fleet.set_gateway(now, renewed);
            self.serve(now);
        }
    }
}
