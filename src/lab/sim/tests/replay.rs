//! That decisions hang on nothing but what was heard.

use super::*;
use crate::lab::sim::contender::Next;
use crate::lab::sim::journal::{Entry, Heard, Journal};
use crate::lab::sim::luck::Luck;
use crate::lab::sim::run::overheard;
use crate::lab::sim::world::World;
use std::collections::HashSet;

#[test]
fn what_was_heard_leads_to_the_same_decisions_without_a_world() {
    for name in ["T", "S", "G", "P"] {
        let scenario = Scenario::named(name).unwrap().pool(20, 26).jobs(400);
        let (run, heard) = overheard(&scenario, Policy::Ours, 1);
        // Its luck is another, and nothing ever happens in it.
        let world = World::new(&scenario, Luck::new(99));
        let (mut again, mut journal) = (Policy::Ours.contender(&scenario, 1), Journal::default());
        let mut waits = HashSet::new();
        for input in &heard {
            let next = match &input.heard {
                Heard::Begins => again.begin(input.at, &input.job, &world),
                Heard::Resumes => again.resume(input.at, &input.job, &world),
                Heard::Answer(exit, evidence) => {
                    again.answered(input.at, &input.job, *exit, evidence, &world)
                }
            };
            let (at, job) = (input.at, input.job.id);
            // A wait is noted when it begins, and one of nothing is none.
            let is_new = match next {
                Next::Wait(until) | Next::Anew(until) => until > at && waits.insert(job),
                _ => {
                    waits.remove(&job);
                    true
                }
            };
            if is_new {
                journal.note(Entry { at, job, what: next.into() });
            }
            while again.called().is_some() {}
        }
        assert_eq!(journal.digest(), run.log, "{name}");
        assert_eq!(journal.entries(), run.decisions, "{name}");
    }
}
