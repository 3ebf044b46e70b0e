//! What the scheduler tells of what happens: to observers, and to `tracing` under the target `tower_egress`. Leases, waits,
//! reports, rests and refusals are at DEBUG; what the owner should know of at WARN, and at INFO when it is over.
//!
//! Decisions queue events under the lock; they are told after it, in their order, by whoever comes out of a verb.

use super::Scheduler;
use super::sync::try_lock;
use crate::fleet::{Cause, Event};
use crate::outcome::AuthReason;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// How many batches one verb tells at most, so that a busy fleet does not keep one caller for ever.
const BATCHES: usize = 16;

/// Those who want to know of everything.
#[derive(Clone, Default)]
pub(super) struct Observers(Vec<Arc<Observer>>);

type Observer = dyn Fn(SystemTime, &Event) + Send + Sync;

impl Observers {
    pub(super) fn add(&mut self, observer: impl Fn(SystemTime, &Event) + Send + Sync + 'static) {
        self.0.push(Arc::new(observer));
    }

    /// Whether anybody wants to know of what happens all the time.
    #[inline]
    pub(super) fn listen(&self) -> bool {
        !self.0.is_empty() || tracing::enabled!(target: "tower_egress", tracing::Level::DEBUG)
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

impl Scheduler {
    /// Tells what has happened. One caller does so at a time; what others queue meanwhile it tells too.
    #[cold]
    pub(super) fn tell(&self) {
        for _ in 0..BATCHES {
            let Some(turn) = try_lock(self.telling()) else { return };
            let batch = self.guarded().fleet.events().take();
            for (at, event) in &batch {
                trace(event);
                let at = self.wall(*at);
                self.observers().0.iter().for_each(|observer| observer(at, event));
            }
            drop(turn);
            // Who found the turn taken has gone: its events are this caller's.
            if self.guarded().fleet.events().is_empty() {
                return;
            }
        }
    }
}

fn trace(event: &Event) {
    match event {
        Event::Lease { lease, key, origin, exit, generation, reason, trial, pool } => {
            let reason = reason.name();
            tracing::debug!(target: "tower_egress", lease, %key, %origin, %exit, generation, reason, trial, %pool, "lease");
        }
        Event::Wait { key, origin } => tracing::debug!(target: "tower_egress", %key, %origin, "wait"),
        Event::Refusal { key, origin, why, retry_in, counts } => {
            tracing::debug!(target: "tower_egress", %key, %origin, why, ?retry_in, %counts, "refusal");
        }
        Event::Report { lease, exit, origin, outcome, amends } => {
            tracing::debug!(target: "tower_egress", lease, %exit, %origin, %outcome, amends, "report");
        }
        Event::LeaseChanged { key, origin, exit, from, to } => tracing::warn!(
            target: "tower_egress",
            %key,
            %origin,
            %exit,
            ?from,
            ?to,
            "the provider has changed the exit behind a held session"
        ),
        Event::Escalated { origin, from, to, refused } => tracing::warn!(
            target: "tower_egress",
            %origin,
            %from,
            %to,
            refused,
            "the site refuses a pool too often; new work for it goes to the next one"
        ),
        Event::CameBack { origin, from, to, refused } => {
            tracing::info!(target: "tower_egress", %origin, %from, %to, refused, "the site takes a pool again");
        }
        Event::Diagnosed { origin, diagnosis } => match diagnosis.cause {
            Cause::Unclear => tracing::info!(target: "tower_egress", %origin, %diagnosis, "diagnosis"),
            _ => tracing::warn!(target: "tower_egress", %origin, %diagnosis, "diagnosis"),
        },
        Event::Spaced { origin, gap: gap @ Some(_) } => {
            tracing::info!(target: "tower_egress", %origin, ?gap, "a site limits each exit; its uses are kept apart there");
        }
        Event::Spaced { origin, gap: None } => {
            tracing::info!(target: "tower_egress", %origin, "a site limits each exit no more");
        }
        Event::Rest { exit, origin, rest } => {
            let origin = origin.as_ref().map(|origin| origin.as_str());
            tracing::debug!(target: "tower_egress", %exit, origin, ?rest, "rest");
        }
        Event::CredentialStopped { exit, reason: AuthReason::Quota } => tracing::warn!(
            target: "tower_egress",
            %exit,
            reason = AuthReason::Quota.name(),
            "a login has used up what was paid for, and is stopped; one request tries it again now and then"
        ),
        Event::CredentialStopped { exit, reason } => tracing::warn!(
            target: "tower_egress",
            %exit,
            reason = reason.name(),
            "a login is refused and stopped; nothing goes out on it until it is mended and resumed, \
             or for a minute at most where a site may have forged it"
        ),
        Event::CredentialResumed { exit } => {
            tracing::info!(target: "tower_egress", %exit, "a login works again");
        }
        Event::GatewayHeld { exit, rest } => tracing::warn!(
            target: "tower_egress",
            %exit,
            ?rest,
            "a gateway is overloaded or unreachable, and left alone for a moment"
        ),
        Event::GatewaySlowed { gateway, from, to } => tracing::warn!(
            target: "tower_egress",
            gateway,
            from,
            to,
            "a gateway has too much to do; fewer leases may be out behind it at once"
        ),
        Event::GatewayUnlimited { gateway } => {
            tracing::info!(target: "tower_egress", gateway, "any number of leases may be out behind a gateway again");
        }
        Event::OriginHeld { origin, rest, exits, status } => tracing::warn!(
            target: "tower_egress",
            %origin,
            ?rest,
            exits,
            status,
            "a site fails through every exit, and is left alone for a while"
        ),
        Event::OriginReleased { origin } => {
            tracing::info!(target: "tower_egress", %origin, "a site that was left alone serves again");
        }
        Event::Slowed { origin, from, to, multiplier } => tracing::warn!(
            target: "tower_egress",
            %origin,
            from,
            to,
            multiplier = multiplier.value,
            "too many attempts fail at a site; fewer leases may be out there at once"
        ),
        Event::NotOurRate { origin, before, after } => tracing::warn!(
            target: "tower_egress",
            %origin,
            before = before.value,
            after = after.value,
            "as many attempts fail at a site with far fewer leases out; it is not the fleet's concurrency"
        ),
        Event::Unlimited { origin, multiplier } => tracing::info!(
            target: "tower_egress",
            %origin,
            multiplier = multiplier.map(|multiplier| multiplier.value),
            "any number of leases may be out at a site again"
        ),
        Event::AsksTooHard { multiplier, origin } => tracing::warn!(
            target: "tower_egress",
            multiplier = multiplier.value,
            attempts = multiplier.attempts,
            successes = multiplier.successes,
            origin = origin.as_ref().map(|origin| origin.as_str()),
            "the fleet asks too hard: lower its concurrency, do not tune single backoffs"
        ),
        Event::AsksWell { multiplier } => {
            tracing::info!(target: "tower_egress", multiplier = multiplier.value, "the fleet asks too hard no more");
        }
    }
}
