//! From exits and rules to a scheduler.

use super::Scheduler;
use crate::error::ConfigError;
use crate::exit::{Exit, ExitId, ExitList, Gateway};
use crate::fleet::{Bounds, FleetConfig, Member};
use crate::verdict::RetryRules;
use std::collections::HashMap;

/// Builds a [`Scheduler`]. Everything is checked by [`build`](Self::build).
#[derive(Clone, Debug, Default)]
pub struct Builder {
    exits: Vec<Exit>,
    gateways: Vec<Gateway>,
    rules: RetryRules,
    seed: Option<u64>,
    member: Option<(u32, u32)>,
}

impl Builder {
    /// Adds exits. The same exit twice counts once.
    #[must_use]
    pub fn exits(mut self, exits: ExitList) -> Self {
        self.exits.extend(exits);
        self
    }

    /// Adds a gateway. The same gateway twice counts once.
    #[must_use]
    pub fn gateway(mut self, gateway: Gateway) -> Self {
        self.gateways.push(gateway);
        self
    }

    /// Tells this process which of `of` it is, counted from 0: it then draws and counts apart from the others. What holds an
    /// exit rides the same session in all of them, if they have the same seed.
    #[must_use]
    pub fn member(mut self, index: u32, of: u32) -> Self {
        self.member = Some((index, of));
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
    /// That there is neither an exit nor a gateway, that one of them was given with two passwords, or that a member is out of
    /// range.
    pub fn build(self) -> Result<Scheduler, ConfigError> {
        let exits = distinct(self.exits)?;
        if exits.is_empty() && self.gateways.is_empty() {
            return Err(ConfigError::new(
                "exits",
                "are none",
                "add a list with Builder::exits, or Builder::gateway",
            ));
        }
        for (at, gateway) in self.gateways.iter().enumerate() {
            if self.gateways[..at].iter().any(|before| before.id() == gateway.id() && before != gateway) {
                return Err(ConfigError::new(
                    "gateways",
                    "hold one gateway in two ways",
                    "keep one of the two",
                ));
            }
        }
        let (index, of) = self.member.unwrap_or((0, 1));
        if index >= of {
            return Err(ConfigError::new("member", "is not below the number of members", "count from 0"));
        }
        Ok(Scheduler::start(FleetConfig {
            exits,
            gateways: self.gateways,
            member: Member { index, of },
            rules: self.rules,
            seed: self.seed.unwrap_or_else(random_seed),
            epoch: 0,
            bounds: Bounds::default(),
        }))
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
