//! The engine: takes what happens next, and asks the policy what to do about it.

use super::contender::{Contender, Endless, Next, Why};
use super::job::{Job, Load};
use super::journal::{Entry, Heard, Journal};
use super::luck::{For, Luck};
use super::metrics::{Metrics, Run};
use super::policy::Policy;
use super::queue::Queue;
use super::scenario::Scenario;
use super::world::{Answer, Attempt, Leg, Truth, World};
use crate::request::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// The same, and all that the policy heard.
#[cfg(test)]
pub(super) fn overheard(scenario: &Scenario, policy: Policy, seed: u64) -> (Run, Vec<super::journal::Input>) {
    let contender = policy.contender(scenario, seed);
    let mut engine = Engine::new(scenario, policy.name(), seed, contender);
    let heard = engine.journal.overhear();
    let run = engine.play();
    let heard = heard.borrow().clone();
    (run, heard)
}

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
    engine.play()
}

#[derive(Clone, Copy)]
enum Event {
    /// A worker is free.
    Worker,
    /// A job comes by itself.
    Comes(u32),
    Arrives(Attempt),
    Answered(Attempt, Answer),
    /// A wait is over, unless the job has gone on since.
    Wakes {
        job: u32,
        step: u32,
    },
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
    over: usize,
    metrics: Metrics,
    journal: Journal,
}

impl<'a> Engine<'a> {
    fn new(scenario: &'a Scenario, policy: &'static str, seed: u64, contender: Box<dyn Contender>) -> Self {
        let luck = Luck::new(seed);
        let run = Run { scenario: scenario.name, policy, seed, exits: scenario.exits, ..Run::default() };
        let metrics = Metrics::new(run, scenario.trigger, scenario.origins.len());
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
        let known = |job| Known {
            job,
            began: None,
            idle: None,
            waited: Duration::ZERO,
            sent: 0,
            step: 0,
            waits: false,
        };
        match self.scenario.load {
            Load::Closed { workers } => {
                let new = |id| known(Job::new(self.luck, id, self.scenario.spread, self.scenario.poison));
                self.jobs = (0..self.scenario.jobs).map(new).collect();
                for worker in 0..workers {
                    self.queue.plan(Time::ZERO + Duration::from_millis(4) * worker, Event::Worker);
                }
            }
            Load::Open { per_second, seconds, surge } => {
                let mut come = Vec::new();
                for (origin, rate) in (0..).zip(per_second) {
                    let mut steady = 0.0;
                    for k in 0_u64.. {
                        steady -=
                            libm::log(1.0 - self.luck.unit(For::Arrival, &[u64::from(origin), k])) / rate;
                        let at = surge.map_or(steady, |surge| surge.at(steady));
                        if at >= seconds {
                            break;
                        }
                        come.push((at, origin));
                    }
                }
                come.sort_by(|a, b| a.0.total_cmp(&b.0));
                for (id, (at, origin)) in (0..).zip(come) {
                    self.jobs.push(known(Job::at(self.luck, id, origin, self.scenario.poison)));
                    self.queue.plan(Time::ZERO + Duration::from_secs_f64(at), Event::Comes(id));
                }
            }
        }
    }

    fn play(mut self) -> Run {
        let horizon = Time::ZERO + self.scenario.horizon;
        let mut end = Time::ZERO;
        while let Some((now, event)) = self.queue.next() {
            if now > horizon || self.over == self.jobs.len() {
                break;
            }
            end = now;
            self.step(now, event);
        }
        let mut run = self.metrics.end(end, &self.world, &*self.contender);
        (run.decisions, run.log) = (self.journal.entries(), self.journal.digest());
        run
    }

    #[allow(clippy::needless_pass_by_value, reason = "an event is used up")]
    fn step(&mut self, now: Time, event: Event) {
        self.world.turn(now);
        self.metrics.look(now, &self.world, &*self.contender);
        match event {
            Event::Worker => self.take_up(now),
            Event::Comes(job) => self.begin(now, job),
            Event::Arrives(attempt) => {
                let (at, answer) = self.world.arrive(now, &attempt);
                self.metrics.arrived(now, &attempt, answer.truth);
                self.metrics.bans(now, &self.world);
                self.queue.plan(at, Event::Answered(attempt, answer));
            }
            Event::Answered(attempt, answer) => {
                self.world.answered(&attempt, &answer);
                self.metrics.answered(&attempt, &answer);
                self.jobs[attempt.job.id as usize].idle = Some(now);
                self.journal.hear(now, attempt.job, Heard::Answer(attempt.exit, answer.evidence));
                let next =
                    self.contender.answered(now, &attempt.job, attempt.exit, &answer.evidence, &self.world);
                self.go_on(now, attempt.job.id, next, answer.truth);
            }
            Event::Wakes { job, step } => {
                let known = &self.jobs[job as usize];
                if known.step == step && known.waits {
                    let job = known.job;
                    self.journal.hear(now, job, Heard::Resumes);
                    let next = self.contender.resume(now, &job, &self.world);
                    self.go_on(now, job.id, next, Truth::Unreached);
                }
            }
            Event::Renewed(gateway) => self.contender.renewed(now, gateway),
            Event::Due(job) => {
                if let Load::Open { .. } = self.scenario.load {
                    self.begin(now, job);
                } else {
                    self.due.push_back(job);
                }
                if self.idle > 0 {
                    self.idle -= 1;
                    self.take_up(now);
                }
            }
        }
        while let Some(job) = self.contender.called() {
            // It may have gone on in the same step.
            let Known { step, waits: true, .. } = self.jobs[job as usize] else { continue };
            self.queue.plan_now(now, Event::Wakes { job, step });
        }
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

    fn go_on(&mut self, now: Time, id: u32, next: Next, truth: Truth) {
        let known = &mut self.jobs[id as usize];
        known.step += 1;
        known.waits = matches!(next, Next::Wait(_));
        let (job, step, began) = (known.job, known.step, known.began.unwrap_or(now));
        self.journal.note(Entry { at: now, job: id, what: next.into() });
        match next {
            Next::Send(exit) => {
                let number = known.sent;
                known.sent += 1;
                known.waited += now.since(known.idle.take().unwrap_or(now));
                self.metrics.sent(now, &job);
                let nth = self.world.use_exit(exit);
                let attempt = Attempt { job, number, exit, nth };
                match self.world.send(now, &attempt) {
                    Leg::Arrives(at) => self.queue.plan(at, Event::Arrives(attempt)),
                    Leg::Answered(at, answer) => self.queue.plan(at, Event::Answered(attempt, answer)),
                }
            }
            Next::Wait(until) => {
                if until < Time::MAX {
                    self.queue.plan(until, Event::Wakes { job: id, step });
                }
            }
            Next::Park(until) => {
                self.metrics.run.parked += 1;
                self.queue.plan(until, Event::Due(id));
                self.free(now);
            }
            Next::Done => {
                self.over += 1;
                self.metrics.done(now, began, known.waited, &job, truth);
                self.free(now);
            }
            Next::GiveUp(why) => {
                self.over += 1;
                self.metrics.gave_up(now, &job, why == Why::Request);
                self.free(now);
            }
        }
    }

    /// A worker has nothing to do: in a closed load it takes the next job at once.
    fn free(&mut self, now: Time) {
        if let Load::Closed { .. } = self.scenario.load {
            self.queue.plan_now(now, Event::Worker);
        }
    }
}
