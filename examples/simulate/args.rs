//! The command line.

use crate::settings::{self, Setting};
use clap::Parser;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, value_parser};
use std::path::PathBuf;
use tower_egress::lab::sim::{Policy, Scenario};

/// Plays worlds of sites, exits and work in virtual time, by this crate's rules and by those of others, all with the same luck.
///
/// Without arguments: ours and naive in 12 worlds at 200 exits, three seeds each. Prints a table, and writes a JSON line for
/// each run and plots to target/simulate.
///
/// Exit status: 0, 1 if a gate is missed, 2 bad input, or results could not be written.
#[derive(Parser, Clone, Debug)]
#[command(name = "simulate", disable_version_flag = true)]
pub(crate) struct Args {
    /// How many exits there are, with as many workers and some more; S1 to S3 have 50
    #[arg(long, value_name = "20|200|1000", value_delimiter = ',', default_value = "200")]
    pub(crate) pool: Vec<u32>,

    /// Worlds by name; T-surge is T under half its load with an overload that ends
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) worlds: Vec<String>,

    /// Designs by name
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "ours,naive")]
    pub(crate) policies: Vec<String>,

    /// How many seeds; 3, and 30 with --full, --gates or --docs
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) seeds: Option<u64>,

    /// The first seed; 1, and 1001 with --full, --gates or --docs: rules are chosen by the one, and told by the other
    #[arg(long, value_name = "N")]
    pub(crate) first_seed: Option<u64>,

    /// All designs in all worlds at all sizes, and their variants in the core worlds at 200 and 20 exits; an hour
    #[arg(long, conflicts_with_all = ["worlds", "policies", "pool"])]
    pub(crate) full: bool,

    /// Checks the gates
    #[arg(long)]
    pub(crate) gates: bool,

    /// Plays the worlds by ours alone, in the engine and through the layers, and says whether they decided alike
    #[arg(long, conflicts_with_all = ["full", "gates", "docs"])]
    pub(crate) stack: bool,

    /// Writes simulation.md with tables, gates and plots to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) docs: Option<PathBuf>,

    /// Writes runs.jsonl and the plots to this folder
    #[arg(long, value_name = "DIR", default_value = "target/simulate")]
    pub(crate) output: PathBuf,
}

impl Args {
    /// Leaves the program with status 2 and a message if the line cannot be read.
    pub(crate) fn read() -> Self {
        let args = Self::parse();
        let unknown =
            |kind, what| Self::command().error(ErrorKind::InvalidValue, format!("no {kind} {what}")).exit();
        for world in &args.worlds {
            if Scenario::find(world).is_none() {
                unknown("world", world);
            }
        }
        for policy in &args.policies {
            if Policy::named(policy).is_none() {
                unknown("policy", policy);
            }
        }
        if let Some(size) = args.pool.iter().find(|size| settings::workers(**size).is_none()) {
            unknown("pool of", &size.to_string());
        }
        args
    }

    fn reports(&self) -> bool {
        self.full || self.gates || self.docs.is_some()
    }

    pub(crate) fn seeds(&self) -> std::ops::Range<u64> {
        let (first, count) = if self.reports() { (1_001, 30) } else { (1, 3) };
        let first = self.first_seed.unwrap_or(first);
        first..first.saturating_add(self.seeds.unwrap_or(count))
    }

    /// Which designs in which settings. Variants of a design are played where small and large pools differ, and not everywhere:
    /// an hour is long enough.
    pub(crate) fn wanted(&self) -> Vec<(Vec<Setting>, Vec<Policy>)> {
        if self.full {
            let designs = Policy::ALL.iter().chain(Policy::REFERENCE).copied().collect();
            return vec![(settings::all(), designs), (settings::core(), settings::policies().collect())];
        }
        let policies = self.policies.iter().filter_map(|name| Policy::named(name)).collect();
        vec![(self.settings(), policies)]
    }

    /// What is played for the table. With --gates alone that is what the gates need, and nothing else.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        if self.full {
            return settings::all();
        }
        if self.gates && self.worlds.is_empty() && self.docs.is_none() {
            return Vec::new();
        }
        let core = || Scenario::CORE.iter().map(ToString::to_string).collect();
        let worlds: Vec<String> = if self.worlds.is_empty() { core() } else { self.worlds.clone() };
        let mut settings: Vec<Setting> = Vec::new();
        for exits in &self.pool {
            for world in &worlds {
                let setting = Setting::new(world, *exits);
                if !settings.contains(&setting) {
                    settings.push(setting);
                }
            }
        }
        settings
    }
}
