//! A small world to fail in, and what is counted there.

use super::request::{Page, Stack, fetch};
use super::{Shown, Unhealed, check};
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::Layer as _;
use tower_egress::error::AttemptRecord;
use tower_egress::lab::{LabBuilder, MemoryWorld};
use tower_egress::scheduler::Snapshot;
use tower_egress::{EgressLayer, ExitId, Gateway, LeaseRequest, Scheduler};

pub(super) const SHOP: &str = "shop.test";
pub(super) const NEWS: &str = "news.test";
pub(super) const SESSIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(7);
const SEED: u64 = 42;
/// Pages of a round.
pub(super) const AT_ONCE: u32 = 20;
/// Between one round and the next.
const PACE: Duration = Duration::from_secs(1);
/// How long a proxy takes over a request, so that a round is under way at once.
pub(super) const DELAY: Duration = Duration::from_millis(50);
/// How often a watcher looks.
const TICK: Duration = Duration::from_millis(10);

pub(super) struct Scene {
    pub(super) world: MemoryWorld,
    pub(super) scheduler: Scheduler,
    stack: Stack,
    done: Counts,
    begun: Counts,
    /// Those that nobody has asked for yet.
    attempts: Vec<AttemptRecord>,
}

/// What was done, and what it cost.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// Pages that the program asked for.
    pub(super) asked: u64,
    fetched: u64,
    /// Attempts: each has a lease.
    pub(super) sent: u64,
    /// What reached a site.
    pub(super) billed: u64,
}

impl Scene {
    /// Two sites, and a fleet that has the lab's exits and gateways, all of it by default.
    pub(super) fn of(lab: LabBuilder) -> Result<Self, Unhealed> {
        let world = lab.site(SHOP).site(NEWS).in_memory()?;
        let mut builder = Scheduler::builder().exits(world.exits()).seed(SEED);
        for gateway in world.gateways() {
            builder = builder.gateway(Gateway::parse(&gateway.template())?.sessions(SESSIONS));
        }
        let scheduler = builder.build()?;
        let stack = EgressLayer::new(&scheduler).layer(world.clone());
        let (done, begun) = Default::default();
        Ok(Self { world, scheduler, stack, done, begun, attempts: Vec::new() })
    }

    pub(super) async fn get(&mut self, url: &str, ask: LeaseRequest) -> Page {
        let page = fetch(self.stack.clone(), url.to_owned(), ask).await;
        self.count(&page);
        page
    }

    /// A round: pages that are asked for at once, each through any exit.
    pub(super) async fn round(&mut self, url: &str) -> Vec<Page> {
        let pages = self.crowd(url, AT_ONCE, LeaseRequest::per_request()).await;
        sleep(PACE).await;
        pages
    }

    /// So many pages at once.
    pub(super) async fn crowd(&mut self, url: &str, many: u32, ask: LeaseRequest) -> Vec<Page> {
        let fetch = |_| fetch(self.stack.clone(), url.to_owned(), ask.clone());
        let pages = (0..many).map(fetch).collect::<JoinSet<_>>().join_all().await;
        pages.iter().for_each(|page| self.count(page));
        pages
    }

    /// Asks for rounds of pages until it is so. Says when it was.
    pub(super) async fn until(&mut self, url: &str, is: impl Fn(&Snapshot) -> bool) -> Instant {
        let scheduler = self.scheduler.clone();
        let is = || is(&scheduler.snapshot());
        let asks = async {
            while !is() {
                self.round(url).await;
            }
        };
        tokio::join!(when(&is), asks).0
    }

    fn count(&mut self, page: &Page) {
        self.done.asked += 1;
        self.done.fetched += u64::from(page.fetched);
        self.attempts.extend(&page.attempts);
    }

    /// Attempts through an exit since this was asked last.
    pub(super) fn through(&mut self, exit: ExitId) -> u64 {
        self.attempts.drain(..).map(|attempt| u64::from(attempt.exit == exit)).sum()
    }

    /// The longest wait before one of the attempts that [`through`](Self::through) is about to count.
    pub(super) fn longest_wait(&self) -> Duration {
        self.attempts.iter().map(|attempt| attempt.waited).max().unwrap_or_default()
    }

    /// What is done from now on is the scene's.
    pub(super) fn begin(&mut self) {
        self.begun = self.counts();
        self.attempts.clear();
    }

    pub(super) fn cost(&self) -> Counts {
        let (now, before) = (self.counts(), self.begun);
        Counts {
            asked: now.asked - before.asked,
            fetched: now.fetched - before.fetched,
            sent: now.sent - before.sent,
            billed: now.billed - before.billed,
        }
    }

    fn counts(&self) -> Counts {
        let sites = [SHOP, NEWS].into_iter().filter_map(|host| self.world.site(host));
        let billed = sites.map(|site| site.requests()).sum();
        Counts { sent: self.scheduler.snapshot().leases, billed, ..self.done }
    }

    /// That no page was lost.
    pub(super) fn check_pages(&self) -> Shown {
        let cost = self.cost();
        check(cost.fetched == cost.asked, "a page was lost")
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, fetched, sent, billed } = self;
        write!(f, "{fetched} of {asked} pages fetched, {sent} sent, {billed} billed")
    }
}

/// When it became so.
pub(super) async fn when(is: impl Fn() -> bool) -> Instant {
    while !is() {
        sleep(TICK).await;
    }
    now()
}

/// By the clock of the scene, which jumps.
#[allow(clippy::disallowed_methods, reason = "a program may look at the clock")]
pub(super) fn now() -> Instant {
    Instant::now()
}
