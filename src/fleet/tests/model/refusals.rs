//! What a refusal by an origin costs a pair: rests, strikes and suspicions, by the tables of the documents.

use super::charges::{check, hint, paced, seconds};
use super::gate::Gate;
use super::heat::Seen as Counted;
use super::reference::{LeaseNo, Pair, Site, State, Told};
use crate::outcome::{Evidence, Outcome};

impl State {
    /// The origin refuses an exit: the pair rests.
    pub(super) fn refuse(
        &mut self,
        no: LeaseNo,
        said: &Evidence,
        (counted, again): (Counted, bool),
        told: &mut Told,
    ) {
        let (now, lease) = (self.now, self.leases[&no].clone());
        let (exit, origin) = (lease.is.exit, lease.is.origin);
        let (last, doubted) = (self.is_last(exit, Some(origin)), self.sites[origin].doubted());
        let slot = exit >= self.layout.listed;
        let proofs = &mut self.sites[origin].proofs;
        let pair = self.pairs.entry((exit, origin)).or_insert_with(Pair::new);
        pair.seen.push(counted);
        let at = told.rests.iter().position(|(token, at, _)| *token == lease.is.token && *at == Some(origin));
        let until = at.map(|at| told.rests.remove(at).2);
        let (blocked, hint) = (matches!(said.outcome, Outcome::Blocked { .. }), hint(said));
        // The trial has passed, and now it is said that it was refused.
        let after_all = blocked && pair.passed_by == Some(no);
        if after_all {
            pair.passed_by = None;
            proofs.iter_mut().filter(|(by, _)| *by == no).for_each(|(_, ban)| *ban = true);
        }
        let burned = if pair.gate.is_old(lease.sent) {
            if pair.gate.rests(now).is_some() {
                pair.gate.lengthen(now, now.saturating_add(hint));
            } else if hint > 0 {
                pair.gate.shut(now, now.saturating_add(hint));
            }
            blocked && !pair.paced
        } else {
            let trial = after_all || !pair.gate.is_open();
            // What the attempt itself had been before is no success.
            let good = pair.calm.is_none_or(|calm| calm - u32::from(again) >= 10);
            let suspicion = blocked && !trial && good && pair.suspected_by.is_none();
            if blocked {
                if pair.suspected_by.take().is_some() {
                    proofs.push((no, true));
                }
                (pair.passed_by, pair.calm) = (None, Some(0));
                // Nor has it forgiven anything.
                if again && pair.strikes > 0.0 {
                    pair.strikes += 0.5;
                }
                // A slot's next token is another exit.
                pair.suspected_by = (suspicion && !slot).then_some(no);
            }
            if (blocked && !suspicion) || (trial && !pair.paced) {
                (pair.strikes, pair.struck) = (pair.strikes_at(now) + 1.0, now);
            }
            let strikes = pair.strikes_at(now);
            let rest = match (blocked, trial) {
                (true, _) if suspicion => (doubted * strikes.exp2()).min(3_600.0),
                (true, true) => (10.0 * strikes.exp2()).min(3_600.0),
                (true, false) => (10.0 * (strikes - 1.0).max(0.0).exp2()).min(3_600.0),
                (false, true) => strikes.exp2().min(3_600.0),
                (false, false) => 1.0,
            };
            let least = paced(rest, last).max(seconds(hint));
            let until = until.expect("a refusal that is news makes a pair rest, and is told");
            check("a pair", now, until, least, least * 1.25);
            assert!(until >= now.saturating_add(hint), "a hint is shortened");
            pair.gate.shut(now, until);
            (pair.burned, pair.paced) = (blocked && !last, last);
            pair.burned
        };
        let rests = self.pairs[&(exit, origin)].gate.rests(now);
        assert_eq!(rests, until, "what is told is how long it rests");
        if burned {
            self.renew(exit);
        }
    }
}

impl Pair {
    pub(super) fn new() -> Self {
        Self {
            gate: Gate::OPEN,
            seen: Vec::new(),
            strikes: 0.0,
            struck: 0,
            burned: false,
            paced: false,
            calm: None,
            suspected_by: None,
            passed_by: None,
        }
    }

    /// Strikes halve in half an hour.
    fn strikes_at(&self, now: u64) -> f64 {
        self.strikes * (-seconds(now.saturating_sub(self.struck)) / 1_800.0).exp2()
    }

    /// Forgives half a strike. Says whether it passes the trial after a suspicion.
    pub(super) fn succeed(&mut self, now: u64, no: LeaseNo, sent: u64) -> bool {
        if self.gate.is_old(sent) {
            if self.suspected_by == Some(no) {
                (self.suspected_by, self.calm) = (None, None);
            }
            return false;
        }
        self.calm = self.calm.map(|calm| calm + 1);
        let forgiven = 0.5 * f64::from(self.gate.passed());
        let careful = !self.paced && self.strikes_at(now) + forgiven >= 1.5;
        self.gate.pass(now, no, if careful { 3 } else { 1 });
        if self.strikes > 0.0 {
            (self.strikes, self.struck) = ((self.strikes_at(now) - 0.5).max(0.0), now);
        }
        let noise = self.suspected_by.take().is_some();
        if noise {
            self.passed_by = Some(no);
        }
        noise
    }
}

impl Site {
    /// How long a suspicion rests a pair: by the share of those before that were bans.
    fn doubted(&self) -> f64 {
        let (mut bans, mut noise) = (0.0_f64, 0.0_f64);
        for (_, ban) in &self.proofs {
            *(if *ban { &mut bans } else { &mut noise }) += 1.0;
            let scale = (32.0 / (bans + noise)).min(1.0);
            (bans, noise) = (bans * scale, noise * scale);
        }
        let share = (2.0 * (bans + 1.0) / (bans + noise + 2.0)).min(1.0);
        (10.0 * share * share).max(1.0)
    }
}
