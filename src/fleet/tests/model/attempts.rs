//! What becomes of a lease: its reports, its end, and the next attempt.

use super::play::{Out, Player, ask, pick};
use super::reference::{LeaseNo, Told, What};
use super::steps::{How, Want};
use crate::fleet::tests::secs;
use crate::fleet::{Event, Release, RetryAsk, SLOW};
use crate::outcome::{AuthReason, Evidence, Outcome, Phase};
use crate::verdict::Verdict;
use std::time::Duration;

impl Player {
    pub(super) fn report(&mut self, by: &mut Out, mut evidence: Evidence) {
        let now = self.world.now;
        if let (Outcome::RateLimited { retry_after }, None) = (evidence.outcome, evidence.retry_after) {
            evidence.retry_after = retry_after;
        }
        self.world.fleet.events().take();
        let taken = self.world.fleet.report(now, &by.grant.receipt, &evidence, by.taken.as_ref());
        self.heard(by, evidence, taken.is_some());
        by.said = Some(evidence);
        by.taken = taken.or(by.taken);
    }

    /// Notes a report with what was told of it.
    fn heard(&mut self, by: &Out, said: Evidence, taken: bool) {
        let mut told = Told::default();
        for (at, event) in self.world.fleet.events().take() {
            match event {
                Event::Rest { exit, origin, rest: Some(rest) } => {
                    let origin =
                        origin.map(|name| self.names.iter().position(|known| *known == name).unwrap());
                    told.rests.push((exit, origin, (at + rest).as_nanos()));
                }
                Event::GatewayHeld { rest: Some(rest), .. } => told.held.push((at + rest).as_nanos()),
                Event::CredentialStopped { .. } => told.stopped += 1,
                Event::CredentialResumed { .. } => told.resumed += 1,
                _ => {}
            }
        }
        self.note(&told);
        let no = LeaseNo(by.grant.receipt.id.0);
        self.list.push(self.world.now, What::Report { no, said, taken, told });
    }

    pub(super) fn release(&mut self, mut over: Out, how: How) {
        let (now, receipt) = (self.world.now, over.grant.receipt);
        let after = now.since(receipt.sent);
        let said = over.said.filter(|_| how != How::AtHead);
        let release = match how {
            How::Done | How::AtHead => Release::Done,
            How::Dropped => Release::Dropped { after },
            How::NotAttempted => Release::NotAttempted,
        };
        self.world.fleet.events().take();
        let (_, taken) = self.world.fleet.release(&receipt, release, said.as_ref());
        if how == How::Dropped && said.is_none() && after >= SLOW {
            let evidence = Evidence::of(Outcome::Interrupted { phase: Phase::Head });
            self.heard(&over, evidence, true);
            over.taken = taken;
        }
        let good = said.is_some_and(|said| said.is_good_end());
        let silent = said.is_none() && release != Release::Done;
        self.list.push(now, What::Release { no: LeaseNo(receipt.id.0), good, silent });
        self.old.push(over);
    }

    /// The same request again, if the rules let it.
    pub(super) fn again(&mut self, old: usize, patience: Duration) {
        let Some(Out { grant, want, origin, mut ask, said: Some(said), .. }) = pick(&self.old, old).cloned()
        else {
            return;
        };
        let receipt = grant.receipt;
        ask.trail.record(receipt.exit, &said, receipt.charged);
        let now = self.world.now;
        let (question, deadline) = (ask.clone(), now + secs(120));
        let question = RetryAsk {
            receipt,
            evidence: said,
            ask: &question,
            repeatable: true,
            replayable: true,
            deadline,
        };
        let verdict = self.world.fleet.retry(now, &question);
        let soonest = self.world.fleet.soonest(now, &question);
        self.note(&(verdict, soonest));
        if self.checked && !self.closed {
            self.check_soonest(soonest, want, origin, &ask);
        }
        if let Verdict::Retry { delay, .. } = verdict {
            assert!(ask.trail.sends < 4 && delay < secs(120), "{verdict:?} after {}", ask.trail.sends);
            self.wait(want, origin, ask, patience);
        }
    }

    pub(super) fn once(&mut self, want: Want, origin: usize, evidence: Evidence, times: u8) {
        let before = self.out.len();
        self.lease(want, origin, ask(want));
        if self.out.len() > before {
            let mut by = self.out.remove(before);
            (0..times).for_each(|_| self.report(&mut by, evidence));
            self.release(by, How::Done);
        }
    }

    pub(super) fn strays(&mut self, origin: usize, many: u8) {
        let before = self.out.len();
        (0..many).for_each(|_| self.lease(Want::Any, origin, ask(Want::Any)));
        for mut by in self.out.split_off(before) {
            let refused = Outcome::AuthError { reason: AuthReason::Rejected };
            self.report(&mut by, Evidence::of(refused));
            self.release(by, How::Done);
        }
    }

    pub(super) fn all_well(&mut self) {
        for mut by in std::mem::take(&mut self.out) {
            self.report(&mut by, Evidence::of(Outcome::Ok).login_accepted(true));
            self.release(by, How::Done);
        }
    }
}
