//! The scheduler: who may go out through which exit, now. It reads the clock and holds the one lock; the decisions below it
//! are pure.
//!
//! The tower layers use it for you. Without tower it is the same voice:
//!
//! ```
//! use tower_egress::scheduler::Scheduler;
//! use tower_egress::{ExitList, LeaseRequest, Outcome};
//!
//! let exits = ExitList::parse("203.0.113.7:8080\n203.0.113.8:8080")?;
//! let scheduler = Scheduler::builder().exits(exits).seed(7).build()?;
//!
//! let mut ask = LeaseRequest::new("sku-42").origin("shop.example");
//! let lease = scheduler.lease(&ask)?;
//! let _dial = lease.route(); // fetch through this
//! lease.report(Outcome::RateLimited { retry_after: None });
//! match lease.retry(ask.clone().repeatable(true)) {
//!     Ok((delay, next)) => {
//!         println!("wait {delay:?} and lease again");
//!         ask = next;
//!     }
//!     Err(why) => println!("stop: {why}"),
//! }
//! # let _ = ask;
//! assert_eq!(scheduler.snapshot().in_flight, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod after;
mod attempt;
mod builder;
#[cfg_attr(all(test, egress_loom), path = "loom_tests/clock.rs")]
mod clock;
mod events;
mod handle;
mod held;
mod lease;
#[cfg(all(test, egress_loom))]
mod loom_tests;
mod operator;
mod place;
mod refused;
mod served;
mod shell;
mod spent;
mod state;
#[cfg_attr(all(test, egress_loom), path = "loom_tests/sync.rs")]
pub(crate) mod sync;
#[cfg(test)]
mod tests;
mod turn;
mod wakers;

pub use builder::Builder;
pub use handle::LeaseHandle;
pub use lease::Lease;
pub use operator::{Operator, Reloaded};
pub use place::Acquire;
pub use served::Served;
pub use shell::Scheduler;
pub use state::Until;

#[cfg(feature = "config")]
pub(crate) use crate::fleet::MOST_POOLS;
pub(crate) use attempt::Attempt;
pub(crate) use handle::Hold;
pub(crate) use place::Place;

pub use crate::fleet::{
    BlockedSpread, Bounds, Cause, ClassSnapshot, Diagnosis, Event, ExitBlocks, ExitCounts, ExitTraffic,
    Forecast, GatewaySnapshot, LimitedBy, LoginState, OriginSnapshot, OriginTotals, PairSnapshot,
    PoolSnapshot, Reason, Receipt, RefusalCounts, Release, Snapshot, SpreadVerdict, Subnet, SubnetBlocks,
};
