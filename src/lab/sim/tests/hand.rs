//! A design by hand: the test asks, answers, and sets the clock.

use crate::lab::sim::contender::{Contender, Next};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::world::{Rules, World};
use crate::lab::sim::{Policy, Scenario};
use crate::outcome::{BlockedBy, Evidence, Outcome, Phase, RetryAfter, Seen};
use crate::request::Time;
use http::StatusCode;
use std::time::Duration;

pub(super) struct Hand {
    contender: Box<dyn Contender>,
    world: World,
    now: Time,
}

/// A world of so many exits and two sites that serve everybody, where a job has ten hours.
pub(super) fn quiet(exits: u32) -> Scenario {
    let world = Scenario::named("Noise").unwrap().pool(exits, 1).patience(Duration::from_secs(36_000));
    Scenario { origins: vec![Rules::FREE; 2], ..world }
}

pub(super) fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

pub(super) fn ok() -> Evidence {
    Evidence::of(Outcome::Ok)
}

pub(super) fn blocked() -> Evidence {
    Evidence::of(Outcome::Blocked { by: BlockedBy::Unknown })
}

pub(super) fn limited(hint: Option<u64>) -> Evidence {
    let retry_after = hint.map(|seconds| RetryAfter::new(Duration::from_secs(seconds)));
    Evidence::of(Outcome::RateLimited { retry_after })
}

pub(super) fn down() -> Evidence {
    Evidence::of(Outcome::OriginError { status: StatusCode::SERVICE_UNAVAILABLE })
}

pub(super) fn unreached() -> Evidence {
    Evidence::of(Outcome::ProxyError { phase: Phase::ExitTcp }).seen(Seen::Never)
}

fn job(id: u32, origin: u32) -> Job {
    Job { id, origin, poison: false, up: 0, down: 0 }
}

impl Hand {
    pub(super) fn of(policy: Policy, scenario: &Scenario) -> Self {
        Self::seeded(policy, scenario, 1)
    }

    pub(super) fn seeded(policy: Policy, scenario: &Scenario, seed: u64) -> Self {
        let world = World::new(scenario, Luck::new(seed));
        Self { contender: policy.contender(scenario, seed), world, now: Time::ZERO }
    }

    pub(super) fn at(&mut self, seconds: f64) -> &mut Self {
        self.now = at(seconds);
        self
    }

    pub(super) fn begin_at_site(&mut self, id: u32, origin: u32) -> Next {
        self.contender.begin(self.now, &job(id, origin), &self.world)
    }

    pub(super) fn begin(&mut self, id: u32) -> Next {
        self.begin_at_site(id, 0)
    }

    /// Begins a job that is sent at once.
    pub(super) fn exit(&mut self, id: u32) -> u32 {
        sent(self.begin(id))
    }

    pub(super) fn resume(&mut self, id: u32) -> Next {
        self.contender.resume(self.now, &job(id, 0), &self.world)
    }

    pub(super) fn answer(&mut self, id: u32, exit: u32, evidence: Evidence) -> Next {
        self.contender.answered(self.now, &job(id, 0), exit, &evidence, &self.world)
    }

    /// Begins a job, which is sent, and answers it.
    pub(super) fn ask(&mut self, id: u32, evidence: Evidence) -> (u32, Next) {
        let exit = self.exit(id);
        (exit, self.answer(id, exit, evidence))
    }

    /// The answer to whatever it sends, until it is over: its exits, its waits in seconds, and how it ended.
    pub(super) fn until_over(&mut self, id: u32, evidence: Evidence) -> (Vec<u32>, Vec<f64>, Next) {
        let (mut exits, mut waits) = (Vec::new(), Vec::new());
        let mut next = self.begin(id);
        loop {
            next = match next {
                Next::Send(exit) => {
                    exits.push(exit);
                    self.answer(id, exit, evidence)
                }
                Next::Wait(until) => {
                    waits.push(until.since(self.now).as_secs_f64());
                    self.now = until;
                    self.resume(id)
                }
                over => return (exits, waits, over),
            };
            assert!(exits.len() < 5_000 && waits.len() < 5_000, "it never ends");
        }
    }

    /// How long it waits, in seconds.
    pub(super) fn wait(&self, next: Next) -> f64 {
        match next {
            Next::Wait(until) => until.since(self.now).as_secs_f64(),
            other => panic!("{other:?} is no wait"),
        }
    }
}

pub(super) fn sent(next: Next) -> u32 {
    match next {
        Next::Send(exit) => exit,
        other => panic!("{other:?} is not sent"),
    }
}

#[track_caller]
pub(super) fn within(value: f64, (from, to): (f64, f64)) {
    assert!(from <= value && value <= to, "{value} is not within {from} and {to}");
}
