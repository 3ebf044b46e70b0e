//! A loop around a random exit: what most people write first.

use super::looped::{Looped, Pick, Rules, Step, Tries};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::Evidence;
use crate::request::Time;

/// Another exit at random at once, so many sends.
pub(in crate::lab::sim) struct Naive;

impl Naive {
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck, sends: u32) -> Looped<Self> {
        Looped::new(Self, scenario, luck, sends)
    }

    /// What does not try again does not do so under another number either.
    pub(in crate::lab::sim) fn once(scenario: &Scenario, luck: Luck) -> Looped<Self> {
        Looped::new(Self, &scenario.clone().sends(1), luck, 1)
    }
}

impl Rules for Naive {
    fn pick(&mut self, _: Time, job: &Job, tries: &Tries) -> Pick {
        Pick::Exit(tries.any(job))
    }

    fn after(&mut self, _: Time, _: &Job, _: u32, evidence: &Evidence, _: &Tries) -> Step {
        if evidence.outcome.is_ok() { Step::Done } else { Step::NOW }
    }
}
