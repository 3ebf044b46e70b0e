//! Retries take turns.

mod back;
mod fair;
mod members;
mod turns;

use super::retries::verdict;
use super::*;
use crate::draw::{mix, unit};
use crate::fleet::lane::{Pace, Turns};
use crate::knobs::Lane;
use crate::outcome::{AuthReason, GatewayScope, Seen};
use crate::verdict::Why;

/// Costs one turn, rests nothing, and its own delay is short; and it is said to one request, so that no origin is left alone.
const FAILED: Outcome = Outcome::OriginError { status: http::StatusCode::REQUEST_TIMEOUT };

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn patient() -> LeaseRequest {
    LeaseRequest::per_request().deadline(secs(3_600))
}

/// With this lane. Its rules have the shortest delays, which do not depend on heat much.
fn with(lane: Lane, share: f64) -> World {
    let knobs = Knobs { lane: Some(lane), ..Knobs::default() };
    World::new(Setup { knobs, rules: RetryRules::negotiated().retries_per_success(share), ..config(40) })
}

impl World {
    /// Asks for a retry after an attempt that showed that: how long it waits, or is parked.
    fn turn(&mut self, origin: &str, showed: impl Into<Evidence>) -> Result<Duration, Duration> {
        self.turn_within(origin, showed, secs(3_600))
    }

    fn turn_within(
        &mut self,
        origin: &str,
        showed: impl Into<Evidence>,
        left: Duration,
    ) -> Result<Duration, Duration> {
        let grant = self.at(origin, &patient()).unwrap();
        self.end(&grant);
        self.turn_of(&grant, showed, left)
    }

    fn turn_of(
        &mut self,
        grant: &Grant,
        showed: impl Into<Evidence>,
        left: Duration,
    ) -> Result<Duration, Duration> {
        let (ask, evidence) = (patient(), showed.into());
        let question = RetryAsk {
            receipt: grant.receipt,
            evidence,
            ask: &ask,
            repeatable: true,
            replayable: true,
            deadline: self.now + left,
        };
        match self.fleet.retry(self.now, &question) {
            Verdict::Retry { delay, .. } => Ok(delay),
            Verdict::Stop(Why::Parked { retry_in }) => Err(retry_in),
            other => panic!("{other:?}"),
        }
    }

    /// So many successes, evenly over that time.
    fn succeed(&mut self, origin: &str, many: u32, over: Duration) {
        for _ in 0..many {
            let grant = self.pass(over / many).at(origin, &patient()).unwrap();
            self.finish(&grant, Outcome::Ok);
        }
    }
}

/// The most within any window of that length, of times in order.
fn most_within(times: &[Duration], window: Duration) -> usize {
    let within = |from: usize| times[from..].iter().take_while(|at| **at < times[from] + window).count();
    (0..times.len()).map(within).max().unwrap_or(0)
}

#[test]
fn te_086_a_share_of_the_successes_is_granted_and_no_rounded_one() {
    // Restated: the lane is a rate, and no count of tokens. 100 successes a second for 40 s, and in the second half retries
    // asked for all the while; no floor, nothing saved up. What is granted in the last 10 s, which have 1,000 successes, is
    // the share.
    for share in [0.6, 0.3, 0.34, 0.01, 1.0, 1.5, 0.0] {
        let lane = Lane { floor: 0.0, part: 0.0, burst: 1.0, longest: millis(600), ..Lane::default() };
        let mut world = with(lane, share);
        let mut turns = Vec::new();
        world.succeed("a.test", 2_000, secs(20));
        for _ in 0..2_000 {
            world.succeed("a.test", 1, millis(10));
            for _ in 0..2 {
                if let Ok(wait) = world.turn("a.test", limited(None)) {
                    turns.push((world.now + wait).since(Time::ZERO));
                }
            }
        }
        let granted = turns.iter().filter(|at| **at >= secs(30) && **at < secs(40)).count() as f64;
        // The rate is that of a decayed count, which is within 2 % where 100 come a second.
        let (least, most) = ((980.0 * share).floor() - 1.0, (1_020.0 * share).ceil() + 1.0);
        assert!((least..=most).contains(&granted), "{granted} at {share}");
    }
}

#[test]
fn te_086_a_share_that_is_no_number_of_retries_fails_the_build() {
    for share in [f64::NAN, -0.1, f64::INFINITY, f64::NEG_INFINITY, 2.1] {
        let error = RetryRules::default().retries_per_success(share).check().unwrap_err();
        assert_eq!(error.field(), "retries_per_success");
        let text = error.to_string();
        assert!(text.contains(&share.to_string()) && text.contains("from 0 to 2"), "{text}");
    }
    for share in [0.0, 0.01, 0.25, 1.5, 2.0] {
        RetryRules::default().retries_per_success(share).check().unwrap();
    }
}

#[test]
fn a_thousand_blocked_at_once_come_back_one_by_one_and_nobody_is_parked() {
    let mut world = World::new(Setup { rules: RetryRules::default(), ..config(400) });
    let out: Vec<_> = (0..1_000).map(|_| world.at("a.test", &patient()).unwrap()).collect();
    let mut turns = Vec::new();
    for grant in out {
        world.report(&grant, BLOCKED);
        world.end(&grant);
        turns.push(world.turn_of(&grant, BLOCKED, secs(120)).expect("nobody is parked"));
    }
    turns.sort_unstable();
    // 0.1 a second for each that was out: 100, and as many at once.
    let first = turns.iter().filter(|at| **at <= millis(250)).count();
    assert!((100..=126).contains(&first), "the burst, over the delay of a blocked request: {first}");
    let after: Vec<_> = turns.iter().copied().filter(|at| *at > millis(250)).collect();
    assert!(most_within(&after, millis(100)) <= 11, "{}", most_within(&after, millis(100)));
    assert!(turns[999] > millis(8_900) && turns[999] < millis(9_100), "{:?}", turns[999]);
}

#[test]
fn at_twenty_a_second_two_come_in_a_tenth_and_at_fifty_five() {
    for (rate, most) in [(20.0, 2), (50.0, 5)] {
        let lane = Lane { floor: rate, part: 0.0, burst: 1.0, longest: secs(100), ..Lane::default() };
        let mut world = with(lane, 0.0);
        let turns: Vec<_> = (0..1_000).map(|_| world.turn("a.test", limited(None)).unwrap()).collect();
        let after: Vec<_> = turns.into_iter().filter(|at| *at > secs(5)).collect();
        assert_eq!(most_within(&after, millis(100)), most, "at {rate}/s");
    }
}

#[test]
fn what_succeeds_widens_the_lane_and_when_nothing_does_the_floor_is_left() {
    let mut world = with(Lane::default(), 0.25);
    world.succeed("a.test", 4_000, secs(40));
    // 25 a second of 100, and three at once.
    let busy: Vec<_> = (0..29).map(|_| world.turn("a.test", FAILED).unwrap()).collect();
    assert!(busy[28] >= millis(950) && busy[28] <= millis(1_150), "{busy:?}");
    // Nothing succeeds for two minutes: two a second, whatever was before.
    world.pass(secs(120));
    let turns: Vec<_> = (0..40).map(|_| world.turn("a.test", FAILED).unwrap()).collect();
    let gap = (turns[39] - turns[19]).as_secs_f64() / 20.0;
    assert!((0.49..0.51).contains(&gap), "{gap} s");
}

#[test]
fn a_turn_out_of_reach_parks_the_request_and_takes_nothing() {
    let mut world = with(Lane::default(), 0.25);
    let mut granted = 0;
    let told = loop {
        match world.turn("a.test", FAILED) {
            Ok(wait) => {
                assert!(wait <= secs(30), "{wait:?}");
                granted += 1;
            }
            Err(retry_in) => break retry_in,
        }
    };
    assert_eq!(granted, 63, "two a second for 30 s, and three at once");
    assert!(told > secs(30) && told <= millis(30_500), "{told:?}");
    // The next ones are told other times, one after the other, and once that reaches a minute, any within it.
    let told: Vec<_> = (0..2_000).map(|_| world.turn("a.test", FAILED).unwrap_err()).collect();
    assert_eq!(told[1] - told[0], millis(500));
    assert!(told.iter().all(|retry_in| *retry_in <= secs(91)), "{:?}", told.iter().max());
    let mut times = told.clone();
    times.sort_unstable();
    // A good thirty a second, by chance.
    assert!(most_within(&times, secs(1)) < 60, "{}", most_within(&times, secs(1)));
    assert_eq!(world.snapshot().parked, 2_001);
    let table = world.snapshot().to_string();
    assert!(
        table.contains(&format!("{:<21} 2001 requests, too many retries before them", "parked")),
        "{table}"
    );
    // Nothing was kept for them: at the time that was told there is a turn.
    world.pass(told[0]);
    assert!(world.turn("a.test", FAILED).unwrap() < millis(500), "only its own delay is left");
}

#[test]
fn a_turn_after_the_deadline_parks_too() {
    let mut world = with(Lane::default(), 0.25);
    while world.turn("a.test", FAILED).unwrap() < secs(5) {}
    let retry_in = world.turn_within("a.test", FAILED, secs(4)).unwrap_err();
    assert!(retry_in >= secs(5), "{retry_in:?}");
    assert!(world.turn_within("a.test", FAILED, secs(8)).is_ok(), "who has the time goes");
}

#[test]
fn a_turn_begins_while_the_rules_own_delay_runs() {
    let mut world = World::of(40);
    // 2.5 to 3.75 s of its own.
    let waits: Vec<_> = (0..20).map(|_| world.turn("a.test", limited(None)).unwrap()).collect();
    assert!(waits[0] >= millis(2_500) && waits[0] <= millis(3_750), "{waits:?}");
    assert_eq!(waits[19], millis(8_500), "the seventeenth after three at once, and nothing on top");
}

#[test]
fn a_broken_exit_costs_two_turns_and_what_waits_elsewhere_none() {
    let rate = |outcome: Evidence| {
        let lane = Lane { floor: 2.0, part: 0.0, ..Lane::default() };
        let mut world = with(lane, 0.0);
        let grant = world.at("a.test", &patient()).unwrap();
        (0..200).take_while(|_| world.turn_of(&grant, outcome, secs(3_600)).is_ok()).count()
    };
    for (outcome, most) in [
        (BLOCKED, 63),
        (limited(None), 63),
        (FAILED, 63),
        (Outcome::TargetUnreachable, 63),
        (REFUSED, 31),
        (Outcome::Interrupted { phase: Phase::Head }, 31),
        (Outcome::SessionLost, 200),
        (Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway }, 200),
        (Outcome::AuthError { reason: AuthReason::Rejected }, 200),
    ] {
        assert_eq!(rate(outcome.into()), most, "{outcome}");
    }
    let race = Evidence::of(Outcome::Interrupted { phase: Phase::Send }).blameless(true);
    assert_eq!(rate(race.seen(Seen::Never)), 200, "an idle connection that closed just then");
    assert_eq!(rate(race), 31, "the origin may have seen it");
    assert_eq!(rate(Evidence::of(REFUSED).seen(Seen::Never)), 200, "the origin never saw it");
}

#[test]
fn a_storm_at_one_origin_holds_up_no_other() {
    let mut world = with(Lane::default(), 0.25);
    let out: Vec<_> = (0..300).map(|_| world.at("storm.test", &patient()).unwrap()).collect();
    let calm: Vec<_> = (0..20).map(|_| world.at("calm.test", &patient()).unwrap()).collect();
    for grant in out {
        world.finish(&grant, FAILED);
        world.turn_of(&grant, FAILED, secs(120)).expect("nobody is parked");
    }
    let waits: Vec<_> = calm.iter().map(|grant| world.turn_of(grant, FAILED, secs(120)).unwrap()).collect();
    assert!(waits[2] < millis(500), "its own delay: {waits:?}");
    assert!(waits.iter().all(|wait| *wait < secs(10)), "two a second of its own: {waits:?}");
    // Had the fleet one time, as an origin has, all that the storm reserved would be before them.
    let (mut one, pace) = (Turns::default(), Pace { rate: 32.0, burst: 32.0 });
    for _ in 0..300 {
        one.reserve(world.now, 1.0, pace);
    }
    assert!(one.peek(world.now, 1.0, pace) > world.now + secs(8));
}

#[test]
fn many_origins_together_keep_to_the_lane_of_the_fleet() {
    let mut world = with(Lane::default(), 0.25);
    let mut turns = Vec::new();
    for origin in 0..500 {
        match world.turn(&format!("{origin}.test"), FAILED) {
            Ok(wait) => turns.push(wait),
            Err(retry_in) => assert!(retry_in >= secs(30), "{retry_in:?}"),
        }
    }
    turns.sort_unstable();
    // Booked by the second: two, and three more in the first.
    assert!((60..=66).contains(&turns.len()), "{}", turns.len());
    let late: Vec<_> = turns.into_iter().filter(|at| *at > secs(4)).collect();
    assert!(most_within(&late, secs(10)) <= 22, "{}", most_within(&late, secs(10)));
}

#[test]
fn the_fleet_saves_up_no_more_than_a_burst() {
    let mut world = with(Lane::default(), 0.25);
    for round in 0..3 {
        world.pass(secs(60));
        let now = (0..60)
            .filter(|at| world.turn(&format!("{round}-{at}.test"), BLOCKED) <= Ok(millis(500)))
            .count();
        assert_eq!(now, 5, "two, and three that were left out before");
    }
}

#[test]
fn without_a_lane_a_retry_waits_for_itself_alone() {
    let mut world = World::new(Setup { knobs: Knobs { lane: None, ..Knobs::default() }, ..config(40) });
    assert!((0..500).all(|_| world.turn("a.test", BLOCKED) < Ok(millis(250))));
}

#[test]
fn a_rate_limit_is_a_send_unless_the_knob_says_otherwise() {
    for (counts, most) in [(true, 3), (false, 20)] {
        let knobs =
            Knobs { lane: Some(Lane { limited_sends_count: counts, ..Lane::default() }), ..Knobs::default() };
        let mut world = World::new(Setup { knobs, ..config(40) });
        let mut ask = patient();
        let mut retried = 0;
        while retried < 20 {
            let grant = world.pass(secs(60)).lease(&ask);
            world.finish(&grant, limited(None));
            let Verdict::Retry { .. } = verdict(&mut world, &grant, &ask, limited(None)) else { break };
            ask.trail.record(grant.receipt.exit, &limited(None).into(), true);
            retried += 1;
        }
        assert_eq!(retried, most);
        // Other failures count as ever.
        ask.trail = Default::default();
        (0..3).for_each(|_| ask.trail.record(exits(40)[39].id(), &FAILED.into(), true));
        let grant = world.once(&ask, FAILED);
        assert_eq!(verdict(&mut world, &grant, &ask, FAILED), Verdict::Stop(Why::Exhausted));
    }
}

#[test]
fn in_random_traffic_nobody_starves_and_no_second_has_too_many() {
    for seed in 0..8_u64 {
        let mut world = with(Lane::default(), 0.25);
        let (mut turns, mut highest) = (Vec::new(), 0.0_f64);
        for turn in 0..4_000_u64 {
            let dice = |n: u64| unit(mix(mix(seed ^ 0xface) ^ (turn * 4 + n)));
            world.pass(millis((dice(0) * 40.0) as u64));
            let grant = world.at("a.test", &patient()).unwrap();
            let failed = dice(1) < if turn % 1_000 < 500 { 0.1 } else { 0.8 };
            let outcome = if failed { FAILED } else { Outcome::Ok };
            world.finish(&grant, outcome);
            highest = highest.max(0.25 * world.fleet.pool.pulse(world.now, grant.receipt.at.1).successes);
            if failed {
                match world.turn_of(&grant, FAILED, secs(120)) {
                    Ok(wait) => {
                        assert!(wait <= secs(30), "{wait:?}");
                        turns.push(world.now.since(Time::ZERO) + wait);
                    }
                    Err(retry_in) => assert!(retry_in > secs(30) && retry_in < secs(400), "{retry_in:?}"),
                }
            }
        }
        turns.sort_unstable();
        // The rules' own delays are up to two seconds here, and shift turns.
        let (most, within) = (highest.max(2.0) * 12.0 + 3.0, most_within(&turns, secs(10)));
        assert!(turns.len() > 500 && within as f64 <= most, "{within} > {most} of {}", turns.len());
    }
}
