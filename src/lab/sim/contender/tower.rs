//! tower 0.5's retry layer around a random exit, with its default backoff and budget.

use super::Why;
use super::looped::{Looped, Pick, Rules, Step, Tries, Use};
use crate::draw::unit;
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::Evidence;
use crate::request::Time;
use std::time::Duration;

/// 50 ms, doubled each time, and up to 99 % more by chance. By the default generator that chance is the same for every request:
/// each one clones the maker's, which never moves.
pub(in crate::lab::sim) struct Tower {
    lockstep: bool,
    budget: Option<Budget>,
}

impl Tower {
    pub(in crate::lab::sim) fn looped(
        scenario: &Scenario,
        luck: Luck,
        (lockstep, budget): (bool, bool),
    ) -> Looped<Self> {
        let budget = budget.then(Budget::default);
        Looped::new(Self { lockstep, budget }, scenario, luck, 8)
    }

    fn backoff(&self, job: &Job, tries: &Tries) -> Duration {
        let sent = tries.sent(job).max(1);
        let base = Duration::from_millis(50).saturating_mul(2_u32.saturating_pow(sent - 1));
        let chance = match self.lockstep {
            true => unit(tries.draw(Use::Jitter, 0, sent.into())),
            false => tries.unit(Use::Jitter, job),
        };
        // Seconds and nanoseconds are multiplied apart, and what is left of whole seconds is dropped.
        let more = 0.99 * chance;
        let jitter = Duration::new(
            (base.as_secs() as f64 * more) as u64,
            (f64::from(base.subsec_nanos()) * more) as u32,
        );
        base.saturating_add(jitter)
    }
}

impl Rules for Tower {
    fn pick(&mut self, _: Time, job: &Job, tries: &Tries) -> Pick {
        Pick::Exit(tries.any(job))
    }

    fn after(&mut self, now: Time, job: &Job, _: u32, evidence: &Evidence, tries: &Tries) -> Step {
        if evidence.outcome.is_ok() {
            if let Some(budget) = &mut self.budget {
                budget.deposit(now);
            }
            return Step::Done;
        }
        // Whoever may not be sent again in any case takes nothing.
        if tries.sent(job) >= tries.sends {
            return Step::Stop(Why::Exhausted);
        }
        let allowed = self.budget.as_mut().is_none_or(|budget| budget.withdraw(now));
        if allowed { Step::Again(self.backoff(job, tries)) } else { Step::Stop(Why::Exhausted) }
    }
}

/// `TpsBudget::default()`: what 10 s bring, a fifth of the successes and ten a second besides. Its integers: a success is worth 1,
/// a retry costs 1 / 0.2 = 5, and the reserve of 10 s at 10 a second, 500, is there from the start.
pub(super) struct Budget {
    slots: [i64; 10],
    at: usize,
    since: Time,
    /// Of the slot that is not over.
    open: i64,
}

impl Budget {
    const COST: i64 = 5;
    const RESERVE: i64 = 10 * 10 * Self::COST;
    const SLOT: Duration = Duration::from_secs(1);

    fn deposit(&mut self, now: Time) {
        self.expire(now);
        self.open += 1;
    }

    fn withdraw(&mut self, now: Time) -> bool {
        self.expire(now);
        let sum = self.open + self.slots.iter().sum::<i64>() + Self::RESERVE;
        if sum >= Self::COST {
            self.open -= Self::COST;
        }
        sum >= Self::COST
    }

    fn expire(&mut self, now: Time) {
        let mut past = now.since(self.since);
        if past < Self::SLOT {
            return;
        }
        self.slots[self.at] = std::mem::take(&mut self.open);
        self.at = (self.at + 1) % self.slots.len();
        // Once for each slot that nobody came in; all of them are empty after one round.
        let mut left = self.slots.len();
        while past > Self::SLOT && left > 0 {
            self.slots[self.at] = 0;
            self.at = (self.at + 1) % self.slots.len();
            (past, left) = (past.saturating_sub(Self::SLOT), left - 1);
        }
        self.since = now;
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self { slots: [0; 10], at: 0, since: Time::ZERO, open: 0 }
    }
}
