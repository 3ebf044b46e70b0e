//! Workers, progress, and a stop that loses nothing.

use crate::args::Args;
use crate::configured::{self, Hangups};
use crate::page::{self, Page};
use crate::record::Record;
use crate::world::{self, World};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tower_egress::scheduler::Snapshot;

/// What became of the pages.
#[derive(Debug, Default)]
pub(crate) struct Crawl {
    pub(crate) wanted: usize,
    pub(crate) fetched: usize,
    pub(crate) bytes: u64,
    /// The first few pages that could not be got.
    pub(crate) missed: Vec<String>,
    pub(crate) done: usize,
    pub(crate) interrupted: bool,
    /// Why results could not be written any more.
    pub(crate) unwritten: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    AllFetched,
    SomeMissing,
    Interrupted,
}

/// How many missed pages are told one by one.
const TOLD: usize = 5;

impl Crawl {
    pub(crate) fn end(&self) -> End {
        if self.interrupted {
            End::Interrupted
        } else if self.fetched == self.wanted && self.unwritten.is_none() {
            End::AllFetched
        } else {
            End::SomeMissing
        }
    }

    fn count(&mut self, page: &Page) {
        self.done += 1;
        self.bytes += page.attempts.iter().map(|attempt| attempt.bytes).sum::<u64>();
        if page.ok {
            self.fetched += 1;
        } else if self.missed.len() < TOLD {
            self.missed.push(format!("{}: {}", page.url, page.error.as_deref().unwrap_or("no answer")));
        }
    }
}

/// Fetches every page, or as many as it can before somebody stops it.
pub(crate) async fn run(world: &mut World, args: &Args, record: &mut Record) -> Crawl {
    let mut crawl = Crawl { wanted: world.urls.len(), ..Crawl::default() };
    let bar = bar(crawl.wanted);
    let (mut workers, mut pages) = start(world, args);
    let mut stop = std::pin::pin!(stopped());
    let mut hangups = Hangups::of(world);
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            biased;
            () = &mut stop, if !crawl.interrupted => {
                // Requests on their way are dropped: each gives its lease back, and blames nobody.
                crawl.interrupted = true;
                workers.abort_all();
            }
            path = hangups.next() => bar.suspend(|| configured::reload(world, &path)),
            _ = second.tick() => {
                let now = world.scheduler.snapshot();
                say_once(now.waiting);
                bar.set_message(state(&now));
            }
            page = pages.recv() => {
                let Some(page) = page else { break };
                crawl.count(&page);
                bar.set_position(crawl.done as u64);
                if let Err(error) = record.write(&page) {
                    crawl.unwritten = Some(error.to_string());
                    workers.abort_all();
                    break;
                }
            }
        }
    }
    while workers.join_next().await.is_some() {}
    bar.finish_and_clear();
    crawl
}

/// Ready at Ctrl-C, or when the system asks the program to end.
async fn stopped() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<Option<()>>();
    tokio::select! {
        () = interrupt => {}
        _ = terminate => {}
    }
}

/// The workers, and where their pages come out; it closes when the last of them ends.
fn start(world: &World, args: &Args) -> (JoinSet<()>, mpsc::Receiver<Page>) {
    let (out, pages) = mpsc::channel(64);
    let (urls, next) = (Arc::new(world.urls.clone()), Arc::new(AtomicUsize::new(0)));
    let mut workers = JoinSet::new();
    let args = Arc::new(args.clone());
    for worker in 0..usize::from(args.concurrency).min(urls.len()) {
        let (urls, next, out, client) =
            (Arc::clone(&urls), Arc::clone(&next), out.clone(), world.client.clone());
        let (args, ask) = (Arc::clone(&args), world::lease(world, &args, worker));
        workers.spawn(async move {
            while let Some(uri) = urls.get(next.fetch_add(1, Ordering::Relaxed)) {
                if out.send(page::fetch(&client, uri, ask.clone(), &args).await).await.is_err() {
                    break;
                }
            }
        });
    }
    (workers, pages)
}

fn bar(pages: usize) -> ProgressBar {
    let bar = ProgressBar::new(pages as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} pages  {per_sec}  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn state(now: &Snapshot) -> String {
    let multiplier = now.outcomes.retry_multiplier().unwrap_or(1.0);
    format!(
        "{multiplier:.2} attempts per success, {} in flight, {} waiting, {} dead",
        now.in_flight, now.waiting, now.exits.dead
    )
}

/// Without a terminal there is no progress to watch: the first wait is told, so that nobody thinks the program hangs.
fn say_once(waiting: u32) {
    static SAID: Once = Once::new();
    if waiting > 0 && !std::io::stderr().is_terminal() {
        SAID.call_once(|| eprintln!("fetch: no exit may serve now; pages waiting for one: {waiting}"));
    }
}
