//! reqwest-rotate 0.1: round robin, and an exit is off where it does not answer.

use super::Why;
use super::looped::{Looped, Pick, Rules, Step, Tries, Use};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::{Evidence, Outcome};
use crate::request::Time;
use std::time::Duration;

const OFF: Duration = Duration::from_secs(60);
/// A longer wait is for the caller to decide on.
const LONGEST: Duration = Duration::from_secs(30);

/// An exit that cannot be reached, or refuses the login, is off for 60 s; any answer clears that. Another one is tried at once,
/// where all are off the one that is back first. A 403 is an answer, and the caller's. After a 429 or a 5xx it waits as told, or
/// U(0, 1) times 0.2 s doubled to 30 s; to be told more than 30 s is the caller's as well. Three retries.
pub(in crate::lab::sim) struct ReqwestRotate {
    off_until: Vec<Time>,
    next: usize,
}

impl ReqwestRotate {
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck) -> Looped<Self> {
        let off_until = vec![Time::ZERO; scenario.exits as usize];
        Looped::new(Self { off_until, next: 0 }, scenario, luck, 4)
    }
}

impl Rules for ReqwestRotate {
    fn pick(&mut self, now: Time, _: &Job, _: &Tries) -> Pick {
        let count = self.off_until.len();
        let mut turns = (0..count).map(|step| (self.next + step) % count);
        let on = turns.clone().find(|at| self.off_until[*at] <= now);
        let at = on.or_else(|| turns.by_ref().min_by_key(|at| self.off_until[*at])).unwrap_or(0);
        self.next = (at + 1) % count;
        Pick::Exit(at as u32)
    }

    fn after(&mut self, now: Time, job: &Job, exit: u32, evidence: &Evidence, tries: &Tries) -> Step {
        let off = &mut self.off_until[exit as usize];
        if matches!(evidence.outcome, Outcome::ProxyError { .. } | Outcome::AuthError { .. }) {
            *off = now + OFF;
            return Step::NOW;
        }
        *off = Time::ZERO;
        match (evidence.outcome, evidence.retry_after.map(|hint| hint.wait())) {
            (Outcome::Ok, _) => Step::Done,
            (Outcome::RateLimited { .. } | Outcome::OriginError { .. }, Some(hint)) if hint > LONGEST => {
                Step::Stop(Why::Fatal)
            }
            (Outcome::RateLimited { .. } | Outcome::OriginError { .. }, Some(hint)) => Step::Again(hint),
            (Outcome::RateLimited { .. } | Outcome::OriginError { .. }, None) => {
                let doubled = 1_u32 << tries.sent(job).saturating_sub(1).min(10);
                let longest = (Duration::from_millis(200) * doubled).min(LONGEST);
                Step::Again(longest.mul_f64(tries.unit(Use::Jitter, job)))
            }
            _ => Step::Stop(Why::Fatal),
        }
    }
}
