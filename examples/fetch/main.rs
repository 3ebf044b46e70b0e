//! Fetches pages through a pool of exits.
//!
//! Without arguments it starts the lab, a misbehaving world on loopback, and fetches 400 pages through 40 exits of which
//! 16 misbehave:
//!
//! ```text
//! cargo run --release --features config,lab --example fetch
//! ```
//!
//! With `--via https`, `socks5h` or `socks5` these exits are such proxies. With `--lab-gateway` it goes through a gateway's
//! sessions instead. With `--failures` it lets things fail in the lab, and
//! shows what each costs and how it heals. With `--proxies FILE` (`-` is standard input) or `--gateway URL`, and URLs, it fetches
//! for real and writes one JSON line a page. With `--config FILE` it goes the way that the file says; see
//! `examples/egress.toml`. `--help` tells the rest.

mod args;
mod configured;
mod crawl;
mod failures;
mod input;
mod page;
mod record;
mod summary;
mod world;

use args::Args;
use crawl::End;
use std::fmt;
use std::process::ExitCode;
use std::time::Instant;

/// Input that cannot be used: one line, with file and line number where there are any.
#[derive(Debug)]
struct BadInput(String);

impl<E: std::error::Error> From<E> for BadInput {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn main() -> ExitCode {
    let args = Args::read();
    if args.failures {
        return failures::show();
    }
    if let (true, Some(path)) = (args.check, &args.config) {
        return configured::check(path);
    }
    let run = tokio::runtime::Runtime::new().map_err(BadInput::from).and_then(|runtime| {
        let end = runtime.block_on(run(args));
        // A reply that nobody waits for any more is not worth a wait.
        runtime.shutdown_background();
        end
    });
    match run {
        Ok(End::AllFetched) => ExitCode::SUCCESS,
        Ok(End::SomeMissing) => ExitCode::from(1),
        Ok(End::Interrupted) => ExitCode::from(130),
        Err(bad) => {
            eprintln!("fetch: {bad}");
            ExitCode::from(2)
        }
    }
}

/// Everything is read and checked before the first byte is sent.
#[allow(clippy::disallowed_methods, reason = "a program may look at the clock")]
async fn run(args: Args) -> Result<End, BadInput> {
    let mut world = world::World::of(&args).await?;
    let mut record = record::Record::open(&args)?;
    let started = Instant::now();
    let crawl = crawl::run(&mut world, &args, &mut record).await;
    summary::print(&world, &crawl, started.elapsed());
    Ok(crawl.end())
}
