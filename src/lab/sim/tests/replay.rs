//! That decisions hang on nothing but what was heard.

use super::*;
use crate::lab::sim::journal::{Entry, Heard, Journal};
use crate::lab::sim::luck::Luck;
use crate::lab::sim::run::overheard;
use crate::lab::sim::world::World;

#[test]
fn what_was_heard_leads_to_the_same_decisions_without_a_world() {
    for name in ["T", "S", "G", "P"] {
        let scenario = Scenario::named(name).unwrap().pool(20, 26).jobs(400);
        let (run, heard) = overheard(&scenario, Policy::Ours, 1);
        // Its luck is another, and nothing ever happens in it.
        let world = World::new(&scenario, Luck::new(99));
        let (mut again, mut journal) = (Policy::Ours.contender(&scenario, 1), Journal::default());
        for input in &heard {
            let next = match &input.heard {
                Heard::Begins => again.begin(input.at, &input.job, &world),
                Heard::Resumes => again.resume(input.at, &input.job, &world),
                Heard::Answer(exit, evidence) => {
                    again.answered(input.at, &input.job, *exit, evidence, &world)
                }
            };
            journal.note(Entry { at: input.at, job: input.job.id, what: next.into() });
            while again.called().is_some() {}
        }
        assert_eq!(journal.digest(), run.log, "{name}");
        assert_eq!(journal.entries(), run.decisions, "{name}");
    }
}
