//! The retry article's code, as it is written and repaired.

use super::Why;
use super::looped::{Looped, Pick, Rules, Step, Tries, Use};
use crate::draw::{below, mix, unit};
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::{Evidence, Outcome};
use crate::request::Time;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Events that a token's heat is of, and for how long.
const RING: usize = 64;
const RECENT: Duration = Duration::from_secs(120);
/// Tokens that callers come with, one a product. The article's default, one for all, would send all first attempts through one exit.
const PRODUCTS: u32 = 1_000;
/// Draws of an exit that is not burned, before a burned one is taken.
const DRAWS: u64 = 64;

/// Five sends, each through the exit of another token. After a 429 it sleeps 2^n + 30 h s and up to half of that more, after a
/// 403 300 s and up to 60 more, after an exit that is not reached 0.5 (n + 1) s and up to 1 more; anything else ends it. The heat
/// h is the token's own, the share of blocks of its last events, the one that is being judged included.
///
/// Repaired, those 300 s are the burned pair's and the request goes on after 2^n + 30 h s of the next exit; and heat is
/// (blocks + 0.2) / (events + 4), so that one block is no certainty.
pub(in crate::lab::sim) struct ArticleB {
    repaired: bool,
    tokens: HashMap<u32, u64>,
    rings: HashMap<u64, VecDeque<(Time, bool)>>,
    burned: HashMap<(u32, u32), Time>,
}

impl ArticleB {
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck, repaired: bool) -> Looped<Self> {
        let article =
            Self { repaired, tokens: HashMap::new(), rings: HashMap::new(), burned: HashMap::new() };
        Looped::new(article, scenario, luck, 5)
    }

    fn callers(job: &Job) -> u64 {
        mix((job.id % PRODUCTS).into())
    }

    fn is_burned(&self, now: Time, job: &Job, token: u64, exits: u32) -> bool {
        self.burned.get(&(exit(token, exits), job.origin)).is_some_and(|until| now < *until)
    }

    /// Another token for the job, of an exit that is not burned as far as that is known.
    fn rotate(&mut self, now: Time, job: &Job, tries: &Tries) -> u64 {
        let base = tries.draw(Use::Token, job.id.into(), tries.sent(job).into());
        let token = |nth: u64| mix(base ^ nth);
        let nth = (0..DRAWS).find(|nth| !self.is_burned(now, job, token(*nth), tries.exits));
        let token = token(nth.unwrap_or(0));
        if let Some(old) = self.tokens.insert(job.id, token) {
            self.forget(job, old);
        }
        token
    }

    /// Nobody has the token of a retry again.
    fn forget(&mut self, job: &Job, token: u64) {
        if token != Self::callers(job) {
            self.rings.remove(&token);
        }
    }

    fn note(&mut self, now: Time, token: u64, blocked: bool) {
        let ring = self.rings.entry(token).or_default();
        if ring.len() == RING {
            ring.pop_front();
        }
        ring.push_back((now, blocked));
    }

    fn heat(&self, now: Time, token: u64) -> f64 {
        let recent = self.rings.get(&token).into_iter().flatten().filter(|(at, _)| now.since(*at) <= RECENT);
        let (all, blocks) = recent.fold((0.0, 0.0), |(all, blocks), (_, blocked)| {
            (all + 1.0, blocks + f64::from(u8::from(*blocked)))
        });
        match self.repaired {
            true => (blocks + 0.2) / (all + 4.0),
            false if all == 0.0 => 0.0,
            false => blocks / all,
        }
    }
}

fn exit(token: u64, exits: u32) -> u32 {
    below(token, exits as usize) as u32
}

impl Rules for ArticleB {
    fn pick(&mut self, now: Time, job: &Job, tries: &Tries) -> Pick {
        let token = *self.tokens.entry(job.id).or_insert_with(|| Self::callers(job));
        let burned = self.repaired && self.is_burned(now, job, token, tries.exits);
        let token = if burned { self.rotate(now, job, tries) } else { token };
        Pick::Exit(exit(token, tries.exits))
    }

    fn after(&mut self, now: Time, job: &Job, exit: u32, evidence: &Evidence, tries: &Tries) -> Step {
        let token = self.tokens.get(&job.id).copied().unwrap_or_default();
        let outcome = evidence.outcome;
        let blocked = matches!(outcome, Outcome::RateLimited { .. } | Outcome::Blocked { .. });
        self.note(now, token, blocked);
        let (n, chance) = (tries.sent(job).saturating_sub(1), tries.unit(Use::Jitter, job));
        let heated = |heat: f64| (f64::from(1_u32 << n.min(11)) + 30.0 * heat) * (1.0 + chance / 2.0);
        let left = self.heat(now, token);
        let rest = 300.0 + 60.0 * unit(tries.draw(Use::Rest, job.id.into(), n.into()));
        if self.repaired && matches!(outcome, Outcome::Blocked { .. }) {
            self.burned.insert((exit, job.origin), now + Duration::from_secs_f64(rest));
        }
        let wait = match outcome {
            Outcome::Ok => return Step::Done,
            Outcome::RateLimited { .. } => heated(left),
            Outcome::Blocked { .. } if !self.repaired => rest,
            Outcome::Blocked { .. } => {
                let next = self.rotate(now, job, tries);
                return Step::Again(Duration::from_secs_f64(heated(self.heat(now, next))));
            }
            Outcome::ProxyError { .. } => 0.5 * f64::from(n + 1) + chance,
            _ => return Step::Stop(Why::Fatal),
        };
        self.rotate(now, job, tries);
        Step::Again(Duration::from_secs_f64(wait))
    }

    fn over(&mut self, job: &Job) {
        if let Some(token) = self.tokens.remove(&job.id) {
            self.forget(job, token);
        }
    }
}
