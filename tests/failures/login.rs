//! A dead login stops the fleet before anything is billed, until somebody mends it.

use crate::{DELAY, SHOP, World};
use http::{Request, StatusCode};
use std::time::Duration;
use tokio::time::sleep;
use tower::{Layer as _, ServiceExt as _};
use tower_egress::exit::Credential;
use tower_egress::lab::{Behaviour, Lab, Mood, Provider};
use tower_egress::{
    Body, EgressClient, EgressLayer, Exit, ExitClient, Gateway, LeaseError, LeaseRequest, Next, Scheduler,
};

const PAGE: &str = "https://shop.test/p";
const HOUR: Duration = Duration::from_secs(3_600);

fn world() -> World {
    World::of(Lab::builder().gateway(Provider::sessions().mood(Mood::fine().slow(DELAY))))
}

impl World {
    /// The provider wants another password from now on.
    async fn changes_password(&self) {
        self.lab.gateway().set_login("user-{session}", "new").unwrap();
    }

    /// CONNECTs and requests that the gateway was asked for.
    fn sent(&self) -> u64 {
        let traffic = self.lab.gateway().traffic();
        traffic.connects + traffic.requests
    }
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_costs_what_is_under_way_and_one_attempt_and_bills_nothing() {
    let world = world();
    let account = || LeaseRequest::new("account-7").windowed(Duration::MAX);
    world.at_once(20, PAGE).await;
    let (_, before) = world.page(PAGE, account()).await.unwrap();
    let (passed, sent) = (world.lab.gateway().passed(), world.sent());
    assert_eq!((passed, sent), (21, 21));
    sleep(HOUR).await;

    world.changes_password().await;
    for answer in world.at_once(20, PAGE).await {
        let error = answer.unwrap_err();
        assert_eq!(error.next(), Next::WhenResumed, "{error}");
        assert!(error.to_string().contains("refused by the proxy with 407"), "{error}");
    }
    assert_eq!(world.sent() - sent, 21, "what was under way, and one that tried it again");
    for _ in 0..1_000 {
        let error = world.get(PAGE, LeaseRequest::per_request()).await.unwrap_err();
        assert!(matches!(error.refusal(), Some(LeaseError::FleetStopped)), "{error}");
        sleep(Duration::from_secs(60)).await;
    }
    assert_eq!((world.sent() - sent, world.lab.gateway().passed() - passed), (21, 0), "nothing more");
    let fleet = world.fleet();
    assert_eq!((fleet.exits.stopped, fleet.exits.dead, fleet.origins[0].benched), (8, 0, 0));

    let renewed = Gateway::parse(&world.lab.gateway().template()).unwrap();
    assert!(world.scheduler.operator().set_gateway(&renewed));
    let answers = world.at_once(20, PAGE).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok((StatusCode::OK, _)))), "{answers:?}");
    let (_, after) = world.page(PAGE, account()).await.unwrap();
    assert_eq!(after[0].exit, before[0].exit, "sessions are kept");
    assert_eq!((world.sent() - sent, world.lab.gateway().passed() - passed), (21 + 21, 21));
    assert_eq!(world.billed("shop.test"), 42);
}

#[tokio::test(start_paused = true)]
async fn what_is_resumed_too_early_costs_one_attempt_more() {
    let world = world();
    world.changes_password().await;
    world.at_once(20, PAGE).await;
    let sent = world.sent();
    world.scheduler.operator().resume();
    for _ in 0..100 {
        let error = world.get(PAGE, LeaseRequest::per_request()).await.unwrap_err();
        assert_eq!(error.next(), Next::WhenResumed, "{error}");
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!((world.sent() - sent, world.lab.gateway().passed()), (1, 0));

    // The provider takes the old one again.
    world.lab.gateway().set_login("user-{session}", "pw").unwrap();
    world.scheduler.operator().resume();
    let answers = world.at_once(20, PAGE).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok((StatusCode::OK, _)))), "{answers:?}");
    assert_eq!((world.sent() - sent, world.lab.gateway().passed()), (21, 20));
}

#[tokio::test(start_paused = true)]
async fn in_the_absolute_form_the_407_is_the_answer_and_later_ones_are_told_when_to_come() {
    let world = world();
    world.changes_password().await;
    // The site may have forged it: the login is tried again by itself.
    let (status, trail) = world.get(SHOP, LeaseRequest::per_request()).await.unwrap();
    assert_eq!((status, trail.len()), (StatusCode::PROXY_AUTHENTICATION_REQUIRED, 4));
    let error = world.get(SHOP, LeaseRequest::per_request().patience(Duration::ZERO)).await.unwrap_err();
    assert!(matches!(error.next(), Next::At(_)) && error.attempts().is_empty(), "{error}");
    assert_eq!((world.sent(), world.lab.gateway().passed(), world.billed("shop.test")), (4, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_login_of_one_listed_exit_costs_two_attempts() {
    let login = |user| Behaviour::slow(DELAY).login(Credential::new(user, "pw").unwrap());
    let world = World::of(Lab::builder().exit(login("a")).exit(login("b")).exit(login("c")));
    world.lab.exit(0).behave(Behaviour::slow(DELAY).login(Credential::new("a", "new").unwrap())).unwrap();
    let exit = world.exit(0);
    assert_eq!(world.pages(100, PAGE, exit).await, 2);
    assert_eq!((world.billed("shop.test"), world.fleet().leases), (100, 102));
    let fleet = world.fleet();
    assert_eq!((fleet.exits.stopped, fleet.exits.dead), (1, 0));

    let route = world.lab.exit(0).exit().route().clone();
    let renewed = Exit::parse(&format!("{}:{}:a:new", route.host(), route.port())).unwrap();
    assert!(world.scheduler.operator().set_exit(&renewed));
    assert!(world.pages(50, PAGE, exit).await > 0);
    assert_eq!((world.billed("shop.test"), world.fleet().leases), (150, 152));
}

#[tokio::test(start_paused = true)]
async fn a_stray_407_stops_nobody_and_is_not_billed() {
    let world = world();
    world.at_once(20, PAGE).await;
    let gateway = world.lab.gateway();
    gateway.behave(Mood::login_refused().percent(7).slow(DELAY)).unwrap();
    let sent = world.sent();
    for _ in 0..200 {
        assert_eq!(world.page(PAGE, LeaseRequest::per_request()).await.unwrap().0, StatusCode::OK);
        sleep(Duration::from_millis(100)).await;
    }
    let strays = gateway.refusals()[&StatusCode::PROXY_AUTHENTICATION_REQUIRED];
    assert!(strays >= 14 && gateway.passed() == 220, "{strays}");
    assert_eq!(world.sent() - sent, 200 + strays);
    assert_eq!(world.fleet().refusals.stopped, 0);
}

#[tokio::test]
async fn on_sockets_a_wrong_password_reaches_no_site() {
    let lab = Lab::builder().gateway(Provider::sessions()).start().await.unwrap();
    let gateway = lab.gateway();
    let scheduler = Scheduler::builder().gateway(Gateway::parse(&gateway.template()).unwrap()).seed(7);
    let scheduler = scheduler.build().unwrap();
    let client = ExitClient::builder().roots_pem(lab.ca_pem().as_bytes()).build().unwrap();
    let client = EgressClient::of(EgressLayer::new(&scheduler).layer(client));
    let get = || {
        let request = Request::get(lab.tls_url("/p")).extension(LeaseRequest::per_request());
        client.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    gateway.set_login("user-{session}", "new").unwrap();
    for _ in 0..20 {
        assert_eq!(get().await.unwrap_err().next(), Next::WhenResumed);
    }
    assert_eq!((gateway.traffic().connects, gateway.traffic().refused_logins, gateway.passed()), (2, 2, 0));
    assert_eq!(lab.origin().connections(), 0);

    assert!(scheduler.operator().set_gateway(&Gateway::parse(&gateway.template()).unwrap()));
    assert_eq!(get().await.unwrap().status(), StatusCode::OK);
    assert_eq!((gateway.traffic().connects, gateway.passed(), lab.origin().requests()), (3, 1, 1));
}
