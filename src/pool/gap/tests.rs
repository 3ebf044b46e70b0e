//! The gap alone, fed by hand.

use super::*;

const RULES: fn() -> Spacing = Spacing::default;

fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// As many attempts a second for so long, of which so many in a row of ten are limited; each is answered at once.
fn feed(gap: &mut Gap, (from, seconds): (f64, f64), rate: f64, limited: u64, exits: usize) -> f64 {
    let many = (seconds * rate) as u64;
    for n in 1..=many {
        let now = from + n as f64 / rate;
        gap.count(at(now), at(now), n % 10 < limited, || Exits { all: exits, awake: exits }, &RULES());
    }
    from + seconds
}

#[test]
fn the_rate_that_is_served_is_right_from_the_first_half_life_on() {
    for seconds in [1.0, 4.0, 60.0] {
        let mut gap = Gap::default();
        gap.count(at(1.0), at(1.0), true, || Exits { all: 1, awake: 1 }, &RULES());
        feed(&mut gap, (1.0, seconds), 50.0, 0, 1);
        // The watch ends after the first tick without a 429: what it has counted until then is kept here.
        let served = if gap.is_watched() { gap.served } else { continue };
        let rate = served.rate(at(1.0 + seconds), RULES().half_life);
        assert!((47.0..=53.0).contains(&rate), "{rate} after {seconds} s");
    }
}

#[test]
fn a_gap_never_exceeds_the_longest_and_ends_in_nine_minutes_even_then() {
    let mut gap = Gap::default();
    let mut now = feed(&mut gap, (1.0, 600.0), 5.0, 10, 1_000);
    assert_eq!(gap.figure(), Some(Duration::from_secs(60)));
    let from = now;
    while gap.figure().is_some() {
        now = feed(&mut gap, (now, 1.0), 5.0, 0, 1_000);
    }
    assert!((500.0..=570.0).contains(&(now - from)), "{}", now - from);
    assert!(!gap.is_watched(), "and costs nothing then");
}

#[test]
fn a_burst_that_was_under_way_lengthens_it_once() {
    let mut gap = Gap::default();
    feed(&mut gap, (1.0, 3.0), 10.0, 10, 20);
    let (before, now) = (gap.seconds(), at(20.0));
    assert!(before > 0.0);
    (0..100).for_each(|_| gap.count(now, at(19.9), true, || Exits { all: 20, awake: 20 }, &RULES()));
    let once = gap.seconds();
    assert!(once > before && once <= before * 1.5 + 1e-6, "{before}, then {once}");
    (0..100).for_each(|_| gap.count(at(60.0), at(19.9), true, || Exits { all: 20, awake: 20 }, &RULES()));
    assert_eq!(gap.seconds(), once, "what was sent before the change says nothing about it");
}

#[test]
fn it_is_lengthened_once_in_its_own_length() {
    let mut gap = Gap::default();
    let now = feed(&mut gap, (1.0, 120.0), 20.0, 10, 1_000);
    let before = gap.seconds();
    assert!(before > 10.0);
    feed(&mut gap, (now, f64::from(before)), 20.0, 10, 1_000);
    assert!(gap.seconds() <= before * 1.5 + 1e-3, "{before}, then {}", gap.seconds());
}

#[test]
fn a_clock_that_stands_still_teaches_nothing() {
    for now in [Time::ZERO, at(5.0)] {
        let mut gap = Gap::default();
        (0..1_000).for_each(|n| gap.count(now, now, n % 2 == 0, || Exits { all: 20, awake: 20 }, &RULES()));
        assert_eq!(gap.figure(), None);
        // Nor does one that goes backwards.
        gap.count(Time::ZERO, Time::ZERO, true, || Exits { all: 20, awake: 20 }, &RULES());
        assert!(gap.seconds().is_finite());
    }
}

/// So many attempts a second for so long through exits that are used evenly and no closer than the gap, answered at once by
/// `limits`, which is told how far apart they were; ends early when the gap is let go. Says how long that took.
fn play(
    gap: &mut Gap,
    exits: usize,
    most: f64,
    time: f64,
    mut limits: impl FnMut(f64) -> bool,
) -> Option<f64> {
    let (mut now, end) = (1.0, 1.0 + time);
    while now < end {
        let apart = (exits as f64 / most).max(gap.seconds().into());
        now += apart / exits as f64;
        gap.count(at(now), at(now), limits(apart), || Exits { all: exits, awake: exits }, &RULES());
        if gap.excuse.is_some() {
            return Some(now);
        }
    }
    None
}

fn dice(seed: u64) -> impl FnMut() -> f64 {
    let mut rolls = seed << 32;
    move || {
        rolls += 1;
        crate::draw::unit(crate::draw::mix(rolls))
    }
}

/// The power: of a hundred runs each, at so many attempts a second at most.
#[test]
fn limits_by_chance_are_let_go_within_minutes() {
    for (share, most, exits, minutes, runs) in [
        (0.05, 200.0, 200, 5.0, 95),
        (0.1, 20.0, 20, 8.0, 95),
        (0.3, 200.0, 200, 2.0, 95),
        (0.3, 5.0, 5, 15.0, 95),
    ] {
        let let_go = |seed| {
            let mut dice = dice(seed);
            play(&mut Gap::default(), exits, most, minutes * 60.0, |_| dice() < share).is_some()
        };
        let count = (0..100).filter(|seed| let_go(*seed)).count();
        assert!(count >= runs, "{share} of {most}/s at {exits} exits: {count} of 100");
    }
}

#[test]
fn what_was_let_go_as_chance_is_learned_again_once_a_ban_has_followed_limits() {
    for banned in [false, true] {
        let (mut gap, mut dice) = (Gap::default(), dice(1));
        let now = play(&mut gap, 20, 20.0, 900.0, |_| dice() < 0.3).unwrap();
        if banned {
            gap.rule_out_chance();
        }
        feed(&mut gap, (now, 20.0), 20.0, 3, 20);
        assert_eq!(gap.seconds() > 0.0, banned, "{}", gap.seconds());
    }
}

/// The size: a limit of one in two seconds, which an exit that is used closer than that exceeds by as much, is hardly ever let
/// go, with one in a hundred by chance or without.
#[test]
fn a_limit_of_each_exits_rate_is_not_let_go_in_an_hour() {
    for (noise, most, exits) in [(0.0, 40.0, 20), (0.0, 400.0, 200), (0.01, 40.0, 20)] {
        let let_go = |seed| {
            let mut dice = dice(seed);
            let over = |apart: f64| (1.0 - apart / 2.0).max(noise);
            play(&mut Gap::default(), exits, most, 3_600.0, |apart| dice() < over(apart)).is_some()
        };
        let count = (0..20).filter(|seed| let_go(*seed)).count();
        assert_eq!(count, 0, "{noise}, {most}/s at {exits} exits: of 20");
    }
}

/// A window that is used up limits all until it ends: what no gap could have helped makes none that is far too long.
#[test]
fn while_all_are_limited_a_gap_is_an_eighth_of_that_time_at_most() {
    let mut gap = Gap::default();
    for seconds in [8, 16, 32, 56] {
        let from = gap.served.at.since(Time::ZERO).as_secs_f64().max(1.0);
        feed(&mut gap, (from, f64::from(seconds) + 1.0 - from), 50.0, 10, 20);
        let most = f64::from(seconds) / 8.0;
        let seconds = f64::from(gap.seconds());
        assert!((0.5 * most..=most + 1e-3).contains(&seconds), "{seconds} of {most}");
    }
    let (before, now) = (gap.seconds(), feed(&mut gap, (57.0, 21.0), 50.0, 0, 20));
    let steps = f64::from(gap.seconds() / before).ln() / 0.95_f64.ln();
    assert!((0.5..=1.5).contains(&steps), "once in 21 s, and not three times: {steps}, until {now}");
}
