//! Random verbs in random order over small tables: nothing leaks, nothing wedges.

use super::*;
use crate::draw::{below, mix};
use crate::outcome::{AuthReason, GatewayScope, Seen};
use crate::request::{Affinity, Granularity, OnLoss, Scope};

pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, n: usize) -> usize {
        self.0 = mix(self.0);
        below(self.0, n)
    }

    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len())]
    }
}

pub(super) fn evidence(dice: &mut Dice) -> Evidence {
    let hint = dice.roll(5_000) as u64;
    let outcome = dice.of(&[
        Outcome::Ok,
        Outcome::Ok,
        BLOCKED,
        limited(None),
        limited(Some(hint)),
        REFUSED,
        Outcome::Fatal,
        Outcome::TargetDenied,
        Outcome::Interrupted { phase: Phase::Head },
        Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY },
        Outcome::ProxyError { phase: Phase::OriginTls },
        Outcome::AuthError { reason: AuthReason::Rejected },
        Outcome::AuthError { reason: AuthReason::Quota },
        Outcome::AuthError { reason: AuthReason::Capacity },
        Outcome::AuthError { reason: AuthReason::Suspended },
        Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Gateway },
        Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Credential },
        Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Exit },
        Outcome::GatewayOverloaded { retry_after: None, scope: GatewayScope::Target },
        Outcome::Blocked { by: BlockedBy::Pattern },
        Outcome::TargetUnreachable,
        Outcome::TargetFailed,
        Outcome::SessionLost,
    ]);
    Evidence::of(outcome)
        .seen(dice.of(&[Seen::Never, Seen::Unknown, Seen::Seen]))
        .blameless(dice.roll(10) == 0)
        .login_accepted(dice.roll(4) == 0)
}

pub(super) fn ask(dice: &mut Dice) -> LeaseRequest {
    let key = format!("k{}", dice.roll(8));
    let ask = match dice.roll(6) {
        0 | 1 => LeaseRequest::per_request(),
        2 => LeaseRequest::identity(key),
        3 => LeaseRequest::per_request().affinity(Affinity::RoundRobin),
        _ => LeaseRequest::new(key)
            .windowed(dice.of(&[Duration::ZERO, secs(60), secs(600), Duration::MAX]))
            .affinity(dice.of(&[Affinity::Key, Affinity::Key, Affinity::Origin, Affinity::RoundRobin]))
            .scope(dice.of(&[Scope::PerOrigin, Scope::AllOrigins])),
    };
    let ask = match dice.roll(4) {
        0 => ask.on_loss(dice.of(&[OnLoss::Move, OnLoss::Wait, OnLoss::Fail])),
        1 => ask.generation(u32::try_from(dice.roll(3)).unwrap()),
        2 => ask.max_uses(NonZeroU32::new(1 + u32::try_from(dice.roll(3)).unwrap()).unwrap()),
        _ => ask,
    };
    let ask = if dice.roll(6) == 0 { ask.exclusive() } else { ask };
    ask.deadline(dice.of(&[Duration::ZERO, secs(1), secs(120), Duration::MAX]))
}

/// Of one class or another, or of none, if there are classes.
fn classed(ask: LeaseRequest, classes: &Classes, step: usize) -> LeaseRequest {
    match step % 3 {
        0 | 1 if !classes.is_empty() => ask.class(["prices", "bulk"][step % 3]),
        _ => ask,
    }
}

/// One life of a fleet; returns when all leases are back.
fn live(dice: &mut Dice, classes: &Classes) -> World {
    let bounds = Bounds {
        origins: 1 + dice.roll(5),
        pairs: 1 + dice.roll(20),
        bindings: 1 + dice.roll(5),
        leases: 1 + dice.roll(40),
        minted: 1 + dice.roll(6),
        waiters: 1 + dice.roll(30),
        events: 1 + dice.roll(6),
    };
    let most = dice.of(&[3, 70]);
    let count = 1 + u16::try_from(dice.roll(most)).unwrap();
    let mut world = config(count);
    (world.bounds, world.classes) = (bounds, classes.clone());
    if dice.roll(2) == 0 {
        let gateway = Gateway::parse("http://u-{session}:p@gw.test:1").unwrap();
        world.gateways.push(gateway.sessions(NonZeroU32::new(3).unwrap()));
        let behind_the_same = Gateway::parse("http://w-{session}:p@gw.test:1").unwrap();
        world.gateways.push(behind_the_same.digits().sessions(NonZeroU32::new(2).unwrap()));
    }
    if dice.roll(4) == 0 {
        world.gateways.push(Gateway::rotating("http://u:p@rot.test:1").unwrap());
    }
    let (listed, gateways) = (world.exits.clone(), world.gateways.clone());
    let total = usize::from(count) + gateways.iter().map(|gateway| gateway.slots() as usize).sum::<usize>();
    let mut world = World::new(world);
    let (mut out, mut old): (Vec<Grant>, Vec<Receipt>) = Default::default();
    let mut line: Vec<Ticket> = Vec::new();
    for step in 0..3_000 {
        if step % 3 == 0 {
            world.fleet.serve(world.now);
            world.fleet.check_line(world.now);
        }
        if step % 16 == 0 {
            world.fleet.pool.check();
        }
        match dice.roll(10) {
            8 => {
                let ask = classed(ask(dice), classes, step);
                let (ask, patience) = (ask, world.now + dice.of(&[Duration::ZERO, secs(2), secs(60)]));
                if ask.contradiction().is_some() {
                    continue;
                }
                let name = Origin::new(&format!("{}.test", dice.roll(7)));
                match world.fleet.lease_or_wait(world.now, &ask, &name, patience) {
                    Turn::Granted(grant) => out.push(grant),
                    Turn::Refused(_) => {}
                    Turn::Wait { ticket } => {
                        let until = world.fleet.wait(world.now, ticket);
                        assert!(until.is_none_or(|until| until <= patience), "{until:?}");
                        line.push(ticket);
                    }
                }
            }
            9 => {
                // Who is called comes, somebody else comes unasked, or one goes.
                let called = std::iter::from_fn(|| world.fleet.poll_wake()).last();
                let any = (!line.is_empty()).then(|| line[dice.roll(line.len())]);
                let Some(ticket) = called.or(any) else { continue };
                line.retain(|other| *other != ticket);
                if dice.roll(4) == 0 {
                    world.fleet.leave(world.now, ticket);
                    continue;
                }
                match world.fleet.claim(world.now, ticket) {
                    Turn::Granted(grant) => out.push(grant),
                    Turn::Refused(_) => {}
                    Turn::Wait { ticket } => line.push(ticket),
                }
            }
            0..=2 => {
                let mut ask = classed(ask(dice), classes, step);
                for receipt in old.iter().rev().take(dice.roll(4)) {
                    ask.trail.record(receipt.exit, &evidence(dice), dice.roll(2) == 0);
                }
                if ask.contradiction().is_some() {
                    continue;
                }
                match world.at(&format!("{}.test", dice.roll(7)), &ask) {
                    Ok(grant) => out.push(grant),
                    Err(Refusal::NoUsableExit { retry_at, counts, .. }) => {
                        let wait = retry_at.since(world.now);
                        let far = counts.reserved > 0 || counts.stopped > 0;
                        assert!(retry_at >= world.now && (far || wait <= secs(4_500)), "{wait:?}");
                        let own = ask.granularity != Granularity::PerRequest;
                        let said = counts.total() as usize;
                        assert!(said == total || (own && said == 1), "{counts:?} of {total}: {ask:?}");
                    }
                    Err(_) => {}
                }
                if let Some(receipt) = old.last() {
                    let question = RetryAsk {
                        receipt: *receipt,
                        evidence: evidence(dice),
                        ask: &ask,
                        repeatable: dice.roll(2) == 0,
                        replayable: true,
                        deadline: world.now + ask.deadline,
                    };
                    if let Verdict::Retry { delay, .. } = world.fleet.retry(world.now, &question) {
                        assert!(delay <= ask.deadline);
                    }
                    world.fleet.soonest(world.now, &question);
                }
            }
            3 | 4 if !out.is_empty() => {
                let grant = &out[dice.roll(out.len())];
                let evidence = evidence(dice);
                // Sites are down for a while: long enough to be held.
                let down = Outcome::OriginError { status: http::StatusCode::BAD_GATEWAY };
                let evidence = if step / 100 % 4 == 0 && dice.roll(8) > 0 { down.into() } else { evidence };
                world.report(&grant.clone(), evidence);
            }
            5 if !out.is_empty() => {
                let grant = out.swap_remove(dice.roll(out.len()));
                let after = secs(dice.roll(20) as u64);
                let how = dice.of(&[Release::Done, Release::NotAttempted, Release::Dropped { after }]);
                let said = world.said.get(&grant.receipt.id).copied();
                let last = said.map(|said| said.evidence);
                world.fleet.release(&grant.receipt, how, last.as_ref());
                // A late word on an old lease.
                let late = evidence(dice);
                world.fleet.report(world.now, &grant.receipt, &late, said.as_ref());
                old.push(grant.receipt);
            }
            6 => match dice.roll(40) {
                0 => world.fleet.resume(world.now),
                7 => world.fleet.close(),
                8 => world.fleet.open(),
                1 | 2 => {
                    world.fleet.quarantine(listed[dice.roll(listed.len())].id(), true);
                }
                3 | 4 => {
                    world.fleet.quarantine(listed[dice.roll(listed.len())].id(), false);
                }
                5 => {
                    world.fleet.set_exit(world.now, &listed[dice.roll(listed.len())]);
                }
                6 if !gateways.is_empty() => {
                    world.fleet.set_gateway(world.now, &gateways[dice.roll(gateways.len())]);
                }
                9..=14 => {
                    let name = Origin::new(&format!("{}.test", dice.roll(7)));
                    if let Some(origin) = world.fleet.pool.origin(world.now, &name) {
                        let limit = dice.of(&[None, Some(1), Some(2), Some(30)]);
                        world.fleet.pool.set_limit(origin, limit);
                    }
                }
                15 | 16 => {
                    let name = Origin::new(&format!("{}.test", dice.roll(7)));
                    let until = world.now + dice.of(&[secs(1), secs(30)]);
                    world.fleet.pool.shut_for_test(world.now, &name, until);
                }
                _ => {}
            },
            _ => {
                world.pass(dice.of(&[
                    Duration::ZERO,
                    Duration::from_millis(10),
                    secs(1),
                    secs(40),
                    secs(400),
                ]));
            }
        }
    }
    line.iter().for_each(|ticket| world.fleet.leave(world.now, *ticket));
    out.iter().for_each(|grant| world.end(grant));
    world.fleet.open();
    listed.iter().for_each(|exit| assert!(world.fleet.quarantine(exit.id(), false)));
    world.fleet.pool.check();
    world
}

#[test]
fn nothing_leaks_and_nothing_wedges() {
    let mut classes = Classes::default();
    for round in 0..150 {
        if round == 100 {
            classes.add("prices".into(), 3);
            classes.add("bulk".into(), 1);
        }
        let mut world = live(&mut Dice(round), &classes);
        let snapshot = world.snapshot();
        assert_eq!((snapshot.in_flight, snapshot.exits_in_use), (0, 0), "round {round}");
        assert_eq!((snapshot.waiting, world.fleet.poll_wake()), (0, None), "round {round}");
        let leases: u64 = snapshot.origins.iter().map(|origin| origin.leases).sum();
        assert_eq!(snapshot.leases, leases + snapshot.forgotten.leases, "round {round}");
        world.pass(secs(86_400));
        world.fleet.resume(world.now);
        for origin in 0..7 {
            // A refused login that is cleared is a fault of its exit, which may have been its last.
            let served = (0..3).any(|_| {
                match world.at(&format!("{origin}.test"), &LeaseRequest::per_request()) {
                    Ok(grant) => world.finish(&grant, Evidence::of(Outcome::Ok).login_accepted(true)),
                    Err(Refusal::NoUsableExit { counts, .. }) if counts.reserved == counts.total() => {}
                    Err(Refusal::NoUsableExit { retry_at, .. }) => {
                        world.now = retry_at;
                        return false;
                    }
                    // An origin is in use while one of its exits is kept from its next use.
                    Err(Refusal::Busy { .. }) => {
                        world.pass(secs(60));
                        return false;
                    }
                    Err(refusal) => panic!("round {round}: a day later {refusal:?}"),
                }
                true
            });
            assert!(served, "round {round}: refused a day later");
        }
    }
}
