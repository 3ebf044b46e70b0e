//! The default rules, row by row.

use super::*;
use crate::outcome::{BlockedBy, Outcome, Phase, RetryAfter, Seen};
use http::StatusCode;

const LIMITED: Outcome = Outcome::RateLimited { retry_after: None };
const BLOCKED: Outcome = Outcome::Blocked { by: BlockedBy::Unknown };
const REFUSED: Outcome = Outcome::ProxyError { phase: Phase::ExitTcp };

fn facts(outcome: Outcome) -> Facts {
    Facts {
        evidence: Evidence::of(outcome),
        heat_left: 0.5,
        prior: 0.05,
        heat_next: Some(0.05),
        soonest: Duration::ZERO,
        request_blocked: false,
        patience: Duration::from_secs(30),
        sends: 1,
        max_sends: 4,
        repeatable: true,
        replayable: true,
        left: Duration::from_secs(120),
        draw: 0,
    }
}

fn delay(rules: &RetryRules, facts: Facts) -> f64 {
    match rules.verdict(&facts) {
        Verdict::Retry { delay, .. } => delay.as_secs_f64(),
        Verdict::Stop(why) => panic!("{why}"),
    }
}

/// The shortest and longest wait over all draws.
fn range(facts: Facts) -> (f64, f64) {
    range_of(&RetryRules::default(), facts)
}

fn range_of(rules: &RetryRules, facts: Facts) -> (f64, f64) {
    (delay(rules, Facts { draw: 0, ..facts }), delay(rules, Facts { draw: u64::MAX, ..facts }))
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
fn b04_each_kind_of_failure_has_a_remedy_of_its_own() {
    let broken = |phase| Outcome::ProxyError { phase };
    // How long the first retry waits, through what, and whether there is a second.
    for (what, outcome, waits, switch, again) in [
        ("connection refused", broken(Phase::ExitTcp), (0.5, 1.5), Switch::Exit, true),
        ("429", LIMITED, (2.5, 3.75), Switch::Exit, true),
        ("403", BLOCKED, (0.0, 0.25), Switch::Exit, true),
        ("the exit's name is not found", broken(Phase::ExitDns), (0.5, 1.5), Switch::Exit, true),
        ("the site's name is not found", Outcome::TargetUnreachable, (0.5, 1.5), Switch::Exit, false),
        ("TLS is reset", broken(Phase::OriginTls), (0.5, 1.5), Switch::Exit, false),
        (
            "503",
            Outcome::OriginError { status: StatusCode::SERVICE_UNAVAILABLE },
            (2.5, 3.75),
            Switch::Same,
            true,
        ),
    ] {
        near(range(facts(outcome)), waits);
        let verdict = |sends| RetryRules::default().verdict(&Facts { sends, ..facts(outcome) });
        assert!(matches!(verdict(1), Verdict::Retry { switch: to, .. } if to == switch), "{what}");
        assert_eq!(verdict(2) != Verdict::Stop(Why::NoCure), again, "{what}");
    }
}

#[test]
fn b10_b11_b21_what_stops_says_why() {
    for rules in [RetryRules::default(), RetryRules::article(), RetryRules::negotiated()] {
        what_stops_says_why(&rules);
    }
}

fn what_stops_says_why(rules: &RetryRules) {
    let why = |facts| match rules.verdict(&facts) {
        Verdict::Stop(why) => why,
        Verdict::Retry { .. } => panic!("it goes on: {rules:?}"),
    };
    assert_eq!(why(facts(Outcome::Ok)), Why::Done);
    assert_eq!(why(facts(Outcome::Fatal)), Why::Fatal);
    assert_eq!(why(Facts { sends: 2, ..facts(Outcome::TargetDenied) }), Why::NoCure);
    let tls = Outcome::ProxyError { phase: Phase::OriginTls };
    assert_eq!(why(Facts { sends: 2, ..facts(tls) }), Why::NoCure, "two exits meet the same certificate");
    assert_eq!(why(Facts { request_blocked: true, ..facts(BLOCKED) }), Why::RequestBlocked);
    assert_eq!(why(Facts { sends: 4, ..facts(BLOCKED) }), Why::Exhausted, "the limit counts sends");
    assert_eq!(why(Facts { replayable: false, ..facts(BLOCKED) }), Why::BodyGone);
    assert_eq!(why(Facts { repeatable: false, ..facts(BLOCKED) }), Why::NotRepeatable);
    assert_eq!(why(Facts { left: Duration::from_millis(200), ..facts(LIMITED) }), Why::Deadline);
}

#[test]
fn what_the_origin_never_saw_goes_again_for_every_method() {
    let mut never = Facts { repeatable: false, ..facts(REFUSED) };
    never.evidence.seen = Seen::Never;
    assert!(delay(&RetryRules::default(), never) >= 0.5);
}

#[test]
fn with_nobody_to_go_it_waits_in_line_if_its_patience_lasts() {
    let waiting = Facts { heat_next: None, soonest: Duration::from_secs(30), ..facts(BLOCKED) };
    near(range(waiting), (0.0, 0.25));
    let longer = Facts { soonest: Duration::from_secs(31), ..waiting };
    assert_eq!(
        RetryRules::default().verdict(&longer),
        Verdict::Stop(Why::NoUsableExit),
        "patience ends first"
    );
    let late = Facts { left: Duration::from_secs(30), ..waiting };
    assert_eq!(
        RetryRules::default().verdict(&late),
        Verdict::Stop(Why::NoUsableExit),
        "so does the deadline"
    );
    let limited = Facts { heat_next: None, soonest: Duration::from_secs(2), ..facts(LIMITED) };
    near(range(limited), (1.0, 1.5));
}

/// The mean over many draws.
fn mean(rules: &RetryRules, facts: Facts) -> f64 {
    let draws = 0..10_000_u64;
    let count = 10_000.0;
    draws.map(|at| delay(rules, Facts { draw: crate::draw::mix(at), ..facts })).sum::<f64>() / count
}

#[test]
fn b12_b13_b14_the_article_row_by_row() {
    let rules = RetryRules::article();
    let at = |outcome, sends, heat_left| Facts { sends, heat_left, heat_next: Some(0.9), ..facts(outcome) };
    near(range_of(&rules, at(LIMITED, 1, 0.0)), (1.0, 1.5));
    near(range_of(&rules, at(LIMITED, 1, 0.6)), (19.0, 28.5));
    near(range_of(&rules, at(LIMITED, 3, 0.0)), (4.0, 6.0));
    near(range_of(&rules, at(REFUSED, 3, 0.9)), (1.5, 2.5));
    near(range_of(&rules, at(BLOCKED, 1, 0.9)), (0.0, 0.25));
    assert!((mean(&rules, at(LIMITED, 2, 0.0)) - 2.5).abs() < 0.02, "base and a quarter");
    let rest = rules.rest();
    assert_eq!((rest.first.as_secs(), rest.doubles), (300, false));
    assert!((300.0 * rest.stretch - 60.0).abs() < 1e-9);
}

#[test]
fn b18_heat_matters_more_than_the_attempts_number() {
    let rules = RetryRules::article();
    let hot = mean(&rules, Facts { heat_left: 0.6, ..facts(LIMITED) });
    let cold = mean(&rules, Facts { heat_left: 0.0, ..facts(LIMITED) });
    assert!((hot - cold - 18.0 * 1.25).abs() < 0.1, "{hot} {cold}");
}

#[test]
fn b20_jitter_is_half_of_the_delay() {
    for sends in 1..=3 {
        let (low, high) = range_of(&RetryRules::article(), Facts { sends, heat_left: 0.3, ..facts(LIMITED) });
        assert!((high / low - 1.5).abs() < 1e-5);
    }
}

#[test]
fn c26_the_negotiated_delay_looks_at_the_next_exit_and_not_at_the_attempt() {
    let rules = RetryRules::negotiated();
    for (heat, expected) in [(0.05, 0.319), (0.2, 0.660), (0.5, 2.828), (0.8, 12.126), (1.0, 30.0)] {
        for outcome in [LIMITED, BLOCKED, REFUSED] {
            for sends in [1, 3] {
                let facts = Facts { heat_next: Some(heat), sends, heat_left: 1.0, ..facts(outcome) };
                let (low, high) = range_of(&rules, facts);
                let close = |a: f64, b: f64| (a - b).abs() < 0.005 * b;
                assert!(close(low, 0.75 * expected) && close(high, 1.25 * expected), "{heat}: {low}..{high}");
                assert!(close(mean(&rules, facts), expected));
            }
        }
    }
    let prior = Facts { prior: 0.5, ..facts(LIMITED) };
    assert!(
        range_of(&rules, prior).0 > 2.0,
        "an origin that blocks many is approached slowly whatever the exit"
    );
}

#[test]
fn b10_c30_the_limit_counts_sends_and_is_one_at_least() {
    for rules in [RetryRules::default(), RetryRules::article(), RetryRules::negotiated()] {
        assert_eq!(rules.max_sends(), 4);
        for (given, sends) in [(1, 1), (6, 6)] {
            assert_eq!(rules.clone().max_attempts(given).max_sends(), sends);
        }
    }
    let sent = |sends| {
        matches!(RetryRules::default().verdict(&Facts { sends, ..facts(BLOCKED) }), Verdict::Retry { .. })
    };
    assert_eq!([1, 2, 3, 4, 5].map(sent), [true, true, true, false, false], "three more after the first");
}
