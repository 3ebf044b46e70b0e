//! A site behind exits, the whole stack in front of it, and what each of them saw.

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use std::cell::Cell;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Once;
use std::time::Duration;
use tower::Layer;
use tower_egress::classify::EgressBody;
use tower_egress::exit::ExitList;
use tower_egress::lab::{Lab, LabBuilder, MemoryWorld, Origin, ReplyBody};
use tower_egress::verdict::RetryRules;
use tower_egress::{
    Body, EgressClient, EgressLayer, Error, ExitClient, ExitId, LeaseRequest, Scheduler, Served,
};

pub(crate) type Stack = <EgressLayer as Layer<MemoryWorld>>::Service;
pub(crate) type Answer = Response<EgressBody<ReplyBody>>;

/// A world in memory, for paused time.
pub(crate) struct Shop {
    pub(crate) world: MemoryWorld,
    pub(crate) scheduler: Scheduler,
    pub(crate) stack: Stack,
}

impl Shop {
    pub(crate) fn of(lab: LabBuilder) -> Self {
        Self::with(lab, 7, RetryRules::default())
    }

    pub(crate) fn with(lab: LabBuilder, seed: u64, rules: RetryRules) -> Self {
        listen();
        let world = lab.in_memory().unwrap();
        let scheduler = Scheduler::builder().exits(world.exits()).seed(seed).rules(rules).build().unwrap();
        let stack = EgressLayer::new(&scheduler).layer(world.clone());
        Self { world, scheduler, stack }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Answer, Error> {
        self.stack.clone().oneshot(request).await
    }

    /// Fetches a page of the site through TLS, so that what answers is the site, and reads it to its end.
    pub(crate) async fn fetch(&self, ask: LeaseRequest) -> Result<(u16, Served), Error> {
        let answer = self.send(request(Method::GET, &self.world.tls_url("/p"), "", ask)).await?;
        Ok(read(answer).await)
    }

    pub(crate) fn seen(&self) -> Vec<usize> {
        seen(self.world.origin())
    }

    /// The place of an exit among those of the world.
    pub(crate) fn place(&self, exit: ExitId) -> usize {
        place(&self.world.exits(), exit)
    }

    /// How often an exit was asked for anything: what it refused included, what it was too dead to hear not.
    pub(crate) fn asked(&self, exit: usize) -> u64 {
        let traffic = self.world.exit(exit).traffic();
        traffic.connects + traffic.requests
    }
}

pub(crate) fn request(method: Method, url: &str, body: &'static str, ask: LeaseRequest) -> Request<Body> {
    let body = if body.is_empty() { Body::empty() } else { Body::from(body) };
    Request::builder().method(method).uri(url).extension(ask).body(body).unwrap()
}

/// The status and the trail of an answer whose page has been read.
pub(crate) async fn read<B>(answer: Response<B>) -> (u16, Served)
where
    B: http_body::Body,
    B::Error: std::fmt::Debug,
{
    let (status, served) = (answer.status().as_u16(), answer.extensions().get::<Served>().unwrap().clone());
    answer.into_body().collect().await.unwrap();
    (status, served)
}

/// The exits through which requests came, in the order of arrival. A request that went direct fails the test.
pub(crate) fn seen(origin: &Origin) -> Vec<usize> {
    origin.seen().iter().map(|seen| exit_of(seen.peer())).collect()
}

/// A lab's exits leave from 127.0.1.1 and on.
pub(crate) fn exit_of(peer: IpAddr) -> usize {
    let IpAddr::V4(peer) = peer else { panic!("{peer} is no exit") };
    let [_, _, block, last] = peer.octets().map(usize::from);
    assert!(block > 0, "{peer} went direct");
    (block - 1) * 254 + last - 1
}

pub(crate) fn place(exits: &ExitList, exit: ExitId) -> usize {
    exits.iter().position(|known| known.id() == exit).unwrap()
}

/// A client on sockets. The rules wait for a quarter of a second where the default waits for seconds.
pub(crate) fn client(lab: &Lab) -> (Scheduler, EgressClient) {
    listen();
    let rules = RetryRules::negotiated();
    let scheduler = Scheduler::builder().exits(lab.exits()).seed(7).rules(rules).build().unwrap();
    let exits = ExitClient::builder().roots_pem(lab.ca_pem().as_bytes()).build().unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).layer(exits));
    (scheduler, client)
}

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Time on tokio's clock, paused or not.
#[expect(clippy::disallowed_methods, reason = "a test may read the paused clock")]
pub(crate) fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

thread_local! {
    static HEARD: Cell<String> = const { Cell::new(String::new()) };
}

/// Listens to the crate's events; before the first of them, since `tracing` remembers who listens.
fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
}

/// What this test's thread has traced since it was asked last.
pub(crate) fn heard() -> String {
    HEARD.take()
}

struct Listener;

struct Line(String);

impl tracing::field::Visit for Line {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "tower_egress" && *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(HEARD.take());
        event.record(&mut line);
        line.0.push('\n');
        HEARD.set(line.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
