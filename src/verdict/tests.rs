//! The default rules, row by row.

use super::*;
use crate::outcome::{AuthReason, BlockedBy, Outcome, Phase, RetryAfter, Seen};
use http::StatusCode;

const LIMITED: Outcome = Outcome::RateLimited { retry_after: None };
const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };
const REFUSED: Outcome = Outcome::ProxyError { phase: Phase::ExitTcp };

fn facts(outcome: Outcome) -> Facts {
    Facts {
        evidence: Evidence::of(outcome),
        heat_next: Some(0.05),
        soonest: Duration::ZERO,
        patience: Duration::from_secs(30),
        sends: 1,
        max_sends: 4,
        repeatable: true,
        replayable: true,
        left: Duration::from_secs(120),
        draw: 0,
    }
}

fn delay(facts: Facts) -> f64 {
    match RetryRules::default().verdict(&facts) {
        Verdict::Retry { delay, .. } => delay.as_secs_f64(),
        Verdict::Stop(why) => panic!("{why}"),
    }
}

/// The shortest and longest wait over all draws.
fn range(facts: Facts) -> (f64, f64) {
    (delay(Facts { draw: 0, ..facts }), delay(Facts { draw: u64::MAX, ..facts }))
}

fn near((low, high): (f64, f64), (a, b): (f64, f64)) {
    assert!((low - a).abs() < 1e-5 && (high - b).abs() < 1e-5, "{low}..{high} is not {a}..{b}");
}

#[test]
fn the_waits_are_the_documented_ones() {
    let at = |outcome, sends, heat| Facts { sends, heat_next: Some(heat), ..facts(outcome) };
    near(range(at(LIMITED, 1, 0.05)), (2.5, 3.75));
    near(range(at(LIMITED, 3, 0.6)), (22.0, 33.0));
    near(range(at(BLOCKED, 1, 0.9)), (0.0, 0.25));
    near(range(at(BLOCKED, 3, 0.0)), (0.0, 0.75));
    near(range(at(REFUSED, 1, 0.9)), (0.5, 1.5));
    near(range(at(REFUSED, 2, 0.0)), (1.0, 2.0));
    near(range(at(Outcome::OriginError { status: StatusCode::BAD_GATEWAY }, 2, 0.0)), (2.0, 3.0));
}

#[test]
fn a_hint_delays_the_request_only_where_it_is_the_origins() {
    let hint = Some(RetryAfter::new(Duration::from_secs(40)));
    let mut asked = facts(Outcome::OriginError { status: StatusCode::SERVICE_UNAVAILABLE });
    asked.evidence.retry_after = hint;
    near(range(asked), (40.0, 60.0));
    let limited = facts(Outcome::RateLimited { retry_after: hint });
    near(range(limited), (2.5, 3.75));
}

#[test]
fn an_origin_error_keeps_the_exit_and_the_others_switch() {
    let switch = |outcome| match RetryRules::default().verdict(&facts(outcome)) {
        Verdict::Retry { switch, .. } => Some(switch),
        Verdict::Stop(_) => None,
    };
    assert_eq!(switch(Outcome::OriginError { status: StatusCode::BAD_GATEWAY }), Some(Switch::Same));
    for outcome in [LIMITED, BLOCKED, REFUSED, Outcome::Interrupted { phase: Phase::Head }] {
        assert_eq!(switch(outcome), Some(Switch::Exit), "{outcome}");
    }
}

#[test]
fn what_stops_says_why() {
    let why = |facts| match RetryRules::default().verdict(&facts) {
        Verdict::Stop(why) => why,
        Verdict::Retry { .. } => panic!("it goes on"),
    };
    assert_eq!(why(facts(Outcome::Ok)), Why::Done);
    assert_eq!(why(facts(Outcome::Fatal)), Why::Fatal);
    assert_eq!(why(facts(Outcome::AuthError { reason: AuthReason::Rejected })), Why::NoCure);
    assert_eq!(why(facts(Outcome::TargetDenied)), Why::NoCure);
    let tls = Outcome::ProxyError { phase: Phase::OriginTls };
    assert_eq!(why(Facts { sends: 2, ..facts(tls) }), Why::NoCure, "two exits meet the same certificate");
    assert_eq!(why(Facts { sends: 4, ..facts(BLOCKED) }), Why::Exhausted, "the limit counts sends");
    assert_eq!(why(Facts { replayable: false, ..facts(BLOCKED) }), Why::BodyGone);
    assert_eq!(why(Facts { repeatable: false, ..facts(BLOCKED) }), Why::NotRepeatable);
    assert_eq!(why(Facts { left: Duration::from_secs(1), ..facts(LIMITED) }), Why::Deadline);
}

#[test]
fn what_the_origin_never_saw_goes_again_for_every_method() {
    let mut never = Facts { repeatable: false, ..facts(REFUSED) };
    never.evidence.seen = Seen::Never;
    assert!(delay(never) >= 0.5);
}

#[test]
fn with_nobody_to_go_the_wait_lasts_until_somebody_may() {
    let waiting = Facts { heat_next: None, soonest: Duration::from_secs(30), ..facts(BLOCKED) };
    near(range(waiting), (30.0, 30.5));
    let longer = Facts { soonest: Duration::from_secs(31), ..waiting };
    assert_eq!(
        RetryRules::default().verdict(&longer),
        Verdict::Stop(Why::NoUsableExit),
        "patience ends first"
    );
    let limited = Facts { heat_next: None, soonest: Duration::from_secs(2), ..facts(LIMITED) };
    near(range(limited), (2.0, 2.5));
}
