//! A pool without end: what is left when no address is ever seen twice.

use super::{Contender, Next, Why};
use crate::lab::sim::job::Job;
use crate::lab::sim::world::World;
use crate::outcome::Evidence;
use crate::request::Time;
use std::collections::HashMap;

/// A fresh exit at once, eight sends. Its world must have as many exits as it may have attempts.
#[derive(Default)]
pub(in crate::lab::sim) struct Endless {
    next: u32,
    /// Of the jobs that are under way.
    sent: HashMap<u32, u32>,
}

impl Endless {
    pub(in crate::lab::sim) const SENDS: u32 = 8;

    fn send(&mut self, job: &Job) -> Next {
        *self.sent.entry(job.id).or_default() += 1;
        self.next += 1;
        Next::Send(self.next - 1)
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
