//! Numbers that cannot be meant, and times without end.

use crate::shop::*;
use http::Method;
use std::num::NonZeroU32;
use std::time::Duration;
use tower::Layer as _;
use tower_egress::lab::{Behaviour, Lab};
use tower_egress::scheduler::{Bounds, Builder};
use tower_egress::verdict::RetryRules;
use tower_egress::{
    Body, EgressLayer, ExitClient, ExitList, Gateway, LeaseRequest, OnLoss, Outcome, Pool, Scheduler, Site,
};

fn builder() -> Builder {
    Scheduler::builder().exits(list("203.0.113.7:8080"))
}

fn list(specs: &str) -> ExitList {
    ExitList::parse(specs).unwrap()
}

fn pool() -> Pool {
    Pool::new("dc", list("203.0.113.8:8080"))
}

fn gateway() -> Gateway {
    Gateway::parse("http://u-{session}:pw@gw.example:7000").unwrap()
}

#[test]
fn te_137_an_impossible_number_fails_the_build_and_names_its_field() {
    // Chosen: what a request asks for is no build. `LeaseRequest::windowed` counts less than a millisecond as one, as it says,
    // and what must not be zero among its counts is a `NonZeroU32`. The layers' limits may be zero: nothing has time then.
    let sessions = |count| gateway().sessions(NonZeroU32::new(count).unwrap());
    for (builder, field) in [
        (builder().rules(RetryRules::default().max_attempts(0)), "max_attempts"),
        (builder().rules(RetryRules::article().max_attempts(0)), "max_attempts"),
        (builder().rules(RetryRules::default().retries_per_success(f64::NAN)), "retries_per_success"),
        (builder().bounds(Bounds::default().leases(0)), "bounds.leases"),
        (builder().bounds(Bounds::default().waiters(0)), "bounds.waiters"),
        (builder().bounds(Bounds::default().origins(0)), "bounds.origins"),
        (builder().bounds(Bounds::default().pairs(0)), "bounds.pairs"),
        (builder().bounds(Bounds::default().bindings(0)), "bounds.bindings"),
        (builder().bounds(Bounds::default().minted(0)), "bounds.minted"),
        (builder().bounds(Bounds::default().events(0)), "bounds.events"),
        (builder().member(0, 0), "member"),
        (builder().member(3, 3), "member"),
        (builder().gateway(sessions(65_537)), "gateway sessions"),
        (builder().gateway(gateway().lifetime(secs(0))), "gateway lifetime"),
        (Scheduler::builder(), "exits"),
        (builder().pool(pool().weight(0)), "pool weight"),
        (builder().pool(pool().weight(1_001)), "pool weight"),
        (builder().pool(pool().price(f64::NAN)), "pool price"),
        (builder().pool(pool().price(-0.1)), "pool price"),
        (builder().pool(pool().price(f64::INFINITY)), "pool price"),
        (builder().pool(pool().interval(Duration::MAX)), "pool interval"),
        (builder().pool(Pool::new("", list("203.0.113.8:1"))), "pool name"),
        (builder().pool(pool()).pool(pool()), "pools"),
        (builder().pool(Pool::new("twice", list("203.0.113.7:8080"))), "pools"),
        (builder().site("a.test", Site::new().escalate_at(0.0)), "site escalate_at"),
        (builder().site("a.test", Site::new().escalate_at(1.01)), "site escalate_at"),
        (builder().site("a.test", Site::new().escalate_at(f64::NAN)), "site escalate_at"),
        (builder().site("a.test", Site::new().escalate_at(f64::NEG_INFINITY)), "site escalate_at"),
        (builder().site("a.test", Site::new().quiet(secs(0))), "site quiet"),
        (builder().site("a.test", Site::new().quiet(Duration::MAX)), "site quiet"),
        (builder().site("a.test", Site::new().status(99, Outcome::Ok)), "site status"),
        (builder().site("a.test", Site::order(["none"])), "site pools"),
    ] {
        let error = builder.build().expect_err(field);
        assert_eq!(error.field(), field, "{error}");
    }
    let client = ExitClient::builder;
    for (client, field) in [
        (client().connect_timeout(secs(0)), "connect_timeout"),
        (client().tunnel_timeout(secs(0)), "tunnel_timeout"),
        (client().tls_timeout(secs(0)), "tls_timeout"),
        (client().establish_timeout(secs(0)), "establish_timeout"),
    ] {
        assert_eq!(client.build().expect_err(field).field(), field);
    }
    assert_eq!(gateway().token_length(3).unwrap_err().field(), "token length");
    assert_eq!(ExitList::parse("").unwrap_err().field(), "exit list");
    assert!(builder().rules(RetryRules::default().max_attempts(u32::MAX)).build().is_ok());
}

#[tokio::test(start_paused = true)]
async fn te_137_a_time_without_end_is_no_limit_and_overflows_nothing() {
    let forever = Duration::MAX;
    for ask in [LeaseRequest::new("k"), LeaseRequest::per_request(), LeaseRequest::identity("k")] {
        let windowed = ask.clone().on_loss(OnLoss::Move).windowed(forever);
        for ask in [ask, windowed] {
            let shop = Shop::of(Lab::builder().dead(1).refused(1).fine(2));
            let layer = EgressLayer::new(&shop.scheduler).attempt_timeout(forever).body_idle_timeout(forever);
            for (limit, layer) in [("none", layer.clone()), ("collect", layer.collect(usize::MAX))] {
                let stack = layer.layer(shop.world.clone());
                let ask = ask.clone().deadline(forever).patience(forever).generation(0);
                let request = request(Method::GET, &shop.world.tls_url("/p"), "", ask.clone());
                let answer = stack.oneshot(request).await;
                // An identity on the dead or the refused exit is told so, and is not moved.
                let told = answer
                    .as_ref()
                    .map_or_else(|error| !error.attempts().is_empty() || error.is_refusal(), |_| true);
                assert!(told, "{limit}: {ask:?}: {:?}", answer.map(drop));
            }
            let _ = shop.scheduler.snapshot().to_string();
        }
    }
    // Nobody can serve, and there is all the time: the caller waits, and does not fail on an overflow.
    let shop = Shop::of(Lab::builder().exits(2, Behaviour::dead()));
    let ask = LeaseRequest::per_request().deadline(forever).patience(forever).attempts(NonZeroU32::MAX);
    let fetch = tokio::time::timeout(secs(3_600), shop.fetch(ask)).await;
    assert!(fetch.is_err() || fetch.is_ok_and(|answer| answer.is_err()));
}

#[tokio::test]
async fn te_137_a_client_may_have_all_the_time_there_is() {
    let lab = Lab::builder().fine(1).start().await.unwrap();
    let scheduler = Scheduler::builder().exits(lab.exits()).build().unwrap();
    let forever = Duration::MAX;
    let client = ExitClient::builder()
        .connect_timeout(forever)
        .tunnel_timeout(forever)
        .tls_timeout(forever)
        .establish_timeout(forever)
        .idle_timeout(forever)
        .max_idle(usize::MAX)
        .roots_pem(lab.ca_pem().as_bytes());
    let ask = LeaseRequest::per_request().deadline(forever).patience(forever);
    let layer = EgressLayer::new(&scheduler).default_lease(ask).attempt_timeout(forever);
    let stack = layer.body_idle_timeout(forever).layer(client.build().unwrap());
    for _ in 0..3 {
        for url in [lab.url("/p"), lab.tls_url("/p")] {
            let request = http::Request::get(url).body(Body::empty()).unwrap();
            assert_eq!(stack.clone().oneshot(request).await.unwrap().status(), 200);
        }
    }
}
