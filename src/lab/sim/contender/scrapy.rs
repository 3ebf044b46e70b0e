//! scrapy-rotating-proxies 0.6.2: exits are unchecked, good or dead.

use super::looped::{Looped, Pick, Rules, Step, Tries, Use};
use crate::draw::{below, unit};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::Evidence;
use crate::request::Time;
use std::time::Duration;

/// How often it looks who may come back.
const SWEEP: Duration = Duration::from_secs(5);
const BASE: f64 = 300.0;
const CAP: f64 = 3_600.0;

/// A random exit that is not dead; one bad answer makes it dead, at every site, for U(0, min(3,600, 300 · 2^n)) s, where n is the
/// number of its deaths since it was good. Where all are dead, all are unchecked. Five retries, at once.
pub(in crate::lab::sim) struct Scrapy {
    exits: Vec<Exit>,
    dead: usize,
    swept: u64,
    /// What it has on record for an exit: it finds them by host and port.
    known_as: Vec<u32>,
    marks: u64,
}

#[derive(Clone, Copy, Default)]
struct Exit {
    dead_until: Option<Time>,
    failed: i32,
}

impl Scrapy {
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck) -> Looped<Self> {
        let known_as = (0..scenario.exits).map(|exit| scenario.same_address(exit)).collect();
        let exits = vec![Exit::default(); scenario.exits as usize];
        Looped::new(Self { exits, dead: 0, swept: 0, known_as, marks: 0 }, scenario, luck, 6)
    }

    fn sweep(&mut self, now: Time) {
        let sweeps = u64::try_from(now.since(Time::ZERO).as_nanos() / SWEEP.as_nanos()).unwrap_or(u64::MAX);
        if sweeps == self.swept {
            return;
        }
        self.swept = sweeps;
        let at = Time::ZERO + SWEEP * u32::try_from(sweeps).unwrap_or(u32::MAX);
        for exit in &mut self.exits {
            if exit.dead_until.is_some_and(|until| until <= at) {
                exit.dead_until = None;
                self.dead -= 1;
            }
        }
    }

    fn reset(&mut self) {
        self.exits.iter_mut().for_each(|exit| exit.dead_until = None);
        self.dead = 0;
    }

    fn bury(&mut self, now: Time, at: u32, tries: &Tries) {
        self.marks += 1;
        let exit = &mut self.exits[at as usize];
        let longest = (BASE * libm::exp2(f64::from(exit.failed.min(60)))).min(CAP);
        let wait = longest * unit(tries.draw(Use::Rest, at.into(), self.marks));
        self.dead += usize::from(exit.dead_until.is_none());
        exit.dead_until = Some(now + Duration::from_secs_f64(wait));
        exit.failed += 1;
    }
}

impl Rules for Scrapy {
    fn pick(&mut self, now: Time, job: &Job, tries: &Tries) -> Pick {
        self.sweep(now);
        if self.dead == self.exits.len() {
            self.reset();
        }
        let draw = tries.draw(Use::Pick, job.id.into(), tries.sent(job).into());
        let nth = below(draw, self.exits.len() - self.dead);
        let alive = |(_, exit): &(u32, &Exit)| exit.dead_until.is_none();
        Pick::Exit((0..).zip(&self.exits).filter(alive).nth(nth).map_or(0, |(at, _)| at))
    }

    fn after(&mut self, now: Time, _: &Job, exit: u32, evidence: &Evidence, tries: &Tries) -> Step {
        self.sweep(now);
        let at = self.known_as[exit as usize];
        if !evidence.outcome.is_ok() {
            self.bury(now, at, tries);
            return Step::NOW;
        }
        let exit = &mut self.exits[at as usize];
        self.dead -= usize::from(exit.dead_until.is_some());
        *exit = Exit::default();
        Step::Done
    }
}
