//! The lab in virtual time: a fleet's day in a second, and again with the same luck.
//!
//! A [`Scenario`] says what the sites do (limit, ban, refuse at random, fail for a while), what the exits are, and what work
//! there is. [`run`] lets a [`Policy`] do the work: this crate's fleet, the very decisions that [`Scheduler`](crate::Scheduler)
//! makes, or the rules of somebody else. What comes out is a [`Run`]: how long it took, what it cost, who was banned.
//!
//! ```
//! use tower_egress::lab::sim::{Policy, Scenario, run};
//!
//! let world = Scenario::named("T").expect("each exit may ask once in two seconds").jobs(1_500);
//! let (ours, naive) = (run(&world, Policy::Ours, 7), run(&world, Policy::Naive, 7));
//! assert_eq!(ours.failed, 0);
//! assert!(ours.attempts < naive.attempts && ours.bans < naive.bans);
//! assert_eq!(ours.log, run(&world, Policy::Ours, 7).log, "the same seed makes the same decisions");
//! ```
//!
//! There are no threads and no clock, and time goes in milliseconds, as tokio's timers do. Each draw of the world is a hash of
//! what it is for ([`luck`](self)): a policy that asks once more shifts nobody else's luck, so that two policies can be compared
//! run by run.

mod about;
mod bound;
mod compare;
mod contender;
mod job;
mod journal;
mod luck;
mod metrics;
mod part;
mod policy;
mod queue;
mod run;
mod scenario;
mod stack;
#[cfg(test)]
mod tests;
mod world;

pub use bound::Bound;
pub use compare::{Interval, Paired, holm, interval, paired};
pub use metrics::{Run, Verdicts};
pub use part::Part;
pub use policy::Policy;
pub use run::run;
pub use scenario::Scenario;
pub use stack::{Client, run_stack};
