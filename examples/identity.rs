//! A login that must not change its address unasked: when its exit is lost the program is told before a byte is sent, drops
//! what was bound to the old address, and accepts the move. Runs in the lab, in memory: no network.
//!
//! ```text
//! cargo run --features lab --example identity
//! ```

use std::error::Error;
use tower::Layer;
use tower_egress::lab::{Lab, MemoryWorld};
use tower_egress::{EgressLayer, LeaseError, LeaseRequest, Scheduler, Served};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let world = Lab::builder().fine(3).in_memory()?;
    let scheduler = Scheduler::builder().exits(world.exits()).seed(7).build()?;
    let mut account = Account { scheduler, world, ask: LeaseRequest::identity("account-7"), cookies: 0 };

    let home = account.get("/login").await?.exit();
    println!("logged in        through {home}");
    assert_eq!(account.get("/orders").await?.exit(), home, "and stays there");

    // Somebody takes the exit away. Nothing is sent through another one.
    assert!(account.scheduler.operator().quarantine(home));
    let before = account.world.origin().seen().len();
    let moved = account.get("/orders").await?.exit();
    let sent = account.world.origin().seen().len() - before;
    println!("moved            to {moved}, with cookies of its own; {sent} requests: a login and the page");
    Ok(())
}

struct Account {
    scheduler: Scheduler,
    world: MemoryWorld,
    ask: LeaseRequest,
    /// How many sets of cookies it has had; one is good for one address.
    cookies: u32,
}

impl Account {
    /// A page as this account. If its exit is lost it logs in anew through the next one.
    async fn get(&mut self, path: &str) -> Result<Served, Box<dyn Error>> {
        if self.cookies == 0 {
            self.cookies = 1;
            self.send("/login").await?;
        }
        let refused = match self.send(path).await {
            Ok(served) => return Ok(served),
            Err(error) => error,
        };
        let Some(LeaseError::Moved { from, generation, .. }) = refused.refusal() else {
            return Err(refused.into());
        };
        println!("lost its exit    {from}; it drops its cookies and accepts generation {generation}");
        self.ask = self.ask.clone().generation(*generation);
        self.cookies += 1;
        self.send("/login").await?;
        Ok(self.send(path).await?)
    }

    async fn send(&self, path: &str) -> Result<Served, tower_egress::Error> {
        let client = EgressLayer::new(&self.scheduler).layer(self.world.clone());
        let request = http::Request::get(self.world.url(path))
            .header("cookie", format!("session={}", self.cookies))
            .extension(self.ask.clone())
            .body(String::new())
            .map_err(tower_egress::Error::other)?;
        let response = client.oneshot(request).await?;
        Ok(response.extensions().get::<Served>().cloned().expect("every response has one"))
    }
}
