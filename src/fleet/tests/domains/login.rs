//! Wrong passwords, and strays of right ones.

use super::*;

#[test]
fn a23_c11_a_refused_login_is_tried_once_and_then_the_fleet_stops() {
    let mut world = World::new(gateway());
    let flying: Vec<_> = (0..10).map(|_| world.lease(&per())).collect();
    world.pass(secs(1));
    let mut billed = flying.len();
    flying.iter().for_each(|grant| world.finish(grant, REJECTED));
    let confirming = world.pass(secs(1)).lease(&per());
    billed += 1;
    assert!(confirming.trial && confirming.route.is_fresh(), "over a connection of its own");
    let Err(Refusal::NoUsableExit { counts, retry_at, .. }) = world.at("b.test", &LeaseRequest::new("k"))
    else {
        panic!("all others wait for it")
    };
    assert_eq!((counts.suspect, retry_at), (16, world.now + secs(1)));
    world.finish(&confirming, REJECTED);
    for _ in 0..1_000 {
        assert_eq!(world.pass(secs(60)).at("a.test", &per()).unwrap_err(), Refusal::FleetStopped);
    }
    assert_eq!(billed, 11, "what was under way, and one more");
    assert_eq!(world.snapshot().exits.dead, 0, "no exit is charged");
    let notices = world.fleet.events().take();
    assert_eq!(notices.len(), 1, "one word, however many were refused: {notices:?}");

    world.fleet.resume(world.now);
    let probe = world.lease(&per());
    assert!(probe.trial && world.at("a.test", &per()).is_err(), "one lease tries");
    world.finish(&probe, accepted(Outcome::Ok));
    assert!(!world.lease(&per()).trial);
}

#[test]
fn a_stray_refusal_stops_nobody() {
    let mut world = World::new(gateway());
    let first = world.lease(&per());
    world.finish(&first, accepted(Outcome::Ok));
    for _ in 0..100 {
        let grant = world.pass(Duration::from_millis(100)).lease(&per());
        assert!(!grant.trial, "a login that was accepted lately is not doubted");
        world.finish(&grant, REJECTED);
        let grant = world.lease(&per());
        world.finish(&grant, accepted(Outcome::Ok));
    }
    let quiet = world.pass(secs(11)).lease(&per());
    world.finish(&quiet, REJECTED);
    let confirming = world.lease(&per());
    assert!(confirming.trial);
    world.finish(&confirming, accepted(Outcome::Ok));
    let free: Vec<_> = (0..5).map(|_| world.lease(&per())).collect();
    assert!(free.iter().all(|grant| !grant.route.is_fresh()), "cleared by one accepted login");
}

#[test]
fn a_password_that_changes_under_traffic_stops_the_fleet_within_a_few_attempts() {
    let mut world = World::new(gateway());
    let own = LeaseRequest::identity("account").windowed(secs(3_600)).on_loss(crate::request::OnLoss::Fail);
    let identity = world.once(&own, Outcome::Ok).receipt.exit;
    for _ in 0..100 {
        let grant = world.pass(Duration::from_millis(10)).lease(&per());
        world.finish(&grant, accepted(Outcome::Ok));
    }
    let mut refused = 0;
    loop {
        let ask = if refused < 3 { own.clone() } else { per() };
        let Ok(grant) = world.pass(Duration::from_millis(10)).at("a.test", &ask) else { break };
        world.finish(&grant, REJECTED);
        refused += 1;
    }
    assert_eq!(
        refused, 7,
        "four in a row are no strays where a hundred were none, and three more confirm it"
    );
    assert_eq!((world.snapshot().exits.dead, world.snapshot().exits.stopped), (0, 16), "no exit is to blame");
    world.fleet.resume(world.now);
    let probe = world.lease(&own);
    assert_eq!(
        (probe.receipt.exit, probe.receipt.generation()),
        (identity, Some(0)),
        "and nobody has lost one"
    );
    world.finish(&probe, accepted(Outcome::Ok));
}

#[test]
fn strays_are_charged_to_the_exits_that_made_them_once_the_login_has_worked_again() {
    let mut world = World::new(gateway());
    let own = LeaseRequest::new("k");
    for round in 0..6 {
        let good = world.pass(secs(1)).lease(&per());
        world.finish(&good, accepted(Outcome::Ok));
        let stray = world.pass(secs(1)).lease(&own);
        world.finish(&stray, REJECTED);
        assert_eq!(stray.receipt.generation(), Some(0), "in round {round}");
    }
    let good = world.pass(secs(1)).lease(&per());
    world.finish(&good, accepted(Outcome::Ok));
    assert_eq!(
        world.lease(&own).receipt.generation(),
        Some(1),
        "its session was refused six times, others never"
    );
}

#[test]
fn an_exit_that_refuses_always_is_charged_however_much_is_under_way() {
    let mut world = World::new(gateway());
    let first = world.lease(&per());
    let bad = first.receipt.exit;
    world.finish(&first, accepted(Outcome::Ok));
    let mut flying = std::collections::VecDeque::new();
    let mut refused = 0;
    for _ in 0..2_000 {
        flying.push_back(world.pass(Duration::from_millis(5)).lease(&per()));
        if flying.len() > 100 {
            let grant = flying.pop_front().unwrap();
            refused += u32::from(grant.receipt.exit == bad);
            let outcome = if grant.receipt.exit == bad { REJECTED.into() } else { accepted(Outcome::Ok) };
            world.finish(&grant, outcome);
        }
    }
    // About one in sixteen if nobody is charged.
    assert!(refused < 60, "{refused} refusals, and others' logins were accepted all the while");
}

#[test]
fn a_stopped_login_that_works_again_is_told_and_a_stray_names_its_own_exit() {
    let mut world = World::new(gateway());
    for _ in 0..2 {
        let grant = world.pass(secs(20)).lease(&per());
        world.finish(&grant, REJECTED);
    }
    world.fleet.resume(world.now);
    let probe = world.pass(secs(1)).lease(&per());
    world.finish(&probe, accepted(Outcome::Ok));
    let told: Vec<_> = world.fleet.events().take().into_iter().map(|(_, event)| event).collect();
    assert!(
        matches!(told[..], [Event::CredentialStopped { .. }, Event::CredentialResumed { .. }]),
        "{told:?}"
    );

    world.fleet.events().listen(true);
    let bad: Vec<_> = (0..6).map(|_| world.lease(&LeaseRequest::new("k"))).collect();
    for some in bad.chunks(3) {
        some.iter().for_each(|grant| world.finish(grant, REJECTED));
        let good = world.pass(secs(1)).lease(&per());
        world.finish(&good, accepted(Outcome::Ok));
    }
    let rests = world.fleet.events().take().into_iter().filter_map(|(_, event)| match event {
        Event::Rest { exit, .. } => Some(exit),
        _ => None,
    });
    assert_eq!(rests.collect::<Vec<_>>(), [bad[0].receipt.exit]);
}

#[test]
fn strays_at_one_origin_stay_there_whoever_shows_that_the_login_is_right() {
    let mut world = World::new(gateway());
    let own = LeaseRequest::new("k").scope(crate::request::Scope::AllOrigins);
    for origin in ["b.test", "c.test", "b.test", "c.test"] {
        let good = world.pass(secs(1)).at(origin, &per()).unwrap();
        world.finish(&good, accepted(Outcome::Ok));
        let stray = world.pass(secs(1)).lease(&own);
        world.finish(&stray, REJECTED);
        let good = world.pass(secs(1)).at(origin, &per()).unwrap();
        world.finish(&good, accepted(Outcome::Ok));
    }
    assert_eq!(world.lease(&own).receipt.generation(), Some(0), "four strays at one origin kill no exit");
}

#[test]
fn a_new_password_is_not_doubted_for_what_was_sent_with_the_old_one() {
    let mut world = World::new(gateway());
    let flying: Vec<_> = (0..20).map(|_| world.lease(&per())).collect();
    let renewed = Gateway::parse("http://u-{session}:new@gw.test:7000").unwrap();
    world.pass(secs(1));
    assert!(world.fleet.set_gateway(world.now, &renewed));
    world.pass(secs(1));
    flying[..10].iter().for_each(|grant| world.finish(grant, REJECTED));
    let grant = world.lease(&per());
    assert!(!grant.trial, "the old password was refused, nobody has refused the new one");
    // Nor is it proven by what the old one was good for.
    world.finish(&flying[10], accepted(Outcome::Ok));
    world.finish(&grant, REJECTED);
    assert!(world.lease(&per()).trial);
}

#[test]
fn only_a_login_accepted_after_the_doubt_clears_it() {
    let mut world = World::new(gateway());
    let (old, refused) = (world.lease(&per()), world.lease(&per()));
    world.pass(secs(20)).finish(&refused, REJECTED);
    world.finish(&old, accepted(Outcome::Ok));
    let tunnelled = world.pass(secs(1)).lease(&per());
    assert!(tunnelled.trial, "what was sent before clears nothing");
    world.finish(&tunnelled, Outcome::Ok);
    let again = world.lease(&per());
    assert!(again.trial, "nor does an answer over a tunnel that was open");
    world.fleet.release(&again.receipt, Release::Dropped { after: secs(1) }, None);
    let last = world.lease(&per());
    world.finish(&last, REFUSED);
    assert!(world.lease(&per()).trial, "nor one that never got there");
}

#[test]
fn one_dead_login_leaves_the_other_serving() {
    let mut world = World::new(two_gateways());
    for _ in 0..200 {
        let grant = world.pass(Duration::from_millis(10)).lease(&per());
        let outcome = if host(&grant) == "gw.test" { REJECTED.into() } else { accepted(Outcome::Ok) };
        world.finish(&grant, outcome);
    }
    assert_eq!(world.snapshot().outcomes.auth_error, 2);
    let held = world.lease(&LeaseRequest::new("k"));
    assert_eq!(host(&held), "other.test");
}

#[test]
fn a_wrong_login_of_one_listed_exit_costs_the_others_nothing() {
    let list = "a.test:1:u:wrong\nb.test:1:u:right\nc.test:1:u:right";
    let exits = ExitList::parse(list).unwrap().into_iter().collect();
    let mut world = World::new(Setup { exits, ..config(1) });
    for _ in 0..200 {
        let grant = world.pass(Duration::from_millis(10)).lease(&per());
        let outcome = if host(&grant) == "a.test" { REJECTED.into() } else { accepted(Outcome::Ok) };
        world.finish(&grant, outcome);
    }
    let snapshot = world.snapshot();
    assert_eq!((snapshot.outcomes.auth_error, snapshot.outcomes.ok), (2, 198));
}

#[test]
fn a_login_out_of_traffic_is_tried_again_now_and_then() {
    let quota = Outcome::AuthError { reason: AuthReason::Quota };
    let mut world = World::new(gateway());
    // The provider's word is final: nobody asks again to be sure.
    world.once(&per(), quota);
    for rest in [60, 120, 240, 480, 900, 900] {
        let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &per()) else {
            panic!("it rests")
        };
        assert_eq!((counts.stopped, retry_at.since(world.now)), (16, secs(rest)));
        world.now = retry_at;
        let probe = world.lease(&per());
        assert!(world.at("a.test", &per()).is_err());
        world.finish(&probe, quota);
    }
}

#[test]
fn strays_that_are_back_before_anything_else_stop_nobody_and_hold_nobody_up() {
    let mut world = World::new(gateway());
    world.once(&per(), Outcome::Ok);
    let first = world.lease(&per());
    world.finish(&first, accepted(Outcome::Ok));
    // One in ten of those that are sent at once; the nine others take longer.
    let sent: Vec<_> = (0..200).map(|_| world.lease(&per())).collect();
    world.pass(Duration::from_millis(100));
    for stray in sent.iter().step_by(10) {
        world.finish(stray, REJECTED);
    }
    assert!(!world.lease(&per()).trial, "nine of ten were not refused");
    // A password that has changed: each one after that is.
    let mut after = 0;
    while let Ok(grant) = world.pass(Duration::from_millis(10)).at("a.test", &per()) {
        world.finish(&grant, REJECTED);
        after += 1;
    }
    assert!(after <= 9, "{after}");
}

#[test]
fn of_a_login_that_nothing_is_known_of_strays_of_the_first_burst_are_compared_with_what_is_still_out() {
    let burst = |strays: usize| {
        let mut world = World::new(gateway());
        let sent: Vec<_> = (0..100).map(|_| world.lease(&per())).collect();
        world.pass(Duration::from_millis(100));
        sent[100 - strays..].iter().for_each(|stray| world.finish(stray, REJECTED));
        let confirming = world.lease(&per());
        assert!(confirming.trial);
        world.finish(&confirming, REJECTED);
        world.at("a.test", &per()).is_ok()
    };
    assert!(burst(10), "ninety were not refused");
    assert!(!burst(100), "all were");
    // What ends without a word was not accepted either.
    let mut world = World::new(gateway());
    let sent: Vec<_> = (0..100).map(|_| world.lease(&per())).collect();
    for grant in &sent[..90] {
        world.fleet.release(&grant.receipt, Release::Dropped { after: Duration::ZERO }, None);
    }
    world.pass(Duration::from_millis(100));
    sent[90..].iter().for_each(|stray| world.finish(stray, REJECTED));
    let confirming = world.lease(&per());
    world.finish(&confirming, REJECTED);
    assert_eq!(world.at("a.test", &per()).unwrap_err(), Refusal::FleetStopped);
}

#[test]
fn what_was_under_way_when_a_login_died_does_not_speak_for_it() {
    let mut world = World::new(gateway());
    let mut flying: Vec<_> = (0..100).map(|_| world.lease(&per())).collect();
    world.finish(&flying.pop().unwrap(), accepted(Outcome::Ok));
    let mut refused = 0;
    while let Ok(grant) = world.pass(Duration::from_millis(10)).at("a.test", &per()) {
        world.finish(&grant, REJECTED);
        refused += 1;
        if let Some(served) = flying.pop() {
            world.finish(&served, accepted(Outcome::Ok));
        }
    }
    assert_eq!(refused, 8, "answers to what was sent before are no word on what comes after");
}

#[test]
fn what_is_given_back_at_its_head_was_not_refused_and_what_is_dropped_says_nothing() {
    let stops = |how: Release| {
        let mut world = World::new(gateway());
        let first = world.lease(&per());
        world.finish(&first, accepted(Outcome::Ok));
        for _ in 0..8 {
            let Ok(stray) = world.at("a.test", &per()) else { return true };
            world.finish(&stray, REJECTED);
            for _ in 0..9 {
                let Ok(grant) = world.at("a.test", &per()) else { return true };
                if how == Release::Done {
                    // Through a tunnel that was open: nothing is said of the login.
                    world.fleet.report(world.now, &grant.receipt, &Outcome::Ok.into(), None);
                }
                world.fleet.release(&grant.receipt, how, None);
            }
        }
        false
    };
    assert!(!stops(Release::Done), "one in ten was refused");
    assert!(stops(Release::NotAttempted), "nobody was let through");
}
