//! A caller that keeps no worker on what may not go now. What the fleet gives back with a time is put aside in a queue with a
//! bound, and comes back then: a page that was sent as often as may be, in vain (most of them, here); one that is parked, because
//! too many retries are before it; one for whose site, which is left alone, or for whose exit the wait would be too long. Runs in
//! the lab, in memory, under a clock that jumps: no network, and a minute takes no time.
//!
//! ```text
//! cargo run --features lab --example parked
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tower::Layer;
use tower_egress::classify::Classify;
use tower_egress::lab::{Behaviour, Lab, MemoryWorld, Reply};
use tower_egress::lease::Leased;
use tower_egress::retry::ExitAwareRetry;
use tower_egress::verdict::Why;
use tower_egress::{EgressLayer, Error, LeaseRequest, Next, Scheduler, Served};

const PAGES: u32 = 2_000;
const AT_ONCE: usize = 200;
/// Pages that are put aside at once, at most. At that bound no new page is begun: the crawl slows down, and loses none.
const ASIDE: usize = 300;
/// For so long the site is too slow for everybody.
const OUTAGE: Duration = Duration::from_secs(45);

type Client = ExitAwareRetry<Leased<Classify<MemoryWorld>>>;

/// What became of a page for now.
enum End {
    Fetched,
    Later(Instant, &'static str),
    Lost(String),
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = Lab::builder().exits(20, Behaviour::slow(Duration::from_millis(400))).in_memory()?;
    let scheduler = Scheduler::builder().exits(world.exits()).seed(42).build()?;
    let start = now();
    world.origin().respond(move |_| match start.elapsed() < OUTAGE {
        true => Reply::new(http::StatusCode::REQUEST_TIMEOUT),
        false => Reply::page("9.99"),
    });
    let mut crawl = Crawl::default();
    crawl.run(&EgressLayer::new(&scheduler).layer(world.clone()), &world).await;

    let Crawl { fetched, lost, most, why, .. } = &crawl;
    println!("{fetched} of {PAGES} pages in {:.0} s, {lost} lost", start.elapsed().as_secs_f64());
    println!("put aside: {most} at once at the most, of {ASIDE} that may be");
    for (why, times) in why {
        println!("  {times:>5} times  {why}");
    }
    println!("\n{}", scheduler.snapshot());
    Ok(())
}

#[derive(Default)]
struct Crawl {
    begun: u32,
    fetched: u32,
    lost: u32,
    /// Pages by the time that they come back.
    aside: BinaryHeap<Reverse<(Instant, u32)>>,
    most: usize,
    why: BTreeMap<&'static str, u32>,
}

impl Crawl {
    async fn run(&mut self, client: &Client, world: &MemoryWorld) {
        let mut running = JoinSet::new();
        loop {
            while running.len() < AT_ONCE {
                let Some(page) = self.next(running.len()) else { break };
                running.spawn(fetch(client.clone(), world.url(&format!("/page/{page}")), page));
            }
            let due = self.aside.peek().map(|Reverse((at, _))| *at);
            tokio::select! {
                Some(Ok((page, end))) = running.join_next() => self.note(page, end),
                () = sleep_until(due.unwrap_or_else(now)), if due.is_some() && running.len() < AT_ONCE => {}
                else => return,
            }
        }
    }

    /// What was put aside and is due goes before new pages, which are begun only while there is room for them to be put aside.
    fn next(&mut self, running: usize) -> Option<u32> {
        if self.aside.peek().is_some_and(|Reverse((at, _))| *at <= now()) {
            return self.aside.pop().map(|Reverse((_, page))| page);
        }
        if self.begun == PAGES || self.aside.len() + running >= ASIDE {
            return None;
        }
        self.begun += 1;
        Some(self.begun)
    }

    fn note(&mut self, page: u32, end: End) {
        match end {
            End::Fetched => self.fetched += 1,
            End::Lost(why) => {
                self.lost += 1;
                eprintln!("page {page}: {why}");
            }
            End::Later(at, why) => {
                self.aside.push(Reverse((at, page)));
                self.most = self.most.max(self.aside.len());
                *self.why.entry(why).or_default() += 1;
            }
        }
    }
}

/// One page, through all its attempts.
async fn fetch(client: Client, url: String, page: u32) -> (u32, End) {
    let request = http::Request::get(url)
        .extension(LeaseRequest::per_request())
        .body(String::new())
        .expect("the address is the lab's");
    let end = match client.oneshot(request).await {
        Ok(answer) if answer.status().is_success() => End::Fetched,
        // An answer that no further attempt would make better for now says when one may.
        Ok(answer) => {
            match answer.extensions().get::<Served>().map(|served| (served.retry_at(), served.why())) {
                Some((Some(at), why)) => End::Later(at.into(), name(why)),
                _ => End::Lost(answer.status().to_string()),
            }
        }
        Err(error) => refused(&error),
    };
    (page, end)
}

fn refused(error: &Error) -> End {
    match error.next() {
        Next::At(at) => End::Later(at.into(), name(error.why())),
        _ => End::Lost(error.to_string()),
    }
}

const fn name(why: Option<Why>) -> &'static str {
    match why {
        Some(Why::Parked { .. }) => "parked: too many retries were before it",
        Some(Why::Exhausted) => "sent as often as may be, in vain",
        _ => "refused a lease until then",
    }
}

/// By the clock of the lab, which jumps.
#[allow(clippy::disallowed_methods, reason = "a program may look at the clock")]
fn now() -> Instant {
    Instant::now()
}
