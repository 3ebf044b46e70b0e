//! What a site may have said in its proxy's name, over plain http.

use super::*;

fn forged(reason: AuthReason) -> Evidence {
    Evidence::of(Outcome::AuthError { reason }).seen(Seen::Never).hearsay(true)
}

#[test]
fn what_a_site_may_have_forged_stops_no_login_until_somebody_resumes_it() {
    use AuthReason::{Expired, Parameters, Quota, Rejected, Suspended};
    for reason in [Rejected, Expired, Quota, Suspended, Parameters] {
        let mut world = World::new(gateway());
        world.once(&per(), forged(reason));
        for rest in [1, 2, 4, 8, 16, 32, 60, 60] {
            let grant = world.lease(&per());
            assert!(grant.trial, "{reason:?}: doubted, and tried by one");
            assert!(world.at("b.test", &per()).is_err());
            world.finish(&grant, forged(reason));
            if rest > 1 {
                world.once(&per(), forged(reason));
            }
            let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &per()) else {
                panic!("{reason:?}: it rests")
            };
            assert_eq!((counts.stopped, retry_at.since(world.now)), (16, secs(rest)), "{reason:?}");
            world.now = retry_at;
        }
        let good = world.at("b.test", &per()).unwrap();
        world.finish(&good, accepted(Outcome::Ok));
        assert!(!world.at("b.test", &per()).unwrap().trial, "one that is accepted clears it");
        let told: Vec<_> = world.fleet.events().take().into_iter().map(|(_, event)| event).collect();
        let [Event::CredentialStopped { .. }, Event::CredentialResumed { .. }] = told[..] else {
            panic!("once each: {told:?}")
        };
    }
}

#[test]
fn a_login_that_works_elsewhere_is_not_doubted_for_what_one_site_says_for_good_of_it() {
    let mut world = World::new(gateway());
    for _ in 0..100 {
        let good = world.pass(Duration::from_millis(100)).at("b.test", &per()).unwrap();
        assert!(!good.trial);
        world.finish(&good, accepted(Outcome::Ok));
        let grant = world.at("a.test", &per()).unwrap();
        assert!(!grant.trial);
        world.finish(&grant, forged(AuthReason::Suspended));
    }
    assert_eq!((world.snapshot().exits.stopped, world.snapshot().exits.dead), (0, 0));
}

#[test]
fn a_stray_beside_what_a_site_forges_stops_nothing_and_two_refusals_of_the_proxys_own_do() {
    let mut world = World::new(gateway());
    world.once(&per(), forged(AuthReason::Rejected));
    let stray = world.at("b.test", &per()).unwrap();
    world.finish(&stray, REJECTED);
    let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("b.test", &per()) else {
        panic!("it rests, and not for good")
    };
    for outcome in [REJECTED, REJECTED] {
        world.now = world.now.max(retry_at);
        let grant = world.at("b.test", &per()).unwrap();
        assert!(grant.trial);
        world.finish(&grant, outcome);
    }
    assert_eq!(world.at("b.test", &per()).unwrap_err(), Refusal::FleetStopped);
    // What the provider says for good in its own words needs no second one.
    let mut world = World::new(gateway());
    world.once(&per(), forged(AuthReason::Rejected));
    let grant = world.lease(&per());
    world.finish(&grant, Outcome::AuthError { reason: AuthReason::Suspended });
    assert_eq!(world.at("a.test", &per()).unwrap_err(), Refusal::FleetStopped);
}
