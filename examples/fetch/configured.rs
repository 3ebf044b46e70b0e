//! A configuration file: checked, used, and read again.

use crate::world::World;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tower_egress::{Config, ConfigError, Scheduler};

/// Says what a file means, or what is wrong with it.
pub(crate) fn check(path: &Path) -> ExitCode {
    match Config::from_path(path).and_then(|config| config.builder().build().map(|_| config)) {
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
pub(crate) fn reload(scheduler: &Scheduler, path: &Path) {
    let read = Config::from_path(path);
    let reloaded = read.and_then(|config| {
        let reloaded = scheduler.operator().reload(config.builder())?;
        Ok::<_, ConfigError>((config, reloaded))
    });
    match reloaded {
        Ok((config, now)) => {
            tell(&config);
            let (added, kept, removed) = (now.added, now.kept, now.removed);
            eprintln!(
                "fetch: reloaded {}: exits: {added} added, {kept} kept, {removed} removed",
                path.display()
            );
        }
        Err(error) => eprintln!("fetch: not reloaded, all goes on as before: {error}"),
    }
}

/// Wishes to read the file again: SIGHUP, where there is a file and such a signal.
pub(crate) struct Hangups<'a> {
    path: Option<&'a PathBuf>,
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl<'a> Hangups<'a> {
    pub(crate) fn of(world: &'a World) -> Self {
        let path = world.config.as_ref().map(|(path, _)| path);
        #[cfg(unix)]
        let hangup = tokio::signal::unix::SignalKind::hangup();
        Self {
            path,
            // Without a file a hang-up ends the program, as it always does.
            #[cfg(unix)]
            signal: path.and_then(|_| tokio::signal::unix::signal(hangup).ok()),
        }
    }

    /// The file to read again.
    pub(crate) async fn next(&mut self) -> &'a Path {
        #[cfg(unix)]
        if let (Some(path), Some(signal)) = (self.path, &mut self.signal) {
            if signal.recv().await.is_some() {
                return path;
            }
        }
        let _ = self.path;
        std::future::pending().await
    }
}
