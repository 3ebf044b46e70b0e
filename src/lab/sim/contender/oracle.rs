//! Who sees what is true: tokens, bans, dead and bad exits, poisonous jobs. Not what will be.

use super::{Contender, Next, Why};
use crate::lab::sim::job::Job;
use crate::lab::sim::scenario::Scenario;
use crate::lab::sim::world::World;
use crate::outcome::Evidence;
use crate::request::Time;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Sends what would be served now through the exit with the fewest attempts out, and lets all else wait in line. No attempt of
/// its fails but by chance, or by what came after it was sent. How far a policy is from it is what knowing less costs.
pub(in crate::lab::sim) struct Oracle {
    /// Attempts that are out.
    out: Vec<u32>,
    /// When each was used last, as a count of all attempts.
    used: Vec<u64>,
    sent: u64,
    /// Who waits, by site. The first has a timer, and whoever is sent calls the next.
    lines: Vec<VecDeque<u32>>,
    called: VecDeque<u32>,
    late: HashMap<u32, Time>,
    patience: Option<Duration>,
}

impl Oracle {
    pub(in crate::lab::sim) fn new(scenario: &Scenario) -> Self {
        let exits = scenario.exits as usize;
        Self {
            out: vec![0; exits],
            used: vec![0; exits],
            sent: 0,
            lines: vec![VecDeque::new(); scenario.origins.len()],
            called: VecDeque::new(),
            late: HashMap::new(),
            patience: scenario.patience,
        }
    }

    /// The best exit that would be served, or when there may be one.
    fn exit(&self, now: Time, job: &Job, world: &World) -> Result<u32, Time> {
        let site = &world.origins[job.origin as usize];
        let all = 0..self.out.len() as u32;
        let on_the_way = all.clone().map(|exit| world.on_the_way(job.origin, exit)).sum();
        let site_free = site.fleet_free_at(now, on_the_way).max(site.up_at(now));
        if site_free > now {
            return Err(site_free);
        }
        let up = || all.clone().filter(|exit| !world.is_down(now, *exit));
        let least = up().map(|exit| site.share(now, exit)).fold(f64::INFINITY, f64::min);
        let mut soonest = Time::MAX;
        let mut best = None;
        for exit in up().filter(|exit| site.share(now, *exit) <= least) {
            let free = site.free_at(now, exit, world.on_the_way(job.origin, exit));
            soonest = soonest.min(free);
            let at = exit as usize;
            let rank = (world.slower(exit) * f64::from(self.out[at] + 1), self.used[at], exit);
            if free <= now && best.is_none_or(|best| rank < best) {
                best = Some(rank);
            }
        }
        // All are down: some may come back.
        let soonest = if soonest == Time::MAX { now + Duration::from_secs(1) } else { soonest };
        best.map(|best| best.2).ok_or(soonest)
    }

    /// Sends it, if it is its turn and there is an exit; `first` is whether it stands at the head of the line already.
    fn go(&mut self, now: Time, job: &Job, world: &World, first: bool) -> Next {
        let origin = job.origin as usize;
        if job.poison && world.origins[origin].rules.blocks.poison > 0.0 {
            return self.over(job, Next::GiveUp(Why::Request));
        }
        let late = self.late.get(&job.id).copied().unwrap_or(Time::MAX);
        if late <= now {
            self.next(origin, first);
            return self.over(job, Next::GiveUp(Why::Late));
        }
        if !first && !self.lines[origin].is_empty() {
            self.lines[origin].push_back(job.id);
            return Next::Wait(Time::MAX);
        }
        match self.exit(now, job, world) {
            Ok(exit) => {
                self.next(origin, first);
                self.sent += 1;
                (self.out[exit as usize], self.used[exit as usize]) =
                    (self.out[exit as usize] + 1, self.sent);
                Next::Send(exit)
            }
            Err(soonest) => {
                if !first {
                    self.lines[origin].push_back(job.id);
                }
                Next::Wait(soonest.min(late))
            }
        }
    }

    /// The line goes on.
    fn next(&mut self, origin: usize, first: bool) {
        if first {
            self.lines[origin].pop_front();
            self.called.extend(self.lines[origin].front());
        }
    }

    fn over(&mut self, job: &Job, next: Next) -> Next {
        self.late.remove(&job.id);
        next
    }
}

impl Contender for Oracle {
    fn begin(&mut self, now: Time, job: &Job, world: &World) -> Next {
        if let Some(patience) = self.patience {
            self.late.insert(job.id, now + patience);
        }
        self.go(now, job, world, false)
    }

    fn resume(&mut self, now: Time, job: &Job, world: &World) -> Next {
        let first = self.lines[job.origin as usize].front() == Some(&job.id);
        if first { self.go(now, job, world, true) } else { Next::Wait(Time::MAX) }
    }

    fn answered(&mut self, now: Time, job: &Job, exit: u32, evidence: &Evidence, world: &World) -> Next {
        self.out[exit as usize] -= 1;
        if evidence.outcome.is_ok() { self.over(job, Next::Done) } else { self.go(now, job, world, false) }
    }

    fn called(&mut self) -> Option<u32> {
        self.called.pop_front()
    }
}
