//! The scheduler article's code, as it is written and repaired.

use super::looped::{Looped, Pick, Rules, Step, Tries};
use crate::draw::{below, mix};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::{Evidence, Outcome};
use crate::request::Time;
use std::collections::HashMap;
use std::time::Duration;

/// How long a lease holds its exit, and how long what is burned rests.
const WINDOW: Duration = Duration::from_secs(600);
const REST: Duration = Duration::from_secs(300);
/// Keys of windowed leases: products, whose pages are asked for again and again. Per request each page is a key.
const PRODUCTS: u32 = 1_000;
/// Draws of an exit that is not burned, before a burned one is taken.
const DRAWS: u64 = 64;

/// Four sends. 403 and 429 burn, and it sleeps min(2^n, 20) s, after the last one too; an exit that is not reached is dead, and it
/// sleeps 0.5 (n + 1) s; every other status is a success. A token is a hash of its key, so that the next lease of a burned key
/// is the same exit again, and that of a request without a window is the same each time.
///
/// Repaired, a burn raises the epoch that is hashed with the key, a lease without a window has a number of its own, and what is
/// burned or dead is remembered by exit for 300 s. Nothing follows the last send.
pub(in crate::lab::sim) struct ArticleA {
    windowed: bool,
    repaired: bool,
    held: HashMap<(u32, u32), Held>,
    /// Which lease is a job's.
    leases: HashMap<u32, u64>,
    leased: u64,
    /// By exit and origin; where there is no origin it is dead for all of them.
    rests: HashMap<(u32, Option<u32>), Time>,
}

#[derive(Clone, Copy)]
struct Held {
    exit: u32,
    lease: u64,
    epoch: u64,
    since: Time,
    burned: bool,
    dead: bool,
    /// A success in between clears the burn, and not this.
    rests_until: Time,
}

impl Held {
    fn is_usable(&self, now: Time) -> bool {
        !self.burned && !self.dead && now >= self.rests_until
    }
}

impl ArticleA {
    pub(in crate::lab::sim) fn looped(
        scenario: &Scenario,
        luck: Luck,
        (windowed, repaired): (bool, bool),
    ) -> Looped<Self> {
        let (held, leases, rests) = (HashMap::new(), HashMap::new(), HashMap::new());
        let article = Self { windowed, repaired, held, leases, leased: 0, rests };
        Looped::new(article, scenario, luck, 4)
    }

    const fn key(&self, job: &Job) -> (u32, u32) {
        (if self.windowed { job.id % PRODUCTS } else { job.id }, job.origin)
    }

    /// The exit behind the token of a key; by the epoch where that is hashed with it.
    fn token(&self, now: Time, (key, origin): (u32, u32), epoch: u64, exits: u32) -> (u32, u64) {
        let exit = |epoch: u64| below(mix(mix(key.into()) ^ epoch), exits as usize) as u32;
        if !self.repaired {
            return (exit(0), 0);
        }
        let resting = |at: (u32, Option<u32>)| self.rests.get(&at).is_some_and(|until| now < *until);
        let usable = |at: u32| !resting((at, Some(origin))) && !resting((at, None));
        let epoch = (epoch..epoch + DRAWS).find(|epoch| usable(exit(*epoch))).unwrap_or(epoch);
        (exit(epoch), epoch)
    }

    fn held(&mut self, now: Time, job: &Job, exits: u32) -> u32 {
        let key = self.key(job);
        let held = self.held.get(&key).copied();
        if let Some(held) = held.filter(|held| now.since(held.since) < WINDOW && held.is_usable(now)) {
            self.leases.insert(job.id, held.lease);
            return held.exit;
        }
        self.leased += 1;
        let epoch = held.map_or(0, |held| held.epoch + u64::from(!held.is_usable(now)));
        let (exit, epoch) = self.token(now, key, epoch, exits);
        let (lease, rests_until) = (self.leased, Time::ZERO);
        let new = Held { exit, lease, epoch, since: now, burned: false, dead: false, rests_until };
        self.held.insert(key, new);
        self.leases.insert(job.id, self.leased);
        exit
    }

    /// What the loop reports of its exit.
    fn report(&mut self, now: Time, job: &Job, exit: u32, outcome: Outcome) {
        let (blocked, dead) = (is_blocked(outcome), matches!(outcome, Outcome::ProxyError { .. }));
        if self.repaired && (blocked || dead) {
            self.rests.insert((exit, blocked.then_some(job.origin)), now + REST);
        }
        let (key, lease) = (self.key(job), self.leases.get(&job.id).copied());
        let Some(held) = self.held.get_mut(&key).filter(|held| Some(held.lease) == lease) else { return };
        match (blocked, dead) {
            (true, _) => (held.burned, held.rests_until) = (true, now + REST),
            (_, true) => held.dead = true,
            _ => held.burned = false,
        }
    }
}

const fn is_blocked(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Blocked { .. } | Outcome::RateLimited { .. })
}

impl Rules for ArticleA {
    fn pick(&mut self, now: Time, job: &Job, tries: &Tries) -> Pick {
        if self.windowed {
            return Pick::Exit(self.held(now, job, tries.exits));
        }
        self.leased += 1;
        Pick::Exit(self.token(now, self.key(job), self.leased * DRAWS, tries.exits).0)
    }

    fn after(&mut self, now: Time, job: &Job, exit: u32, evidence: &Evidence, tries: &Tries) -> Step {
        self.report(now, job, exit, evidence.outcome);
        let sent = tries.sent(job).max(1);
        let wait = match evidence.outcome {
            outcome if is_blocked(outcome) => f64::from(1_u32 << (sent - 1).min(5)).min(20.0),
            Outcome::ProxyError { .. } => 0.5 * f64::from(sent),
            _ => return Step::Done,
        };
        let wait = Duration::from_secs_f64(wait);
        if sent >= tries.sends && !self.repaired { Step::Sleep(wait) } else { Step::Again(wait) }
    }

    fn over(&mut self, job: &Job) {
        self.leases.remove(&job.id);
    }
}
