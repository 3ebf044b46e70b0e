//! Gateways: slots, minted sessions, tokens.

use super::*;
use crate::request::{Granularity, OnLoss};
use std::collections::HashSet;

fn gateway() -> Gateway {
    Gateway::parse("http://user-{session}:pw@gw.test:7000").unwrap()
}

fn with(gateways: Vec<Gateway>, listed: u16) -> Setup {
    let exits = if listed == 0 { Vec::new() } else { exits(listed) };
    Setup { exits, gateways, ..config(1) }
}

fn world(gateway: Gateway) -> World {
    World::new(with(vec![gateway], 0))
}

fn user(grant: &Grant) -> String {
    grant.route.credential().unwrap().user().to_owned()
}

fn slots(n: u32) -> Gateway {
    gateway().sessions(NonZeroU32::new(n).unwrap())
}

#[test]
fn a15_c02_each_slot_is_an_exit_of_its_own_and_per_request_rotates() {
    let mut world = world(slots(16));
    let users: HashSet<_> =
        (0..500).map(|_| user(&world.once(&LeaseRequest::per_request(), Outcome::Ok))).collect();
    assert_eq!(users.len(), 16);
    for user in &users {
        let token = user.strip_prefix("user-").unwrap();
        assert!(token.len() == 8 && token.starts_with(|c: char| c.is_ascii_lowercase()), "{token}");
        assert!(token.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{token}");
    }
}

#[test]
fn c01_c27_a_burn_never_gets_the_old_token_back() {
    let mut world = world(slots(1));
    let mut seen = HashSet::new();
    for _ in 0..20 {
        let grant = world.lease(&LeaseRequest::per_request());
        assert!(seen.insert(user(&grant)), "a burned token came back");
        world.finish(&grant, BLOCKED);
        assert!(world.at("a.test", &LeaseRequest::per_request()).is_err(), "the slot rests at this origin");
        world.pass(secs(4_000));
    }
    let ask = LeaseRequest::new("sku");
    for generation in 0..20 {
        let grant = world.lease(&ask);
        assert!(seen.insert(user(&grant)), "a burned token came back");
        assert_eq!(grant.receipt.generation(), Some(generation));
        world.finish(&grant, BLOCKED);
    }
}

#[test]
fn b16_c41_the_next_token_follows_from_the_seed_and_not_from_the_hour() {
    let ask = LeaseRequest::identity("account").on_loss(OnLoss::Move);
    let tokens = |seed, hours: u64| -> Vec<String> {
        let mut world = World::new(Setup { seed, ..with(vec![slots(2)], 0) });
        (0..10).map(|_| user(&world.pass(secs(3_600 * hours)).once(&ask, BLOCKED))).collect()
    };
    let first = tokens(7, 1);
    assert_eq!(first.iter().collect::<HashSet<_>>().len(), 10);
    assert_eq!(first, tokens(7, 5));
    assert!(tokens(8, 1).iter().all(|token| !first.contains(token)));
}

#[test]
fn a11_what_is_held_has_a_session_of_its_own_at_each_origin() {
    let mut world = world(slots(4));
    let ask = LeaseRequest::new("sku");
    let first = user(&world.once(&ask, Outcome::Ok));
    assert_eq!(user(&world.once(&ask, Outcome::Ok)), first);
    let elsewhere = world.at("b.test", &ask).unwrap();
    assert_ne!(user(&elsewhere), first, "windows are held per origin");
    let tokens: HashSet<_> =
        (0..200).map(|n| user(&world.once(&LeaseRequest::new(format!("k{n}")), Outcome::Ok))).collect();
    assert_eq!(tokens.len(), 200, "a key is not bound to the slots");
    let login = LeaseRequest::identity("account");
    let at = |world: &mut World, origin: &str| user(&world.at(origin, &login).unwrap());
    assert_eq!(at(&mut world, "a.test"), at(&mut world, "b.test"), "an identity is one address everywhere");
}

#[test]
fn a15_two_processes_agree_on_what_is_held_and_draw_their_slots_apart() {
    let member = |index| {
        let mut config = with(vec![slots(8)], 0);
        config.member = Member { index, of: 2 };
        World::new(config)
    };
    let (mut one, mut two) = (member(0), member(1));
    for n in 0..50 {
        let ask = LeaseRequest::new(format!("sku-{n}"));
        assert_eq!(user(&one.once(&ask, Outcome::Ok)), user(&two.once(&ask, Outcome::Ok)));
        one.pass(secs(60));
        two.pass(secs(60));
    }
    let slots = |world: &mut World| -> HashSet<String> {
        (0..200).map(|_| user(&world.once(&LeaseRequest::per_request(), Outcome::Ok))).collect()
    };
    assert!(slots(&mut one).is_disjoint(&slots(&mut two)));
}

#[test]
fn digits_are_counted_out_and_never_collide() {
    let digits = gateway().digits().token_length(8).unwrap();
    let member = |index| {
        let mut config = with(vec![digits.clone()], 0);
        config.member = Member { index, of: 2 };
        World::new(config)
    };
    let mut seen = HashSet::new();
    for mut world in [member(0), member(1)] {
        for n in 0..1_000 {
            let token = user(&world.once(&LeaseRequest::new(format!("k{n}")), Outcome::Ok));
            assert!(
                token["user-".len()..].bytes().all(|b| b.is_ascii_digit()) && token.len() == 13,
                "{token}"
            );
            assert!(seen.insert(token));
        }
    }
}

#[test]
fn c03_what_must_not_move_is_not_held_for_longer_than_a_session_lives() {
    let mut world = world(gateway().lifetime(secs(600)));
    world.once(&LeaseRequest::new("k").windowed(secs(600)), Outcome::Ok);
    let stays = LeaseRequest::new("k").on_loss(OnLoss::Wait);
    world.once(&stays.clone().windowed(secs(600)), Outcome::Ok);
    for ask in [stays.windowed(secs(601)), LeaseRequest::identity("k")] {
        assert!(matches!(world.at("a.test", &ask), Err(Refusal::Misuse(_))));
    }
    let mut mixed = World::new(with(vec![gateway().lifetime(secs(600))], 2));
    let held = mixed.lease(&LeaseRequest::identity("k"));
    assert_eq!(held.route.credential(), None, "a listed exit lasts");
}

#[test]
fn a_session_is_renewed_before_its_provider_does_so_without_a_word() {
    let mut world = world(gateway().lifetime(secs(600)));
    let ask = LeaseRequest::new("k").windowed(secs(3_600));
    let mut held = world.once(&ask, Outcome::Ok);
    let (mut since, mut renewed) = (world.now, 0);
    let mut seen = HashSet::from([user(&held)]);
    for _ in 0..700 {
        world.pass(secs(10));
        let next = world.once(&ask, Outcome::Ok);
        if next.receipt.exit == held.receipt.exit {
            assert!(world.now.since(since) <= secs(600), "older than the provider keeps it");
            continue;
        }
        assert!(seen.insert(user(&next)), "an old token came back");
        match next.reason {
            Reason::Renewed { from } => {
                assert_eq!(from, held.receipt.exit);
                renewed += 1;
            }
            Reason::Placed => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(next.receipt.generation(), Some(0), "no exit was lost");
        (held, since) = (next, world.now);
    }
    assert!((9..=11).contains(&renewed), "{renewed} renewals in 7,000 s, of which windows ended a few");
}

#[test]
fn an_idle_session_is_not_used_again_and_an_identity_is_told() {
    let mut world = world(gateway().idle(secs(60)));
    let (moves, fails) = (LeaseRequest::new("k"), LeaseRequest::identity("i"));
    let (first, own) = (world.once(&moves, Outcome::Ok), world.once(&fails, Outcome::Ok));
    world.pass(secs(59));
    assert_eq!(world.once(&moves, Outcome::Ok).receipt.exit, first.receipt.exit);
    assert_eq!(world.once(&fails, Outcome::Ok).receipt.exit, own.receipt.exit);
    world.pass(secs(60));
    let next = world.once(&moves, Outcome::Ok);
    assert_eq!(
        (next.reason, next.receipt.generation()),
        (Reason::Renewed { from: first.receipt.exit }, Some(1))
    );
    let Err(Refusal::Moved { from, generation, .. }) = world.at("a.test", &fails) else {
        panic!("a silent move")
    };
    assert_eq!((from, generation), (own.receipt.exit, 1));
    let accepted = world.once(&fails.generation(1), Outcome::Ok);
    assert!(matches!(accepted.reason, Reason::Renewed { .. }) && accepted.receipt.exit != own.receipt.exit);
}

#[test]
fn a_session_that_was_taken_away_is_left_at_once_and_no_exit_is_to_blame() {
    let mut world = world(slots(4));
    let slot = world.once(&LeaseRequest::per_request(), Outcome::SessionLost);
    let held = world.once(&LeaseRequest::new("k"), Outcome::SessionLost);
    assert_eq!(world.snapshot().exits.dead, 0);
    let next = world.once(&LeaseRequest::new("k"), Outcome::Ok);
    assert_eq!(next.reason, Reason::Moved { from: held.receipt.exit });
    let again: HashSet<_> =
        (0..40).map(|_| user(&world.once(&LeaseRequest::per_request(), Outcome::Ok))).collect();
    assert!(again.len() == 4 && !again.contains(&user(&slot)), "the slot has another token");
}

#[test]
fn a_gateway_that_rotates_holds_nothing_and_burns_nothing() {
    let mut world = world(Gateway::rotating("http://u:p@rot.test:1").unwrap());
    for _ in 0..50 {
        let grant = world.once(&LeaseRequest::per_request(), BLOCKED);
        assert!(grant.route.is_fresh() && !grant.trial);
    }
    let snapshot = world.snapshot();
    assert_eq!((snapshot.origins[0].benched, snapshot.hottest.len(), snapshot.outcomes.blocked), (0, 0, 50));
    assert!(matches!(world.at("a.test", &LeaseRequest::new("k")), Err(Refusal::Misuse(_))));
}

#[test]
fn c36_a_gateways_evidence_is_the_prior_of_its_exits() {
    let mut world = World::new(with(vec![slots(64)], 64));
    let is_listed = |grant: &Grant| grant.route.credential().is_none();
    for _ in 0..40 {
        let grant = world.lease(&LeaseRequest::per_request());
        let outcome = if is_listed(&grant) { Outcome::Ok } else { BLOCKED };
        world.finish(&grant, outcome);
    }
    let listed =
        (0..200).filter(|_| is_listed(&world.once(&LeaseRequest::per_request(), Outcome::Ok))).count();
    assert!(listed > 120, "the gateway that is refused is asked less: {listed} of 200");
}

#[test]
fn minted_sessions_are_bounded_and_go_with_what_held_them() {
    let mut config = with(vec![slots(2)], 0);
    config.bounds.minted = 3;
    let mut world = World::new(config);
    let asks: Vec<_> = (0..5).map(|n| LeaseRequest::new(format!("k{n}"))).collect();
    let out: Vec<_> = asks[..3].iter().map(|ask| world.pass(secs(1)).lease(ask)).collect();
    assert!(matches!(world.at("a.test", &asks[3]), Err(Refusal::Busy { .. })), "all three are ridden");
    world.finish(&out[0], Outcome::Ok);
    let fourth = world.once(&asks[3], Outcome::Ok);
    assert_eq!(fourth.reason, Reason::Placed);
    out[1..].iter().for_each(|grant| world.finish(grant, Outcome::Ok));
    let again = world.lease(&asks[0]);
    assert_eq!(user(&again), user(&out[0]), "forgotten, and placed on the same token");
    assert_eq!(again.reason, Reason::Placed);
}

#[test]
fn slots_and_listed_exits_share_one_pool() {
    let mut world = World::new(with(vec![slots(4)], 4));
    let ids: HashSet<_> =
        (0..300).map(|_| world.once(&LeaseRequest::per_request(), Outcome::Ok).receipt.exit).collect();
    assert_eq!(ids.len(), 8);
    assert_eq!(world.snapshot().exits.total, 8);
    let held: Vec<_> =
        (0..100).map(|n| world.once(&LeaseRequest::new(format!("k{n}")), Outcome::Ok)).collect();
    let minted = held.iter().filter(|grant| grant.route.credential().is_some()).count();
    assert!((30..=70).contains(&minted), "each place of the table is as likely: {minted}");
    let by_uses = LeaseRequest::new("u")
        .granularity(Granularity::Windowed { max_age: None, max_uses: NonZeroU32::new(1) });
    let turns: HashSet<_> = (0..30).map(|_| world.once(&by_uses, Outcome::Ok).receipt.exit).collect();
    assert!(turns.len() > 8);
}

#[test]
fn a_new_password_changes_nothing_but_the_password() {
    let renewed = || Gateway::parse("http://user-{session}:new@gw.test:7000").unwrap();
    let shapes = [gateway().token_length(12).unwrap().lifetime(secs(900)), gateway().digits(), slots(3)];
    for gateway in shapes {
        let mut world = world(gateway);
        let ask = LeaseRequest::new("k").windowed(secs(900));
        let before = world.once(&ask, Outcome::Ok);
        let slots = |world: &mut World| -> HashSet<_> {
            (0..3_000).map(|_| user(&world.once(&LeaseRequest::per_request(), Outcome::Ok))).collect()
        };
        let all = slots(&mut world);
        assert!(world.fleet.set_gateway(world.now, &renewed()));
        let after = world.once(&ask, Outcome::Ok);
        assert_eq!((user(&after), after.receipt.exit), (user(&before), before.receipt.exit));
        assert_eq!(after.route.credential().unwrap().password(), "new");
        assert_eq!(slots(&mut world), all);
    }
    let mut world = world(gateway().lifetime(secs(600)));
    assert!(world.fleet.set_gateway(world.now, &renewed()));
    assert!(
        world.at("a.test", &LeaseRequest::identity("k")).is_err(),
        "its sessions live no longer than before"
    );
}

#[test]
fn a_gateway_is_not_replaced_by_one_of_another_kind() {
    let sessions = Gateway::parse("http://u:{session}@gw.test:7000").unwrap();
    let rotating = Gateway::rotating("http://u:pw@gw.test:7000").unwrap();
    for (one, other) in [(&sessions, &rotating), (&rotating, &sessions)] {
        let mut world = world(one.clone());
        assert!(!world.fleet.set_gateway(world.now, other));
    }
}

#[test]
fn a_gateway_that_rotates_is_asked_again_for_a_request_that_was_refused() {
    let mut world = world(Gateway::rotating("http://u:p@rot.test:1").unwrap());
    let mut ask = LeaseRequest::per_request();
    for _ in 0..6 {
        let grant = world.once(&ask, BLOCKED);
        ask.trail.record(grant.receipt.exit, &BLOCKED.into(), grant.receipt.charged);
    }
}

#[test]
fn c01_a_full_table_forgets_windows_before_identities_and_what_was_burned() {
    let mut config = with(vec![slots(2)], 0);
    config.bounds.minted = 4;
    let mut world = World::new(config);
    let identity = LeaseRequest::identity("account").on_loss(OnLoss::Move);
    let burned = world.once(&identity, BLOCKED);
    let held = world.once(&identity, Outcome::Ok);
    assert_ne!(user(&burned), user(&held));
    for n in 0..20 {
        world.pass(secs(1)).once(&LeaseRequest::new(format!("k{n}")), Outcome::Ok);
    }
    assert_eq!(user(&world.lease(&identity)), user(&held));
}

#[test]
fn a_good_end_of_a_burned_token_says_nothing_of_the_one_in_its_place() {
    let mut world = world(slots(1));
    let old = world.lease(&LeaseRequest::per_request());
    let burnt = world.lease(&LeaseRequest::per_request());
    world.finish(&burnt, BLOCKED);
    let at = |world: &mut World| world.at("b.test", &LeaseRequest::per_request());
    let interrupted = Evidence::of(Outcome::ProxyError { phase: Phase::Tunnel });
    for _ in 0..2 {
        let grant = at(&mut world).unwrap();
        world.finish(&grant, interrupted);
    }
    world.finish(&old, Outcome::Ok);
    let grant = at(&mut world).unwrap();
    world.finish(&grant, interrupted);
    assert!(at(&mut world).is_err(), "three faults in a row of the new token");
}

#[test]
fn what_no_lease_takes_again_is_given_up_once() {
    let mut world = World::new(with(vec![slots(1)], 1));
    let given_up = |world: &mut World| world.fleet.given_up().iter().map(Route::exit).collect::<Vec<_>>();
    // A burned slot has another token. A listed exit that is burned keeps its own.
    let mut burned = None;
    while burned.is_none() {
        let grant = world.pass(secs(60)).once(&LeaseRequest::per_request(), BLOCKED);
        burned = grant.route.credential().is_some().then_some(grant.receipt.exit);
    }
    assert_eq!(given_up(&mut world), [burned.unwrap()]);
    // A session goes with what held it, but not before its last rider.
    let mut world = self::world(slots(2));
    let held = world.lease(&LeaseRequest::new("k"));
    world.report(&held, BLOCKED);
    let moved = world.lease(&LeaseRequest::new("k"));
    assert_ne!(held.receipt.exit, moved.receipt.exit);
    assert_eq!(given_up(&mut world), [], "somebody rides it");
    world.end(&held);
    assert_eq!(given_up(&mut world), [held.receipt.exit]);
    // A new password: the connections of the old one are of no use.
    assert!(
        world
            .fleet
            .set_gateway(world.now, &Gateway::parse("http://user-{session}:new@gw.test:7000").unwrap())
    );
    let old = given_up(&mut world);
    assert!(old.contains(&moved.receipt.exit) && !old.contains(&held.receipt.exit));
    // Who is taken out may come back, over connections of its own.
    let mut world = World::of(2);
    let exit = world.lease(&LeaseRequest::per_request()).receipt.exit;
    for (on, gone) in [(true, vec![exit]), (false, vec![])] {
        assert!(world.fleet.quarantine(exit, on));
        assert_eq!(given_up(&mut world), gone);
    }
    let listed = exits(2).remove(0);
    assert!(world.fleet.set_exit(world.now, &listed));
    assert_eq!(given_up(&mut world), [listed.id()]);
}
