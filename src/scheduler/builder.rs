//! From exits and rules to a scheduler.

use super::Scheduler;
use crate::error::ConfigError;
use crate::exit::{Exit, ExitId, ExitList};
use crate::verdict::RetryRules;
use std::collections::HashMap;

/// Builds a [`Scheduler`]. Everything is checked by [`build`](Self::build).
#[derive(Clone, Debug, Default)]
pub struct Builder {
    exits: Vec<Exit>,
    rules: RetryRules,
    seed: Option<u64>,
}

impl Builder {
    /// Adds exits. The same exit twice counts once.
    #[must_use]
    pub fn exits(mut self, exits: ExitList) -> Self {
        self.exits.extend(exits);
        self
    }

    /// Sets the seed of all choices: the same seed and the same calls at the same times lease the same exits. Random
    /// unless said, and then logged.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the rules of retries.
    #[must_use]
    pub fn rules(mut self, rules: RetryRules) -> Self {
        self.rules = rules;
        self
    }

    /// Builds the scheduler; its clock starts now.
    ///
    /// # Errors
    /// That there is no exit, or that one exit was given with two passwords.
    pub fn build(self) -> Result<Scheduler, ConfigError> {
        let exits = distinct(self.exits)?;
        if exits.is_empty() {
            return Err(ConfigError::new("exits", "are none", "add a list with Builder::exits"));
        }
        Ok(Scheduler::start(exits, self.rules, self.seed.unwrap_or_else(random_seed)))
    }
}

/// The exits in the order they were given, each once.
fn distinct(given: Vec<Exit>) -> Result<Vec<Exit>, ConfigError> {
    let mut seen: HashMap<ExitId, usize> = HashMap::with_capacity(given.len());
    let mut exits: Vec<Exit> = Vec::with_capacity(given.len());
    for exit in given {
        match seen.get(&exit.id()) {
            None => {
                seen.insert(exit.id(), exits.len());
                exits.push(exit);
            }
            Some(at) if exits[*at] == exit => {}
            Some(_) => {
                let what = format!("hold exit {} with two passwords", exit.id());
                return Err(ConfigError::new("exits", what, "keep one of the two"));
            }
        }
    }
    Ok(exits)
}

#[expect(clippy::disallowed_methods, reason = "the one place that draws the seed")]
fn random_seed() -> u64 {
    let seed = rand::random();
    tracing::info!(target: "tower_egress", seed, "no seed was given; this one repeats the run");
    seed
}
