//! A site that says in its own way what others say by a status: it shows its block page with a 200 and a header, and limits
//! with a 503. Two rules tell the layers; the fleet then rests, waits and goes round as it does for 403 and 429. Runs in the
//! lab, in memory: no network.
//!
//! ```text
//! cargo run --features lab --example custom_rule
//! ```

use http::{HeaderName, HeaderValue, Request, StatusCode};
use std::error::Error;
use tower::Layer;
use tower_egress::classify::Answer;
use tower_egress::lab::{Lab, Reply};
use tower_egress::outcome::BlockedBy;
use tower_egress::{EgressLayer, LeaseRequest, Outcome, Scheduler, Served};

const ROBOT: HeaderName = HeaderName::from_static("x-robot");

/// The block page: nothing but a header tells it from a page.
fn robots(answer: &Answer<'_>) -> Option<Outcome> {
    answer.headers().contains_key(ROBOT).then_some(Outcome::Blocked { by: BlockedBy::Exit })
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
        true => Reply::page("<h1>Hello, robot</h1>").header(ROBOT, HeaderValue::from_static("1")),
        false => page.clone(),
    });

    for (name, rules) in [("without rules", false), ("with rules", true)] {
        let scheduler = Scheduler::builder().exits(world.exits()).seed(7).build()?;
        let layers = EgressLayer::new(&scheduler).default_lease(LeaseRequest::per_request());
        let layers = if rules { layers.rule(robots).rule(slow_down) } else { layers };
        let client = layers.layer(world.clone());
        let (mut robots, mut sent) = (0, 0);
        for page in 0..60 {
            let request = Request::get(world.url(&format!("/p/{page}"))).body(String::new())?;
            let response = client.clone().oneshot(request).await?;
            robots += u32::from(response.headers().contains_key(ROBOT));
            sent += response.extensions().get::<Served>().expect("every response has one").attempts();
        }
        let blocked = scheduler.snapshot().outcomes.blocked;
        println!(
            "{name:<14} {robots:>2} of 60 pages are block pages; {sent} sent, {blocked} known as blocks"
        );
    }
    Ok(())
}
