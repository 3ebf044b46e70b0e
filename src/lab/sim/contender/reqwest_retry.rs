//! reqwest-retry 0.9 with the default of retry-policies, around a random exit.

use super::Why;
use super::looped::{Looped, Pick, Rules, Step, Tries, Use};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::{Evidence, Outcome};
use crate::request::Time;
use std::time::Duration;

/// U(0, 1) times 1 s, doubled each time, to 30 min; three retries, as its manual has it. `Retry-After` is not read.
pub(in crate::lab::sim) struct ReqwestRetry {
    /// Of each origin, whether it blocks by pages with status 200; where its own statuses count.
    own: Option<Vec<bool>>,
}

impl ReqwestRetry {
    /// By its own statuses 5xx, 408, 429 and failed connections are tried again and 403 is not; or whatever is no success is.
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck, own: bool) -> Looped<Self> {
        let pages = || scenario.origins.iter().map(|rules| rules.soft.is_some()).collect();
        Looped::new(Self { own: own.then(pages) }, scenario, luck, 4)
    }
}

impl Rules for ReqwestRetry {
    fn pick(&mut self, _: Time, job: &Job, tries: &Tries) -> Pick {
        Pick::Exit(tries.any(job))
    }

    fn after(&mut self, _: Time, job: &Job, _: u32, evidence: &Evidence, tries: &Tries) -> Step {
        match (evidence.outcome, &self.own) {
            (Outcome::Ok, _) => return Step::Done,
            (Outcome::Blocked { .. }, Some(pages)) => {
                let page = pages.get(job.origin as usize).is_some_and(|pages| *pages);
                return if page { Step::Done } else { Step::Stop(Why::Fatal) };
            }
            _ => {}
        }
        let past = tries.sent(job).saturating_sub(1);
        let longest = Duration::from_secs(2_u64.saturating_pow(past)).min(Duration::from_secs(30 * 60));
        Step::Again(longest.mul_f64(tries.unit(Use::Jitter, job)))
    }
}
