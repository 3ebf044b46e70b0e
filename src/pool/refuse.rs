//! An origin refuses a pair: how long it rests, whether it has a strike, and what that says of the origin's other blocks.
//!
//! | a block | strikes | rest, in seconds |
//! |---|---|---|
//! | of a pair that was good until then: never blocked, or good 10 times since | none | 10 (2 q)², 1 to 10, · 2^strikes |
//! | in a trial | one more | 10 · 2^strikes |
//! | else | one more | 10 · 2^(strikes - 1) |
//!
//! q is the share of the first kind, suspicions, that the next trial of the same exit confirmed at this origin. Where the exit
//! behind the pair changes with the block, as behind a gateway's slot, no trial says what the block meant. Rules whose rests do not
//! double know no suspicion.

use super::Pool;
use super::Receipt;
use super::exits::Source;
use super::gate::State;
use super::ix::{BindingIx, OriginIx};
use super::pairs::{Block, Pair};
use super::proof::Shown;
use super::slab::Slot;
use crate::draw::{Stream, draw, unit};
use crate::outcome::{BlockedBy, Evidence, Outcome};
use crate::request::Time;
use crate::verdict::Rest;
use std::time::Duration;

/// The rest of a pair that was asked to slow down, without saying how long.
const LIMITED: Duration = Duration::from_secs(1);
/// Longest hint that is believed.
const HINT_CAP: Duration = Duration::from_secs(3_600);

/// How a block is to be taken: how many successes make a pair good, and how long a suspicion rests it.
#[derive(Clone, Copy)]
struct Doubts {
    calm: u8,
    rest: Duration,
    /// The exit behind the pair stays the same.
    stays: bool,
}

/// What is the same for all refusals of a pair.
struct Terms {
    burned: Rest,
    doubts: Option<Doubts>,
    /// How far apart the origin wants its uses.
    gap: Duration,
    /// It is the last exit that may be used.
    last: bool,
    /// The attempt has been good before.
    again: bool,
    seed: u64,
}

impl Pool {
    pub(super) fn refuse_pair(
        &mut self,
        now: Time,
        by: &Receipt,
        evidence: &Evidence,
        slot: Slot,
        (share, hash, again): (f32, u64, bool),
    ) {
        let (exit, origin) = by.at;
        // A block costs the exit its rest where others are back in a moment; a 429 there rests no longer than their gap.
        let blocked = matches!(evidence.outcome, Outcome::Blocked { .. });
        let last = self.is_last(exit, Some(origin)) && !(blocked && self.has_spaced(exit, origin));
        let (doubts, seed) = (self.doubts(by), self.seed ^ hash);
        let gap = self.origins.get(by.at.1).and_then(|record| record.gap.figure()).unwrap_or_default();
        let terms = Terms { burned: self.rest, doubts, gap, last, again, seed };
        let refused = self.with_pair(slot, |pair| {
            pair.heat.add(now, share);
            refuse(pair, now, by, evidence, &terms)
        });
        let (burned, shown) = refused.unwrap_or_default();
        if let Some(shown) = shown {
            self.settle(by.at.1, shown);
        }
        if self.events.is_told_all() {
            let state = self.pairs.get_mut(slot).map(|pair| pair.gate.state());
            self.tell_rest(now, by, Some(by.at.1), state);
        }
        if burned {
            self.lose(by.binding);
            self.exits.renew(by.at.0);
        }
    }

    fn doubts(&self, by: &Receipt) -> Option<Doubts> {
        let rules = self.knobs.suspicion.filter(|_| self.rest.learns())?;
        let proof = &self.origins.get(by.at.1)?.proof;
        let slot = |source| matches!(source, Source::Slot { .. });
        let stays = self.exits.get(by.at.0).is_some_and(|record| !slot(record.source));
        Some(Doubts { calm: rules.calm, rest: proof.rest(self.rest.first, &rules), stays })
    }

    /// A trial has shown what a block meant.
    #[cold]
    pub(super) fn settle(&mut self, origin: OriginIx, shown: Shown) {
        if let (Some(rules), Some(record)) = (self.knobs.suspicion, self.origins.get_mut(origin)) {
            record.proof.settle(shown, &rules);
        }
    }

    /// What holds a burned exit must leave it: its own binding at once, others when they come to lease.
    fn lose(&mut self, binding: Option<(BindingIx, u32)>) {
        let Some((ix, generation)) = binding else { return };
        if let Some(held) = self.bindings.get_mut(ix) {
            held.lost |= held.generation == generation;
        }
    }
}

/// Rests a refused pair. Says whether it is burned now, and what that shows of an earlier block.
fn refuse(
    pair: &mut Pair,
    now: Time,
    by: &Receipt,
    evidence: &Evidence,
    terms: &Terms,
) -> (bool, Option<Shown>) {
    let hint = evidence.retry_after.map_or(Duration::ZERO, |hint| hint.wait().min(HINT_CAP));
    // Another address would be refused as well: the site is asked less, and no exit burned.
    let blocked = matches!(evidence.outcome, Outcome::Blocked { by } if by != BlockedBy::Pattern);
    // The trial that passed was refused after all.
    let after_all = blocked && pair.takes_pass_back(by.id);
    if pair.gate.is_stale(by.sent) {
        heed(pair, now, hint);
        return (blocked && !pair.paced, after_all.then_some(Shown::BanAfterAll));
    }
    let trial = after_all || matches!(pair.gate.state(), State::Trial { .. });
    // What refuses a request that another exit was refused for may be the request: a rest, but no strike and no proof. Else the
    // trials of a small pool are all failed by those whom nobody serves, and its exits rest longer each time.
    let unproven = blocked && by.again && !after_all && !terms.last && terms.doubts.is_some();
    let block = match unproven {
        true => Some(Block::Suspicion),
        false => {
            blocked.then(|| pair.block(by.id, trial, terms.again, terms.doubts.map(|doubts| doubts.calm)))
        }
    };
    // A wait that is asked of everybody says nothing of the exit.
    let struck = trial && !evidence.for_all;
    let strikes = match block {
        Some(Block::Suspicion) => pair.strikes_now(now),
        Some(Block::Ban | Block::Other) => pair.strike(now),
        // A last exit is tried eight times as often; did that strike as well, it would rest for an hour when others are back.
        None if struck && !pair.paced => pair.strike(now),
        None => pair.strikes_now(now),
    };
    let first = terms.burned.first;
    let rest = match (block, terms.doubts) {
        (Some(_), _) if !terms.burned.doubles => first,
        // What it was suspected of before is not over.
        (Some(Block::Suspicion), Some(doubts)) => Pair::rest(strikes + 1.0, doubts.rest),
        // The suspicion before was a strike as well.
        (Some(_), Some(_)) if trial => Pair::rest(strikes + 1.0, first),
        (Some(_), _) => Pair::rest(strikes, first),
        (None, _) if struck => Pair::rest(strikes + 1.0, LIMITED),
        // However often it was blocked: on top of a hint, or of the lack of one, an exponent idles a fleet.
        (None, _) => LIMITED,
    };
    let share = if blocked { terms.burned.stretch } else { 0.25 };
    let count = u64::from(pair.gate.shuts());
    let stretch = 1.0 + share * unit(draw(terms.seed, Stream::Cooldown, by.exit.as_u64(), count));
    let rest = if terms.last { paced(rest) } else { rest };
    // What says nothing itself is asked as rarely as it has taught.
    let least = if hint.is_zero() && !blocked { terms.gap } else { hint };
    pair.gate.shut(now, now + rest.max(least).mul_f64(stretch));
    (pair.burned, pair.paced) = (blocked && !terms.last, terms.last);
    if terms.doubts.is_some_and(|doubts| !doubts.stays) {
        pair.acquit(blocked);
    }
    let shown = match block {
        _ if after_all => Some(Shown::BanAfterAll),
        Some(Block::Ban) => Some(Shown::Ban),
        _ => None,
    };
    (pair.burned, shown)
}

/// Old news but for the hint: what was asked for holds, also if the gate has opened since.
fn heed(pair: &mut Pair, now: Time, hint: Duration) {
    match pair.gate.state() {
        State::Resting { .. } => pair.gate.lengthen(now + hint),
        State::Open | State::Spaced { .. } | State::Trial { .. } if !hint.is_zero() => {
            pair.gate.shut(now, now + hint);
        }
        State::Open | State::Spaced { .. } | State::Trial { .. } => {}
    }
}

/// The rest between two uses of an exit that is the last one of its pool: a pool that rests as a whole serves nobody.
pub(super) fn paced(rest: Duration) -> Duration {
    const SHARE: u32 = 8;
    const LEAST: Duration = Duration::from_secs(1);
    (rest / SHARE).max(LEAST)
}
