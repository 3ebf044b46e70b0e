//! The only way a person acts on a fleet.

use super::builder::Stock;
use super::{Builder, Scheduler, Until};
use crate::error::ConfigError;
use crate::exit::{Exit, ExitId, Gateway};
use crate::fleet::{Installed, State};
use std::fmt;
use std::sync::Arc;

/// What a person may do to a running fleet; see [`Scheduler::operator`]. Each act takes effect with the next lease; what is
/// under way ends as it would have.
///
/// ```
/// use tower_egress::{Exit, ExitList, LeaseRequest, Scheduler};
///
/// let exits = ExitList::parse("gw.example:7000:user:old\n203.0.113.7:8080")?;
/// let scheduler = Scheduler::builder().exits(exits).build()?;
///
/// // The password has changed: burns, heat and holds stay, old tunnels are not used again.
/// let renewed = Exit::parse("gw.example:7000:user:new")?;
/// assert!(scheduler.operator().set_exit(&renewed));
///
/// // Keep an exit out by hand, and let it back in.
/// assert!(scheduler.operator().quarantine(renewed.id()));
/// let lease = scheduler.lease(&LeaseRequest::per_request().origin("shop.example"))?;
/// assert_ne!(lease.exit(), renewed.id());
/// assert!(scheduler.operator().release(renewed.id()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Operator<'a>(pub(super) &'a Scheduler);

impl Operator<'_> {
    /// Opens the fleet if it was drained, and lets one lease try each login that was stopped and each gateway and site that is
    /// left alone; if it passes, all go on.
    pub fn resume(&self) {
        self.0.act(|fleet, now| fleet.resume(now));
    }

    /// Gives no lease any more: who comes, and who waits, is refused with [`LeaseError::Closed`](crate::LeaseError::Closed).
    /// Takes effect at once; the future is ready when the last lease that is out has ended. [`resume`](Self::resume) opens the
    /// fleet again.
    ///
    /// ```
    /// # use tower_egress::{ExitList, LeaseError, LeaseRequest, Scheduler};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let scheduler = Scheduler::builder().exits(ExitList::parse("203.0.113.7:8080")?).build()?;
    /// scheduler.operator().drain().await; // at once, where no lease is out
    /// let refused = scheduler.lease(&LeaseRequest::per_request().origin("shop.example"));
    /// assert_eq!(refused.unwrap_err(), LeaseError::Closed);
    /// # Ok(())
    /// # }
    /// ```
    pub fn drain(&self) -> Until {
        self.0.act(|fleet, _| fleet.close());
        Until::new(self.0.clone(), State::Idle)
    }

    /// Gives an exit of the pool a new password: the exit with the same address and user name. Its login is tried anew by one
    /// lease if it was stopped. Says whether there is such an exit.
    #[must_use]
    pub fn set_exit(&self, exit: &Exit) -> bool {
        self.0.act(|fleet, now| fleet.set_exit(now, exit))
    }

    /// Gives a gateway of the pool a new password: the gateway with the same address and user name. Its sessions stay what
    /// they are. Its login is tried anew by one lease if it was stopped. Says whether there is such a gateway.
    #[must_use]
    pub fn set_gateway(&self, gateway: &Gateway) -> bool {
        self.0.act(|fleet, now| fleet.set_gateway(now, gateway))
    }

    /// Takes over another configuration, whole or not at all: the exits, gateways, pools, sites and rules of `builder`. Exits
    /// that stay keep what is known of them and who holds them; those that are gone get no new lease, while what is under way
    /// ends as it would have; new ones join. Its seed, member, bounds and observers are not taken: those are the scheduler's
    /// for life. A list that is partly wrong is taken as far as it can be read, as at first;
    /// [`ExitList::whole`](crate::ExitList::whole) refuses one, so that a line that was broken meanwhile retires no exit.
    ///
    /// ```
    /// use tower_egress::{ExitList, LeaseRequest, Scheduler};
    ///
    /// let exits = ExitList::parse("203.0.113.7:8080\n203.0.113.8:8080")?;
    /// let scheduler = Scheduler::builder().exits(exits).build()?;
    ///
    /// let later = ExitList::parse("203.0.113.8:8080\n203.0.113.9:8080")?;
    /// let done = scheduler.operator().reload(Scheduler::builder().exits(later))?;
    /// assert_eq!((done.added, done.kept, done.removed), (1, 1, 1));
    ///
    /// assert!(scheduler.operator().reload(Scheduler::builder()).is_err(), "no exit at all");
    /// assert_eq!(scheduler.snapshot().exits.total, 2, "and nothing has changed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Builder::build`], and that pools of other names still drain, so that there are more than 63; nothing has changed
    /// then.
    pub fn reload(&self, builder: Builder) -> Result<Reloaded, ConfigError> {
        let Stock { pools, sites, rules } = builder.stock()?;
        let installed = self.0.act(|fleet, now| fleet.reload(now, pools, Arc::clone(&sites), rules));
        let Some(installed) = installed else {
            let cure = "reload again once the pools that have left are drained";
            return Err(ConfigError::new("pools", "are more than 63 with those that still drain", cure));
        };
        self.0.set_sites(sites);
        let Installed { added, kept, removed } = installed;
        Ok(Reloaded { added, kept, removed })
    }

    /// Keeps an exit out for every origin until it is [released](Self::release). What holds it moves, waits or fails as it
    /// asked. Says whether there is such an exit; a session that one key holds is not one.
    #[must_use]
    pub fn quarantine(&self, exit: ExitId) -> bool {
        self.0.act(|fleet, _| fleet.quarantine(exit, true))
    }

    /// Lets an exit back in that was kept out. Says whether there is such an exit.
    #[must_use]
    pub fn release(&self, exit: ExitId) -> bool {
        self.0.act(|fleet, _| fleet.quarantine(exit, false))
    }
}

impl fmt::Debug for Operator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Operator")
    }
}

/// What a [reload](Operator::reload) has changed; slots of gateways count as exits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Reloaded {
    /// Exits that joined.
    pub added: usize,
    /// Exits that stayed.
    pub kept: usize,
    /// Exits that left.
    pub removed: usize,
}
