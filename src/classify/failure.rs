//! What an error of the client shows.

use super::status::{refused_by_socks, refused_tunnel};
use crate::exit::Vendor;
use crate::outcome::{Evidence, Failure, Outcome, Phase, Seen, WireBytes, causes};
use std::error::Error;
use std::time::SystemTime;

/// Evidence of an error, and what the attempt has cost on the wire: by the [`Failure`] in its source chain; without one
/// nothing is proven. `vendor`: whose proxy was dialled.
pub(super) fn error(
    error: &(dyn Error + 'static),
    vendor: Option<Vendor>,
    now: SystemTime,
) -> (Evidence, WireBytes) {
    match causes(error).find_map(|cause| cause.downcast_ref::<Failure>()) {
        Some(found) => (failure(found, vendor, now), found.wire()),
        None => {
            let unknown = Evidence::of(Outcome::Interrupted { phase: Phase::Head }).seen(Seen::Unknown);
            (unknown, WireBytes::default())
        }
    }
}

fn failure(failure: &Failure, vendor: Option<Vendor>, now: SystemTime) -> Evidence {
    let phase = failure.phase();
    let evidence = match (failure.refusal(), failure.socks()) {
        (Some(answer), _) => refused_tunnel(answer, vendor, now),
        (None, Some(refusal)) => refused_by_socks(refusal),
        // From an own address, or for a proxy that takes no names: no exit has a part in it.
        _ if matches!(phase, Phase::OriginDns | Phase::OriginTcp) => Evidence::of(Outcome::TargetUnreachable),
        _ if phase == Phase::Request => Evidence::of(Outcome::Fatal),
        _ if failure.seen() == Seen::Never => Evidence::of(Outcome::ProxyError { phase }),
        _ => Evidence::of(Outcome::Interrupted { phase }),
    };
    evidence
        .seen(failure.seen())
        .login_accepted(failure.is_login_accepted())
        .blameless(failure.is_blameless())
}
