//! The command line.

use crate::plan;
use crate::settings::{self, Setting};
use clap::{Parser, value_parser};
use std::path::PathBuf;
use tower_egress::lab::sim::{Policy, Scenario};

/// Plays worlds of sites, exits and work in virtual time, by this crate's rules and by those of others, all with the same luck.
///
/// Without arguments: ours and naive in 12 worlds at 200 exits, three seeds each. Prints a table, and writes a JSON line for
/// each run and plots to target/simulate.
///
/// Exit status: 0, 1 if a gate is missed or the layers decide otherwise than the engine, 2 bad input, or results could not be
/// written.
#[derive(Parser, Clone, Debug)]
#[command(name = "simulate", disable_version_flag = true, after_long_help = names())]
pub(crate) struct Args {
    /// How many exits there are, with as many workers and some more; more than one size with commas: 200,20. S1 to S3 have 50
    #[arg(long, value_name = "20|200|1000", value_delimiter = ',', default_value = "200", value_parser = pool)]
    pub(crate) pool: Vec<u32>,

    /// Worlds by name, with commas between: T,Noise; the 12 of the core if there are none. T-surge is T under half its load with an overload that ends
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = world)]
    pub(crate) worlds: Vec<String>,

    /// Designs by name, with commas between
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "ours,naive", value_parser = policy)]
    pub(crate) policies: Vec<String>,

    /// How many seeds; 3 if it is not said, 5 with --full or --docs, and 30 with --gates
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) seeds: Option<u64>,

    /// The first seed; 1 if it is not said, and 1001 with --full, --gates or --docs: rules are chosen by the ones, and told by
    /// the others
    #[arg(long, value_name = "N")]
    pub(crate) first_seed: Option<u64>,

    /// What docs/simulation.md tells of: all designs in the 12 worlds of the core and the usual ones in all others, at 200 and 20
    /// exits; some ten minutes on two idle cores
    #[arg(long, conflicts_with_all = ["worlds", "policies", "pool"])]
    pub(crate) full: bool,

    /// Checks what must be true of ours, in the worlds that this needs; seven minutes on two cores with 30 seeds
    #[arg(long)]
    pub(crate) gates: bool,

    /// Plays the worlds by ours alone, in the engine and through the layers, and says whether they decided alike
    #[arg(long, conflicts_with_all = ["full", "gates", "docs"])]
    pub(crate) stack: bool,

    /// Writes simulation.md to this folder, with the gates, tables and plots of what is played: with --full, of all
    #[arg(long, value_name = "DIR")]
    pub(crate) docs: Option<PathBuf>,

    /// Writes runs.jsonl and the plots to this folder
    #[arg(long, value_name = "DIR", default_value = "target/simulate")]
    pub(crate) output: PathBuf,
}

/// For the end of the help.
fn names() -> String {
    let policies: Vec<&str> = settings::policies().map(Policy::name).collect();
    format!(
        "Worlds (docs/simulation.md tells what they are): {}; and any of the first {} with -surge.\n\n\
         Designs: {}. What the others are is told at tower_egress::lab::sim::Policy.",
        settings::worlds().collect::<Vec<_>>().join(", "),
        Scenario::NAMES.len(),
        policies.join(", ")
    )
}

/// How many names one that is not known is answered with.
const NEAREST: usize = 3;

/// What a name that is not known is answered: the most alike of those that are.
fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let slips = |known: &&str| strsim::osa_distance(&name.to_lowercase(), &known.to_lowercase());
    let mut known: Vec<&str> = known.collect();
    known.sort_by_cached_key(slips);
    known.truncate(NEAREST);
    format!("there is none of this name; the nearest are {}, and `--help` lists all", known.join(", "))
}

fn world(name: &str) -> Result<String, String> {
    let known = Scenario::find(name).is_some();
    if known { Ok(name.to_owned()) } else { Err(unknown(name, settings::worlds())) }
}

fn policy(name: &str) -> Result<String, String> {
    let known = Policy::named(name).is_some();
    if known { Ok(name.to_owned()) } else { Err(unknown(name, settings::policies().map(Policy::name))) }
}

fn pool(size: &str) -> Result<u32, String> {
    let known = size.parse().ok().filter(|size| settings::workers(*size).is_some());
    known.ok_or_else(|| "pools have 20, 200 or 1000 exits".to_owned())
}

impl Args {
    pub(crate) fn seeds(&self) -> std::ops::Range<u64> {
        let (first, count) = match self {
            Self { gates: true, .. } => (1_001, 30),
            Self { full: true, .. } | Self { docs: Some(_), .. } => (1_001, 5),
            _ => (1, 3),
        };
        let first = self.first_seed.unwrap_or(first);
        first..first.saturating_add(self.seeds.unwrap_or(count))
    }

    /// Which designs in which settings.
    pub(crate) fn wanted(&self) -> Vec<(Vec<Setting>, Vec<Policy>)> {
        if self.full {
            return plan::wanted();
        }
        let policies = self.policies.iter().filter_map(|name| Policy::named(name)).collect();
        vec![(self.settings(), policies)]
    }

    /// What is played for the table. With --gates alone that is what the gates need, and nothing else.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        if self.full {
            return plan::settings();
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
