//! A configuration file: checked, used, and read again.

use crate::BadInput;
use crate::world::World;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tower_egress::exit::Pool;
use tower_egress::{Config, ConfigError};

/// A file that names a pool at least: a program may add its own to one without, and this one has none.
pub(crate) fn read(path: &Path) -> Result<Config, BadInput> {
    let config = Config::from_path(path)?;
    match config.pools().is_empty() {
        true => Err(BadInput(format!("{}: names no pool; add a [[pool]]", path.display()))),
        false => Ok(config),
    }
}

/// Says what a file means, or what is wrong with it.
pub(crate) fn check(path: &Path) -> ExitCode {
    let built = |config: Config| config.builder().build().map(|_| config).map_err(BadInput::from);
    match read(path).and_then(built) {
        Ok(config) => {
            tell(&config);
            print!("{config}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fetch: {error}");
            ExitCode::from(1)
        }
    }
}

/// Tells what works but should not stay, and what was left out.
pub(crate) fn tell(config: &Config) {
    for warning in config.warnings() {
        eprintln!("fetch: warning: {warning}");
    }
    for line in config.skipped() {
        eprintln!("fetch: skipped: {line}");
    }
}

/// Lets the fleet go on as the file says now, whole or not at all, and says which.
pub(crate) fn reload(world: &mut World, path: &Path) {
    if let Err(error) = taken_over(world, path) {
        eprintln!("fetch: not reloaded, all goes on as before: {error}");
    }
}

fn taken_over(world: &mut World, path: &Path) -> Result<(), BadInput> {
    let Some(configured) = &mut world.config else { return Ok(()) };
    let config = read(path)?;
    if let Some(line) = newly_skipped(&configured.last, &config) {
        return Err(BadInput(format!("{line}; a line that was broken meanwhile must not retire its exit")));
    }
    let now = world.scheduler.operator().reload(config.builder())?;
    tell(&config);
    let (added, kept, removed) = (now.added, now.kept, now.removed);
    eprintln!("fetch: reloaded {}: exits: {added} added, {kept} kept, {removed} removed", path.display());
    let fixed = configured.first.not_taken_over(&config);
    if !fixed.is_empty() {
        eprintln!(
            "fetch: not taken over, since it holds from the start: {}; start anew for it",
            fixed.join(", ")
        );
    }
    // Those that are gone stay: the summary tells of what went through them.
    let known: HashSet<_> = world.exits.iter().map(|exit| exit.id()).collect();
    let exits = config.pools().iter().flat_map(|pool| pool.exits().clone());
    world.exits.extend(exits.filter(|exit| !known.contains(&exit.id())));
    world.gateways = config.pools().iter().flat_map(|pool| pool.gateways().to_vec()).collect();
    configured.last = config;
    Ok(())
}

/// The line of a list that could be read before, where a pool has more of those that cannot.
fn newly_skipped<'a>(before: &Config, now: &'a Config) -> Option<&'a ConfigError> {
    let has_more = |pool: &Pool| {
        let same = before.pools().iter().find(|before| before.name() == pool.name());
        pool.exits().skipped_total() > same.map_or(0, |before| before.exits().skipped_total())
    };
    if !now.pools().iter().any(has_more) {
        return None;
    }
    now.skipped().iter().find(|line| !before.skipped().contains(line)).or_else(|| now.skipped().last())
}

/// Wishes to read the file again: SIGHUP, where there is a file and such a signal.
pub(crate) struct Hangups {
    path: Option<PathBuf>,
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Hangups {
    pub(crate) fn of(world: &World) -> Self {
        let path = world.config.as_ref().map(|configured| configured.path.clone());
        // Without a file a hang-up ends the program, as it always does.
        #[cfg(unix)]
        let signal = path
            .as_ref()
            .and_then(|_| tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok());
        Self {
            path,
            #[cfg(unix)]
            signal,
        }
    }

    /// The file to read again.
    pub(crate) async fn next(&mut self) -> PathBuf {
        #[cfg(unix)]
        if let (Some(path), Some(signal)) = (&self.path, &mut self.signal) {
            if signal.recv().await.is_some() {
                return path.clone();
            }
        }
        let _ = &self.path;
        std::future::pending().await
    }
}
