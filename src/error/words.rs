//! What a user reads: what is wrong, where, when to ask again, and what would cure it.

use super::{HeldBy, LeaseError, Next, UnusableCounts};
use crate::exit::ExitList;
use crate::request::Origin;
use crate::verdict::Why;
use std::time::{Duration, Instant};

const IN: Duration = Duration::from_millis(4_200);

/// No test looks at it.
#[allow(clippy::disallowed_methods, reason = "std has no other way to make one")]
fn some_time() -> Instant {
    Instant::now()
}

fn none(counts: UnusableCounts) -> LeaseError {
    LeaseError::NoUsableExit {
        origin: Origin::new("shop.example"),
        retry_at: some_time(),
        retry_in: IN,
        counts,
    }
}

fn held(why: HeldBy) -> LeaseError {
    LeaseError::OriginHeld { origin: Origin::new("shop.example"), retry_at: some_time(), retry_in: IN, why }
}

#[test]
fn each_refusal_says_what_where_when_and_the_cure() {
    let counts = |change: fn(&mut UnusableCounts)| {
        let mut counts = UnusableCounts::default();
        change(&mut counts);
        counts
    };
    let bound = "as many leases are out as Bounds::leases allows";
    let behind =
        LeaseError::Behind { origin: Origin::new("shop.example"), retry_at: some_time(), retry_in: IN };
    for (refusal, sentence) in [
        (
            none(counts(|counts| (counts.dead, counts.busy) = (1, 3))),
            "no exit may serve shop.example now (1 dead, 3 used as often as may be); the first may in 4.2 s: ask again then, raise \
             LeaseRequest::patience, or add exits",
        ),
        (
            none(counts(|counts| counts.avoided = 2)),
            "no exit may serve shop.example now (2 refused for this request before); each was refused for this request \
             before: look at the request, or add exits",
        ),
        (
            none(counts(|counts| counts.quarantined = 2)),
            "no exit may serve shop.example now (2 kept out by hand); release them with Scheduler::operator, or add exits",
        ),
        (
            none(counts(|counts| (counts.stopped, counts.quarantined) = (2, 1))),
            "no exit may serve shop.example now (2 with a stopped login, 1 kept out by hand); mend the login with \
             Scheduler::operator, or add exits with another",
        ),
        (
            held(HeldBy::Failures),
            "shop.example fails through every exit, and is left alone until one request has tried it; ask again in 4.2 s, or \
             raise LeaseRequest::patience",
        ),
        (
            held(HeldBy::Limit),
            "shop.example has as many requests as it is given at once now; ask again in 4.2 s, or raise \
             LeaseRequest::patience",
        ),
        (
            behind,
            "others wait for shop.example and go first; ask again in 4.2 s, or raise LeaseRequest::patience (in \
             the layers, or with Scheduler::acquire) and wait with them",
        ),
        (
            LeaseError::Busy { bound, retry_at: some_time(), retry_in: IN },
            "as many leases are out as Bounds::leases allows; ask again in 4.2 s, run fewer requests at once, or raise the \
             bound with Builder::bounds",
        ),
        (
            LeaseError::DeadlinePassed,
            "the request's deadline has passed; raise LeaseRequest::deadline, or run fewer requests at once",
        ),
        (LeaseError::Closed, "the fleet is drained; resume it with Scheduler::operator to lease again"),
    ] {
        assert_eq!(refusal.to_string(), sentence);
        if let Next::At(_) = refusal.next() {
            assert_eq!(refusal.retry_in(), Some(IN), "{sentence}");
        }
    }
}

#[test]
fn a_lost_exit_says_how_to_accept_the_next() {
    let exit = ExitList::parse("203.0.113.7:8080").unwrap().into_iter().next().unwrap().id();
    let text = LeaseError::Moved { from: exit, to: None, generation: 3 }.to_string();
    assert!(text.contains(&exit.to_string()) && text.contains("LeaseRequest::generation(3)"), "{text}");
}

#[test]
fn whatever_passes_says_when_or_what_to_raise() {
    let parked = Why::Parked { retry_in: Duration::from_secs(31) };
    assert_eq!(parked.to_string(), "too many retries are before it; put it aside and send it anew in 31.0 s");
    for why in [Why::Exhausted, Why::Deadline, Why::NoUsableExit, Why::OriginHeld] {
        let text = why.to_string();
        assert!(why.passes() && (text.contains("LeaseRequest::") || text.contains("RetryRules::")), "{text}");
    }
}
