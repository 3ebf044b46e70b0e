//! Burned pairs, dead exits, and the one trial that brings them back.

use super::*;

/// Burns one pair; returns the exit, and when the rest is over at the latest.
fn burn(world: &mut World) -> ExitId {
    world.once(&LeaseRequest::per_request(), BLOCKED).receipt.exit
}

#[test]
fn a21_c04_a_burned_pair_rests_and_the_exit_serves_other_origins() {
    let mut world = World::of(2);
    let burned = burn(&mut world);
    for _ in 0..100 {
        assert_ne!(world.once(&LeaseRequest::per_request(), Outcome::Ok).receipt.exit, burned);
    }
    let elsewhere = world.through("b.test", burned);
    assert!(!elsewhere.trial);
    world.finish(&elsewhere, Outcome::Ok);
    let still = world.pass(secs(9)).once(&LeaseRequest::per_request(), Outcome::Ok);
    assert_ne!(still.receipt.exit, burned, "never earlier than 10 s");
}

#[test]
fn a14_c14_one_lease_at_a_time_tries_and_a_success_opens() {
    let mut world = World::of(1);
    burn(&mut world);
    assert!(world.at("a.test", &LeaseRequest::per_request()).is_err());
    world.pass(Duration::from_millis(12_500));
    let trial = world.lease(&LeaseRequest::per_request());
    assert!(trial.trial);
    let Err(Refusal::NoUsableExit { counts, retry_at, .. }) =
        world.at("a.test", &LeaseRequest::per_request())
    else {
        panic!("a second trial")
    };
    assert_eq!((counts.on_trial, counts.total()), (1, 1));
    assert_eq!(retry_at, world.now + secs(1));
    world.finish(&trial, Outcome::Ok);
    let free = world.lease(&LeaseRequest::per_request());
    assert!(!free.trial && !world.lease(&LeaseRequest::per_request()).trial);
}

#[test]
fn c29_a_suspicion_that_a_trial_confirms_rests_twice_as_long_each_time_and_settles_near_nine_minutes() {
    let mut world = World::of(2);
    world.once(&held(), BLOCKED);
    let mut rests = Vec::new();
    for _ in 0..30 {
        let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &held()) else {
            panic!("the pair rests")
        };
        assert_eq!(counts.cooling, 1);
        rests.push(retry_at.since(world.now).as_secs_f64());
        world.now = retry_at;
        assert!(world.once(&held(), BLOCKED).trial);
    }
    // The first block is no strike. Strikes halve in half an hour, so a rest of minutes costs some of them.
    for (rest, expected) in rests.iter().zip([10.0, 20.0, 39.7, 78.0]) {
        assert!((expected * 0.97..=expected * 1.25).contains(rest), "{rest} for {expected}");
    }
    assert!(rests[10..].iter().all(|rest| (440.0..650.0).contains(rest)), "{rests:?}");
}

#[test]
fn from_the_second_strike_on_which_is_the_third_block_three_trials_must_pass() {
    let mut world = World::of(2);
    world.once(&held(), BLOCKED);
    world.pass(secs(13)).once(&held(), BLOCKED);
    world.pass(secs(25)).once(&held(), BLOCKED);
    world.pass(secs(50));
    for trial in [true, true, true, false] {
        assert_eq!(world.once(&held(), Outcome::Ok).trial, trial);
    }
}

#[test]
fn a_trial_that_is_dropped_gives_its_place_back() {
    let mut world = World::of(1);
    burn(&mut world);
    world.pass(secs(13));
    let trial = world.lease(&LeaseRequest::per_request());
    world.fleet.release(&trial.receipt, Release::Dropped { after: secs(1) }, None);
    let next = world.lease(&LeaseRequest::per_request());
    assert!(next.trial, "the place is free, the pair is still on trial");
    let origin_error = Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY };
    world.finish(&next, origin_error);
    assert!(world.lease(&LeaseRequest::per_request()).trial, "an origin's fault says nothing about the pair");
}

#[test]
fn a_trial_that_never_ends_loses_its_place_at_the_deadline() {
    let mut world = World::of(1);
    burn(&mut world);
    world.pass(secs(13));
    let ask = LeaseRequest::per_request().deadline(secs(20));
    let stuck = world.lease(&ask);
    assert!(world.pass(secs(19)).at("a.test", &ask).is_err());
    let next = world.pass(secs(1)).lease(&ask);
    assert!(next.trial);
    world.end(&stuck);
    assert!(world.at("a.test", &ask).is_err(), "the late release frees nobody else's place");
}

#[test]
fn c14_a_burst_in_flight_counts_once_and_late_answers_open_nothing() {
    let mut world = World::of(1);
    let burst: Vec<_> = (0..10).map(|_| world.lease(&LeaseRequest::per_request())).collect();
    world.pass(secs(1));
    burst.iter().take(9).for_each(|grant| world.finish(grant, BLOCKED));
    world.finish(&burst[9], Outcome::Ok);
    let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &LeaseRequest::per_request()) else {
        panic!("the pair rests")
    };
    assert!(retry_at.since(world.now) <= Duration::from_millis(12_500), "one strike, not nine");
}

#[test]
fn c15_a_hint_is_kept_as_given_and_only_ever_lengthens() {
    let mut world = World::of(1);
    let (one, two) = (world.lease(&LeaseRequest::per_request()), world.lease(&LeaseRequest::per_request()));
    world.pass(secs(1));
    world.finish(&one, limited(Some(60)));
    let rest = |world: &mut World| match world.at("a.test", &LeaseRequest::per_request()) {
        Err(Refusal::NoUsableExit { retry_at, .. }) => retry_at.since(world.now),
        _ => Duration::ZERO,
    };
    let first = rest(&mut world);
    assert!((secs(60)..=secs(75)).contains(&first), "{first:?}");
    world.finish(&two, limited(Some(5)));
    assert_eq!(rest(&mut world), first, "a shorter hint shortens nothing");
    world.now = world.now + first;
    let trial = world.lease(&LeaseRequest::per_request());
    world.finish(&trial, limited(Some(u64::MAX)));
    assert!(rest(&mut world) <= secs(4_500), "an absurd hint is cut to an hour");
}

#[test]
fn a_late_hint_is_heard_also_where_the_gate_has_opened_since() {
    for trial_passes in [true, false] {
        let mut world = World::of(1);
        let (slow, quick) =
            (world.lease(&LeaseRequest::per_request()), world.lease(&LeaseRequest::per_request()));
        world.pass(secs(1)).finish(&quick, limited(None));
        world.pass(secs(3));
        if trial_passes {
            world.once(&LeaseRequest::per_request(), Outcome::Ok);
        } else {
            assert!(!world.fleet.pool.tick(world.now));
        }
        world.pass(secs(5)).finish(&slow, limited(Some(600)));
        assert!(world.pass(secs(599)).at("a.test", &LeaseRequest::per_request()).is_err());
        assert!(world.pass(secs(1)).lease(&LeaseRequest::per_request()).trial);
    }
}

#[test]
fn a_limited_pair_rests_a_second_and_longer_only_if_the_first_try_fails() {
    let mut world = World::of(2);
    let rest = |world: &mut World| match world.at("a.test", &held()) {
        Err(Refusal::NoUsableExit { retry_at, .. }) => retry_at,
        _ => panic!("the pair rests"),
    };
    world.once(&held(), limited(None));
    let mut expected = 1.0;
    for _ in 0..4 {
        let until = rest(&mut world);
        let waits = until.since(world.now).as_secs_f64();
        assert!((expected * 0.98..=expected * 1.25).contains(&waits), "{waits} for {expected}");
        world.now = until;
        world.once(&held(), limited(None));
        expected *= 2.0;
    }
}

#[test]
fn a_limit_rests_no_longer_for_blocks_of_before() {
    let mut world = World::of(2);
    world.once(&held(), BLOCKED);
    world.pass(secs(13)).once(&held(), BLOCKED);
    world.pass(secs(25)).once(&held(), BLOCKED);
    world.pass(secs(50));
    (0..3).for_each(|_| assert!(world.once(&held(), Outcome::Ok).trial));
    assert!(!world.once(&held(), limited(None)).trial);
    let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &held()) else { panic!("it rests") };
    assert!(retry_at.since(world.now) <= Duration::from_millis(1_250), "a second and a quarter at most");
}

#[test]
fn a21_c06_c08_an_exit_is_dead_after_three_faults_in_a_row_for_every_origin() {
    let mut world = World::of(2);
    for _ in 0..2 {
        world.once(&held(), REFUSED);
    }
    world.once(&held(), Outcome::Ok);
    for _ in 0..3 {
        world.once(&held(), REFUSED);
    }
    let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("b.test", &held()) else {
        panic!("dead is dead everywhere")
    };
    let rest = retry_at.since(world.now).as_secs_f64();
    assert!((4.5..=5.5).contains(&rest), "{rest}");
    assert_eq!((counts.dead, world.snapshot().exits.dead), (1, 1));
    world.now = retry_at;
    let probe = world.at("b.test", &held()).unwrap();
    assert!(probe.trial && world.at("a.test", &held()).is_err());
    world.finish(&probe, REFUSED);
    let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &held()) else {
        panic!("dead again")
    };
    assert!((9.0..=11.0).contains(&retry_at.since(world.now).as_secs_f64()));
    world.now = retry_at;
    let probe = world.lease(&held());
    world.finish(&probe, BLOCKED);
    assert_eq!(world.snapshot().exits.dead, 0, "a refusal by the origin shows that the exit works");
    assert!(!world.at("b.test", &held()).unwrap().trial);
}

#[test]
fn c08_two_faults_are_enough_at_different_origins_within_half_a_minute() {
    for (gap, dead) in [(29, 1), (31, 0)] {
        let mut world = World::of(1);
        world.once(&LeaseRequest::per_request(), REFUSED);
        let other = world.pass(secs(gap)).at("b.test", &LeaseRequest::per_request()).unwrap();
        world.finish(&other, REFUSED);
        assert_eq!(world.snapshot().exits.dead, dead, "{gap} s apart");
    }
}

#[test]
fn faults_of_long_ago_at_another_origin_are_no_burst() {
    let mut world = World::of(2);
    let exit = world.once(&held(), Outcome::Ok).receipt.exit;
    let elsewhere = world.through("b.test", exit);
    world.finish(&elsewhere, Outcome::Ok);
    let half = Outcome::Interrupted { phase: Phase::Head };
    let faulty = |world: &mut World, origin: &str, outcome: Outcome| {
        let grant = world.at(origin, &held()).unwrap();
        assert_eq!(grant.receipt.exit, exit);
        world.finish(&grant, outcome);
        world.snapshot().exits.dead
    };
    assert_eq!(faulty(&mut world, "a.test", half), 0);
    assert_eq!(faulty(&mut world, "b.test", half), 0);
    world.pass(secs(31));
    assert_eq!(faulty(&mut world, "a.test", REFUSED), 0, "two in all, of which one is of this half minute");
    assert_eq!(faulty(&mut world, "a.test", REFUSED), 1, "three in all");
}

#[test]
fn c34_a_slow_or_broken_answer_is_half_a_fault() {
    let mut world = World::of(1);
    world.once(&LeaseRequest::per_request(), Outcome::Ok);
    for sent in 1..=6 {
        world.once(&LeaseRequest::per_request(), Outcome::Interrupted { phase: Phase::Head });
        assert_eq!(world.snapshot().exits.dead, u32::from(sent == 6));
    }
}

#[test]
fn the_rest_of_a_dead_exit_grows_to_five_minutes_and_health_forgives() {
    let mut world = World::of(2);
    let die = |world: &mut World| {
        while world.snapshot().exits.dead == 0 {
            world.once(&held(), REFUSED);
        }
    };
    let rest = |world: &mut World| match world.at("a.test", &held()) {
        Err(Refusal::NoUsableExit { retry_at, .. }) => retry_at,
        _ => panic!("the exit rests"),
    };
    die(&mut world);
    for _ in 0..9 {
        world.now = rest(&mut world);
        world.once(&held(), REFUSED);
    }
    let until = rest(&mut world);
    assert!((270.0..=330.0).contains(&until.since(world.now).as_secs_f64()));
    world.now = until;
    world.once(&held(), Outcome::Ok);
    world.pass(secs(60 * 20));
    die(&mut world);
    assert!(
        rest(&mut world).since(world.now) <= Duration::from_millis(5_500),
        "twenty healthy minutes forgive all"
    );
}

#[test]
fn who_waits_for_its_own_exit_is_told_no_later_time_than_that_of_its_last_rest() {
    for hint in 6..10 {
        let mut world = World::of(2);
        world.once(&held(), Outcome::Ok);
        world.once(&held(), limited(Some(hint)));
        for _ in 0..3 {
            let grant = world.at("b.test", &held()).unwrap();
            world.finish(&grant, REFUSED);
        }
        let mut told = Time::ZERO;
        while let Err(refusal) = world.at("a.test", &held()) {
            let Refusal::NoUsableExit { retry_at, .. } = refusal else { panic!("{refusal:?}") };
            told = told.max(retry_at);
            world.pass(Duration::from_millis(50));
        }
        assert!(told <= world.now, "told {told:?}, and it went at {:?}", world.now);
    }
}
