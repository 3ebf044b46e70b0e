//! Logins: doubted, cleared, stopped. A stray refusal is told from a wrong password.

use super::row::Row;
use super::{Kind, Parent, Refused};
use crate::outcome::AuthReason;
use crate::pool::Pool;
use crate::pool::event::Event;
use crate::pool::exits::{ExitRecord, Source};
use crate::pool::gate::State;
use crate::pool::ix::{ExitIx, ParentIx};
use crate::pool::receipt::{Cost, Receipt};
use crate::request::Time;
use std::mem;
use std::time::Duration;

/// A login that was accepted this lately is not doubted for a stray refusal: one in ten to twenty is none of its fault in
/// the field.
const PROVEN: Duration = Duration::from_secs(10);
/// Unless so many more are refused than are not, in the order of sending, that strays come to it with this chance: five where
/// one in ten is a stray, two where one in a thousand is.
const DOUBTED: f64 = 1e-5;
/// What one costs its exit, in faults: three in a row are one of a thousand where one in ten is a stray, and a busy pool
/// would lose all its exits to them.
const STRAY: f32 = 0.5;
/// So surely no strays stop a login that was doubted for them, for a stop waits for a person: eight, or three.
const CERTAIN: f64 = 1e-8;
/// So many stop one that has not worked lately: the one that was refused, and the one that tries it.
const SURE: u64 = 2;
/// How long a login out of traffic rests before one lease may try again; doubles up to a quarter of an hour.
const QUOTA: Duration = Duration::from_secs(60);
const QUOTA_MOST: Duration = Duration::from_secs(900);
/// How long one rests that only such answers refuse as a site may have forged, and how long at most: no site may hold for longer what
/// serves others too. It doubles, but not while the login was accepted lately: of a site that most requests go to nearly each trial is
/// forged, and the rests would outgrow what is served between them.
const HEARSAY: Duration = Duration::from_secs(1);
const HEARSAY_MOST: Duration = Duration::from_secs(60);
const HEARSAY_FLAT: Duration = Duration::from_secs(30);
/// So many refusals wait at most to be charged; the next ones are forgiven.
const MOST: usize = 1_024;

/// Whether the provider's word leaves no doubt.
const fn is_definitive(reason: AuthReason) -> bool {
    match reason {
        AuthReason::Expired | AuthReason::Quota | AuthReason::Suspended | AuthReason::Parameters => true,
        AuthReason::Rejected | AuthReason::Capacity => false,
    }
}

impl Parent {
    /// How many stop it.
    fn enough(&self, proven: bool) -> u64 {
        if proven { self.strays.in_a_row(CERTAIN) } else { SURE }
    }

    /// It has a new password: nothing is known of it.
    pub(in crate::pool) fn renewed(&mut self) {
        (self.accepted, self.doublings, self.held) = (None, 0, false);
        self.row = Row::after(self.entered);
        self.refused.clear();
    }

    /// No lease goes out on it before it is mended or resumed; for want of traffic, one may try now and then, and soon where it is
    /// not `sure` that its proxy has refused it.
    /// Says whether that is news.
    fn stop(&mut self, now: Time, reason: AuthReason, sure: bool) -> bool {
        let doubled = |first: Duration| first.saturating_mul(1 << self.doublings.min(10));
        let works = self.accepted.is_some_and(|at| now.since(at) <= HEARSAY_FLAT);
        let rest = match reason {
            _ if !sure && works => HEARSAY,
            _ if !sure => doubled(HEARSAY).min(HEARSAY_MOST),
            AuthReason::Quota => doubled(QUOTA).min(QUOTA_MOST),
            _ => Duration::MAX,
        };
        self.doublings += 1;
        self.held = false;
        // Whoever stopped it for a word that is nobody's for sure asks twice again.
        self.row = if sure { Row::after(self.entered) } else { self.row.after_hearsay(self.entered, SURE) };
        self.refused.clear();
        self.gate.shut(now, now + rest);
        sure || self.doublings == 1
    }

    fn refuse(&mut self, now: Time, by: &Receipt, hearsay: bool) {
        self.row.refuse(by.turn, hearsay);
        self.keep(now, by, hearsay);
    }

    /// To be charged to its exit, if the login is right.
    fn keep(&mut self, now: Time, by: &Receipt, hearsay: bool) {
        if self.refused.len() < MOST {
            self.refused.push(Refused { by: *by, at: now, hearsay });
        }
    }
}

impl Pool {
    /// The login of an exit. A listed exit's is its own, and is thought of when it is first doubted; to have none may be wrong
    /// as well.
    pub(in crate::pool) fn credential(&mut self, exit: ExitIx) -> Option<ParentIx> {
        let record = self.exits.get_mut(exit)?;
        if let [_, Some(known)] = record.parents {
            return Some(known);
        }
        let (Source::Listed, ExitIx::Fixed(index)) = (record.source, exit) else { return None };
        let accepted = record.accepted;
        let ix = self.parents.add(Kind::Credential, vec![index]);
        self.parents.0[ix.index()].accepted = accepted;
        self.exits.get_mut(exit)?.parents[1] = Some(ix);
        Some(ix)
    }

    /// A lease has ended without a word on its login.
    #[cold]
    pub(crate) fn end_in_silence(&mut self, by: &Receipt) {
        let login = self.exits.get(by.at.0).and_then(|record| record.parents[1]);
        if let Some(parent) = login.and_then(|ix| self.parents.0.get_mut(ix.index())) {
            parent.row.end(by.turn);
        }
    }

    pub(super) fn accept(&mut self, now: Time, by: &Receipt) {
        let Some([_, Some(ix)]) = self.exits.get(by.at.0).map(|record| record.parents) else { return };
        let cleared = self.with_parent(ix, |parent| {
            parent.strays.accept();
            // It may have been another password. What was sent after all that were refused clears the login, on trial or not.
            let counted = by.turn > 0 && parent.row.is_newer(by.turn) && !parent.is_stopped();
            if !parent.row.knows(by.turn) || parent.gate.is_stale(by.sent) && !counted {
                return None;
            }
            let doubted = !parent.gate.is_open() && parent.is_doubted();
            if !parent.gate.is_open() {
                parent.gate.pass(by.id, 1);
                parent.doublings = 0;
            }
            if parent.gate.is_open() {
                parent.held = false;
            }
            parent.accepted = Some(now);
            parent.row.accept(by.turn);
            // Who was refused after this one was sent waits for the next: under load there is always one like this.
            let before = parent.refused.partition_point(|stray| stray.at <= by.sent);
            parent.strays.refuse(before);
            Some((doubted, parent.refused.drain(..before).collect::<Vec<_>>()))
        });
        // The login is right after all: then each refusal was a fault of the exit that made it.
        let Some(Some((doubted, refused))) = cleared else { return };
        if doubted {
            let exit = refused.last().map_or(by.exit, |stray| stray.by.exit);
            self.events.push(now, Event::CredentialResumed { exit });
        }
        for Refused { by: stray, .. } in refused.into_iter().filter(|stray| !stray.hearsay) {
            // On trial it has just shown that it works, or is about to. Under another token it is another one.
            let open = |record: &ExitRecord| record.gate.is_open() && record.id() == stray.exit;
            if self.exits.get(stray.at.0).is_some_and(open) {
                self.fault(now, stray.at.0, &stray, STRAY);
            }
        }
    }

    /// A login was refused. What a site may have forged in its proxy's name doubts it as any refusal does, and then lets it rest, for
    /// a second at first; it comes back by itself. Nor is it the provider's last word, whatever it says.
    pub(super) fn refused_login(
        &mut self,
        now: Time,
        by: &Receipt,
        (reason, hearsay): (AuthReason, bool),
        cost: &mut Cost,
    ) -> bool {
        let exit = by.at.0;
        let Some(ix) = self.credential(exit) else { return false };
        if mem::replace(&mut cost.shared, true) {
            return true;
        }
        let proven = |parent: &Parent| parent.accepted.is_some_and(|at| now.since(at) <= PROVEN);
        let stopped = self.with_parent(ix, |parent| {
            if !parent.row.knows(by.turn) {
                // It works, and this was a stray of its exit's.
                if parent.gate.is_open() && !parent.gate.is_stale(by.sent) {
                    parent.keep(now, by, hearsay);
                }
                return None;
            }
            let (proven, last_word) = (proven(parent), is_definitive(reason) && !hearsay);
            let stale = parent.gate.is_stale(by.sent);
            match parent.gate.state() {
                State::Open | State::Spaced { .. } if stale => None,
                // The provider says for good what another attempt would only hear again.
                State::Open if last_word && !proven => Some(parent.stop(now, reason, true)),
                State::Open | State::Spaced { .. } => {
                    parent.refuse(now, by, hearsay);
                    if last_word || !proven || parent.row.most() >= parent.strays.in_a_row(DOUBTED) {
                        parent.row.enough = parent.enough(proven);
                        parent.gate.doubt(now);
                    }
                    None
                }
                State::Trial { .. } => {
                    if mem::take(&mut parent.held) {
                        parent.row.enough = parent.enough(proven);
                    }
                    parent.refuse(now, by, hearsay);
                    // All that is out may still be accepted, where nothing was yet.
                    let least = if proven { u64::MAX } else { parent.row.most_of_all() };
                    let most = parent.row.most().min(least);
                    let enough = parent.enough(proven);
                    let across = parent.row.is_refused_across_rests(enough);
                    let stops = !stale && (last_word || across || most >= parent.row.enough);
                    let sure = last_word || parent.row.is_proven(enough);
                    stops.then(|| parent.stop(now, reason, sure))
                }
                State::Resting { .. } => None,
            }
        });
        // A login that rests for hearsay once more says nothing new.
        if stopped.flatten() == Some(true) {
            self.events.push(now, Event::CredentialStopped { exit: by.exit, reason });
        }
        true
    }
}
