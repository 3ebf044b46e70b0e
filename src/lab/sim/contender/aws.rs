//! The retries of AWS's SDKs around a random exit: a bucket of retry tokens, and in adaptive mode a sending rate by CUBIC.

use super::Why;
use super::looped::{Looped, Pick, Rules, Step, Tries, Use};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::{Evidence, Outcome};
use crate::request::Time;
use std::collections::HashMap;
use std::time::Duration;

const TOKENS: u32 = 500;
const COST: u32 = 5;
/// Of what took its time to fail.
const COST_TIMEOUT: u32 = 10;

/// Three attempts. A retry costs 5 tokens of 500, or 10 after an exit that did not answer; a success gives them back, or one
/// where there was no retry. It waits U(0, 1) times min(1 s · 2^(n - 1), 20 s).
pub(in crate::lab::sim) struct Aws {
    tokens: u32,
    /// What the last retry of a job has cost.
    costs: HashMap<u32, u32>,
    rate: Option<Rate>,
}

impl Aws {
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck, adaptive: bool) -> Looped<Self> {
        let rate = adaptive.then(Rate::default);
        Looped::new(Self { tokens: TOKENS, costs: HashMap::new(), rate }, scenario, luck, 3)
    }
}

impl Rules for Aws {
    fn pick(&mut self, now: Time, job: &Job, tries: &Tries) -> Pick {
        match self.rate.as_mut().map_or(Ok(()), |rate| rate.acquire(now)) {
            Ok(()) => Pick::Exit(tries.any(job)),
            Err(wait) => Pick::In(wait),
        }
    }

    fn after(&mut self, now: Time, job: &Job, _: u32, evidence: &Evidence, tries: &Tries) -> Step {
        let outcome = evidence.outcome;
        if let Some(rate) = &mut self.rate {
            rate.answered(now, matches!(outcome, Outcome::RateLimited { .. }));
        }
        if outcome.is_ok() {
            let back = self.costs.get(&job.id).copied().unwrap_or(1);
            self.tokens = (self.tokens + back).min(TOKENS);
            return Step::Done;
        }
        let sent = tries.sent(job);
        let cost = if matches!(outcome, Outcome::ProxyError { .. }) { COST_TIMEOUT } else { COST };
        if sent >= tries.sends || self.tokens < cost {
            return Step::Stop(Why::Exhausted);
        }
        self.tokens -= cost;
        self.costs.insert(job.id, cost);
        let longest = Duration::from_secs(1 << (sent - 1).min(5)).min(Duration::from_secs(20));
        Step::Again(longest.mul_f64(tries.unit(Use::Jitter, job)))
    }

    fn over(&mut self, job: &Job) {
        self.costs.remove(&job.id);
    }
}

/// How fast it sends, from the first throttle on: 0.7 times what it was, then up by CUBIC, to twice what was measured at most,
/// and half a request a second at least.
#[derive(Default)]
struct Rate {
    on: bool,
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Time,
    /// Where it was when it was throttled last, and when that was.
    most: f64,
    throttled: Time,
    /// Requests a second, over half seconds.
    measured: f64,
    half: u64,
    count: u32,
}

impl Rate {
    const BETA: f64 = 0.7;
    const SCALE: f64 = 0.4;
    const LEAST: f64 = 0.5;
    const SMOOTH: f64 = 0.8;

    fn acquire(&mut self, now: Time) -> Result<(), Duration> {
        if !self.on {
            return Ok(());
        }
        self.fill(now);
        if self.tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.tokens) / self.per_second));
        }
        self.tokens -= 1.0;
        Ok(())
    }

    fn fill(&mut self, now: Time) {
        let more = now.since(self.filled).as_secs_f64() * self.per_second;
        (self.tokens, self.filled) = ((self.tokens + more).min(self.burst), now);
    }

    fn answered(&mut self, now: Time, throttled: bool) {
        self.measure(now);
        let wanted = if throttled {
            self.most = if self.on { self.measured.min(self.per_second) } else { self.measured };
            self.throttled = now;
            self.on = true;
            self.most * Self::BETA
        } else {
            let back = libm::cbrt(self.most * (1.0 - Self::BETA) / Self::SCALE);
            let off = now.since(self.throttled).as_secs_f64() - back;
            Self::SCALE * off * off * off + self.most
        };
        self.fill(now);
        self.per_second = wanted.min(2.0 * self.measured).max(Self::LEAST);
        self.burst = self.per_second.max(1.0);
        self.tokens = self.tokens.min(self.burst);
    }

    fn measure(&mut self, now: Time) {
        let half = u64::try_from(now.since(Time::ZERO).as_millis() / 500).unwrap_or(u64::MAX);
        self.count += 1;
        if half > self.half {
            let rate = f64::from(self.count) / ((half - self.half) as f64 / 2.0);
            self.measured = rate * Self::SMOOTH + self.measured * (1.0 - Self::SMOOTH);
            (self.count, self.half) = (0, half);
        }
    }
}
