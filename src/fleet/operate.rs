//! What a person does to the fleet, and another configuration.

use super::Fleet;
use crate::exit::{self, Exit, ExitId, Gateway};
use crate::pool::{Installed, Receipt};
use crate::request::{Key, Time};
use crate::site::Sites;
use crate::verdict::RetryRules;
use std::sync::Arc;

impl Fleet {
    /// Takes over other pools, sites and rules; `None` if there are more names than there is room for.
    pub(crate) fn reload(
        &mut self,
        now: Time,
        pools: Vec<exit::Pool>,
        sites: Arc<Sites>,
        rules: RetryRules,
    ) -> Option<Installed> {
        if !self.pool.has_room_for(&pools) {
            return None;
        }
        self.rules = rules;
        self.pool.set_rest(self.rules.rest());
        Some(self.pool.install(now, pools, sites))
    }

    /// Lets one lease try each stopped login, and each gateway that is left alone.
    pub(crate) fn resume(&mut self, now: Time) {
        self.open();
        self.pool.resume(now);
    }

    /// See [`Operator`](crate::scheduler::Operator).
    pub(crate) fn set_exit(&mut self, now: Time, exit: &Exit) -> bool {
        self.pool.set_exit(now, exit)
    }

    /// See [`Operator`](crate::scheduler::Operator).
    pub(crate) fn set_gateway(&mut self, now: Time, gateway: &Gateway) -> bool {
        self.pool.set_gateway(now, gateway)
    }

    /// See [`Operator`](crate::scheduler::Operator).
    pub(crate) fn quarantine(&mut self, exit: ExitId, on: bool) -> bool {
        self.pool.quarantine(exit, on)
    }

    /// The name of the pool that a lease's exit is of.
    pub(crate) fn pool_of(&self, receipt: &Receipt) -> Key {
        self.pool.name_of(receipt.named)
    }
}
