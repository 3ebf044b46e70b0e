//! A loop around a random exit: what most people write first.

use super::{Contender, Next, Why};
use crate::draw::below;
use crate::lab::sim::job::Job;
use crate::lab::sim::luck::{For, Luck};
use crate::lab::sim::world::World;
use crate::outcome::Evidence;
use crate::request::Time;
use std::collections::HashMap;

/// Another exit at random at once, so many sends.
pub(in crate::lab::sim) struct Naive {
    luck: Luck,
    exits: u32,
    sends: u32,
    /// Of the jobs that are under way.
    sent: HashMap<u32, u32>,
}

impl Naive {
    pub(in crate::lab::sim) fn new(luck: Luck, exits: u32, sends: u32) -> Self {
        Self { luck, exits, sends, sent: HashMap::new() }
    }

    fn send(&mut self, job: &Job) -> Next {
        let sent = self.sent.entry(job.id).or_default();
        let draw = self.luck.draw(For::Policy, &[job.id.into(), (*sent).into()]);
        *sent += 1;
        Next::Send(below(draw, self.exits as usize) as u32)
    }
}

impl Contender for Naive {
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
            false if sent >= self.sends => Next::GiveUp(Why::Exhausted),
            false => return self.send(job),
        };
        self.sent.remove(&job.id);
        next
    }
}
