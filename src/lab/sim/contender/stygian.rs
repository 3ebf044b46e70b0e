//! A breaker for each exit, in the style of stygian-proxy 0.16.

use super::Why;
use super::looped::{Looped, Pick, Rules, Step, Tries};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::Evidence;
use crate::request::Time;
use std::time::Duration;

const FAILURES: u32 = 5;
const OPEN: Duration = Duration::from_secs(30);

/// Round robin over exits whose breaker is not open. Five failures open one for 30 s, successes between them change nothing; then
/// everybody may try it, and the first answer closes it or opens it again. With none left it is an error at once. Five retries,
/// at once.
pub(in crate::lab::sim) struct Stygian {
    breakers: Vec<Breaker>,
    next: usize,
}

#[derive(Clone, Copy, Default)]
struct Breaker {
    failures: u32,
    open_since: Option<Time>,
}

impl Breaker {
    fn admits(self, now: Time) -> bool {
        self.open_since.is_none_or(|since| now.since(since) >= OPEN)
    }

    fn judge(&mut self, now: Time, good: bool) {
        match (good, self.open_since) {
            (true, None) => {}
            (true, Some(_)) if self.admits(now) => *self = Self::default(),
            // Sent before it opened; a failure makes it longer.
            (true, Some(_)) => {}
            _ => {
                self.failures += 1;
                if self.failures >= FAILURES {
                    self.open_since = Some(now);
                }
            }
        }
    }
}

impl Stygian {
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck) -> Looped<Self> {
        let breakers = vec![Breaker::default(); scenario.exits as usize];
        Looped::new(Self { breakers, next: 0 }, scenario, luck, 6)
    }
}

impl Rules for Stygian {
    fn pick(&mut self, now: Time, _: &Job, _: &Tries) -> Pick {
        let count = self.breakers.len();
        let mut turns = (0..count).map(|step| (self.next + step) % count);
        let Some(at) = turns.find(|at| self.breakers[*at].admits(now)) else {
            return Pick::Stop(Why::Exhausted);
        };
        self.next = (at + 1) % count;
        Pick::Exit(at as u32)
    }

    fn after(&mut self, now: Time, _: &Job, exit: u32, evidence: &Evidence, _: &Tries) -> Step {
        let good = evidence.outcome.is_ok();
        self.breakers[exit as usize].judge(now, good);
        if good { Step::Done } else { Step::NOW }
    }
}
