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
use crate::lab::sim::scenario::{Exits, FIRST, SECOND, Scenario, class};
use crate::lab::sim::world::World;
use crate::outcome::Evidence;
use crate::request::{Classes, LeaseRequest, Origin, Time, Trail};
use crate::verdict::{RetryRules, Verdict, Why as Stop};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Whoever is told to come back does so until a job was sent so often in vain, unless the scenario says otherwise.
pub(in crate::lab::sim) const MOST_SENDS: u32 = 8;

/// Who is not told when to come back does so after this time.
pub(in crate::lab::sim) const AGAIN: Duration = Duration::from_secs(1);

/// Which fleet: its rules, and which of its parts are on.
#[derive(Clone, Default, Debug)]
pub(in crate::lab::sim) struct Parts {
    pub(in crate::lab::sim) rules: RetryRules,
    pub(in crate::lab::sim) knobs: Knobs,
}

pub(in crate::lab::sim) struct Ours {
    fleet: Fleet,
    exits: Exits,
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
    /// One job in so many is a price check, where these are a class.
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
        let lane = parts.knobs.lane.map(|lane| (lane, parts.rules.share()));
        let config = FleetConfig {
            pools: vec![pool(scenario)],
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
            exits: Exits::new(scenario),
            stops: 0,
            renewals: scenario.sessions(SECOND),
            origins,
            jobs: HashMap::new(),
            waiting: HashMap::new(),
            called: VecDeque::new(),
            sent: HashMap::new(),
            sends: scenario.sends.unwrap_or(MOST_SENDS),
            patience: scenario.patience,
            lane,
            prices: scenario.classed(),
        }
    }

    fn ask(&self, job: &Job) -> LeaseRequest {
        let ask = LeaseRequest::per_request().origin(self.origins[job.origin as usize].clone());
        let ask = match class(self.prices, job.id) {
            None => ask,
            Some(class) => ask.class(class),
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
                let exit = self.exits.of(&grant.route).unwrap_or(0);
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
                match refusal {
                    Refusal::FleetStopped => self.stand(now, job),
                    _ => self.late(now, job, retry_at(&refusal)),
                }
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
        let Some(held) = self.give_back(job) else { return Next::GiveUp(Why::Exhausted) };
        let at = retry_at.unwrap_or(now + AGAIN).max(now + Duration::from_millis(1));
        match self.patience {
            None => Next::Park(at),
            Some(_) if at >= held.deadline => Next::GiveUp(Why::Late),
            Some(_) => {
                let deadline = held.deadline;
                self.ask_anew(job, held, at, deadline)
            }
        }
    }

    /// Nothing may go before somebody has done something about it. Its caller knows that: its worker takes no other job, and it
    /// asks again every second.
    fn stand(&mut self, now: Time, job: u32) -> Next {
        if self.patience.is_some() {
            return self.late(now, job, None);
        }
        let Some(held) = self.give_back(job) else { return Next::GiveUp(Why::Exhausted) };
        let at = now + AGAIN;
        let deadline = at + held.ask.deadline;
        self.ask_anew(job, held, at, deadline)
    }

    /// Its request is over, unserved; `None` if it was sent as often as its caller cares for.
    fn give_back(&mut self, job: u32) -> Option<Held> {
        let held = self.jobs.remove(&job)?;
        let sent = self.sent.entry(job).or_default();
        *sent += held.ask.trail.sends;
        (*sent < self.sends).then_some(held)
    }

    /// Another request of the same job, which knows nothing of the one before.
    fn ask_anew(&mut self, job: u32, held: Held, at: Time, deadline: Time) -> Next {
        let mut ask = held.ask;
        ask.trail = Trail { deadline: Some(deadline), ..Trail::default() };
        self.jobs.insert(job, Held { ask, grant: None, ticket: None, deadline });
        Next::Anew(at)
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
            Stop::FleetStopped => self.stand(now, job),
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

/// The exits as a list, or as sessions of the gateways whose logins they share.
fn pool(scenario: &Scenario) -> Pool {
    let list = if scenario.sessions { ExitList::default() } else { scenario.listed() };
    scenario.sessions(FIRST).into_iter().fold(Pool::new("default", list), Pool::and)
}

fn classes(scenario: &Scenario) -> Classes {
    let mut classes = Classes::default();
    for (name, weight) in scenario.classes() {
        classes.add(name.into(), weight);
    }
    classes
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
            Some((u32::try_from(origin).ok()?, self.exits.known(exit)?))
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
