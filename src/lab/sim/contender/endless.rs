//! A pool without end: what is left when no address is ever seen twice.

use super::{Contender, Next, Why};
use crate::lab::sim::job::Job;
use crate::lab::sim::world::World;
use crate::outcome::Evidence;
use crate::request::Time;
use std::collections::HashMap;

/// A fresh exit at once, eight sends. Its world must have as many exits as it may have attempts.
pub(in crate::lab::sim) struct Endless {
    next: u32,
    exits: u32,
    /// Of the jobs that are under way.
    sent: HashMap<u32, u32>,
}

impl Endless {
    const SENDS: u32 = 8;

    pub(in crate::lab::sim) fn new(exits: u32) -> Self {
        Self { next: 0, exits, sent: HashMap::new() }
    }

    /// As many as there may be attempts; fewer at many sites, which each remember every exit: there an exit comes again, but seldom at
    /// the same one.
    pub(in crate::lab::sim) fn exits(jobs: usize, sites: usize) -> u32 {
        let attempts = jobs.saturating_mul(Self::SENDS as usize);
        u32::try_from(attempts.min(1_000_000 / sites.max(1))).unwrap_or(u32::MAX).max(1)
    }

    fn send(&mut self, job: &Job) -> Next {
        *self.sent.entry(job.id).or_default() += 1;
        self.next = self.next.wrapping_add(1).max(1);
        Next::Send((self.next - 1) % self.exits)
    }
}

impl Contender for Endless {
    fn begin(&mut self, _: Time, job: &Job, _: &World) -> Next {
        self.send(job)
    }

    fn resume(&mut self, _: Time, job: &Job, _: &World) -> Next {
        self.send(job)
    }

    fn answered(&mut self, _: Time, job: &Job, _: u32, evidence: &Evidence, _: &World) -> Next {
        let sent = self.sent.get(&job.id).copied().unwrap_or_default();
        let next = match evidence.outcome.is_ok() {
            true => Next::Done,
            false if sent >= Self::SENDS => Next::GiveUp(Why::Exhausted),
            false => return self.send(job),
        };
        self.sent.remove(&job.id);
        next
    }
}
