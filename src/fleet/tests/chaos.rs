//! Random verbs in random order over small tables: nothing leaks, nothing wedges.

use super::*;
use crate::draw::{below, mix};
use crate::outcome::Seen;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = mix(self.0);
        below(self.0, n)
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len())]
    }
}

fn evidence(dice: &mut Dice) -> Evidence {
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
    ]);
    Evidence::of(outcome)
        .seen(dice.of(&[Seen::Never, Seen::Unknown, Seen::Seen]))
        .blameless(dice.roll(10) == 0)
}

fn ask(dice: &mut Dice) -> LeaseRequest {
    let ask = match dice.roll(2) {
        0 => LeaseRequest::per_request(),
        _ => LeaseRequest::new(format!("k{}", dice.roll(8))).windowed(dice.of(&[
            Duration::ZERO,
            secs(60),
            Duration::MAX,
        ])),
    };
    ask.deadline(dice.of(&[Duration::ZERO, secs(1), secs(120), Duration::MAX]))
}

/// One life of a fleet; returns when all leases are back.
fn live(dice: &mut Dice) -> World {
    let bounds = Bounds {
        origins: 1 + dice.roll(5),
        pairs: 1 + dice.roll(20),
        bindings: 1 + dice.roll(5),
        leases: 1 + dice.roll(40),
        minted: 1 + dice.roll(6),
    };
    let count = 1 + u16::try_from(dice.roll(70)).unwrap();
    let mut world = config(count);
    world.bounds = bounds;
    if dice.roll(2) == 0 {
        let gateway = Gateway::parse("http://u-{session}:p@gw.test:1").unwrap();
        world.gateways.push(gateway.sessions(NonZeroU32::new(3).unwrap()));
    }
    if dice.roll(4) == 0 {
        world.gateways.push(Gateway::rotating("http://u:p@rot.test:1").unwrap());
    }
    let mut world = World::new(world);
    let (mut out, mut old): (Vec<Grant>, Vec<Receipt>) = Default::default();
    for _ in 0..3_000 {
        match dice.roll(7) {
            0..=2 => {
                let mut ask = ask(dice);
                for receipt in old.iter().rev().take(dice.roll(4)) {
                    ask.trail.record(receipt.exit, &evidence(dice), dice.roll(2) == 0);
                }
                out.extend(world.at(&format!("{}.test", dice.roll(7)), &ask));
            }
            3 | 4 if !out.is_empty() => {
                let grant = &out[dice.roll(out.len())];
                let evidence = evidence(dice);
                let before = world.said.insert(grant.receipt.id, evidence);
                world.fleet.report(world.now, &grant.receipt, &evidence, before.as_ref());
            }
            5 if !out.is_empty() => {
                let grant = out.swap_remove(dice.roll(out.len()));
                let after = secs(dice.roll(20) as u64);
                let how = dice.of(&[Release::Done, Release::NotAttempted, Release::Dropped { after }]);
                let said = world.said.get(&grant.receipt.id).copied();
                world.fleet.release(&grant.receipt, how, said.as_ref());
                // A late word on an old lease.
                let late = evidence(dice);
                world.fleet.report(world.now, &grant.receipt, &late, said.as_ref());
                old.push(grant.receipt);
            }
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
    out.iter().for_each(|grant| world.end(grant));
    world
}

#[test]
fn nothing_leaks_and_nothing_wedges() {
    for round in 0..100 {
        let mut world = live(&mut Dice(round));
        let snapshot = world.snapshot();
        assert_eq!((snapshot.in_flight, snapshot.exits_in_use), (0, 0), "round {round}");
        world.pass(secs(86_400));
        for origin in 0..7 {
            let grant = world.at(&format!("{origin}.test"), &LeaseRequest::per_request());
            let grant = grant.unwrap_or_else(|refusal| panic!("round {round}: a day later {refusal:?}"));
            world.finish(&grant, Outcome::Ok);
        }
    }
}
