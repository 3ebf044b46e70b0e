//! An overloaded gateway is left alone as a whole. It refuses tunnels, so none of that is billed, and no exit is charged.

use crate::{DELAY, World, now};
use http::StatusCode;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tower::Layer as _;
use tower::ServiceExt as _;
use tower_egress::lab::{Lab, LabGateway, Mood, Provider, Reply};
use tower_egress::{Body, EgressClient, EgressLayer, ExitClient, Gateway, LeaseRequest, Scheduler};

const PAGE: &str = "https://shop.test/p";

fn provider() -> Provider {
    Provider::sessions().mood(Mood::fine().slow(DELAY))
}

fn busy(status: StatusCode, hint: Option<u64>) -> Mood {
    let reply = Reply::new(status);
    let reply = match hint {
        Some(seconds) => reply.retry_after(Duration::from_secs(seconds)),
        None => reply,
    };
    Mood::answers(reply).slow(DELAY)
}

fn tokens(gateway: &LabGateway) -> BTreeSet<String> {
    gateway.sessions().iter().map(|session| session.token().to_owned()).collect()
}

impl World {
    /// All of a gateway's slots have been used.
    async fn warm(&self) {
        while tokens(self.lab.gateway()).len() < 8 {
            self.at_once(8, PAGE).await;
        }
    }

    /// When it passed a request on again, and how many it has refused until then.
    async fn healed(&self, gateway: &LabGateway) -> (Instant, u64) {
        let passed = gateway.passed();
        while gateway.passed() == passed {
            sleep(Duration::from_millis(10)).await;
        }
        (now(), gateway.refusals().values().sum())
    }
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_gateway_is_tried_by_one_at_a_time_and_bills_pages_alone() {
    let world = World::of(Lab::builder().gateway(provider()));
    world.warm().await;
    let gateway = world.lab.gateway();
    let (passed, sent, sessions) = (gateway.passed(), world.fleet().leases, tokens(gateway));
    gateway.behave(busy(StatusCode::SERVICE_UNAVAILABLE, None)).unwrap();
    let recovers = async {
        sleep(Duration::from_secs(10)).await;
        gateway.behave(Mood::fine().slow(DELAY))
    };
    let (recovered, (_, refused), answers) =
        tokio::join!(recovers, world.healed(gateway), world.at_once(30, PAGE));
    recovered.unwrap();
    assert!(answers.iter().all(|answer| matches!(answer, Ok((StatusCode::OK, _)))), "{answers:?}");
    let tries = refused - 30;
    assert!((4..=6).contains(&tries), "after 0.25, 0.75, 1.75, 3.75 and 7.75 s, or later: {tries}");
    assert_eq!((gateway.passed() - passed, world.fleet().leases - sent), (30, 30 + refused));
    assert_eq!(world.billed("shop.test"), gateway.passed());
    let fleet = world.fleet();
    assert_eq!((fleet.exits.dead, fleet.origins[0].benched), (0, 0), "no exit is charged");
    assert_eq!(tokens(gateway), sessions, "and none is given up");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_says_when_is_asked_nothing_before() {
    let world = World::of(Lab::builder().gateway(provider()));
    world.warm().await;
    let gateway = world.lab.gateway();
    let (passed, sessions) = (gateway.passed(), tokens(gateway));
    gateway.behave(busy(StatusCode::TOO_MANY_REQUESTS, Some(20))).unwrap();
    let begun = now();
    let recovers = async {
        sleep(Duration::from_secs(1)).await;
        gateway.behave(Mood::fine().slow(DELAY))
    };
    let (recovered, (healed, refused), answers) =
        tokio::join!(recovers, world.healed(gateway), world.at_once(30, PAGE));
    recovered.unwrap();
    assert!(answers.iter().all(|answer| matches!(answer, Ok((StatusCode::OK, _)))), "{answers:?}");
    let rest = healed - begun;
    assert!(rest >= Duration::from_secs(20) && rest < Duration::from_secs(26), "{rest:?}");
    assert_eq!((refused, gateway.passed() - passed), (30, 30), "what was under way, and then pages");
    assert_eq!(tokens(gateway), sessions);
}

#[tokio::test(start_paused = true)]
async fn another_gateway_goes_on_meanwhile() {
    let lab = Lab::builder().gateway(provider());
    let world = World::of(lab.gateway(Provider::sessions().login("other-{session}", "pw")));
    let [first, second] = [0, 1].map(|at| &world.lab.gateways()[at]);
    first.behave(busy(StatusCode::SERVICE_UNAVAILABLE, Some(600))).unwrap();
    let begun = now();
    for _ in 0..100 {
        let (status, _) = world.page(PAGE, LeaseRequest::per_request()).await.unwrap();
        assert_eq!(status, StatusCode::OK);
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "nobody waits: {:?}", begun.elapsed());
    assert_eq!((first.passed(), first.refusals()[&StatusCode::SERVICE_UNAVAILABLE]), (0, 1));
    assert_eq!((second.passed(), world.fleet().leases), (100, 101));
}

#[tokio::test]
async fn on_sockets_a_refused_tunnel_reaches_no_site() {
    let lab = Lab::builder().gateway(provider()).start().await.unwrap();
    let gateway = lab.gateway();
    let scheduler = Scheduler::builder().gateway(Gateway::parse(&gateway.template()).unwrap()).seed(7);
    let scheduler = scheduler.build().unwrap();
    let client = ExitClient::builder().roots_pem(lab.ca_pem().as_bytes()).build().unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).layer(client));
    gateway.behave(busy(StatusCode::SERVICE_UNAVAILABLE, None).first(1)).unwrap();
    let ask = LeaseRequest::per_request();
    let request = http::Request::get(lab.tls_url("/p")).extension(ask).body(Body::empty()).unwrap();
    let answer = client.oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!((gateway.traffic().connects, gateway.passed()), (2, 1));
    assert_eq!((lab.origin().connections(), lab.origin().requests()), (1, 1));
    assert_eq!(scheduler.snapshot().outcomes.gateway_overloaded, 1);
}
