//! How hot a pair is, and what follows from it.

use super::*;
use crate::fleet::tests::retries::verdict;
use crate::outcome::{AuthReason, GatewayScope};
use crate::request::OnLoss;

/// The waits that so many requests are given which met this in the same moment: by the rules alone, and not for their turn.
fn waits(world: &mut World, grant: &Grant, outcome: Outcome, count: usize) -> Vec<f64> {
    world.fleet.knobs.lane = None;
    let wait = |_| match verdict(world, grant, &per(), outcome) {
        Verdict::Retry { delay, .. } => delay.as_secs_f64(),
        Verdict::Stop(why) => panic!("{why}"),
    };
    (0..count).map(wait).collect()
}

/// The shortest of many: what is waited before chance adds to it.
fn base(world: &mut World, grant: &Grant, outcome: Outcome) -> f64 {
    waits(world, grant, outcome, 400).into_iter().fold(f64::MAX, f64::min)
}

fn heat(world: &World, exit: ExitId, origin: &str) -> f64 {
    let pairs = world.snapshot().hottest;
    let pair = pairs.iter().find(|pair| pair.exit == exit && pair.origin.as_str() == origin);
    f64::from(pair.expect("it was refused").heat)
}

/// A lease of this exit, however hot it is.
fn through(world: &mut World, origin: &str, exit: ExitId) -> Grant {
    loop {
        let grant = world.at(origin, &turns()).unwrap();
        if grant.receipt.exit == exit {
            return grant;
        }
        world.end(&grant);
    }
}

/// A refusal of this exit at this site; the rest after the one before, of which there were three at most, is over.
fn limit(world: &mut World, exit: ExitId, origin: &str) -> Grant {
    let grant = through(world.pass(secs(6)), origin, exit);
    world.finish(&grant, limited(None));
    grant
}

#[test]
fn b03_b20_fifty_workers_told_off_together_come_back_over_half_of_their_wait() {
    let mut world = World::new(by_the_article(50));
    let grants: Vec<_> = (0..50).map(|_| world.lease(&turns())).collect();
    grants.iter().for_each(|grant| world.finish(grant, limited(None)));
    let heat = heat(&world, grants[0].receipt.exit, "a.test");
    let base = 1.0 + 30.0 * heat;
    world.pass(secs(2));
    let mut waits: Vec<f64> =
        grants.iter().flat_map(|grant| waits(&mut world, grant, limited(None), 1)).collect();
    waits.sort_by(f64::total_cmp);
    assert!(waits[0] >= base * 0.97 && waits[49] <= base * 1.5, "{base}: {waits:?}");
    assert!(waits[49] - waits[0] > 0.45 * base, "{base}: {waits:?}");
    let together = |wait: &f64| waits.iter().filter(|other| (*other - wait).abs() <= 0.1).count();
    assert!(waits.iter().all(|wait| together(wait) <= 5), "no herd: {waits:?}");
}

#[test]
fn b06_c23_the_wait_comes_from_what_this_exit_met_at_this_site() {
    let mut world = World::new(by_the_article(3));
    let [hot, fair] = [0, 1].map(|at| exits(3)[at].id());
    for _ in 0..20 {
        let grant = through(&mut world, "a.test", exits(3)[2].id());
        world.finish(&grant, Outcome::Ok);
    }
    (0..3).for_each(|_| drop(limit(&mut world, hot, "a.test")));
    let cases = [(hot, "a.test"), (fair, "a.test"), (hot, "b.test")];
    let grants = cases.map(|(exit, origin)| limit(&mut world, exit, origin));
    let bases: Vec<_> = cases
        .into_iter()
        .zip(&grants)
        .map(|((exit, origin), grant)| {
            let (base, expected) =
                (base(&mut world, grant, limited(None)), 1.0 + 30.0 * heat(&world, exit, origin));
            assert!((0.0..0.01).contains(&(base / expected - 1.0)), "{base} for {expected}");
            base
        })
        .collect();
    assert!(bases[0] > bases[1] + 5.0 && bases[0] > bases[2] + 5.0, "{bases:?}");
    assert!(base(&mut world, &grants[0], BLOCKED) < 0.01, "and from what it met");
}

#[test]
fn c25_a_stray_429_of_a_fresh_exit_is_a_short_wait() {
    let mut world = World::new(by_the_article(10));
    (0..40).for_each(|_| drop(world.once(&per(), Outcome::Ok)));
    let grant = world.once(&per(), limited(None));
    let heat = heat(&world, grant.receipt.exit, "a.test");
    assert!((0.21..0.25).contains(&heat), "{heat}");
    let base = base(&mut world, &grant, limited(None));
    assert!((7.0..8.5).contains(&base), "not 31: {base}");
}

#[test]
fn c26_by_default_the_wait_is_the_next_exits() {
    let [one, other] = [0, 1].map(|at| exits(2)[at].id());
    let waited = |hot: ExitId| {
        let mut world = World::of(2);
        (0..60).for_each(|_| drop(world.once(&per(), Outcome::Ok)));
        (0..4).for_each(|_| drop(limit(&mut world, hot, "a.test")));
        let grant = through(world.pass(secs(20)), "a.test", one);
        world.finish(&grant, limited(None));
        let next = (hot == other).then(|| 1.0 + 30.0 * heat(&world, other, "a.test"));
        (base(&mut world, &grant, limited(None)), next)
    };
    let ((to_the_hot, expected), (from_the_hot, _)) = (waited(other), waited(one));
    let expected = expected.unwrap();
    assert!((0.0..0.01).contains(&(to_the_hot / expected - 1.0)), "{to_the_hot} for {expected}");
    assert!(to_the_hot > 1.5 * from_the_hot, "{to_the_hot} against {from_the_hot}");
}

#[test]
fn c28_a_pair_has_one_record_whoever_rides_it() {
    let mut world = World::of(1);
    let asks = [per(), LeaseRequest::new("k"), LeaseRequest::identity("account").on_loss(OnLoss::Wait)];
    let mut before = 0.0;
    for ask in asks.iter().cycle().take(5) {
        world.once(ask, limited(None));
        let pairs = world.snapshot().hottest;
        assert_eq!(pairs.len(), 1);
        assert!(pairs[0].heat > before, "each adds to it: {pairs:?}");
        before = pairs[0].heat;
        let back = rest(&mut world, "a.test");
        world.pass(back);
    }
}

#[test]
fn c35_only_an_origins_answers_count_in_heat() {
    let changed = |outcome| {
        let mut world = World::of(1);
        let exit = world.once(&per(), limited(None)).receipt.exit;
        let grant = world.pass(secs(2)).lease(&per());
        let before = heat(&world, exit, "a.test");
        world.finish(&grant, outcome);
        heat(&world, exit, "a.test") - before
    };
    for silent in [
        Outcome::Fatal,
        REFUSED,
        Outcome::Interrupted { phase: Phase::Head },
        Outcome::TargetDenied,
        Outcome::TargetUnreachable,
        Outcome::AuthError { reason: AuthReason::Rejected },
        Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway },
    ] {
        assert!(changed(silent).abs() < 1e-9, "{silent}");
    }
    assert!(changed(Outcome::Ok) < -0.02);
    assert!(changed(BLOCKED) > 0.02 && changed(limited(None)) > 0.02);
}
