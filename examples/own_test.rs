//! A test of your own against a pool that misbehaves. The code under test, `price`, takes any client; your program gives it
//! an `EgressClient`, the tests the same layers over the lab's world in memory, where time is paused: a rest of ten seconds
//! takes no time. For real sockets, TLS included, start the lab on loopback with `.start().await?` instead.
//!
//! ```text
//! cargo test --features lab --example own_test
//! ```

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use tower::{BoxError, Service, ServiceExt};
use tower_egress::{Body, Error, LeaseRequest};

/// The price on a product's page: what is to be tested.
///
/// # Errors
/// The request's, or that there is no price on the page.
pub async fn price<S, B>(client: S, url: &str, sku: &str) -> Result<String, BoxError>
where
    S: Service<Request<Body>, Response = Response<B>, Error = Error>,
    B: BodyExt<Error = Error>,
{
    let request = Request::get(url).extension(LeaseRequest::new(sku)).body(Body::empty())?;
    let response = client.oneshot(request).await?;
    if response.status() != StatusCode::OK {
        return Err(format!("{sku}: {}", response.status()).into());
    }
    let page = response.into_body().collect().await?.to_bytes();
    let page = String::from_utf8_lossy(&page);
    let price = page.split_once("<b>").and_then(|(_, rest)| rest.split_once("</b>"));
    price.map(|(price, _)| price.to_owned()).ok_or_else(|| format!("{sku}: no price on the page").into())
}

fn main() {
    println!("the tests are the example: cargo test --features lab --example own_test");
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::price;
    use std::time::Duration;
    use tower::Layer;
    use tower_egress::lab::{Behaviour, Lab, MemoryWorld, Reply};
    use tower_egress::{EgressLayer, Error, Outcome, Scheduler};

    /// The code under test in a world, and the fleet that served it.
    async fn ask(world: &MemoryWorld) -> (Result<String, tower::BoxError>, Scheduler) {
        world.origin().page("/p/42", Reply::page("<b>9.99</b>"));
        let scheduler = Scheduler::builder().exits(world.exits()).seed(1).build().unwrap();
        let client = EgressLayer::new(&scheduler).layer(world.clone());
        (price(client, &world.url("/p/42"), "sku-42").await, scheduler)
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_exit_costs_a_retry_and_no_price() {
        let world = Lab::builder().refused(3).fine(1).in_memory().unwrap();
        let (price, scheduler) = ask(&world).await;
        assert_eq!(price.unwrap(), "9.99", "four attempts meet each of four exits once");
        let seen = world.origin().seen();
        assert_eq!(scheduler.snapshot().outcomes.blocked, seen.len() as u64 - 1);
        assert!(
            seen.last().unwrap().at() < Duration::from_secs(2),
            "other exits are tried at once: {seen:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_pool_says_why_and_when() {
        let world = Lab::builder().dead(3).in_memory().unwrap();
        let (price, scheduler) = ask(&world).await;
        let error = price.unwrap_err();
        let error = Error::of(&*error).unwrap();
        assert!(matches!(error.outcome(), Some(Outcome::ProxyError { .. })), "{error}");
        assert_eq!((world.origin().requests(), scheduler.snapshot().in_flight), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_breaks_off_is_no_price() {
        let world = Lab::builder().exit(Behaviour::fine().cut_after(5)).in_memory().unwrap();
        let (price, scheduler) = ask(&world).await;
        assert!(Error::of(&*price.unwrap_err()).is_some(), "the error of the body is the crate's own");
        assert_eq!(scheduler.snapshot().outcomes.interrupted, 1, "and the exit is charged");
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_is_waited_for() {
        let world = Lab::builder().fine(1).in_memory().unwrap();
        world.origin().limit(1, Duration::from_secs(20));
        assert_eq!(ask(&world).await.0.unwrap(), "9.99");
        assert_eq!(ask(&world).await.0.unwrap(), "9.99");
        let [served, limited, again] = &world.origin().seen()[..] else { panic!("three requests") };
        assert!(limited.at() < Duration::from_secs(1));
        let waited = again.at() - served.at();
        assert!(waited >= Duration::from_secs(20), "as long as its Retry-After says: {waited:?}");
    }
}
