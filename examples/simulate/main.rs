//! Plays the simulator's worlds, by this crate's rules and by those of others.
//!
//! ```text
//! cargo run --release --features lab --example simulate
//! ```
//!
//! plays 12 worlds with three seeds, prints a table, and writes a JSON line for each run and plots to `target/simulate`.
//! `--gates` checks what must be true of ours over 30 seeds, and `--full --docs docs` writes `docs/simulation.md`.
//! `--help` tells the rest.

mod args;
mod docs;
mod gates;
mod losses;
mod measure;
mod picture;
mod plan;
mod play;
mod plots;
mod prose;
mod score;
mod settings;
mod stack;
mod table;
mod uneven;
mod verdicts;
mod worth;

use args::Args;
use clap::Parser as _;
use play::{Results, Task};
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match simulate(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("simulate: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether all gates that were checked are passed.
#[allow(clippy::disallowed_methods, reason = "a program may look at the clock")]
fn simulate(args: &Args) -> Result<bool, Box<dyn Error>> {
    let (settings, seeds) = (args.settings(), args.seeds());
    if args.stack {
        return Ok(stack::is_same(&settings, seeds));
    }
    let gated = args.gates || args.docs.is_some();
    let mut wanted = args.wanted();
    if args.gates {
        wanted.push((gates::settings(), gates::POLICIES.to_vec()));
    }
    // Before an hour's work, and not after it.
    let lines = args.output.join("runs.jsonl");
    writable(&lines, "--output")?;
    if let Some(folder) = &args.docs {
        for file in docs::files(folder) {
            writable(&file, "--docs")?;
        }
    }
    let tasks = play::tasks(&wanted, &seeds);
    let started = Instant::now();
    let results = play::all(&tasks, seeds.start);
    eprintln!("{} runs in {:.1} s", tasks.len(), started.elapsed().as_secs_f64());
    if !settings.is_empty() {
        print!("{}", table::plain(&results, &settings));
    }
    write_lines(&lines, &tasks, &results)?;
    let drawn = plots::all(&results, &settings, &args.output)?.len();
    eprintln!("{} lines and {drawn} plots in {}", tasks.len(), args.output.display());
    let judged = if gated { gates::all(&results) } else { Vec::new() };
    if gated {
        print!("{}", gates::plain(&judged));
    }
    if let Some(folder) = &args.docs {
        let compared = losses::all(&results, &settings);
        let command = command();
        let (settings, judged) = (&settings, &judged);
        docs::Page { command, seeds, settings, results: &results, judged, compared: &compared }
            .write(folder)?;
    }
    Ok(judged.iter().all(|gate| gate.passed))
}

/// An error that says what to do, unless the file can be written to.
fn writable(file: &Path, option: &str) -> Result<(), Box<dyn Error>> {
    let folder = file.parent().unwrap_or(file);
    let opened =
        fs::create_dir_all(folder).and_then(|()| File::options().append(true).create(true).open(file));
    let cure = |error| {
        format!(
            "{} cannot be written: {error}; give a folder that you may write to with {option}",
            file.display()
        )
    };
    opened.map(drop).map_err(|error| cure(error).into())
}

/// One line for each run, in the order in which they were asked for.
fn write_lines(path: &Path, tasks: &[Task], results: &Results) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut told = std::collections::HashSet::new();
    for task in tasks.iter().filter(|task| told.insert((&task.setting, task.policy))) {
        for played in results.of(&task.setting, task.policy) {
            serde_json::to_writer(&mut file, played)?;
            file.write_all(b"\n")?;
        }
    }
    Ok(file.flush()?)
}

/// The line that does this again. Where it writes to is the reader's own affair.
fn command() -> String {
    let mut line = "cargo run --release --features lab --example simulate --".to_owned();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let is_folder = |name| arg == name || arg.split_once('=').is_some_and(|(left, _)| left == name);
        if is_folder("--docs") || is_folder("--output") {
            if !arg.contains('=') {
                args.next();
            }
            continue;
        }
        line.push(' ');
        line.push_str(&arg);
    }
    line + " --docs docs"
}
