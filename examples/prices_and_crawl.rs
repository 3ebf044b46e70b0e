//! Price checks that keep an exit per product, and a crawl that takes another exit for each page: two granularities on one
//! scheduler, with one list of burned exits. Runs in the lab, in memory: no network.
//!
//! ```text
//! cargo run --features lab --example prices_and_crawl
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;
use tower::Layer;
use tower_egress::lab::{Lab, MemoryWorld};
use tower_egress::{EgressLayer, ExitId, LeaseRequest, Scheduler, Served};

const EXITS: usize = 20;
const PRODUCTS: usize = 12;
const PAGES: usize = 400;
/// A shop would take minutes. So long that no window ends while this runs.
const WINDOW: Duration = Duration::from_secs(30 * 86_400);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let world = Lab::builder().fine(EXITS).in_memory()?;
    let shop = Shop { scheduler: Scheduler::builder().exits(world.exits()).seed(42).build()?, world };

    let first = shop.check_prices().await?;
    let kept = same(&first, &shop.check_prices().await?);
    println!("price checks  {PRODUCTS} products twice: {kept} kept their exits");

    // The site bans the exit of the first product, and it is the crawl that finds it out.
    let banned = first["sku-1"].exit();
    shop.ban(banned);
    let (mut through, mut refusals) = (BTreeSet::new(), 0);
    for page in 1..=PAGES {
        let served = shop.fetch(&format!("/page/{page}"), LeaseRequest::per_request()).await?;
        through.insert(served.exit());
        refusals += served.attempts() - 1;
    }
    println!(
        "crawl         {PAGES} pages through {} exits; {refusals} refused, and fetched through another",
        through.len()
    );

    let again = shop.check_prices().await?;
    let refusals: u32 = again.values().map(|served| served.attempts() - 1).sum();
    let on_it = first.values().filter(|served| served.exit() == banned).count();
    println!(
        "price checks  {} kept their exits, {on_it} left the burned one; {refusals} refused",
        same(&first, &again)
    );
    println!("\n{}", shop.scheduler.snapshot());
    Ok(())
}

struct Shop {
    scheduler: Scheduler,
    world: MemoryWorld,
}

impl Shop {
    /// The price of each product, through the exit that the product holds.
    async fn check_prices(&self) -> Result<BTreeMap<String, Served>, Box<dyn Error>> {
        let mut checks = BTreeMap::new();
        for product in 1..=PRODUCTS {
            let sku = format!("sku-{product}");
            let ask = LeaseRequest::new(sku.as_str()).windowed(WINDOW);
            checks.insert(sku.clone(), self.fetch(&format!("/price/{sku}"), ask).await?);
        }
        Ok(checks)
    }

    async fn fetch(&self, path: &str, ask: LeaseRequest) -> Result<Served, Box<dyn Error>> {
        let client = EgressLayer::new(&self.scheduler).layer(self.world.clone());
        let request = http::Request::get(self.world.url(path)).extension(ask).body(String::new())?;
        let response = client.oneshot(request).await?;
        let status = response.status();
        let served = response.extensions().get::<Served>().cloned().filter(|_| status.is_success());
        served.ok_or_else(|| format!("{path}: {status}").into())
    }

    fn ban(&self, exit: ExitId) {
        let is = |at: &usize| self.world.exit(*at).exit().id() == exit;
        let banned = (0..EXITS).find(is).map(|at| self.world.exit(at).source());
        banned.into_iter().for_each(|source| self.world.origin().ban(source));
    }
}

/// How many products had the same exit both times.
fn same(before: &BTreeMap<String, Served>, after: &BTreeMap<String, Served>) -> usize {
    before.iter().filter(|(sku, served)| after[*sku].exit() == served.exit()).count()
}
