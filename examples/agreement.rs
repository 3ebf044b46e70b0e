//! One of several processes that never talk, and yet ride the same sessions of a gateway.
//!
//! ```text
//! cargo run --example agreement -- 7 0 2
//! cargo run --example agreement -- 7 1 2
//! ```
//!
//! Both have seed 7; the first is member 0 of 2, the second member 1. What a key holds has the same token in both; the slots
//! of requests that hold nothing are each member's own. With `digits` behind the numbers tokens are counted out instead,
//! and processes do not agree on them.

use std::error::Error;
use std::time::Duration;
use tower_egress::exit::Credential;
use tower_egress::{Gateway, LeaseRequest, Scheduler};

/// Long enough that no window ends between the start of one process and that of the next.
const WINDOW: Duration = Duration::from_secs(30 * 86_400);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (numbers, digits) = match &args[..] {
        [numbers @ .., last] if last == "digits" => (numbers, true),
        numbers => (numbers, false),
    };
    let [seed, member, of] = numbers else {
        return Err("give seed, member and number of members, like 7 0 2".into());
    };
    let gateway = Gateway::parse("http://user-{session}:pw@gw.example:7000")?.sessions(64.try_into()?);
    let scheduler = Scheduler::builder()
        .gateway(if digits { gateway.digits() } else { gateway })
        .seed(seed.parse()?)
        .member(member.parse()?, of.parse()?)
        .build()?;
    let token = |ask: LeaseRequest| -> Result<String, Box<dyn Error>> {
        let lease = scheduler.lease(&ask.origin("shop.example"))?;
        Ok(lease.route().credential().map(Credential::user).unwrap_or_default().to_owned())
    };
    // What a process drew and counted before must not matter: each begins with another number of leases.
    for _ in 0..1_000 + 100 * member.parse::<u32>()? {
        println!("slot {}", token(LeaseRequest::per_request())?);
    }
    for key in 0..50 {
        let key = format!("sku-{key}");
        println!("held {}", token(LeaseRequest::new(key.as_str()).windowed(WINDOW))?);
        println!("held {}", token(LeaseRequest::identity(key))?);
    }
    Ok(())
}
