//! Bytes on the wire: of an attempt, of an exit, of the fleet.

use crate::support::*;
use http::Request;
use http_body_util::BodyExt;
use std::num::NonZeroU32;
use tower::{Layer, ServiceBuilder};
use tower_egress::outcome::{BlockedBy, Connection, Failure, Phase, Seen, Traffic, WireBytes};
use tower_egress::scheduler::LeaseHandle;
use tower_egress::{
    ClassifyLayer, EgressLayer, Gateway, LeaseLayer, LeaseRequest, Outcome, Scheduler, Served,
};

const URI: &str = "https://shop.example/p/42";

fn over(sent: u64, received: u64, step: Step) -> Step {
    let traffic = Traffic::of(WireBytes::new(sent, received));
    Step::Over(Connection::new().counted_by(traffic), Box::new(step))
}

#[tokio::test(start_paused = true)]
async fn what_each_attempt_has_cost_is_in_the_trail_and_in_the_exits_account() {
    let scheduler = scheduler(3);
    let dead = Failure::new(Phase::ExitTls, Seen::Never).after(WireBytes::new(30, 4));
    let steps =
        [Step::Fail(dead), over(200, 500, status(403)), over(100, 9_000, page(200, [Part::Data("9.99")]))];
    let response = EgressLayer::new(&scheduler).layer(Script::new(steps)).oneshot(get(URI)).await.unwrap();
    let served = response.extensions().get::<Served>().unwrap().clone();
    assert_eq!(scheduler.snapshot().wire, WireBytes::new(230, 504), "a body that is open is not settled");
    response.into_body().collect().await.unwrap();
    assert_eq!(served.wire(), WireBytes::new(100, 9_000));
    let trail = served.trail();
    let wire: Vec<_> = trail.iter().map(|attempt| (attempt.wire.sent, attempt.wire.received)).collect();
    assert_eq!(wire, [(30, 4), (200, 500), (100, 9_000)]);

    let fleet = scheduler.snapshot();
    assert_eq!((fleet.wire, fleet.origins[0].wire), (WireBytes::new(330, 9_504), WireBytes::new(330, 9_504)));
    let exits: Vec<_> = fleet.busiest.iter().map(|exit| (exit.exit, exit.wire.total())).collect();
    assert_eq!(exits, [(trail[2].exit, 9_100), (trail[1].exit, 700), (trail[0].exit, 34)]);
    assert!((fleet.busiest[0].share - 9_100.0 / 9_834.0).abs() < 1e-9, "{:?}", fleet.busiest);
    let table = fleet.to_string();
    assert!(table.contains("bytes on the wire     330 B sent, 9.5 kB received\n"), "{table}");
    let named = format!("{} (line {})", trail[2].exit, fleet.busiest[0].line.unwrap());
    assert!(table.contains(&format!("  most through        {named}: 9.1 kB, 93 %\n")), "{table}");
}

#[tokio::test(start_paused = true)]
async fn an_error_tells_what_its_attempts_have_cost() {
    let scheduler = scheduler(1);
    let failure = Failure::new(Phase::Tunnel, Seen::Never).after(WireBytes::new(70, 20));
    let ask = LeaseRequest::per_request().attempts(NonZeroU32::MIN);
    let stack = EgressLayer::new(&scheduler).layer(Script::new([Step::Fail(failure)]));
    let error = stack.oneshot(with(Request::get(URI), "", ask)).await.unwrap_err();
    assert_eq!(error.attempts()[0].wire, WireBytes::new(70, 20));
    assert_eq!(scheduler.snapshot().wire.total(), 90);
}

#[tokio::test(start_paused = true)]
async fn a_body_counts_also_when_its_lease_has_ended_before_or_nobody_reads_it() {
    for (at_head, read) in [(true, true), (true, false), (false, true), (false, false)] {
        let scheduler = scheduler(1);
        let lease = LeaseLayer::new(&scheduler);
        let lease = if at_head { lease.release_at_head() } else { lease };
        let layers = ServiceBuilder::new().layer(lease).layer(ClassifyLayer::new());
        let steps = [over(10, 20, page(200, [Part::Data("one"), Part::Data("two")]))];
        let response = layers.service(Script::new(steps)).oneshot(get(URI)).await.unwrap();
        assert_eq!(
            (scheduler.snapshot().in_flight, scheduler.snapshot().wire.total()),
            (u32::from(!at_head), 0)
        );
        let served = response.extensions().get::<Served>().unwrap().clone();
        assert_eq!(served.wire().total(), 30, "so far");
        if read {
            response.into_body().collect().await.unwrap();
        } else {
            drop(response);
        }
        let fleet = scheduler.snapshot();
        assert_eq!((fleet.wire.total(), fleet.busiest[0].wire.total()), (30, 30), "{at_head} {read}");
        assert_eq!(served.trail()[0].wire.total(), 30);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_of_ones_own_may_say_it_at_any_time() {
    let scheduler = scheduler(1);
    let (keep, mut kept) = tokio::sync::mpsc::unbounded_channel();
    let client = tower::service_fn(move |request: Request<_>| {
        let handle = request.extensions().get::<LeaseHandle>().unwrap().clone();
        handle.add_wire(WireBytes::new(1, 2));
        keep.send(handle).unwrap();
        async { Ok::<_, std::io::Error>(http::Response::new(String::new())) }
    });
    drop(EgressLayer::new(&scheduler).layer(client).oneshot(get(URI)).await.unwrap());
    assert_eq!(scheduler.snapshot().wire, WireBytes::new(1, 2));
    let handle = kept.recv().await.unwrap();
    handle.add_wire(WireBytes::new(10, 20));
    assert_eq!(scheduler.snapshot().wire, WireBytes::new(11, 22), "after the lease's end, too");
}

#[tokio::test(start_paused = true)]
async fn what_exits_carried_that_are_gone_stays_in_the_total() {
    let gateway =
        Gateway::parse("http://user-{session}:pw@192.0.2.1:7000").unwrap().sessions(NonZeroU32::MIN);
    let scheduler = Scheduler::builder().gateway(gateway).seed(1).build().unwrap();
    let blocked = Outcome::Blocked { by: BlockedBy::Exit };
    for (ask, outcome) in [
        (LeaseRequest::per_request(), Outcome::Ok),
        (LeaseRequest::per_request(), blocked), // the slot's token is renewed
        (LeaseRequest::new("sku-42").max_uses(NonZeroU32::MIN), Outcome::Ok),
    ] {
        let lease = scheduler.lease(&ask.origin("shop.example")).unwrap();
        lease.add_wire(WireBytes::new(1, 10));
        lease.report(outcome);
    }
    let fleet = scheduler.snapshot();
    assert_eq!((fleet.wire, fleet.origins[0].wire), (WireBytes::new(3, 30), WireBytes::new(3, 30)));
    let kept: u64 = fleet.busiest.iter().map(|exit| exit.wire.total()).sum();
    assert_eq!((kept, fleet.exits.sessions), (11, 1), "an old token is no exit any more: {fleet}");
}
