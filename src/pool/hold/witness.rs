//! Exits as each other's witnesses: what as many of them meet at one origin is the origin's, and costs none of them.

use super::trouble::{Met, Witness};
use super::{BROKEN, hint};
use crate::knobs;
use crate::outcome::{Evidence, Outcome, Seen};
use crate::pool::charge::DOUBTFUL;
use crate::pool::ix::OriginIx;
use crate::pool::origins::OriginRecord;
use crate::pool::{Pool, Receipt};
use crate::request::Time;
use std::time::Duration;

impl Pool {
    pub(super) fn met(&self, now: Time, by: &Receipt, evidence: &Evidence) -> Met {
        let exit = self.exits.get(by.at.0);
        let gateway = exit.and_then(|exit| exit.parents[0]).filter(|_| evidence.seen != Seen::Seen);
        let fresh = exit.is_some_and(|exit| !exit.gate.is_stale(by.sent));
        let limited = evidence.outcome.is_rate_limited();
        // What may be the exit's own word is no reason to leave the site alone for longer than a single exit's is.
        let most = self
            .knobs
            .hold
            .filter(|_| evidence.seen != Seen::Seen)
            .map_or(Duration::MAX, |rules| rules.alone);
        let wait = hint(evidence).min(most);
        Met {
            exit: by.at.0,
            id: by.exit,
            who: gateway.map_or(Witness::Exit(by.exit), Witness::Gateway),
            at: now,
            until: now + wait,
            heated: matches!(evidence.outcome, Outcome::OriginError { .. }),
            faulted: evidence.seen != Seen::Seen && fresh && !limited && self.works_beside(now, by),
        }
    }

    /// An exchange broke: a site that breaks them all is no fault of as many exits.
    pub(super) fn breaks(&mut self, now: Time, by: &Receipt, evidence: &Evidence, rules: &knobs::Hold) {
        if evidence.blameless {
            return;
        }
        let met = self.met(now, by, evidence);
        let Some(record) = self.origins.get_mut(by.at.1) else { return };
        let trouble = record.trouble.get_or_insert_with(Box::default);
        let broke = trouble.breaks(met, rules.exits.max(1).into());
        // This one has cost nothing yet, and costs nothing now.
        let before = broke.len().saturating_sub(1);
        self.refund(now, by.at.1, &broke[..before]);
    }

    /// Whether what may be the exit's fault is: the origin has served somebody lately, and neither fails everybody now nor did when
    /// this was sent, nor fails often through whatever exit.
    pub(in crate::pool) fn works_beside(&self, now: Time, by: &Receipt) -> bool {
        let Some(record) = self.origins.get(by.at.1) else { return false };
        let doubted = record.trouble.as_ref().is_some_and(|trouble| trouble.doubted);
        self.works(now, by.at.1)
            && !record.room.is_held()
            && !doubted
            && !record.room.gate.is_stale(by.sent)
            && !record.usual.is_common()
    }

    /// Whether no other exit could be leased there.
    pub(super) fn are_all(&self, record: &OriginRecord, met: &[Met]) -> bool {
        let all = record.plan.as_ref().map(|plan| plan.all());
        (0..).zip(&self.exits.fixed).all(|(index, exit)| {
            let out = exit.barred > 0 || self.down.contains(index) || record.benched.contains(index);
            out || exit.gone
                || all.is_some_and(|all| !all.has(exit.named))
                || met.iter().any(|met| match met.who {
                    Witness::Exit(id) => id == exit.id(),
                    Witness::Gateway(gateway) => exit.parents[0] == Some(gateway),
                })
        })
    }

    /// The origin failed everybody: the exits did not. What it has cost them in heat and in parts of faults is taken back, and no
    /// rest is ended.
    pub(super) fn refund(&mut self, now: Time, origin: OriginIx, met: &[Met]) {
        for met in met {
            let exit = self.exits.get_mut(met.exit).filter(|exit| exit.id() == met.id);
            let mut gateway = None;
            if let Some(exit) = exit {
                gateway = exit.source.gateway();
                if met.faulted {
                    exit.forgive(DOUBTFUL);
                }
            }
            if !met.heated {
                continue;
            }
            if let (Some(gateway), Some(record)) = (gateway, self.origins.get_mut(origin)) {
                record.heat_of(gateway).take_back(now, met.at, BROKEN);
            }
            let pair = self.pairs.find(met.exit, origin).and_then(|slot| self.pairs.get_mut(slot));
            if let Some(pair) = pair {
                pair.take_back(now, met.at, BROKEN);
            }
        }
    }
}
