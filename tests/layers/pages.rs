//! Pages of walls: read ahead where they can matter, searched, and handed up as they came.

use crate::support::*;
use bytes::Bytes;
use flate2::{Compression, read::GzEncoder};
use http::{Request, Response, header::CONTENT_ENCODING};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use std::io::Read;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, ServiceBuilder};
use tower_egress::classify::{Answer, Rule, rule};
use tower_egress::outcome::{AuthReason, BlockedBy, Phase};
use tower_egress::{
    ClassifyLayer, EgressBody, EgressLayer, ExitList, LeaseLayer, LeaseRequest, Outcome, Scheduler, Served,
    Site,
};

const URI: &str = "https://shop.example/p/42";
const ROBOT: &str = "<title>Robot Check</title>";
const BY_EXIT: Outcome = Outcome::Blocked { by: BlockedBy::Exit };
const BROKEN: Outcome = Outcome::Interrupted { phase: Phase::Body };
type Headers = &'static [(&'static str, &'static str)];
const HTML: Headers = &[("content-type", "text/html")];
const SMALL: Headers = &[("content-type", "text/html"), ("content-length", "26")];
const JSON: Headers = &[("content-type", "application/json"), ("content-length", "26")];

fn html(status: u16, headers: Headers, parts: impl IntoIterator<Item = Part>) -> Step {
    Step::Answer(status, headers, Page::of(parts))
}

fn unavailable() -> Outcome {
    Outcome::OriginError { status: http::StatusCode::SERVICE_UNAVAILABLE }
}

fn once() -> Request<Full<Bytes>> {
    with(Request::get(URI), "", LeaseRequest::per_request().attempts(NonZeroU32::MIN))
}

fn served<B>(response: &Response<B>) -> Served {
    response.extensions().get::<Served>().unwrap().clone()
}

async fn trail(stack: EgressLayer, steps: impl IntoIterator<Item = Step>) -> Vec<Outcome> {
    let response = stack.layer(Script::new(steps)).oneshot(get(URI)).await.unwrap();
    served(&response).trail().iter().map(|attempt| attempt.outcome).collect()
}

/// One attempt: its answer, its outcome, and how long it took.
async fn sent(stack: EgressLayer, step: Step) -> (Response<EgressBody<Page>>, Outcome, Duration) {
    let start = now();
    let response = stack.layer(Script::new([step])).oneshot(once()).await.unwrap();
    let outcome = served(&response).outcome();
    (response, outcome, now() - start)
}

#[tokio::test(start_paused = true)]
async fn a_walls_page_is_a_block_and_the_request_goes_on_through_another_exit() {
    for (status, headers) in [(503, HTML), (200, SMALL), (200, HTML)] {
        let scheduler = scheduler(2);
        let wall = html(status, headers, [Part::Data(ROBOT)]);
        let seen =
            trail(EgressLayer::new(&scheduler), [wall, html(200, HTML, [Part::Data("<h1>9.99</h1>")])]);
        assert_eq!(seen.await, [BY_EXIT, Outcome::Ok], "{status}");
        let outcomes = scheduler.snapshot().outcomes;
        assert_eq!((outcomes.blocked, outcomes.ok, outcomes.total()), (1, 1, 2), "each attempt once");
    }
    let scheduler = scheduler(2);
    let (_, outcome, took) =
        sent(EgressLayer::new(&scheduler).pages(false), html(503, HTML, [Part::Data(ROBOT)])).await;
    assert_eq!((outcome, took), (unavailable(), Duration::ZERO), "unless signals are not asked for");
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_back_for_its_page_alone_and_for_a_moment() {
    let stalls = |status, headers| html(status, headers, [Part::Data(ROBOT), Part::Stall]);
    for (name, step, millis, outcome) in [
        ("a refusal", stalls(503, HTML), 100, BY_EXIT),
        ("a small page: it is not there as a whole", stalls(200, SMALL), 100, Outcome::Ok),
        ("a page of unknown length", stalls(200, HTML), 10, Outcome::Ok),
        ("no page", stalls(200, JSON), 0, Outcome::Ok),
        ("nothing said", stalls(200, &[]), 0, Outcome::Ok),
        (
            "a long page",
            stalls(200, &[("content-type", "text/html"), ("content-length", "90000")]),
            0,
            Outcome::Ok,
        ),
        ("an answer", stalls(404, HTML), 0, Outcome::Ok),
    ] {
        // Without a retry layer no page is read for its connection's sake.
        let (scheduler, start) = (scheduler(1), now());
        let layers = ServiceBuilder::new().layer(LeaseLayer::new(&scheduler)).layer(ClassifyLayer::new());
        let response = layers.service(Script::new([step])).oneshot(once()).await.unwrap();
        assert_eq!(
            (now() - start, served(&response).outcome()),
            (Duration::from_millis(millis), outcome),
            "{name}"
        );
        let mut body = response.into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), ROBOT, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_read_goes_up_as_it_came() {
    let scheduler = scheduler(2);
    let parts = [
        Part::Data("<title>"),
        Part::Yield,
        Part::Data("Robot Check"),
        Part::Data("</title>"),
        Part::Trailers,
    ];
    let (response, outcome, _) = sent(EgressLayer::new(&scheduler), html(503, HTML, parts)).await;
    assert_eq!((outcome, served(&response).bytes()), (BY_EXIT, 26), "the mark was in two frames");
    let mut body = response.into_body();
    let mut frames = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.unwrap();
        frames.push(
            frame
                .data_ref()
                .map_or_else(|| "trailers".into(), |data| String::from_utf8_lossy(data).into_owned()),
        );
    }
    assert_eq!(frames, ["<title>", "Robot Check", "</title>", "trailers"]);
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_breaks_is_its_readers_error_and_amends_a_success_alone() {
    for (status, outcome, amended) in [(503, BY_EXIT, BY_EXIT), (200, Outcome::Ok, BROKEN)] {
        let scheduler = scheduler(2);
        let broken = html(status, SMALL, [Part::Data(ROBOT), Part::Error]);
        let (response, last, took) = sent(EgressLayer::new(&scheduler), broken).await;
        assert_eq!((last, took), (outcome, Duration::ZERO), "nothing is amended before it is read");
        let mut body = response.into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), ROBOT);
        assert_eq!(body.frame().await.unwrap().unwrap_err().outcome(), Some(BROKEN));
        assert!(body.frame().await.is_none());
        let fleet = scheduler.snapshot();
        assert_eq!((fleet.outcomes.total(), fleet.in_flight, fleet.exits.dead), (1, 0, 0));
        assert_eq!(fleet.outcomes.interrupted == 1, amended == BROKEN);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_of_an_attempt_before_its_page_was_looked_at() {
    let scheduler = scheduler(2);
    let slow = || html(503, HTML, [Part::Wait(Duration::from_millis(50)), Part::Data(ROBOT), Part::Stall]);
    let mut asked = Box::pin(sent(EgressLayer::new(&scheduler), slow()));
    assert!(poll_once(&mut asked).await.is_pending());
    tokio::time::advance(Duration::from_millis(40)).await;
    assert!(poll_once(&mut asked).await.is_pending());
    assert_eq!(scheduler.snapshot().outcomes.total(), 0);
    let (_, outcome, took) = asked.await;
    assert_eq!((outcome, took), (BY_EXIT, Duration::from_millis(100)));
    assert_eq!((scheduler.snapshot().outcomes.blocked, scheduler.snapshot().outcomes.total()), (1, 1));

    // Who goes away meanwhile has had an answer.
    let mut asked = Box::pin(sent(EgressLayer::new(&scheduler), slow()));
    assert!(poll_once(&mut asked).await.is_pending());
    drop(asked);
    let fleet = scheduler.snapshot();
    assert_eq!((fleet.outcomes.origin_error, fleet.outcomes.total(), fleet.in_flight), (1, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_being_looked_at_survives_the_deadline() {
    let scheduler = scheduler(1);
    let page = html(503, HTML, [Part::Data(ROBOT), Part::Stall]);
    let late = Step::After(Duration::from_millis(950), Box::new(page));
    let ask = LeaseRequest::per_request().attempts(NonZeroU32::MIN).deadline(Duration::from_secs(1));
    let start = now();
    let stack = EgressLayer::new(&scheduler).layer(Script::new([late]));
    let response = stack.oneshot(with(Request::get(URI), "", ask)).await.unwrap();
    assert_eq!((now() - start, served(&response).outcome()), (Duration::from_millis(1_050), BY_EXIT));
}

/// A body of such frames without an end, and how many of them were read.
struct Endless(usize, Arc<AtomicU32>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Poll::Ready(Some(Ok(Frame::data(vec![b'x'; self.0].into()))))
    }
}

/// How many frames of a length are read ahead, and how many bytes.
async fn read_ahead(len: usize) -> (u32, u64) {
    let read = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&read);
    let client = tower::service_fn(move |_: Request<_>| {
        let response = Response::builder().status(503).header("content-type", "text/html");
        let response = response.body(Endless(len, Arc::clone(&count))).unwrap();
        std::future::ready(Ok::<_, std::io::Error>(response))
    });
    let scheduler = scheduler(1);
    let stack = EgressLayer::new(&scheduler).layer(client);
    let request = Request::get(URI).extension(LeaseRequest::per_request().attempts(NonZeroU32::MIN));
    let response = stack.oneshot(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    assert_eq!(served(&response).outcome(), unavailable());
    (read.load(Ordering::SeqCst), served(&response).bytes())
}

#[tokio::test(start_paused = true)]
async fn no_more_is_read_ahead_than_the_cap() {
    assert_eq!(read_ahead(1_000).await, (17, 17_000));
    assert_eq!(read_ahead(16 << 10).await, (1, 16 << 10));
    assert_eq!(read_ahead(1).await, (64, 64));
    assert_eq!(read_ahead(0).await, (64, 0));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_takes_the_whole_budget_does_not_stop_the_clock() {
    let scheduler = scheduler(1);
    let mut asked = Box::pin(sent(EgressLayer::new(&scheduler), html(503, HTML, [Part::Greedy])));
    assert!(poll_once(&mut asked).await.is_pending());
    tokio::time::advance(Duration::from_millis(101)).await;
    assert!(poll_once(&mut asked).await.is_ready());
}

fn gzip(text: &[u8]) -> Bytes {
    let mut packed = Vec::new();
    GzEncoder::new(text, Compression::best()).read_to_end(&mut packed).unwrap();
    packed.into()
}

/// A page that is packed, through a stack.
async fn packed(layer: EgressLayer, name: &'static str, page: Bytes) -> (Outcome, Bytes) {
    let client = tower::service_fn(move |_: Request<_>| {
        let head =
            Response::builder().header("content-type", "text/html").header("content-length", page.len());
        let response = head.header(CONTENT_ENCODING, name).body(Full::new(page.clone())).unwrap();
        std::future::ready(Ok::<_, std::io::Error>(response))
    });
    let request = Request::get(URI).extension(LeaseRequest::per_request().attempts(NonZeroU32::MIN));
    let response =
        layer.layer(client).oneshot(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    (served(&response).outcome(), response.into_body().collect().await.unwrap().to_bytes())
}

#[tokio::test(start_paused = true)]
async fn a_packed_page_is_unpacked_for_the_search_and_for_nobody_else() {
    let scheduler = scheduler(1);
    let page = gzip(ROBOT.as_bytes());
    assert_eq!(packed(EgressLayer::new(&scheduler), "gzip", page.clone()).await, (BY_EXIT, page));
    // The mark is there, but the page is long.
    let long = gzip(&[ROBOT.as_bytes(), &[b' '; 40 << 10]].concat());
    assert!(long.len() < 1_000);
    assert_eq!(packed(EgressLayer::new(&scheduler), "gzip", long.clone()).await, (Outcome::Ok, long));
    let unknown = Bytes::from_static(ROBOT.as_bytes());
    assert_eq!(packed(EgressLayer::new(&scheduler), "br", unknown.clone()).await, (Outcome::Ok, unknown));
}

#[tokio::test(start_paused = true)]
async fn a_collected_page_is_searched_as_a_whole() {
    let wait = || Part::Wait(Duration::from_millis(300));
    let (scheduler, start) = (scheduler(3), now());
    let slow =
        html(200, HTML, [Part::Data("<title>Robot "), wait(), Part::Data("Check</title>"), Part::Trailers]);
    let fast = html(200, SMALL, [Part::Data(ROBOT)]);
    let good = html(200, HTML, [Part::Data("<h1>9.99</h1>"), wait()]);
    let stack = EgressLayer::new(&scheduler).collect(1 << 20).layer(Script::new([slow, fast, good]));
    let response = stack.oneshot(get(URI)).await.unwrap();
    let trail: Vec<_> = served(&response).trail().iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(trail, [BY_EXIT, BY_EXIT, Outcome::Ok]);
    assert!(now() - start >= Duration::from_millis(600));
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "<h1>9.99</h1>");
    let fleet = scheduler.snapshot();
    assert_eq!((fleet.outcomes.blocked, fleet.outcomes.ok, fleet.outcomes.total()), (2, 1, 3));

    // Whole, with what came before the search and after it.
    let long = html(200, HTML, [Part::Data(ROBOT), wait(), Part::Data(LARGE), Part::Trailers]);
    let stack = EgressLayer::new(&scheduler).collect(1 << 20);
    let (response, outcome, _) = sent(stack.clone(), long).await;
    let whole = response.into_body().collect().await.unwrap();
    assert!(whole.trailers().is_some());
    assert_eq!((outcome, whole.to_bytes()), (Outcome::Ok, [ROBOT, LARGE].concat().into()));

    // What breaks while it is looked at is a failed attempt, as ever.
    let broken = html(200, HTML, [Part::Data("<h1>9."), Part::Error]);
    let error = stack.layer(Script::new([broken])).oneshot(once()).await.unwrap_err();
    assert_eq!((error.outcome(), error.attempts()[0].bytes), (Some(BROKEN), 6));
    // And what is too long.
    let long = html(200, HTML, [Part::Data(LARGE)]);
    let stack = EgressLayer::new(&scheduler).collect(1 << 10).layer(Script::new([long]));
    let error = stack.oneshot(once()).await.unwrap_err();
    assert_eq!(error.outcome(), Some(Outcome::TooLarge { cap: 1 << 10 }));
    assert_eq!(scheduler.snapshot().in_flight, 0);
}

fn at_site(site: Site) -> Scheduler {
    let exits = ExitList::parse("192.0.2.1:8080\n192.0.2.2:8080").unwrap();
    Scheduler::builder().exits(exits).seed(1).site("shop.example", site).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn at_a_site_its_own_table_counts_and_its_page_is_not_asked() {
    let wall = || html(503, HTML, [Part::Data(ROBOT), Part::Stall]);
    let known = at_site(Site::new().status(503, Outcome::Ok));
    let (_, outcome, took) = sent(EgressLayer::new(&known), wall()).await;
    assert_eq!((outcome, took), (Outcome::Ok, Duration::ZERO));
    let api = at_site(Site::api());
    let forbidden = html(403, HTML, [Part::Data(ROBOT), Part::Stall]);
    let (_, outcome, took) = sent(EgressLayer::new(&api), forbidden).await;
    assert_eq!((outcome, took), (Outcome::Ok, Duration::ZERO));
    let fleet = api.snapshot();
    assert_eq!((fleet.outcomes.ok, fleet.hottest.len()), (1, 0), "a 403 of an API costs nobody");
    // Limits are limits, there too.
    let limited = answer(429, &[("retry-after", "1")]);
    let seen = trail(EgressLayer::new(&api), [limited, status(429)]).await;
    assert!(matches!(seen[..], [Outcome::RateLimited { retry_after: Some(_) }, Outcome::Ok]), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_sees_the_body_where_it_wants_it() {
    let empty = |answer: &Answer<'_>| {
        let page = answer.body()?;
        assert_eq!(answer.origin().as_str(), "shop.example");
        (answer.is_whole() && page.len() < 10).then_some(BY_EXIT)
    };
    let layer = || {
        let rule = empty.with_body().statuses(200..300).at("shop.example");
        EgressLayer::new(&scheduler(1)).rule(rule)
    };
    for (step, millis, outcome) in [
        (html(200, JSON, [Part::Data("{}")]), 0, BY_EXIT),
        (html(200, &[], []), 0, BY_EXIT),
        (html(200, JSON, [Part::Data("{}"), Part::Stall]), 100, Outcome::Ok),
        (html(200, JSON, [Part::Data(LARGE)]), 0, Outcome::Ok),
        (html(404, JSON, [Part::Data("{}"), Part::Stall]), 0, Outcome::Ok),
    ] {
        let (_, seen, took) = sent(layer(), step).await;
        assert_eq!((seen, took), (outcome, Duration::from_millis(millis)));
    }
    let elsewhere = with(Request::get("https://other.example/"), "", LeaseRequest::per_request());
    let step = html(200, JSON, [Part::Data("{}"), Part::Stall]);
    let response = layer().layer(Script::new([step])).oneshot(elsewhere).await.unwrap();
    assert_eq!(served(&response).outcome(), Outcome::Ok);
}

#[tokio::test(start_paused = true)]
async fn rules_are_asked_in_order_whoever_wants_the_body() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let counts = |answer: &Answer<'_>| {
        ASKED.fetch_add(1, Ordering::SeqCst);
        assert!(answer.body().is_none(), "this one does not want it");
        None
    };
    let fatal = rule::header(http::HeaderName::from_static("x-bad"), Outcome::Fatal);
    let sees = |answer: &Answer<'_>| {
        assert_eq!(answer.table(), BY_EXIT, "with what the page says");
        None
    };
    let scheduler = scheduler(2);
    let layer = EgressLayer::new(&scheduler)
        .rule(counts)
        .rule(rule::mark("sold out", Outcome::Ok).statuses(400..).or(rule::mark("go away", BY_EXIT)))
        .rule(fatal);
    let bad = |text| html(503, &[("x-bad", "1")], [Part::Data(text)]);
    for (text, outcome) in
        [("sold out, go away", Outcome::Ok), ("go away", BY_EXIT), ("hello", Outcome::Fatal)]
    {
        assert_eq!(sent(layer.clone(), bad(text)).await.1, outcome);
    }
    assert_eq!(ASKED.load(Ordering::SeqCst), 3, "once for each answer");
    let layer = EgressLayer::new(&scheduler).rule(sees.with_body());
    assert_eq!(sent(layer, html(503, HTML, [Part::Data(ROBOT)])).await.1, BY_EXIT);
}

#[tokio::test(start_paused = true)]
async fn a_body_rule_reads_packed_pages_and_knows_what_it_cannot_read() {
    static BODIES: AtomicU32 = AtomicU32::new(0);
    let reads = |answer: &Answer<'_>| {
        BODIES.fetch_add(u32::from(answer.body().is_some()), Ordering::SeqCst);
        (answer.body()? == b"go away").then_some(BY_EXIT)
    };
    let scheduler = scheduler(2);
    let layer = EgressLayer::new(&scheduler).rule(reads.with_body());
    assert_eq!(packed(layer.clone(), "gzip", gzip(b"go away")).await.0, BY_EXIT);
    assert_eq!(packed(layer, "br", Bytes::from_static(b"go away")).await.0, Outcome::Ok);
    assert_eq!(BODIES.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_rule_is_not_asked_of_a_refused_login_and_may_panic() {
    let panics = |_: &Answer<'_>| -> Option<Outcome> { panic!("not for me") };
    let scheduler = scheduler(1);
    let layer = EgressLayer::new(&scheduler).rule(panics.with_body());
    let refused = answer(407, &[("proxy-authenticate", "Basic")]);
    let ask = LeaseRequest::per_request().attempts(NonZeroU32::MIN);
    let plain = with(Request::get("http://shop.example/"), "", ask);
    let response = layer.clone().layer(Script::new([refused])).oneshot(plain).await.unwrap();
    assert_eq!(served(&response).outcome(), Outcome::AuthError { reason: AuthReason::Rejected });
    drop(response);

    let scheduler = self::scheduler(1);
    let stack = EgressLayer::new(&scheduler).rule(panics.with_body());
    let stack =
        stack.layer(Script::new([page(403, [Part::Wait(Duration::from_millis(9)), Part::Data("no")])]));
    let local = tokio::task::LocalSet::new();
    let broken = local.run_until(async { tokio::task::spawn_local(stack.oneshot(once())).await }).await;
    assert!(broken.err().is_some_and(|end| end.is_panic()));
    let fleet = scheduler.snapshot();
    assert_eq!((fleet.in_flight, fleet.outcomes.total()), (0, 0));
}
