//! Bodies that are read whole before they go up.

use crate::support::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use std::num::NonZeroU32;
use std::time::Duration;
use tower::{Layer, ServiceBuilder};
use tower_egress::outcome::{BlockedBy, FailureDomain, Phase};
use tower_egress::verdict::Why;
use tower_egress::{
    ClassifyLayer, EgressBody, EgressLayer, Error, LeaseLayer, LeaseRequest, Next, Outcome, Scheduler, Served,
};

const URI: &str = "https://shop.example/p/42";
const BROKEN: Outcome = Outcome::Interrupted { phase: Phase::Body };

async fn collected(
    scheduler: &Scheduler,
    max: usize,
    steps: impl IntoIterator<Item = Step>,
    request: Request<Full<Bytes>>,
) -> Result<Response<EgressBody<Page>>, Error> {
    EgressLayer::new(scheduler).collect(max).layer(Script::new(steps)).oneshot(request).await
}

#[tokio::test(start_paused = true)]
async fn a_body_is_in_memory_before_the_answer_goes_up() {
    let scheduler = scheduler(1);
    let parts = [
        Part::Data("one"),
        Part::Yield,
        Part::Data(LARGE),
        Part::Data("t"),
        Part::Data("wo"),
        Part::Trailers,
    ];
    let response = collected(&scheduler, 1 << 20, [page(200, parts)], get(URI)).await.unwrap();
    assert_eq!(scheduler.snapshot().in_flight, 0, "its exit is free");
    let served = response.extensions().get::<Served>().unwrap().clone();
    assert_eq!((served.outcome(), served.bytes()), (Outcome::Ok, (20 << 10) + 6));
    let mut body = response.into_body();
    assert_eq!(body.size_hint().exact(), Some((20 << 10) + 6));
    let mut frames = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.unwrap();
        frames.push(frame.data_ref().map_or_else(|| "trailers".into(), |data| data.len().to_string()));
    }
    assert_eq!(
        frames,
        ["3", "20480", "3", "trailers"],
        "small frames are gathered, large ones are kept as they came"
    );
    assert!(body.is_end_stream());
    let blocked = Outcome::Blocked { by: BlockedBy::Exit };
    served.report(blocked);
    assert_eq!(
        (served.outcome(), scheduler.snapshot().outcomes.blocked),
        (blocked, 1),
        "judged later, as ever"
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_or_falls_silent_is_a_failed_attempt_and_is_had_again() {
    for end in [Part::Error, Part::Stall] {
        let stalls = matches!(end, Part::Stall);
        let scheduler = scheduler(2);
        let cut = page(200, [Part::Data("9.9"), end]);
        let start = now();
        let steps = [cut, page(200, [Part::Data("9.99")])];
        let response = collected(&scheduler, 1 << 20, steps, get(URI)).await.unwrap();
        let served = response.extensions().get::<Served>().unwrap().clone();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "9.99");
        let trail = served.trail();
        assert_eq!((trail[0].outcome, trail[0].bytes, trail[1].outcome), (BROKEN, 3, Outcome::Ok));
        assert_ne!(trail[0].exit, trail[1].exit);
        let silent = now() - start - trail[1].waited;
        assert_eq!(silent.as_secs(), if stalls { 30 } else { 0 }, "the idle time, and no more");
        let counts = scheduler.snapshot().outcomes;
        assert_eq!((counts.ok, counts.interrupted, counts.total()), (1, 1, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_body_is_not_had_again_by_what_must_not_be_sent_twice() {
    let steps = || [page(200, [Part::Data("9.9"), Part::Error]), page(200, [Part::Data("9.99")])];
    let error = collected(&scheduler(2), 99, steps(), post(URI, "buy")).await.unwrap_err();
    assert_eq!((error.outcome(), error.why()), (Some(BROKEN), Some(Why::NotRepeatable)));
    let said = with(Request::post(URI), "buy", LeaseRequest::per_request().repeatable(true));
    assert_eq!(collected(&scheduler(2), 99, steps(), said).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_body_over_the_cap_is_a_typed_error_that_charges_nobody() {
    let known = Step::Answer(200, &[], Page::of_at_least(9, [Part::Stall]));
    for step in [known, page(200, [Part::Data("12345"), Part::Data("6789"), Part::Stall])] {
        let (scheduler, start) = (scheduler(1), now());
        let error = collected(&scheduler, 8, [step], get(URI)).await.unwrap_err();
        assert_eq!(now(), start);
        let outcome = error.outcome().unwrap();
        assert_eq!((outcome, outcome.domain()), (Outcome::TooLarge { cap: 8 }, FailureDomain::Origin));
        assert_eq!((error.why(), error.next(), error.attempts().len()), (Some(Why::NoCure), Next::Never, 1));
        let text = error.to_string();
        assert!(text.contains("8 bytes that ClassifyLayer::collect allows; raise that"), "{text}");
        let fleet = scheduler.snapshot();
        assert_eq!((fleet.outcomes.too_large, fleet.outcomes.total(), fleet.in_flight), (1, 1, 0));
        assert!(fleet.hottest.is_empty() && fleet.exits.dead == 0 && fleet.multiplier.is_none(), "{fleet}");
    }
    let exactly = page(200, [Part::Data("12345"), Part::Data("678")]);
    assert_eq!(collected(&scheduler(1), 8, [exactly], get(URI)).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn what_has_no_body_is_not_waited_for_whatever_length_it_says() {
    let head = with(Request::head(URI), "", LeaseRequest::per_request());
    let long = Step::Answer(200, &[("content-length", "1000000")], Page::of([]));
    for (step, request, status) in [(long, head, 200), (page(204, []), get(URI), 204)] {
        let response = collected(&scheduler(1), 8, [step], request).await.unwrap();
        assert_eq!((response.status().as_u16(), response.body().is_end_stream()), (status, true));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusals_page_is_not_collected_and_no_longer_than_the_cap_all_the_same() {
    let once = || with(Request::get(URI), "", LeaseRequest::per_request().attempts(NonZeroU32::MIN));
    let slow = page(403, [Part::Data("no"), Part::Stall]);
    let (scheduler, start) = (scheduler(1), now());
    let response = collected(&scheduler, 8, [slow], once()).await.unwrap();
    assert_eq!((response.status().as_u16(), now() - start), (403, Duration::from_millis(100)));
    for early in [Part::Data("12345"), Part::Data("123456789")] {
        let over = page(403, [early, Part::Data("6789"), Part::Stall]);
        let response = collected(&crate::support::scheduler(1), 8, [over], once()).await.unwrap();
        let served = response.extensions().get::<Served>().unwrap().clone();
        let error = response.into_body().collect().await.unwrap_err();
        assert_eq!(error.outcome(), Some(Outcome::TooLarge { cap: 8 }));
        assert_eq!(served.outcome(), Outcome::Blocked { by: BlockedBy::Unknown }, "that says more");
    }
    // A page that a rule of one's own refuses is one, too; and what it calls good is collected.
    let layer = EgressLayer::new(&scheduler).collect(8);
    let good = |_: &tower_egress::classify::Answer<'_>| Some(Outcome::Ok);
    let stack = layer.rule(good).layer(Script::new([page(404, [Part::Data("none"), Part::Error])]));
    assert_eq!(stack.oneshot(once()).await.unwrap_err().outcome(), Some(BROKEN));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_a_collected_body_and_blames_nobody_for_it() {
    let scheduler = scheduler(2);
    let drip = (0..40).flat_map(|_| [Part::Wait(Duration::from_millis(500)), Part::Data("x")]);
    let ask = LeaseRequest::per_request().deadline(Duration::from_secs(12));
    let start = now();
    let layer = EgressLayer::new(&scheduler).collect(99).attempt_timeout(Duration::from_secs(1));
    let stack = layer.layer(Script::new([page(200, drip)]));
    let error = stack.oneshot(with(Request::get(URI), "", ask)).await.unwrap_err();
    assert_eq!(now() - start, Duration::from_secs(12), "the attempt's time ends at the head");
    assert_eq!((error.outcome(), error.attempts().len()), (Some(BROKEN), 1));
    let fleet = scheduler.snapshot();
    assert_eq!((fleet.outcomes.interrupted, fleet.outcomes.ok, fleet.in_flight), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_goes_away_leaves_no_lease_behind() {
    for at_head in [false, true] {
        let scheduler = scheduler(1);
        let lease = LeaseLayer::new(&scheduler);
        let lease = if at_head { lease.release_at_head() } else { lease };
        let layers = ServiceBuilder::new().layer(lease).layer(ClassifyLayer::new().collect(99));
        let stack = layers.service(Script::new([page(200, [Part::Data("one"), Part::Stall])]));
        let mut answer = Box::pin(stack.oneshot(get(URI)));
        assert!(poll_once(&mut answer).await.is_pending());
        assert_eq!(scheduler.snapshot().in_flight, 1);
        drop(answer);
        let fleet = scheduler.snapshot();
        assert_eq!((fleet.in_flight, fleet.outcomes.ok, fleet.outcomes.total()), (0, 1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_of_nothing_but_empty_frames_lets_others_go_on_and_ends_in_time() {
    let empty = std::iter::repeat_n((), 10_000).map(|()| Part::Data(""));
    let response = collected(&scheduler(1), 8, [page(200, empty)], get(URI)).await.unwrap();
    assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
    let stack = EgressLayer::new(&scheduler(1)).collect(8);
    let script = Script::new([page(200, std::iter::repeat_n((), 200).map(|()| Part::Data("")))]);
    let mut answer = Box::pin(stack.layer(script).oneshot(get(URI)));
    assert!(poll_once(&mut answer).await.is_pending(), "not all at once");
    assert!(answer.await.is_ok());
}
