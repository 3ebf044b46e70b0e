//! A world at a size.

use std::fmt;
use tower_egress::lab::sim::{Policy, Scenario};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Setting {
    pub(crate) world: String,
    pub(crate) exits: u32,
}

/// Exits and workers.
const SIZES: &[(u32, u32)] = &[(200, 256), (20, 32), (1_000, 1_024)];

/// Worlds with an overload that ends.
const SURGES: &[&str] = &["T-surge", "S-surge", "Esc-surge", "Sub-surge"];

/// Worlds of one size, with its exits.
const FIXED: &[(&str, u32)] = &[("S1", 50), ("S2", 50), ("S3", 50)];

pub(crate) fn workers(exits: u32) -> Option<u32> {
    SIZES.iter().find(|size| size.0 == exits).map(|size| size.1)
}

/// All designs, in the order of the table.
pub(crate) fn policies() -> impl Iterator<Item = Policy> {
    Policy::every().chain(Policy::REFERENCE.iter().copied())
}

/// The names of all worlds.
pub(crate) fn worlds() -> impl Iterator<Item = &'static str> {
    let names = Scenario::NAMES.iter().chain(SURGES).copied().chain(FIXED.iter().map(|fixed| fixed.0));
    let behind = Scenario::LOGINS.iter().chain(Scenario::GATEWAYS);
    names.chain(behind.chain(Scenario::EXITS).chain(&Scenario::PRICES).copied())
}

impl Setting {
    pub(crate) fn new(world: &str, exits: u32) -> Self {
        let fixed = FIXED.iter().find(|fixed| fixed.0 == world);
        Self { world: world.to_owned(), exits: fixed.map_or(exits, |fixed| fixed.1) }
    }

    pub(crate) fn scenario(&self) -> Scenario {
        let scenario = Scenario::find(&self.world).expect("worlds are checked when the arguments are read");
        match workers(self.exits) {
            Some(workers) => scenario.pool(self.exits, workers),
            None => scenario,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} exits", self.world, self.exits)
    }
}
