//! The program of the README.

use std::time::Duration;
use tower::ServiceBuilder;
use tower_egress::{
    Body, ClassifyLayer, ExitAwareRetryLayer, ExitClient, Gateway, LeaseLayer, LeaseRequest, Scheduler,
    Served,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheduler = Scheduler::builder()
        .gateway(Gateway::parse("http://user-{session}:pw@gw.example:7000")?) // or .exits(ExitList::from_path("proxies.txt")?)
        .build()?;

    let client = ServiceBuilder::new()
        .layer(ExitAwareRetryLayer::new(&scheduler)) // outermost: every attempt leases anew
        .layer(LeaseLayer::new(&scheduler)) // picks the exit, holds it until the body ends
        .layer(ClassifyLayer::new()) // names the outcome where the facts are
        .service(ExitClient::new()); // pools connections per exit, and never goes direct

    let mut request = http::Request::get("http://shop.example/p/42").body(Body::empty())?;
    request.extensions_mut().insert(LeaseRequest::new("sku-42").windowed(Duration::from_secs(600)));
    let response = client.oneshot(request).await?;

    let served = response.extensions().get::<Served>().expect("every response has one");
    println!("{} via {} after {} attempt(s)", response.status(), served.exit(), served.attempts());
    Ok(())
}
