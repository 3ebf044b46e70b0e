//! The page and its tables: what was played, what came out, where ours loses. Written anew each time; nobody edits them.

use crate::gates::{self, Judged};
use crate::losses::{self, Compared};
use crate::play::Results;
use crate::plots::{self, Drawn};
use crate::settings::{self, Setting};
use crate::{prose, score, table, uneven, verdicts, worth};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tower_egress::lab::sim::Policy;

/// What there is to tell.
pub(crate) struct Page<'a> {
    pub(crate) command: String,
    pub(crate) seeds: Range<u64>,
    pub(crate) settings: &'a [Setting],
    pub(crate) results: &'a Results,
    pub(crate) judged: &'a [Judged],
    pub(crate) compared: &'a [Compared],
}

/// The files in this folder that it writes beside its pictures.
pub(crate) fn files(folder: &Path) -> [PathBuf; 2] {
    [folder.join("simulation.md"), folder.join("simulation").join("tables.md")]
}

impl Page<'_> {
    /// Writes it with its pictures.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let drawn = plots::all(self.results, self.settings, &folder.join("simulation"))?;
        let [page, tables] = files(folder);
        fs::write(page, self.page(&drawn))?;
        fs::write(tables, self.tables())?;
        Ok(())
    }

    fn origin(&self) -> String {
        let Range { start, end } = self.seeds;
        let (command, last) = (&self.command, end - 1);
        format!(
            "Written by `{command}`; seeds {start} to {last}. Rules were chosen by other seeds than these."
        )
    }

    /// What came out first, then how it came about.
    fn page(&self, drawn: &[Drawn]) -> String {
        let mut text = format!("# What the rules are worth\n\n{}\n\n{}\n\n", self.origin(), prose::ABOUT);
        text.push_str(&self.gates());
        let parts = worth::markdown(self.results, self.settings);
        let _ = write!(text, "## What each part is worth\n\n{}\n\n{parts}\n", prose::WORTH);
        let said = verdicts::markdown(self.results, self.settings);
        let _ = write!(text, "## What the diagnosis says\n\n{}\n\n{said}\n", prose::VERDICTS);
        text.push_str(&self.losses());
        let _ = write!(text, "## How often\n\n{}\n\n{}\n", prose::OFTEN, score::markdown(self.compared));
        let _ = write!(text, "## Pictures\n\n{}\n\n", prose::PICTURES);
        for Drawn { file, title } in drawn {
            let _ = writeln!(text, "![{title}](simulation/{file})\n");
        }
        let _ = write!(text, "## The worlds\n\n{}\n\n", prose::WORLDS);
        let _ = write!(text, "## The designs\n\n{}\n\n{}\n", prose::DESIGNS, self.designs());
        let _ = write!(text, "## What was played\n\n{}\n\n{}\n", prose::PLAYED, self.played());
        let _ = write!(text, "## How to read it\n\n{}\n\n### Words\n\n{}\n", prose::READING, prose::GLOSSARY);
        text
    }

    fn gates(&self) -> String {
        let passed = self.judged.iter().filter(|gate| gate.passed).count();
        let (all, table) = (self.judged.len(), gates::markdown(self.judged));
        format!("## Gates\n\n{passed} of {all} passed. {}\n\n{table}\n", prose::GATES)
    }

    fn losses(&self) -> String {
        let sure = if losses::can_be_sure(self.compared) { prose::SURE } else { prose::FEW };
        let (large, small) = losses::markdown(self.compared, false, losses::PLAIN);
        let mut text = format!("## Where it loses\n\n{} {sure}\n\n{large}\n", prose::LOSING);
        let _ = write!(
            text,
            "{small} rows of smaller losses stand in [the tables](simulation/tables.md#all-losses).\n\n"
        );
        let makespans = uneven::makespans(self.compared, self.results, self.settings);
        let _ = write!(text, "### Far slower\n\n{}\n\n{makespans}\n", prose::UNEVEN);
        let seeds = uneven::seeds(self.results, self.settings);
        let _ = write!(text, "### Bad seeds\n\n{}\n\n{seeds}\n", prose::SEEDS);
        text
    }

    /// What is too long for the page.
    fn tables(&self) -> String {
        let mut text =
            format!("# Tables\n\n{} [The page](../simulation.md) tells what they show.\n\n", self.origin());
        let (losses, _) = losses::markdown(self.compared, false, 0.0);
        let _ = write!(text, "## All losses\n\n{}\n\n{losses}\n", prose::ALL_LOSSES);
        let (without, _) = losses::markdown(self.compared, true, 0.0);
        let _ = write!(text, "## Where it is better without a part\n\n{}\n\n{without}\n", prose::WITHOUT);
        for exits in self.sizes() {
            let here: Vec<Setting> =
                self.settings.iter().filter(|setting| setting.exits == exits).cloned().collect();
            let _ = write!(text, "## {exits} exits\n\n{}\n", table::markdown(self.results, &here));
        }
        let _ = write!(text, "## Bounds\n\n{}", self.bounds());
        text
    }

    /// Each design that was played, and what it does.
    fn designs(&self) -> String {
        let mut text = String::from("| design | does |\n|---|---|\n");
        for policy in settings::policies().filter(|policy| self.is_played(*policy)) {
            let _ = writeln!(text, "| {} | {} |", policy.name(), policy.about());
        }
        text
    }

    fn is_played(&self, policy: Policy) -> bool {
        self.settings.iter().any(|setting| !self.results.of(setting, policy).is_empty())
    }

    /// Which designs in which worlds: a row for each such list.
    fn played(&self) -> String {
        let names = |setting: &Setting| -> Vec<&str> {
            let here = settings::policies().filter(|policy| !self.results.of(setting, *policy).is_empty());
            here.map(Policy::name).collect()
        };
        let mut rows: Vec<(u32, Vec<&str>, Vec<&str>)> = Vec::new();
        for setting in self.settings {
            let names = names(setting);
            match rows.iter_mut().find(|row| row.0 == setting.exits && row.1 == names) {
                Some(row) => row.2.push(&setting.world),
                None => rows.push((setting.exits, names, vec![&setting.world])),
            }
        }
        let mut text = String::from("| exits | worlds | designs |\n|---|---|---|\n");
        for (exits, designs, worlds) in rows {
            let _ = writeln!(text, "| {exits} | {} | {} |", worlds.join(", "), designs.join(", "));
        }
        text
    }

    /// The sizes that were played, as the settings have them.
    fn sizes(&self) -> Vec<u32> {
        let mut sizes = Vec::new();
        for setting in self.settings {
            if !sizes.contains(&setting.exits) {
                sizes.push(setting.exits);
            }
        }
        sizes
    }

    fn bounds(&self) -> String {
        let mut text = String::from("| world | exits | bound, s | attempts |\n|---|---|---|---|\n");
        for setting in self.settings {
            if let Some(bound) = setting.scenario().bound() {
                let Setting { world, exits } = setting;
                let _ =
                    writeln!(text, "| {world} | {exits} | {:.0} | {:.0} |", bound.makespan, bound.attempts);
            }
        }
        text
    }
}
