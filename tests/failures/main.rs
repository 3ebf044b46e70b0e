//! The four failure domains, each scripted in the lab: what it costs, whom, and how it heals. Billed is what a provider would
//! bill: what its proxies passed on, and so what a site saw.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod exit;
mod gateway;
mod login;
mod pair;

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tower::Layer as _;
use tower_egress::error::AttemptRecord;
use tower_egress::lab::{Behaviour, LabBuilder, MemoryWorld};
use tower_egress::scheduler::Snapshot;
use tower_egress::{Body, EgressLayer, Error, ExitId, Gateway, LeaseRequest, Next, Scheduler, Served};

const SHOP: &str = "http://shop.test/p";
const NEWS: &str = "http://news.test/p";
/// How long a proxy takes over a request.
const DELAY: Duration = Duration::from_millis(50);

/// A fleet in a lab in memory, for paused time.
#[derive(Clone)]
struct World {
    lab: MemoryWorld,
    scheduler: Scheduler,
}

/// An answer: its status, and the attempts that it took.
type Answer = Result<(StatusCode, Vec<AttemptRecord>), Error>;

impl World {
    fn of(lab: LabBuilder) -> Self {
        let lab = lab.site("shop.test").site("news.test").in_memory().unwrap();
        let mut builder = Scheduler::builder().exits(lab.exits()).seed(7);
        for gateway in lab.gateways() {
            let gateway = Gateway::parse(&gateway.template()).unwrap();
            builder = builder.gateway(gateway.sessions(8.try_into().unwrap()));
        }
        Self { scheduler: builder.build().unwrap(), lab }
    }

    /// Exits that take a moment, so that what is asked for at once is under way at once.
    fn of_exits(count: usize) -> Self {
        Self::of(LabBuilder::default().exits(count, Behaviour::slow(DELAY)))
    }

    async fn get(&self, url: &str, ask: LeaseRequest) -> Answer {
        let request = Request::get(url).extension(ask).body(Body::empty()).unwrap();
        let answer = EgressLayer::new(&self.scheduler).layer(self.lab.clone()).oneshot(request).await?;
        let (head, body) = answer.into_parts();
        body.collect().await?;
        Ok((head.status, head.extensions.get::<Served>().unwrap().trail()))
    }

    /// A page, however long it takes until an exit may serve it.
    async fn page(&self, url: &str, ask: LeaseRequest) -> Answer {
        loop {
            match self.get(url, ask.clone()).await {
                Err(error) if error.is_refusal() => match error.next() {
                    Next::At(time) => sleep_until(time.into()).await,
                    _ => return Err(error),
                },
                answer => return answer,
            }
        }
    }

    /// Pages asked for at once; what became of them.
    async fn at_once(&self, count: usize, url: &'static str) -> Vec<Answer> {
        let page = |_| {
            let world = self.clone();
            async move { world.page(url, LeaseRequest::per_request()).await }
        };
        (0..count).map(page).collect::<JoinSet<_>>().join_all().await
    }

    /// Pages one after the other, ten a second; the attempts that went through an exit.
    async fn pages(&self, count: usize, url: &str, exit: ExitId) -> usize {
        let mut through = 0;
        for _ in 0..count {
            let (status, trail) = self.page(url, LeaseRequest::per_request()).await.unwrap();
            assert_eq!(status, StatusCode::OK);
            through += trail.iter().filter(|attempt| attempt.exit == exit).count();
            sleep(Duration::from_millis(100)).await;
        }
        through
    }

    fn exit(&self, at: usize) -> ExitId {
        self.lab.exit(at).exit().id()
    }

    /// What arrived at a site.
    fn billed(&self, host: &str) -> u64 {
        self.lab.site(host).unwrap().requests()
    }

    fn fleet(&self) -> Snapshot {
        self.scheduler.snapshot()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test may look at the clock")]
fn now() -> Instant {
    Instant::now()
}
