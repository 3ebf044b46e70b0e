//! The alarm of the retry multiplier.

use super::*;
use crate::outcome::{AuthReason, Band, GatewayScope};

/// Counts, and rests nothing.
const FAILED: Outcome = Outcome::OriginError { status: http::StatusCode::SERVICE_UNAVAILABLE };

impl World {
    /// Attempts at an origin, evenly over 5 s.
    fn tick(&mut self, origin: &str, succeed: u32, fail: u32) {
        let gap = secs(5) / (succeed + fail);
        for turn in 0..succeed + fail {
            // Failures in the middle of successes.
            let bad = (turn + 1) * fail / (succeed + fail) > turn * fail / (succeed + fail);
            let grant = self.pass(gap).at(origin, &LeaseRequest::per_request()).unwrap();
            self.finish(&grant, if bad { FAILED } else { Outcome::Ok });
        }
    }

    pub(super) fn notices(&mut self) -> Vec<Event> {
        self.fleet.events().take().into_iter().map(|(_, event)| event).collect()
    }

    fn alarm(&self) -> bool {
        self.snapshot().alarm
    }
}

#[test]
fn b22_two_ticks_above_the_bound_raise_the_alarm_once_and_three_healthy_ones_end_it() {
    let mut world = World::unheld(20);
    world.tick("a.test", 20, 80);
    world.tick("a.test", 50, 1);
    assert_eq!((world.notices(), world.alarm()), (vec![], false), "one bad tick is none");
    let mut raised = Vec::new();
    for _ in 0..20 {
        world.tick("a.test", 20, 80);
        raised.extend(world.notices());
    }
    let [Event::AsksTooHard { multiplier, origin }] = &raised[..] else { panic!("once: {raised:?}") };
    assert_eq!((multiplier.band, origin.as_ref().map(Origin::as_str)), (Band::Alarm, Some("a.test")));
    assert!((4.0..6.0).contains(&multiplier.value) && world.alarm(), "{multiplier:?}");
    let table = world.snapshot().to_string();
    for line in ["  lately              5.000, alarm", "  alarm               lower "] {
        assert!(table.contains(line), "{table}");
    }
    // Better, but not healthy: it stays.
    (0..5).for_each(|_| world.tick("a.test", 70, 30));
    assert_eq!((world.notices(), world.alarm()), (vec![], true));
    (0..2).for_each(|_| world.tick("a.test", 95, 5));
    assert!(world.alarm());
    (0..2).for_each(|_| world.tick("a.test", 95, 5));
    let over = world.notices();
    assert!(matches!(&over[..], [Event::AsksWell { multiplier }] if multiplier.value < 1.1), "{over:?}");
    assert!(!world.alarm());
    (0..5).for_each(|_| world.tick("a.test", 20, 80));
    assert!(world.alarm() && world.notices().len() == 1, "and again");
}

#[test]
fn b22_a_small_fleet_is_counted_until_there_are_enough_attempts() {
    let mut world = World::unheld(20);
    for _ in 0..19 {
        world.pass(secs(10)).once(&LeaseRequest::per_request(), FAILED);
    }
    assert_eq!((world.snapshot().lately, world.alarm()), (None, false));
    world.once(&LeaseRequest::per_request(), FAILED);
    let lately = world.snapshot().lately.unwrap();
    assert_eq!(
        (lately.attempts, lately.successes, lately.value),
        (20, 0, 20.0),
        "at least 20, never infinite"
    );
    for _ in 0..20 {
        world.pass(secs(10)).once(&LeaseRequest::per_request(), FAILED);
    }
    assert!(world.alarm());
}

#[test]
fn b22_attempts_that_do_not_count_in_the_multiplier_raise_nothing() {
    let mut world = World::unheld(20);
    for _ in 0..200 {
        for outcome in [
            Outcome::Ok,
            Outcome::Fatal,
            Outcome::Fatal,
            Outcome::TargetDenied,
            Outcome::TargetUnreachable,
            Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Target },
            Outcome::AuthError { reason: AuthReason::Capacity },
        ] {
            let grant = world.pass(Duration::from_millis(500)).lease(&LeaseRequest::per_request());
            world.finish(&grant, outcome);
        }
    }
    assert!(!world.notices().iter().any(|notice| matches!(notice, Event::AsksTooHard { .. })));
    assert_eq!(world.snapshot().lately.map(|lately| lately.value), Some(1.0));
}

#[test]
fn b22_c39_the_origin_is_named_only_if_it_had_at_least_half_of_the_failures() {
    for (share, named) in [(2, Some("a.test")), (1, None)] {
        let mut world = World::unheld(40);
        for turn in 0..2_000 {
            world.pass(Duration::from_millis(20));
            let (origin, outcome) = match turn % 4 {
                0 => ("good.test".into(), Outcome::Ok),
                n if n <= share => ("a.test".into(), FAILED),
                _ => (format!("{}.test", turn % 50), FAILED),
            };
            let grant = world.at(&origin, &LeaseRequest::per_request()).unwrap();
            world.finish(&grant, outcome);
        }
        let [Event::AsksTooHard { origin, .. }] = &world.notices()[..] else { panic!("asks too hard") };
        assert_eq!(origin.as_ref().map(Origin::as_str), named);
    }
}

#[test]
fn b22_a_late_amendment_moves_an_attempt_and_counts_none() {
    let mut world = World::unheld(20);
    for _ in 0..19 {
        let grant = world.lease(&LeaseRequest::per_request());
        world.report(&grant, Outcome::Ok);
        world.report(&grant, Outcome::Interrupted { phase: Phase::Body });
        world.end(&grant);
    }
    let blocked = world.lease(&LeaseRequest::per_request());
    world.report(&blocked, BLOCKED);
    // A broken body does not make a block less, and is no second attempt.
    world.report(&blocked, Outcome::Interrupted { phase: Phase::Body });
    world.pass(secs(5)).finish(&blocked, BLOCKED);
    let lately = world.snapshot().lately.unwrap();
    assert_eq!((lately.attempts, lately.successes), (20, 0));
}

#[test]
fn b22_a_healthy_fleet_hears_no_alarm() {
    // 15 % of the attempts fail, by chance, for nine hours.
    use crate::draw::{mix, unit};
    let mut world = World::unheld(40);
    for turn in 0..20_000 {
        let outcome = if unit(mix(turn)) < 0.15 { FAILED } else { Outcome::Ok };
        let grant = world.pass(Duration::from_millis(1_700)).lease(&LeaseRequest::per_request());
        world.finish(&grant, outcome);
    }
    assert_eq!((world.notices(), world.alarm()), (vec![], false));
}
