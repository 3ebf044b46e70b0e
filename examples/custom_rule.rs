//! A site that says in its own way what others say by a status: it shows its block page with a 200 and a header, or with
//! words of its own and nothing else, and limits with a 503. Three rules tell the layers; the fleet then rests, waits and goes
//! round as it does for 403 and 429. Runs in the lab, in memory: no network.
//!
//! ```text
//! cargo run --features lab --example custom_rule
//! ```

use http::{HeaderName, HeaderValue, Request, StatusCode};
use http_body_util::BodyExt;
use std::error::Error;
use tower::Layer;
use tower_egress::classify::{Answer, Rule, rule};
use tower_egress::lab::{Lab, Reply};
use tower_egress::outcome::BlockedBy;
use tower_egress::{EgressLayer, LeaseRequest, Outcome, Scheduler, Served};

const ROBOT: HeaderName = HeaderName::from_static("x-robot");

/// The block page: nothing but a header tells it from a page.
fn robots(answer: &Answer<'_>) -> Option<Outcome> {
    answer.headers().contains_key(ROBOT).then_some(Outcome::Blocked { by: BlockedBy::Exit })
}

/// Another one: nothing but its words tell it. Pages of this site are small, so that its start is soon read.
fn words(site: &str) -> impl Rule + use<> {
    let blocked = Outcome::Blocked { by: BlockedBy::Exit };
    rule::mark("You look like a robot", blocked).statuses(200..=200).at(site)
}

/// What the table calls the site's failure is a limit here. A `Retry-After` beside it counts.
fn slow_down(answer: &Answer<'_>) -> Option<Outcome> {
    let limited = answer.status() == StatusCode::SERVICE_UNAVAILABLE;
    limited.then_some(Outcome::RateLimited { retry_after: None })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let world = Lab::builder().fine(6).in_memory()?;
    // The site knows three of the six exits, and calls each of them a robot.
    let known: Vec<_> = (0..3).map(|exit| world.exit(exit).source()).collect();
    let page = Reply::page("<h1>9.99</h1>");
    world.origin().respond(move |seen| match known.contains(&seen.peer()) {
        true if seen.number() % 2 == 0 => {
            Reply::page("<h1>Hello, robot</h1>").header(ROBOT, HeaderValue::from_static("1"))
        }
        true => Reply::page("<h1>You look like a robot</h1>"),
        false => page.clone(),
    });

    for (name, rules) in [("without rules", false), ("with rules", true)] {
        let scheduler = Scheduler::builder().exits(world.exits()).seed(7).build()?;
        let layers = EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request());
        let layers = if rules {
            layers.rule(robots).rule(words(world.origin().host())).rule(slow_down)
        } else {
            layers
        };
        let client = layers.layer(world.clone());
        let (mut robots, mut sent) = (0, 0);
        for page in 0..60 {
            let request = Request::get(world.url(&format!("/p/{page}"))).body(String::new())?;
            let response = client.clone().oneshot(request).await?;
            sent += response.extensions().get::<Served>().expect("every response has one").attempts();
            let page = response.into_body().collect().await?.to_bytes();
            robots += u32::from(page != "<h1>9.99</h1>");
        }
        let blocked = scheduler.snapshot().outcomes.blocked;
        println!(
            "{name:<14} {robots:>2} of 60 pages are block pages; {sent} sent, {blocked} known as blocks"
        );
    }
    Ok(())
}
