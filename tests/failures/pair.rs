//! What a site refuses rests at that site alone. It comes from the site, so each refusal is billed.

use crate::{NEWS, SHOP, World, now};
use http::StatusCode;
use std::time::Duration;
use tokio::time::sleep;
use tower_egress::lab::{LabExit, Reply};
use tower_egress::{Granularity, LeaseRequest};

/// What holds one exit for life, and waits for it.
fn account() -> LeaseRequest {
    LeaseRequest::new("account-7").granularity(Granularity::Static)
}

impl World {
    /// The exit that a request holds.
    async fn held(&self, ask: LeaseRequest) -> LabExit {
        let (_, trail) = self.page(NEWS, ask).await.unwrap();
        let at = self.lab.exits().iter().position(|exit| exit.id() == trail[0].exit).unwrap();
        self.lab.exit(at).clone()
    }

    /// What arrived at the shop from an exit.
    fn billed_to(&self, exit: &LabExit) -> u64 {
        self.lab.origin().peers().get(&exit.source()).map_or(0, |counts| counts.requests)
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn a_burned_pair_costs_one_refusal_and_one_trial_and_the_exit_serves_other_sites() {
    let world = World::of_exits(4);
    let proxy = world.held(account()).await;
    let exit = proxy.exit().id();
    let site = world.lab.origin();
    site.ban(proxy.source());
    let mut pages = 0;
    while world.billed_to(&proxy) == 0 {
        world.pages(1, SHOP, exit).await;
        pages += 1;
    }
    let burned = now();
    assert_eq!((world.billed("shop.test"), world.fleet().outcomes.blocked), (pages + 1, 1));

    assert_eq!(world.pages(40, SHOP, exit).await, 0);
    assert!(world.pages(40, NEWS, exit).await > 0, "it rests at one site alone");
    assert_eq!(world.billed_to(&proxy), 1);
    assert_eq!(world.fleet().exits.dead, 0);

    // Who holds the exit and waits for it is the trial.
    site.pardon(proxy.source());
    let (status, trail) = world.page(SHOP, account()).await.unwrap();
    assert_eq!((status, trail.len(), trail[0].exit), (StatusCode::OK, 1, exit));
    let rest = burned.elapsed();
    assert!(rest >= secs(10) && rest < secs(14), "{rest:?}");
    assert_eq!((world.billed_to(&proxy), world.billed("shop.test")), (2, pages + 1 + 40 + 1));
    assert_eq!(world.fleet().origins.iter().map(|origin| origin.benched).sum::<u32>(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_trial_in_vain_is_billed_once_and_doubles_the_rest() {
    let world = World::of_exits(4);
    let proxy = world.held(account()).await;
    world.lab.origin().ban(proxy.source());
    let ask = || account().attempts(1.try_into().unwrap());
    let mut refused = Vec::new();
    while refused.len() < 3 {
        let (status, _) = world.page(SHOP, ask()).await.unwrap();
        assert_eq!(status, StatusCode::FORBIDDEN, "the caller learns why");
        refused.push(now());
    }
    let rests = [refused[1] - refused[0], refused[2] - refused[1]];
    assert!(rests[0] >= secs(10) && rests[0] < secs(14), "{rests:?}");
    // Strikes fade while it rests, so it is a little less than the double.
    assert!(rests[1] >= secs(19) && rests[1] < secs(26), "{rests:?}");
    assert_eq!((world.billed("shop.test"), world.billed_to(&proxy)), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn refusals_under_way_are_each_billed_and_count_once() {
    let world = World::of_exits(4);
    let proxy = world.lab.exit(0);
    world.lab.origin().ban(proxy.source());
    let answers = world.at_once(40, SHOP).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok((StatusCode::OK, _)))));
    let burst = world.billed_to(proxy);
    assert!(burst >= 8, "a fourth of them, about: {burst}");
    assert_eq!(world.billed("shop.test"), 40 + burst);
    let rest = world.fleet().hottest.iter().map(|pair| pair.cooling).max().unwrap();
    assert!(rest < secs(13), "as one refusal: {rest:?}");
    sleep(secs(5)).await;
    world.at_once(40, SHOP).await;
    assert_eq!(world.billed_to(proxy), burst, "it rests");
}

#[tokio::test(start_paused = true)]
async fn a_page_that_everybody_is_refused_costs_four_sends_and_rests_two_exits() {
    let world = World::of_exits(8);
    world.lab.origin().page("/p", Reply::new(StatusCode::FORBIDDEN));
    let (status, trail) = world.page(SHOP, LeaseRequest::per_request()).await.unwrap();
    assert_eq!((status, trail.len(), world.billed("shop.test")), (StatusCode::FORBIDDEN, 4, 4));
    assert_eq!(world.fleet().origins.iter().map(|origin| origin.benched).sum::<u32>(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limited_pair_rests_as_long_as_the_site_says_and_its_key_keeps_it() {
    let world = World::of_exits(4);
    let ask = || LeaseRequest::new("sku-42").windowed(Duration::MAX);
    let (_, trail) = world.page(SHOP, ask()).await.unwrap();
    let own = trail[0].exit;
    let site = world.lab.origin();
    let peer = site.seen()[0].peer();
    site.respond(move |seen| match seen.peer() == peer {
        true => Reply::new(StatusCode::TOO_MANY_REQUESTS).retry_after(secs(20)),
        false => Reply::page("9.99"),
    });
    let limited = now();
    let (status, trail) = world.page(SHOP, ask()).await.unwrap();
    assert_eq!((status, trail.len()), (StatusCode::OK, 2));
    assert!(trail[0].exit == own && trail[1].exit != own, "another exit is lent");
    assert_eq!(world.billed("shop.test"), 3);

    site.respond(|_| Reply::page("9.99"));
    let mut pages = 0;
    loop {
        let (_, trail) = world.page(SHOP, ask()).await.unwrap();
        pages += 1;
        assert_eq!(trail.len(), 1);
        if trail[0].exit == own {
            break;
        }
        sleep(secs(1)).await;
    }
    let rest = limited.elapsed();
    assert!(rest >= secs(20) && rest < secs(27) && pages > 10, "{rest:?}, {pages}");
    assert_eq!(world.billed("shop.test"), 3 + pages, "one refusal, and pages");
}
