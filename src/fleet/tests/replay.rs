//! The same configuration, seed and inputs make the same decisions, byte for byte.

use super::*;
use crate::draw::{below, mix};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

fn outcomes() -> [Outcome; 8] {
    [
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Ok,
        BLOCKED,
        REFUSED,
        limited(None),
        limited(Some(9)),
        Outcome::Interrupted { phase: Phase::Body },
    ]
}

/// Feeds 10,000 scripted inputs and returns the SHA-256 of what was decided.
fn run(seed: u64) -> String {
    let mut world = World::new(Setup { seed, ..config(60) });
    let mut out: Vec<Grant> = Vec::new();
    let mut log = Sha256::new();
    for step in 0..10_000_u64 {
        // The script is its own: it does not depend on the fleet's seed.
        let draw = |what: u64, n: usize| below(mix(mix(step) ^ what), n);
        world.pass(Duration::from_millis(draw(1, 400) as u64));
        let mut line = format!("{step} {:?} ", world.now);
        if out.is_empty() || (draw(2, 2) == 0 && out.len() < 40) {
            let key = format!("key-{}", draw(3, 50));
            let ask = if draw(4, 3) == 0 { LeaseRequest::per_request() } else { LeaseRequest::new(key) };
            match world.at(["a.test", "b.test", "c.test"][draw(5, 3)], &ask.windowed_if(draw(6, 2) == 0)) {
                Ok(grant) => {
                    write!(line, "{grant:?}").unwrap();
                    out.push(grant);
                }
                Err(refusal) => write!(line, "{refusal:?}").unwrap(),
            }
        } else {
            let grant = out.swap_remove(draw(7, out.len()));
            let outcome = outcomes()[draw(8, 8)];
            world.report(&grant, outcome);
            let mut ask = LeaseRequest::new("retry");
            ask.trail.record(grant.receipt.exit, &outcome.into(), grant.receipt.charged);
            let deadline = world.now + secs(60);
            let evidence = outcome.into();
            let receipt = grant.receipt;
            let question =
                RetryAsk { receipt, evidence, ask: &ask, repeatable: true, replayable: true, deadline };
            write!(line, "{:?}", world.fleet.retry(world.now, &question)).unwrap();
            world.end(&grant);
        }
        log.update(line.as_bytes());
    }
    let snapshot = world.snapshot();
    assert!(snapshot.outcomes.total() > 3_000, "the script does something: {snapshot:?}");
    assert!((1..2_000).contains(&snapshot.refusals.no_usable_exit), "and meets refusals: {snapshot:?}");
    log.update(format!("{snapshot:?}").as_bytes());
    log.finalize().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

impl LeaseRequest {
    fn windowed_if(self, windowed: bool) -> Self {
        if windowed && !matches!(self.granularity, Granularity::PerRequest) {
            return self.windowed(secs(30));
        }
        self
    }
}

#[test]
fn a20_c21_c41_ten_thousand_inputs_twice_decide_the_same() {
    let first = run(7);
    assert_eq!(first, run(7));
    assert_ne!(first, run(8), "the seed matters");
}
