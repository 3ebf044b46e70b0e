//! What fails, each made to happen in the lab and to heal: `--failures`. The four failure domains, and a site as a whole.
//!
//! In memory and under paused time: but for the sockets it is a real run, with the rests of one, and nobody waits for them.

mod exit;
mod gateway;
mod login;
mod pair;
mod request;
mod scene;
mod site;

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// Why a failure did not happen, or did not heal.
type Unhealed = Box<dyn Error>;
type Shown = Result<(), Unhealed>;

/// What has not healed by then, by the clock of the scene, does not.
const PATIENCE: Duration = Duration::from_secs(600);
/// What the lab says with a 429.
const HINT: Duration = Duration::from_secs(20);

const HEAD: &str = "\
Things fail in the lab, one after the other, until each has healed. The lab is in memory, and its clock jumps from event to
event: the waits are those of a real run, and take no time. Sent: attempts. Billed: what proxies passed on to a site.";
const TAIL: &str = "\
Exit, pair, site, gateway and login: each failed, and healed. All other cases are in the README, under \"What happens to my request\".";

/// Shows them all. It succeeds if each of them happened and healed.
pub(crate) fn show() -> ExitCode {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    match runtime.and_then(|runtime| runtime.block_on(scenes())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("fetch: {error}");
            ExitCode::from(1)
        }
    }
}

async fn scenes() -> io::Result<bool> {
    writeln!(io::stdout(), "{HEAD}")?;
    let healed = [
        is_shown("What happened to my dead proxy? (exit)", exit::dies()).await?,
        is_shown("What happened to my 403? (pair of exit and site)", pair::burns()).await?,
        is_shown("What happened to my 429? (pair of exit and site)", pair::slows_down()).await?,
        is_shown("What happened to my site's 503? (site)", site::goes_down()).await?,
        is_shown("What happened to my many 429s? (site)", site::limits_each_exit()).await?,
        is_shown("What happened to my parked requests? (site)", site::has_no_turn()).await?,
        is_shown("What happened to my gateway's 503? (gateway)", gateway::overloads(None)).await?,
        is_shown("What happened to my gateway's 429? (gateway)", gateway::overloads(Some(HINT))).await?,
        is_shown("What happened to my wrong password? (login)", login::dies()).await?,
    ];
    let all = !healed.contains(&false);
    if all {
        writeln!(io::stdout(), "\n{TAIL}")?;
    }
    Ok(all)
}

async fn is_shown(title: &str, scene: impl Future<Output = Shown>) -> io::Result<bool> {
    writeln!(io::stdout(), "\n{title}")?;
    let why = match timeout(PATIENCE, scene).await {
        Ok(Ok(())) => return Ok(true),
        Ok(Err(why)) => why.to_string(),
        Err(_) => format!("it took longer than {} s", PATIENCE.as_secs()),
    };
    say("NOT HEALED", why)?;
    Ok(false)
}

/// A row; without a name it goes on with the one before.
fn say(row: &str, text: impl Display) -> io::Result<()> {
    writeln!(io::stdout(), "  {row:<11}{text}")
}

/// What a scene must show.
fn check(holds: bool, otherwise: &str) -> Shown {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
