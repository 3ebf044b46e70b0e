//! An origin whose 429s come by chance, however often an exit is used: they cost no more than their own rests.

use super::crowd::Crowd;
use super::*;
use crate::draw::mix;

/// So many of a thousand are limited, with such a hint.
fn by_chance(permille: u64, hint: Option<u64>, seed: u64) -> impl FnMut(Time, ExitId) -> Outcome {
    let mut rolls = seed << 32;
    move |_, _| {
        rolls += 1;
        if mix(rolls) % 1_000 < permille { limited(hint) } else { Outcome::Ok }
    }
}

/// How much is served in that time, over what is without the part.
fn kept((exits, workers): (u16, usize), permille: u64, hint: Option<u64>, time: Duration, seed: u64) -> f64 {
    let brought = |knobs| {
        let setup = Setup { knobs, seed, ..config(exits) };
        Crowd::new(setup, workers, by_chance(permille, hint, seed)).go(time).ok
    };
    let without = brought(Knobs { spacing: None, ..Knobs::default() });
    f64::from(brought(Knobs::default())) / f64::from(without)
}

/// The part costs little where nothing is to be learned: of an hour, a twentieth or so goes into finding that out. Runs are
/// shorter for more exits, since an attempt costs as much; what is found out early costs a short run more.
#[track_caller]
fn costs_little(exits: u16, workers: usize, time: u64, cases: &[(u64, Option<u64>, f64)]) {
    for (permille, hint, least) in cases {
        let kept = kept((exits, workers), *permille, *hint, secs(time), 1);
        assert!(
            kept >= *least,
            "{exits} exits, {permille} of 1000 limited, hint {hint:?}: {kept:.3} is kept"
        );
    }
}

#[test]
fn limits_by_chance_cost_little_at_five_exits() {
    costs_little(5, 3, 3_600, &[(50, None, 0.9), (100, None, 0.9)]);
}

#[test]
fn limits_by_chance_cost_little_at_twenty_exits() {
    costs_little(20, 10, 600, &[(50, None, 0.9), (100, None, 0.9), (300, None, 0.8), (50, Some(5), 0.88)]);
}

#[test]
fn limits_by_chance_cost_little_at_two_hundred_exits() {
    costs_little(200, 20, 400, &[(50, None, 0.88), (100, Some(30), 0.85)]);
}

#[test]
fn a_limit_that_begins_where_chance_was_excused_is_learned_within_a_minute() {
    let limit = std::rc::Rc::new(std::cell::Cell::new(false));
    let own = std::rc::Rc::clone(&limit);
    let mut chance = by_chance(100, None, 1);
    let mut free: HashMap<ExitId, Time> = HashMap::new();
    let answers = move |now: Time, exit| {
        if !own.get() {
            return chance(now, exit);
        }
        let at = free.entry(exit).or_insert(now);
        let allowed = *at <= now;
        *at = if allowed { now + secs(2) } else { *at };
        if allowed { Outcome::Ok } else { limited(None) }
    };
    let mut crowd = Crowd::new(config(20), 10, answers);
    assert!(crowd.go(secs(180)).longest > 0.5, "it is tried");
    assert_eq!(crowd.gap(), 0.0, "and let go");
    limit.set(true);
    crowd.go(secs(60));
    let brought = crowd.go(secs(60));
    assert!(brought.share() < 0.2 && brought.gap > 1.0, "{brought:?}");
}

#[test]
fn a_503_with_a_wait_teaches_no_gap() {
    let mut world = World::unheld(200);
    for _ in 0..100 {
        let grant = world.pass(secs(2)).lease(&LeaseRequest::per_request());
        world.finish(&grant, Evidence::of(limited(Some(1))).for_all(true));
    }
    assert_eq!(world.snapshot().origins[0].gap, None);
}
