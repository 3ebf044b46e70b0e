//! What may happen to a fleet, as data that proptest draws and shrinks.

use crate::fleet::tests::{BLOCKED, limited, secs};
use crate::outcome::{AuthReason, Evidence, GatewayScope, Outcome, Phase, RetryAfter, Seen};
use proptest::prelude::*;
use std::fmt;
use std::time::Duration;

/// A world, and what happens in it.
#[derive(Clone)]
pub(super) struct Story {
    pub(super) listed: u16,
    /// Slots of a gateway beside the list.
    pub(super) slots: u32,
    pub(super) origins: usize,
    pub(super) seed: u64,
    /// Who is called comes at once; else some come late, and those called hold places of trials meanwhile.
    pub(super) prompt: bool,
    pub(super) steps: Vec<Step>,
}

/// A step a line: stories are long.
impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listed, slots, origins, seed, prompt, steps } = self;
        writeln!(f, "{listed} listed, {slots} slots, {origins} origins, seed {seed}, prompt: {prompt}")?;
        steps.iter().try_for_each(|step| writeln!(f, "  {step:?}"))
    }
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// Any exit, for one request.
    Any,
    /// The next in turn.
    Turn,
    /// Held for ever, and moved when it is lost.
    Window(u8),
    /// Held for life, and waited for.
    Life(u8),
    /// Held for life, and its holder is told of a loss.
    Identity(u8),
}

/// Numbers of leases, tickets, exits and origins are taken modulo how many there are, so that a shorter story is one too.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Pass(Duration),
    /// To the next timer, mostly the end of a rest, and so many nanoseconds more or less.
    ToRest(i8),
    Lease {
        want: Want,
        origin: usize,
        deadline: Duration,
    },
    /// As before, for who may wait so long.
    Wait {
        want: Want,
        origin: usize,
        patience: Duration,
    },
    /// The same request again, with what it has learned.
    Again {
        old: usize,
        patience: Duration,
    },
    /// A whole attempt, that says so many times what it showed.
    Once {
        want: Want,
        origin: usize,
        evidence: Evidence,
        times: u8,
    },
    /// So many requests for the same at once, which may wait for long.
    Crowd {
        origin: usize,
        many: u8,
    },
    /// So many attempts at once whose login is refused.
    Strays {
        origin: usize,
        many: u8,
    },
    /// All that is out ends well.
    AllWell,
    /// Somebody in the line comes, called or not.
    Claim {
        waiter: usize,
    },
    Leave {
        waiter: usize,
    },
    Report {
        lease: usize,
        evidence: Evidence,
    },
    /// A word on a lease that has ended.
    Late {
        old: usize,
        evidence: Evidence,
    },
    Release {
        lease: usize,
        how: How,
    },
    EndedWell {
        old: usize,
    },
    Quarantine {
        exit: usize,
        on: bool,
    },
    Password {
        exit: usize,
    },
    Resume,
    Close,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    Done,
    /// Given back at its head, before its body has ended.
    AtHead,
    Dropped,
    NotAttempted,
}

fn hint() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => Just(None), 1 => prop::sample::select(vec![Some(0), Some(2), Some(20), Some(900), Some(9_000)])]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let auth = |reason| Just(Outcome::AuthError { reason });
    let broken = prop::sample::select(vec![
        Outcome::Fatal,
        Outcome::TargetDenied,
        Outcome::TargetUnreachable,
        Outcome::Interrupted { phase: Phase::Head },
        Outcome::Interrupted { phase: Phase::Body },
        Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY },
        Outcome::ProxyError { phase: Phase::OriginTls },
    ]);
    prop_oneof![
        24 => Just(Outcome::Ok),
        10 => Just(BLOCKED),
        8 => hint().prop_map(limited),
        6 => Just(Outcome::ProxyError { phase: Phase::ExitTcp }),
        6 => Just(Outcome::ProxyError { phase: Phase::Tunnel }),
        9 => broken,
        6 => auth(AuthReason::Rejected),
        2 => auth(AuthReason::Quota),
        1 => auth(AuthReason::Capacity),
        2 => hint().prop_map(|hint| Outcome::GatewayOverloaded {
            retry_after: hint.map(|hint| RetryAfter::new(secs(hint))),
            scope: GatewayScope::Gateway,
        }),
    ]
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let weighted = prop::bool::weighted;
    let rest = (weighted(0.1), weighted(0.3), weighted(0.15), weighted(0.4), hint());
    (outcome(), rest).prop_map(|(outcome, (blameless, accepted, unseen, hearsay, hint))| {
        let mut evidence =
            Evidence::of(outcome).blameless(blameless).login_accepted(accepted).hearsay(hearsay);
        if unseen {
            evidence = evidence.seen(Seen::Unknown);
        }
        if matches!(outcome, Outcome::Blocked { .. }) {
            evidence = evidence.retry_after(hint.map(|hint| RetryAfter::new(secs(hint))));
        }
        evidence
    })
}

fn want() -> impl Strategy<Value = Want> {
    prop_oneof![
        8 => Just(Want::Any),
        1 => Just(Want::Turn),
        1 => (0..3_u8).prop_map(Want::Window),
        1 => (0..3_u8).prop_map(Want::Life),
        1 => (0..2_u8).prop_map(Want::Identity),
    ]
}

fn time() -> impl Strategy<Value = Duration> {
    let few = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_millis(3),
        Duration::from_millis(120),
        secs(1),
        secs(2),
        secs(6),
        secs(25),
        secs(40),
        secs(70),
        secs(400),
        secs(3_000),
    ];
    prop::sample::select(few.to_vec())
}

fn patience() -> impl Strategy<Value = Duration> {
    prop::sample::select(vec![Duration::ZERO, secs(2), secs(30), secs(300)])
}

fn step() -> impl Strategy<Value = Step> {
    let deadline = prop::sample::select(vec![secs(1), secs(120), secs(120), Duration::MAX]);
    let how = prop_oneof![6 => Just(How::Done), 1 => Just(How::AtHead), 1 => Just(How::Dropped), 1 => Just(How::NotAttempted)];
    let number = 0..64_usize;
    prop_oneof![
        10 => time().prop_map(Step::Pass),
        6 => (-1..=1_i8).prop_map(Step::ToRest),
        24 => (want(), 0..4_usize, deadline)
            .prop_map(|(want, origin, deadline)| Step::Lease { want, origin, deadline }),
        9 => (want(), 0..4_usize, patience())
            .prop_map(|(want, origin, patience)| Step::Wait { want, origin, patience }),
        4 => (number.clone(), patience()).prop_map(|(old, patience)| Step::Again { old, patience }),
        24 => (want(), 0..4_usize, evidence(), prop_oneof![9 => Just(1_u8), 1 => Just(2)])
            .prop_map(|(want, origin, evidence, times)| Step::Once { want, origin, evidence, times }),
        3 => (0..4_usize, 2..=6_u8).prop_map(|(origin, many)| Step::Crowd { origin, many }),
        2 => (0..4_usize, 2..=9_u8).prop_map(|(origin, many)| Step::Strays { origin, many }),
        4 => Just(Step::AllWell),
        3 => number.clone().prop_map(|waiter| Step::Claim { waiter }),
        1 => number.clone().prop_map(|waiter| Step::Leave { waiter }),
        24 => (number.clone(), evidence()).prop_map(|(lease, evidence)| Step::Report { lease, evidence }),
        2 => (number.clone(), evidence()).prop_map(|(old, evidence)| Step::Late { old, evidence }),
        16 => (number.clone(), how).prop_map(|(lease, how)| Step::Release { lease, how }),
        1 => number.clone().prop_map(|old| Step::EndedWell { old }),
        2 => (number.clone(), any::<bool>()).prop_map(|(exit, on)| Step::Quarantine { exit, on }),
        1 => number.prop_map(|exit| Step::Password { exit }),
        1 => Just(Step::Resume),
        1 => prop::bool::weighted(0.2).prop_map(|close| if close { Step::Close } else { Step::Resume }),
    ]
}

pub(super) fn story() -> impl Strategy<Value = Story> {
    let listed = prop_oneof![3 => 1..=3_u16, 2 => 4..=12_u16];
    let slots = prop_oneof![3 => Just(0_u32), 1 => 1..=4_u32];
    let steps = prop::collection::vec(step(), 1..=200);
    (listed, slots, 1..=4_usize, any::<u64>(), prop::bool::weighted(0.8), steps).prop_map(
        |(listed, slots, origins, seed, prompt, steps)| Story { listed, slots, origins, seed, prompt, steps },
    )
}
