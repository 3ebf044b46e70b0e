//! A loop around a request, which most designs are: it picks an exit, sends, and picks again until the rules or the time are
//! over. What a design has of its own are its [`Rules`].

use super::{Contender, Next, Why};
use crate::draw::{below, unit};
use crate::lab::sim::job::{Job, Load};
use crate::lab::sim::luck::{For, Luck};
use crate::lab::sim::scenario::Scenario;
use crate::lab::sim::world::World;
use crate::outcome::Evidence;
use crate::request::Time;
use std::collections::HashMap;
use std::time::Duration;

/// Over all sends and waits of a job in a closed load; in an open one it is the scenario's patience.
const DEADLINE: Duration = Duration::from_secs(120);

/// What a design's draw is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub(in crate::lab::sim) enum Use {
    Pick = 1,
    Jitter,
    Rest,
    Token,
}

/// Where a job goes now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lab::sim) enum Pick {
    Exit(u32),
    /// Asked again after that.
    In(Duration),
    /// The same at that time; its worker does something else until then, if it has one.
    Aside(Time),
    Stop(Why),
}

/// What an answer leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lab::sim) enum Step {
    Done,
    /// Another send after that, if the number of sends allows.
    Again(Duration),
    /// Another one at that time; its worker does something else until then, if it has one.
    Aside(Time),
    /// A sleep that nothing follows.
    Sleep(Duration),
    Stop(Why),
}

impl Step {
    pub(super) const NOW: Self = Self::Again(Duration::ZERO);
}

/// The rules of one design, without the loop around them.
pub(in crate::lab::sim) trait Rules {
    fn pick(&mut self, now: Time, job: &Job, tries: &Tries) -> Pick;

    fn after(&mut self, now: Time, job: &Job, exit: u32, evidence: &Evidence, tries: &Tries) -> Step;

    /// The job is over, however it ended.
    fn over(&mut self, _: &Job) {}
}

/// What is kept of the jobs that are under way.
pub(in crate::lab::sim) struct Tries {
    luck: Luck,
    pub(super) exits: u32,
    /// The most of one job.
    pub(super) sends: u32,
    /// For one job; without one it may take for ever.
    patience: Option<Duration>,
    /// Jobs have workers, who can do something else.
    workers: bool,
    jobs: HashMap<u32, Try>,
}

#[derive(Clone, Copy)]
struct Try {
    sent: u32,
    over: Time,
    /// It only sleeps now.
    lost: bool,
}

impl Tries {
    /// How often the job was sent.
    pub(super) fn sent(&self, job: &Job) -> u32 {
        self.jobs.get(&job.id).map_or(0, |known| known.sent)
    }

    /// In 0..1, another one for each send of each job.
    pub(super) fn unit(&self, what: Use, job: &Job) -> f64 {
        unit(self.draw(what, job.id.into(), self.sent(job).into()))
    }

    /// Any exit.
    pub(super) fn any(&self, job: &Job) -> u32 {
        below(self.draw(Use::Pick, job.id.into(), self.sent(job).into()), self.exits as usize) as u32
    }

    pub(super) fn draw(&self, what: Use, entity: u64, counter: u64) -> u64 {
        self.luck.draw(For::Policy, &[what as u64, entity, counter])
    }
}

/// A design whose rules are these.
pub(in crate::lab::sim) struct Looped<R> {
    rules: R,
    tries: Tries,
}

impl<R: Rules> Looped<R> {
    /// With so many sends a job, unless the scenario says otherwise.
    pub(super) fn new(rules: R, scenario: &Scenario, luck: Luck, sends: u32) -> Self {
        let (exits, sends) = (scenario.exits, scenario.sends.unwrap_or(sends).max(1));
        let patience = Some(scenario.patience.unwrap_or(DEADLINE));
        let workers = matches!(scenario.load, Load::Closed { .. });
        Self { rules, tries: Tries { luck, exits, sends, patience, workers, jobs: HashMap::new() } }
    }

    /// Without a deadline where the scenario has none: the design puts jobs aside.
    pub(super) fn patient(mut self, scenario: &Scenario) -> Self {
        self.tries.patience = scenario.patience;
        self
    }

    fn go(&mut self, now: Time, job: &Job) -> Next {
        match self.tries.jobs.get(&job.id) {
            Some(known) if known.lost => return self.end(job, Next::GiveUp(Why::Exhausted)),
            Some(known) if known.over <= now => return self.end(job, Next::GiveUp(Why::Late)),
            _ => {}
        }
        match self.rules.pick(now, job, &self.tries) {
            Pick::Exit(exit) => {
                if let Some(known) = self.tries.jobs.get_mut(&job.id) {
                    known.sent += 1;
                }
                Next::Send(exit)
            }
            // Who asks again at once would never stop.
            Pick::In(wait) => self.wait(now, job, wait.max(Duration::from_millis(1))),
            Pick::Aside(until) => self.aside(now, job, until),
            Pick::Stop(why) => self.end(job, Next::GiveUp(why)),
        }
    }

    /// At most until its time is over.
    fn wait(&self, now: Time, job: &Job, wait: Duration) -> Next {
        let over = self.tries.jobs.get(&job.id).map_or(Time::MAX, |known| known.over);
        Next::Wait((now + wait).min(over))
    }

    fn aside(&mut self, now: Time, job: &Job, until: Time) -> Next {
        let over = self.tries.jobs.get(&job.id).map_or(Time::MAX, |known| known.over);
        if over <= now {
            return self.end(job, Next::GiveUp(Why::Late));
        }
        let until = until.max(now + Duration::from_millis(1)).min(over);
        if self.tries.workers { Next::Park(until) } else { Next::Wait(until) }
    }

    fn end(&mut self, job: &Job, next: Next) -> Next {
        self.tries.jobs.remove(&job.id);
        self.rules.over(job);
        next
    }
}

impl<R: Rules> Contender for Looped<R> {
    fn begin(&mut self, now: Time, job: &Job, _: &World) -> Next {
        let over = self.tries.patience.map_or(Time::MAX, |patience| now + patience);
        self.tries.jobs.entry(job.id).or_insert(Try { sent: 0, over, lost: false });
        self.go(now, job)
    }

    fn resume(&mut self, now: Time, job: &Job, _: &World) -> Next {
        self.go(now, job)
    }

    fn answered(&mut self, now: Time, job: &Job, exit: u32, evidence: &Evidence, _: &World) -> Next {
        let step = self.rules.after(now, job, exit, evidence, &self.tries);
        let spent = self.tries.sent(job) >= self.tries.sends;
        match step {
            Step::Done => self.end(job, Next::Done),
            Step::Stop(why) => self.end(job, Next::GiveUp(why)),
            Step::Again(_) if spent => self.end(job, Next::GiveUp(Why::Exhausted)),
            Step::Again(Duration::ZERO) => self.go(now, job),
            Step::Again(wait) => self.wait(now, job, wait),
            Step::Aside(until) => self.aside(now, job, until),
            Step::Sleep(wait) => {
                if let Some(known) = self.tries.jobs.get_mut(&job.id) {
                    known.lost = true;
                }
                self.wait(now, job, wait)
            }
        }
    }
}
