//! Crawlee's session pool: a thousand identities, each with an exit for life.

mod clock;

use super::Why;
use super::looped::{Looped, Pick, Rules, Step, Tries, Use};
use crate::draw::below;
use crate::lab::sim::job::{Job, Load};
use crate::lab::sim::luck::Luck;
use crate::lab::sim::scenario::Scenario;
use crate::outcome::{Evidence, Outcome};
use crate::request::Time;
use clock::Clock;
use std::collections::HashMap;
use std::time::Duration;

const POOL: usize = 1_000;
/// Errors at which an identity is retired, and as many as a block is worth.
const LIMIT: f64 = 3.0;
const USES: u32 = 50;
const AGE: Duration = Duration::from_secs(3_000);
const RETRIES: u32 = 3;
const ROTATIONS: u32 = 10;
/// Attempts at once, where no number of workers bounds them.
const CONCURRENCY: usize = 200;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Which one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lab::sim) enum Version {
    /// Whatever fails is tried again three times.
    Three,
    /// Blocks and failed connections are tried through ten other identities, which costs no retry.
    Rotating,
    /// As `Rotating`, and a 429 stops the whole domain for a while and costs nothing.
    Four,
}

/// Identities are made until there are a thousand, and then drawn by lot. Exits go round robin to new ones; nobody scores an exit.
pub(in crate::lab::sim) struct Crawlee {
    version: Version,
    retries: u32,
    pool: Vec<u64>,
    sessions: HashMap<u64, Session>,
    made: u64,
    drawn: u64,
    /// Of each job under way: its identity, and what it has spent.
    jobs: HashMap<u32, Spent>,
    clocks: Vec<Clock>,
    /// Whether a worker has nothing else to do while a domain rests.
    one_domain: bool,
    most: usize,
    active: usize,
}

struct Session {
    exit: u32,
    born: Time,
    uses: u32,
    errors: f64,
}

#[derive(Clone, Copy, Default)]
struct Spent {
    session: u64,
    retries: u32,
    rotations: u32,
}

impl Session {
    fn is_usable(&self, now: Time) -> bool {
        self.errors < LIMIT && self.uses < USES && now.since(self.born) < AGE
    }
}

impl Crawlee {
    pub(in crate::lab::sim) fn looped(scenario: &Scenario, luck: Luck, version: Version) -> Looped<Self> {
        let crawlee = Self {
            version,
            retries: scenario.sends.map_or(RETRIES, |sends| sends.saturating_sub(1)),
            pool: Vec::new(),
            sessions: HashMap::new(),
            made: 0,
            drawn: 0,
            jobs: HashMap::new(),
            clocks: vec![Clock::default(); scenario.origins.len()],
            one_domain: scenario.origins.len() == 1,
            most: if let Load::Open { .. } = scenario.load { CONCURRENCY } else { usize::MAX },
            active: 0,
        };
        // Retries are counted here, since some sends are free.
        let looped = Looped::new(crawlee, &scenario.clone().sends(u32::MAX), luck, u32::MAX);
        if version == Version::Four { looped.patient(scenario) } else { looped }
    }

    fn session(&mut self, now: Time, tries: &Tries) -> u64 {
        if self.pool.len() >= POOL {
            self.drawn += 1;
            let at = below(tries.draw(Use::Pick, 0, self.drawn), self.pool.len());
            let id = self.pool[at];
            if self.sessions.get(&id).is_some_and(|session| session.is_usable(now)) {
                return id;
            }
            let sessions = &mut self.sessions;
            sessions.retain(|_, session| session.is_usable(now));
            self.pool.retain(|id| sessions.contains_key(id));
        }
        let id = self.made;
        let exit = (id % u64::from(tries.exits)) as u32;
        self.made += 1;
        self.pool.push(id);
        self.sessions.insert(id, Session { exit, born: now, uses: 0, errors: 0.0 });
        id
    }

    /// Whether there is a send left.
    fn spend(&mut self, job: &Job, rotates: bool) -> Step {
        let (version, retries) = (self.version, self.retries);
        let spent = self.jobs.entry(job.id).or_default();
        let (count, most) = match rotates && version != Version::Three {
            true => (&mut spent.rotations, ROTATIONS.max(retries)),
            false => (&mut spent.retries, retries),
        };
        *count += 1;
        if *count > most { Step::Stop(Why::Exhausted) } else { Step::NOW }
    }
}

impl Rules for Crawlee {
    fn pick(&mut self, now: Time, job: &Job, tries: &Tries) -> Pick {
        if self.version == Version::Four {
            let clock = &mut self.clocks[job.origin as usize];
            clock.stirs(now);
            match clock.until {
                _ if clock.stalls(now) => return Pick::Stop(Why::Fatal),
                until if until <= now => {}
                until if self.one_domain => return Pick::In(until.since(now)),
                until => return Pick::Aside(until),
            }
        }
        if self.active >= self.most {
            return Pick::In(LOOK_AGAIN);
        }
        self.active += 1;
        let session = self.session(now, tries);
        self.jobs.entry(job.id).or_default().session = session;
        Pick::Exit(self.sessions.get(&session).map_or(0, |session| session.exit))
    }

    fn after(&mut self, now: Time, job: &Job, _: u32, evidence: &Evidence, _: &Tries) -> Step {
        self.active = self.active.saturating_sub(1);
        let spent = self.jobs.get(&job.id).copied().unwrap_or_default();
        let outcome = evidence.outcome;
        let limited = matches!(outcome, Outcome::RateLimited { .. });
        let clock = &mut self.clocks[job.origin as usize];
        if limited && self.version == Version::Four {
            clock.limited(now, evidence.retry_after.map(|hint| hint.wait()));
            return if self.one_domain { Step::NOW } else { Step::Aside(clock.until) };
        }
        let blocked = limited || matches!(outcome, Outcome::Blocked { .. });
        if let Some(session) = self.sessions.get_mut(&spent.session) {
            session.uses += 1;
            session.errors += match outcome {
                Outcome::Ok => -0.5_f64.min(session.errors),
                _ if blocked => LIMIT,
                _ => 1.0,
            };
        }
        let step = match outcome {
            Outcome::Ok => Step::Done,
            _ => self.spend(job, blocked || matches!(outcome, Outcome::ProxyError { .. })),
        };
        if step != Step::NOW {
            self.clocks[job.origin as usize].moves(now);
        }
        step
    }

    fn over(&mut self, job: &Job) {
        self.jobs.remove(&job.id);
    }
}
