//! The engine: takes what happens next, and asks the policy what to do about it.

mod way;

use super::contender::{Contender, Endless, Next, Why};
use super::job::{Job, Load};
use super::journal::{Entry, Heard, Journal, What};
use super::luck::Luck;
use super::metrics::{Metrics, Run};
use super::policy::Policy;
use super::queue::{Planned, Queue};
use super::scenario::{Scenario, worker_starts};
use super::world::{Truth, World};
use crate::request::Time;
use std::collections::VecDeque;
use std::time::Duration;
use way::UnderWay;

/// Plays one scenario by one policy's rules. The same three give the same [`Run`], its log included.
#[must_use]
pub fn run(scenario: &Scenario, policy: Policy, seed: u64) -> Run {
    let contender = policy.contender(scenario, seed);
    let mut engine = Engine::new(scenario, policy.name(), seed, contender);
    if policy == Policy::Endless {
        let exits = Endless::exits(engine.jobs.len(), scenario.origins.len());
        engine.world = World::of(scenario, exits, engine.luck);
        engine.contender = Box::new(Endless::new(exits));
    }
    engine.play().0
}

/// The same, with each of its decisions.
#[cfg(test)]
pub(super) fn run_kept(scenario: &Scenario, policy: Policy, seed: u64) -> (Run, Vec<Entry>) {
    let mut engine = Engine::new(scenario, policy.name(), seed, policy.contender(scenario, seed));
    engine.journal = Journal::keeping(true);
    let (run, journal) = engine.play();
    (run, journal.kept.unwrap_or_default())
}

/// The same, and all that the policy heard.
#[cfg(test)]
pub(super) fn overheard(scenario: &Scenario, policy: Policy, seed: u64) -> (Run, Vec<super::journal::Input>) {
    let mut engine = Engine::new(scenario, policy.name(), seed, policy.contender(scenario, seed));
    engine.journal.overhear();
    let (run, journal) = engine.play();
    (run, journal.heard.unwrap_or_default())
}

/// How often it is asked what it expects.
const FORECAST: Duration = Duration::from_secs(20);

#[derive(Clone, Copy)]
enum Event {
    /// A worker is free.
    Worker,
    /// A job comes by itself.
    Comes(u32),
    /// The attempt of a job is at the site, or back.
    Leg(u32),
    /// The time of a job with an attempt under way is over.
    Late(u32),
    /// A wait is over, unless the job has gone on since.
    Wakes { job: u32, step: u32 },
    /// A job that was put aside is due.
    Due(u32),
    /// A gateway's login has another password.
    Renewed(usize),
}

#[derive(Clone, Copy)]
struct Known {
    job: Job,
    began: Option<Time>,
    /// Since when no attempt of it is under way, and for how long that was so before.
    idle: Option<Time>,
    waited: Duration,
    sent: u32,
    step: u32,
    waits: bool,
    /// When it looks again by itself.
    alarm: Option<Planned>,
    /// It looks once more in this very millisecond.
    rings: Option<Planned>,
    under_way: Option<UnderWay>,
}

struct Engine<'a> {
    scenario: &'a Scenario,
    luck: Luck,
    world: World,
    queue: Queue<Event>,
    contender: Box<dyn Contender>,
    jobs: Vec<Known>,
    /// The next one that nobody has taken up.
    fresh: u32,
    /// Put aside, and due.
    due: VecDeque<u32>,
    idle: u32,
    /// Workers whose job is over, in this step.
    freed: u32,
    over: usize,
    metrics: Metrics,
    journal: Journal,
}

impl<'a> Engine<'a> {
    fn new(scenario: &'a Scenario, policy: &'static str, seed: u64, contender: Box<dyn Contender>) -> Self {
        let luck = Luck::new(seed);
        let metrics = Metrics::new(scenario, policy, seed);
        let world = World::new(scenario, luck);
        let mut engine = Self {
            scenario,
            luck,
            world,
            queue: Queue::new(),
            contender,
            jobs: Vec::new(),
            fresh: 0,
            due: VecDeque::new(),
            idle: 0,
            freed: 0,
            over: 0,
            metrics,
            journal: Journal::default(),
        };
        engine.plan_load();
        for (at, gateway) in scenario.gateways.iter().enumerate() {
            if let Some(when) = gateway.renewed_at() {
                engine.queue.plan(Time::ZERO + when, Event::Renewed(at));
            }
        }
        engine
    }

    fn plan_load(&mut self) {
        for (id, (job, comes)) in (0..).zip(self.scenario.work(self.luck)) {
            let known = Known {
                job,
                began: None,
                idle: None,
                waited: Duration::ZERO,
                sent: 0,
                step: 0,
                waits: false,
                alarm: None,
                rings: None,
                under_way: None,
            };
            self.jobs.push(known);
            if let Some(at) = comes {
                self.queue.plan(at, Event::Comes(id));
            }
        }
        for worker in 0..self.scenario.workers() {
            self.queue.plan(worker_starts(worker), Event::Worker);
        }
    }

    fn play(mut self) -> (Run, Journal) {
        let horizon = Time::ZERO + self.scenario.horizon;
        let mut end = Time::ZERO;
        let mut asks = Time::ZERO + FORECAST;
        while let Some((now, event)) = self.queue.next() {
            if self.over == self.jobs.len() {
                break;
            }
            if now > horizon {
                end = horizon;
                break;
            }
            end = now;
            if now >= asks {
                self.metrics
                    .run
                    .forecasts
                    .extend(self.contender.forecast(now).map(|forecast| (now, forecast)));
                asks = asks + FORECAST;
            }
            self.step(now, event);
        }
        let contender = &*self.contender;
        let mut run = self.metrics.end(end, &self.world, |usual| contender.retries_a_second(usual));
        (run.decisions, run.log) = (self.journal.entries(), self.journal.digest());
        run.stops = self.contender.stops();
        (run, self.journal)
    }

    fn step(&mut self, now: Time, event: Event) {
        self.world.turn(now);
        let contender = &*self.contender;
        self.metrics.look(now, &self.world, |now| (contender.resting(now), contender.cause(now)));
        match event {
            Event::Worker => self.take_up(now),
            Event::Comes(job) => self.begin(now, job),
            Event::Leg(job) | Event::Late(job) => {
                if let Some((next, truth)) = self.advance(now, job) {
                    self.go_on(now, job, next, truth);
                }
            }
            Event::Wakes { job, step } => {
                let known = &self.jobs[job as usize];
                if known.step == step && known.waits {
                    let job = known.job;
                    let next = self.resume(now, &job);
                    self.go_on(now, job.id, next, Truth::Unreached);
                }
            }
            Event::Renewed(gateway) => self.contender.renewed(now, gateway),
            Event::Due(job) if self.scenario.workers() == 0 => self.begin(now, job),
            Event::Due(job) => {
                self.due.push_back(job);
                if self.idle > 0 {
                    self.idle -= 1;
                    self.take_up(now);
                }
            }
        }
        while self.freed > 0 {
            self.freed -= 1;
            self.take_up(now);
        }
        self.call();
    }

    /// A free worker takes the next job: one that was put aside and is due, else a fresh one.
    fn take_up(&mut self, now: Time) {
        let next = self.due.pop_front().or_else(|| {
            let fresh = (self.fresh < self.scenario.jobs).then_some(self.fresh);
            self.fresh += u32::from(fresh.is_some());
            fresh
        });
        match next {
            Some(job) => self.begin(now, job),
            None => self.idle += 1,
        }
    }

    fn begin(&mut self, now: Time, job: u32) {
        let known = &mut self.jobs[job as usize];
        let job = known.job;
        if known.began.is_none() {
            (known.began, known.idle) = (Some(now), Some(now));
            self.metrics.came(&job);
        }
        self.journal.hear(now, job, Heard::Begins);
        let next = self.contender.begin(now, &job, &self.world);
        self.go_on(now, job.id, next, Truth::Unreached);
    }

    fn resume(&mut self, now: Time, job: &Job) -> Next {
        self.journal.hear(now, *job, Heard::Resumes);
        self.contender.resume(now, job, &self.world)
    }

    fn go_on(&mut self, now: Time, id: u32, mut next: Next, mut truth: Truth) {
        loop {
            let known = &mut self.jobs[id as usize];
            known.step += 1;
            let (job, step) = (known.job, known.step);
            match next {
                // No timer: it goes on at once.
                Next::Wait(until) if until <= now => {
                    self.ring(id);
                    (next, truth) = (self.resume(now, &job), Truth::Unreached);
                    continue;
                }
                Next::Wait(until) => return self.wait(now, id, until, step),
                Next::Anew(until) => {
                    self.silence(id);
                    return self.wait(now, id, until, step);
                }
                _ => known.waits = false,
            }
            self.silence(id);
            let Next::Send(exit) = next else { return self.leave(now, id, next, truth) };
            match self.send(now, id, exit) {
                Some(answered) => (next, truth) = answered,
                None => return,
            }
        }
    }

    /// Its alarm goes with what it was set for.
    fn silence(&mut self, id: u32) {
        let known = &mut self.jobs[id as usize];
        known.rings = None;
        if let Some(alarm) = known.alarm.take() {
            self.queue.take_back(alarm);
        }
    }

    /// An alarm that is set to a time that has come rings: whoever goes on looks once more.
    fn ring(&mut self, id: u32) {
        let known = &mut self.jobs[id as usize];
        if known.alarm.take().is_some_and(|alarm| self.queue.take_back(alarm)) {
            self.call();
            self.jobs[id as usize].rings = Some(self.queue.plan_now(Event::Wakes { job: id, step: 0 }));
        }
    }

    /// Wakes those who were called.
    fn call(&mut self) {
        while let Some(job) = self.contender.called() {
            // It may have gone on in the same step.
            let Known { step, waits: true, .. } = self.jobs[job as usize] else { continue };
            self.queue.plan_now(Event::Wakes { job, step });
        }
    }

    fn note(&mut self, now: Time, job: u32, what: What) {
        self.journal.note(Entry { at: now, job, what });
    }

    fn wait(&mut self, now: Time, id: u32, until: Time, step: u32) {
        let known = &mut self.jobs[id as usize];
        let begins = !std::mem::replace(&mut known.waits, true);
        let event = Event::Wakes { job: id, step };
        known.alarm = match known.alarm {
            Some(alarm) => Some(self.queue.put(alarm, until, event)),
            None => Some(self.queue.plan(until, event)),
        };
        if let Some(rings) = known.rings.take() {
            self.queue.change(rings, Event::Wakes { job: id, step });
        }
        if begins {
            self.note(now, id, What::Wait);
        }
    }

    /// It is over, or put aside: its worker takes another at once.
    fn leave(&mut self, now: Time, id: u32, next: Next, truth: Truth) {
        let known = &self.jobs[id as usize];
        let (job, began, waited) = (known.job, known.began.unwrap_or(now), known.waited);
        match next {
            Next::Park(until) => {
                self.note(now, id, What::Park(until));
                self.metrics.run.parked += 1;
                self.queue.plan(until, Event::Due(id));
            }
            Next::GiveUp(why) => {
                self.note(now, id, What::GiveUp);
                self.over += 1;
                self.metrics.gave_up(now, &job, why == Why::Request);
            }
            _ => {
                self.note(now, id, What::Done);
                self.over += 1;
                self.metrics.done(now, began, waited, &job, truth);
            }
        }
        if let Load::Closed { .. } = self.scenario.load {
            self.freed += 1;
        }
    }
}
