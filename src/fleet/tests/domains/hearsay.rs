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
    world.now = retry_at;
    let grant = world.at("b.test", &per()).unwrap();
    assert!(grant.trial);
    world.finish(&grant, REJECTED);
    assert_eq!(world.at("b.test", &per()).unwrap_err(), Refusal::FleetStopped);
    // What the provider says for good in its own words needs no second one.
    let mut world = World::new(gateway());
    world.once(&per(), forged(AuthReason::Rejected));
    let grant = world.lease(&per());
    world.finish(&grant, Outcome::AuthError { reason: AuthReason::Suspended });
    assert_eq!(world.at("a.test", &per()).unwrap_err(), Refusal::FleetStopped);
}

/// Half an hour of ten requests a second, of which so many go to a site that forges: how many of the others were served, and asked.
fn beside_a_forger((hostile, of): (u64, u64), forged: Evidence) -> (u64, u64) {
    let mut world = World::new(gateway());
    let (mut good, mut asked) = (0, 0);
    for n in 0..18_000 {
        world.pass(Duration::from_millis(100));
        let forges = crate::draw::mix(n + 7) % of < hostile;
        asked += u64::from(!forges);
        let Ok(grant) = world.at(if forges { "a.test" } else { "b.test" }, &per()) else { continue };
        good += u64::from(!forges);
        world.finish(&grant, if forges { forged } else { accepted(Outcome::Ok) });
    }
    (good, asked)
}

#[test]
fn a_site_that_says_in_its_proxys_name_that_there_is_no_room_is_left_alone_and_the_others_are_served() {
    for share in [(1, 100), (1, 20), (1, 2), (3, 4)] {
        let told = forged(AuthReason::Capacity).retry_after(Some(RetryAfter::new(secs(60))));
        let (good, asked) = beside_a_forger(share, told);
        assert_eq!(good, asked, "{share:?}");
    }
}

#[test]
fn what_a_site_forges_of_room_leaves_alone_a_gateway_that_serves_no_other_and_the_pair_beside_others() {
    let scopes = [GatewayScope::Gateway, GatewayScope::Credential, GatewayScope::Place];
    for (scope, other) in scopes.into_iter().flat_map(|scope| [(scope, false), (scope, true)]) {
        let mut world = World::new(gateway());
        let served = world.at(if other { "b.test" } else { "a.test" }, &per()).unwrap();
        world.finish(&served, accepted(Outcome::Ok));
        world.pass(secs(59));
        let grant = world.at("a.test", &per()).unwrap();
        let retry_after = Some(RetryAfter::new(secs(60)));
        let told = Outcome::GatewayOverloaded { retry_after, scope };
        world.finish(&grant, Evidence::of(told).hearsay(true));
        assert_eq!(world.at("b.test", &per()).is_ok(), other, "{scope:?}");
        assert_eq!(world.at("a.test", &per()).is_ok(), other, "{scope:?}: through another exit");
        let benched: u32 = world.snapshot().origins.iter().map(|origin| origin.benched).sum();
        assert_eq!(benched, u32::from(other), "{scope:?}");
    }
}

#[test]
fn where_most_of_the_traffic_goes_to_a_site_that_forges_refusals_the_others_are_served() {
    for (share, percent) in [((1, 2), 95), ((3, 4), 60), ((9, 10), 25)] {
        let (good, asked) = beside_a_forger(share, forged(AuthReason::Rejected));
        assert!(good * 100 >= asked * percent, "{share:?}: {good} of {asked}");
    }
}

#[test]
fn a_password_that_dies_over_plain_http_costs_two_attempts_a_second_for_half_a_minute_and_then_few() {
    let mut world = World::new(gateway());
    world.once(&per(), accepted(Outcome::Ok));
    let mut sent = [0; 2];
    for tenth in 0..6_000 {
        world.pass(Duration::from_millis(100));
        let Ok(grant) = world.at("a.test", &per()) else { continue };
        sent[usize::from(tenth > 310)] += 1;
        world.finish(&grant, forged(AuthReason::Rejected));
    }
    assert!(sent[0] <= 65 && sent[1] <= 20, "{sent:?}");
}

#[test]
fn a_wrong_password_is_stopped_for_good_by_two_refusals_of_the_proxys_own_whatever_came_between() {
    for plain in [|n: u32| n % 2 == 1, |n: u32| n % 2 == 0, |n: u32| n % 7 != 3] {
        let mut world = World::new(gateway());
        let (mut sent, mut sure) = (0, 0);
        let told = loop {
            match world.at("a.test", &per()) {
                Ok(grant) => {
                    world.finish(&grant, Evidence::of(REJECTED).seen(Seen::Never).hearsay(plain(sent)));
                    sure += u32::from(!plain(sent));
                    sent += 1;
                }
                Err(Refusal::NoUsableExit { retry_at, .. }) if sent < 100 => world.now = retry_at,
                Err(no) => break no,
            }
        };
        assert_eq!((told, sure), (Refusal::FleetStopped, 2), "{sent} sent");
    }
}
