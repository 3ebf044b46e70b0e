//! What the scheduler tells `tracing`: one event for each lease, report and refusal, at DEBUG, target `tower_egress`.
//! Called without the lock; nothing is formatted unless somebody listens.

use super::Lease;
use crate::error::LeaseError;
use crate::exit::ExitId;
use crate::fleet::Notice;
use crate::outcome::Outcome;
use crate::request::{LeaseRequest, Origin};

pub(super) fn leased(ask: &LeaseRequest, origin: &Origin, lease: &Lease) {
    tracing::debug!(
        target: "tower_egress",
        key = %ask.key,
        %origin,
        exit = %lease.exit(),
        generation = lease.generation(),
        reason = lease.reason().name(),
        trial = lease.is_trial(),
        "lease"
    );
}

pub(super) fn reported(exit: ExitId, origin: &Origin, outcome: &Outcome, amends: bool) {
    tracing::debug!(target: "tower_egress", %exit, %origin, %outcome, amends, "report");
}

pub(super) fn refused(ask: &LeaseRequest, origin: &Origin, error: &LeaseError) {
    tracing::debug!(target: "tower_egress", key = %ask.key, %origin, %error, "refusal");
}

/// What the owner should know of, at WARN, and at INFO when it is over.
pub(super) fn noticed(notice: Notice) {
    match notice {
        Notice::CredentialStopped { by: exit, reason } => tracing::warn!(
            target: "tower_egress",
            %exit,
            ?reason,
            "a login was refused twice and is stopped; nothing goes out on it until it is mended and resumed"
        ),
        Notice::CredentialResumed { by: exit } => {
            tracing::info!(target: "tower_egress", %exit, "a login works again")
        }
        Notice::GatewayHeld { by: exit } => {
            tracing::warn!(target: "tower_egress", %exit, "a gateway is overloaded or unreachable, and left alone for a moment");
        }
        Notice::AsksTooHard { multiplier, origin } => tracing::warn!(
            target: "tower_egress",
            multiplier = multiplier.value,
            attempts = multiplier.attempts,
            successes = multiplier.successes,
            origin = origin.as_ref().map(Origin::as_str),
            "the fleet asks too hard: lower its concurrency, do not tune single backoffs"
        ),
        Notice::AsksWell { multiplier } => {
            tracing::info!(target: "tower_egress", multiplier = multiplier.value, "the fleet asks too hard no more");
        }
    }
}
