//! What exits share, and so lose together: the login of a gateway's exits, and the address of those behind one host and port.
//! Each is a parent with a gate of its own; an exit may go only where all its parents admit.

mod login;
mod row;
mod throttle;

use super::Entry;
use super::Pool;
use super::event::Event;
use super::exits::{ExitRecord, Source};
use super::gate::{Gate, State};
use super::ix::{ExitIx, ParentIx};
use super::receipt::{Cost, LeaseId, Receipt};
use super::timers::Due;
use crate::draw::{Stream, draw, unit};
use crate::outcome::{AuthReason, Evidence, GatewayScope, Outcome, Phase, Seen};
use crate::request::Time;
use row::Row;
use std::mem;
use std::time::Duration;
use throttle::{Flow, Turned};

/// The first rest of an overloaded gateway; doubles up to 15 s.
const HOLD: Duration = Duration::from_millis(250);
const HOLD_MOST: Duration = Duration::from_secs(15);
/// The rest of an exit at a target that its gateway throttles, without saying for how long.
const THROTTLED: Duration = Duration::from_secs(1);
/// Failures in a row to connect that make a gateway unreachable, and its first rest; doubles up to a minute.
const FAULTS: u32 = 3;
const UNREACHABLE: Duration = Duration::from_secs(5);
const UNREACHABLE_MOST: Duration = Duration::from_secs(60);
/// Longest hint of a gateway that is believed.
const HINT_CAP: Duration = Duration::from_secs(3_600);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Credential,
    Gateway,
}

pub(super) struct Parent {
    pub(super) kind: Kind,
    pub(super) gate: Gate,
    /// Its exits among the fixed ones.
    members: Vec<u32>,
    /// When its login was accepted last.
    accepted: Option<Time>,
    /// Who was refused, and when. If a login that is sent later is accepted, that was their exits' fault.
    refused: Vec<(Receipt, Time)>,
    /// Of a login: its leases so far, and those that were refused one after the other.
    entered: u64,
    row: Row,
    /// Of a gateway.
    pub(super) flow: Flow,
    faults: u32,
    doublings: u32,
    /// Of a login: it is left alone because it is overloaded, and not doubted.
    held: bool,
}

impl Parent {
    /// Whether one more lease may go.
    pub(super) fn admits(&self) -> bool {
        self.gate.state().admits() && self.flow.has_place()
    }

    /// A login that no lease will try again before somebody resumes it.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_doubted() && matches!(self.gate.state(), State::Resting { .. })
    }

    /// Whether it is a login that is doubted, or stopped, if its gate is not open.
    pub(super) fn is_doubted(&self) -> bool {
        self.kind == Kind::Credential && !self.held
    }

    /// Whether it is overloaded, or cannot be reached, if its gate is not open.
    pub(super) fn is_held(&self) -> bool {
        !self.is_doubted()
    }
}

#[derive(Default)]
pub(super) struct Parents(Vec<Parent>);

impl Parents {
    pub(super) fn add(&mut self, kind: Kind, members: Vec<u32>) -> ParentIx {
        let ix = ParentIx(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        let parent = Parent {
            kind,
            gate: Gate::OPEN,
            members,
            accepted: None,
            refused: Vec::new(),
            entered: 0,
            row: Row::default(),
            flow: Flow::default(),
            faults: 0,
            doublings: 0,
            held: false,
        };
        self.0.push(parent);
        ix
    }

    /// One more exit of a parent; says whether it is kept out by it.
    pub(super) fn join(&mut self, ix: ParentIx, member: u32) -> bool {
        let Some(parent) = self.0.get_mut(ix.index()) else { return false };
        parent.members.push(member);
        !parent.admits()
    }

    /// These are nobody's exits any more.
    pub(super) fn part_with(&mut self, gone: impl Fn(u32) -> bool) {
        self.0.iter_mut().for_each(|parent| parent.members.retain(|member| !gone(*member)));
    }

    /// One more lease has it; says which.
    #[inline]
    pub(super) fn count(&mut self, ix: ParentIx) -> u64 {
        let Some(parent) = self.0.get_mut(ix.index()) else { return 0 };
        parent.entered += 1;
        parent.entered
    }

    pub(super) fn get(&self, ix: ParentIx) -> Option<&Parent> {
        self.0.get(ix.index())
    }

    pub(super) fn admit(&self, record: &ExitRecord) -> bool {
        record.parents.iter().flatten().all(|ix| self.get(*ix).is_some_and(|parent| parent.admits()))
    }

    fn all(&self) -> impl Iterator<Item = ParentIx> + use<> {
        (0..u32::try_from(self.0.len()).unwrap_or(u32::MAX)).map(ParentIx)
    }
}

impl Pool {
    /// Whether all that the exit shares with others admits one more lease.
    pub(super) fn parents_admit(&self, record: &ExitRecord) -> bool {
        record.parents.iter().flatten().all(|ix| self.parents.get(*ix).is_some_and(Parent::admits))
    }

    /// Takes the places of trials. A login on trial needs a fresh connection.
    #[inline]
    pub(super) fn enter_parents(
        &mut self,
        parents: [Option<ParentIx>; 2],
        by: LeaseId,
        until: Time,
    ) -> Entry {
        if let [None, None] = parents { Entry::default() } else { self.enter_each(parents, by, until) }
    }

    fn enter_each(&mut self, parents: [Option<ParentIx>; 2], by: LeaseId, until: Time) -> Entry {
        let mut entry = Entry::default();
        for ix in parents.into_iter().flatten() {
            if self.parents.get(ix).is_some_and(|parent| parent.gate.is_open()) {
                continue;
            }
            let kind = self.with_parent(ix, |parent| parent.gate.enter(by, until).then_some(parent.kind));
            entry.trial |= kind.flatten().is_some();
            entry.fresh |= kind.flatten() == Some(Kind::Credential);
        }
        entry
    }

    #[inline]
    pub(super) fn leave_parents(&mut self, parents: [Option<ParentIx>; 2], by: LeaseId) {
        if let [None, None] = parents {
            return;
        }
        self.leave_each(parents, by);
    }

    fn leave_each(&mut self, parents: [Option<ParentIx>; 2], by: LeaseId) {
        for ix in parents.into_iter().flatten() {
            if self.parents.get(ix).is_some_and(|parent| !parent.gate.is_open()) {
                self.with_parent(ix, |parent| parent.gate.leave(by));
            }
        }
    }

    /// Every change of a parent's gate goes through here, so that its exits' bits and timers agree with it.
    pub(super) fn with_parent<T>(
        &mut self,
        ix: ParentIx,
        change: impl FnOnce(&mut Parent) -> T,
    ) -> Option<T> {
        let parent = self.parents.0.get_mut(ix.index())?;
        let (before, admitted) = (parent.gate.state(), parent.admits());
        let out = change(parent);
        let (after, admits) = (parent.gate.state(), parent.admits());
        if before != after || admitted != admits {
            self.timers.reset(Due::Parent(ix), before.due_at(), after.due_at());
            if before != after && !after.is_taken() || admits && !admitted {
                self.moved.everywhere();
            }
            if admitted != admits {
                let shut = !admits;
                for index in &parent.members {
                    let Some(record) = self.exits.fixed.get_mut(*index as usize) else { continue };
                    record.barred = if shut { record.barred + 1 } else { record.barred.saturating_sub(1) };
                    let (at, len) = (*index as usize, self.exits.fixed.len());
                    self.barred.set(at, self.exits.fixed[at].barred > 0, len);
                }
            }
        }
        Some(out)
    }

    /// The gateway of an exit. A listed exit that is alone behind its address is its own, thought of when it is first held.
    fn gateway(&mut self, exit: ExitIx) -> Option<ParentIx> {
        let record = self.exits.get(exit)?;
        if let [Some(known), _] = record.parents {
            return Some(known);
        }
        let (Source::Listed, ExitIx::Fixed(index)) = (record.source, exit) else { return None };
        let ix = self.parents.add(Kind::Gateway, vec![index]);
        self.exits.get_mut(exit)?.parents[0] = Some(ix);
        Some(ix)
    }

    /// What evidence says of what the exit shares. Says whether it has said all, so that the exit itself is not charged.
    pub(super) fn charge_parents(
        &mut self,
        now: Time,
        by: &Receipt,
        evidence: &Evidence,
        cost: &mut Cost,
    ) -> bool {
        let Some(record) = self.exits.get_mut(by.at.0) else { return false };
        if evidence.login_accepted {
            record.accepted = Some(now);
            self.accept(now, by);
        }
        let answered = evidence.seen == Seen::Seen;
        match evidence.outcome {
            // Whoever was let through to the origin was not refused by the proxy, whatever the site thinks of its own login.
            Outcome::AuthError { .. } if answered => {
                self.gateway_works(now, by);
                false
            }
            Outcome::AuthError { reason: AuthReason::Capacity } => {
                self.overloaded(now, by, evidence, GatewayScope::Gateway)
            }
            Outcome::GatewayOverloaded { scope, .. } => self.overloaded(now, by, evidence, scope),
            Outcome::AuthError { reason } => self.refused_login(now, by, reason, cost),
            Outcome::ProxyError { phase: Phase::ExitDns | Phase::ExitTcp } if !evidence.blameless => {
                self.unreachable(now, by, cost)
            }
            _ => {
                // It has answered, and thought of the target: it works.
                let refused = matches!(
                    evidence.outcome,
                    Outcome::TargetDenied
                        | Outcome::TargetUnreachable
                        | Outcome::TargetFailed
                        | Outcome::SessionLost
                );
                if answered || refused {
                    self.gateway_works(now, by);
                }
                false
            }
        }
    }

    /// One more lease is out behind a gateway.
    #[inline]
    pub(super) fn go_behind(&mut self, ix: ParentIx) {
        let Some(parent) = self.parents.0.get_mut(ix.index()) else { return };
        if parent.flow.has_limit() {
            self.with_parent(ix, |parent| parent.flow.out += 1);
        } else {
            parent.flow.out += 1;
        }
    }

    #[inline]
    pub(super) fn come_back(&mut self, ix: ParentIx) {
        let Some(parent) = self.parents.0.get_mut(ix.index()) else { return };
        if parent.flow.has_limit() {
            self.with_parent(ix, |parent| parent.flow.out = parent.flow.out.saturating_sub(1));
        } else {
            parent.flow.out = parent.flow.out.saturating_sub(1);
        }
    }

    /// A lease has ended without a word on its login.
    #[cold]
    pub(crate) fn end_in_silence(&mut self, by: &Receipt) {
        let login = self.exits.get(by.at.0).and_then(|record| record.parents[1]);
        if let Some(parent) = login.and_then(|ix| self.parents.0.get_mut(ix.index())) {
            parent.row.end(by.turn);
        }
    }

    /// Keeps a place behind a gateway that has few; says whether one is kept.
    pub(super) fn promise_behind(&mut self, gateway: Option<ParentIx>) -> Option<ParentIx> {
        let ix = gateway.filter(|ix| self.parents.get(*ix).is_some_and(|parent| parent.flow.has_limit()))?;
        self.with_parent(ix, |parent| parent.flow.promised += 1).map(|()| ix)
    }

    pub(super) fn forgo_behind(&mut self, ix: ParentIx) {
        self.with_parent(ix, |parent| parent.flow.promised = parent.flow.promised.saturating_sub(1));
    }

    /// What an attempt says of how much its gateway bears. Says whether that is all: it does not rest as a whole then.
    #[cold]
    fn throttle(&mut self, now: Time, by: &Receipt, refused: bool) -> bool {
        let (Some(rules), Some(ix)) = (self.knobs.throttle, by.gateway) else { return false };
        let turned = self.with_parent(ix, |parent| parent.flow.note(&rules, now, by.sent, refused));
        match turned.flatten() {
            Some(Turned::Cut { from, to }) => {
                self.events.push(now, Event::GatewaySlowed { exit: by.exit, from, to });
            }
            Some(Turned::Lifted) => self.events.push(now, Event::GatewayUnlimited { exit: by.exit }),
            None => {}
        }
        self.parents.get(ix).is_some_and(|parent| parent.flow.helps(&rules, now) && parent.gate.is_open())
    }

    /// What is overloaded is left alone, and nothing beside it.
    fn overloaded(&mut self, now: Time, by: &Receipt, evidence: &Evidence, scope: GatewayScope) -> bool {
        let hint = evidence.retry_after.map_or(Duration::ZERO, |hint| hint.wait().min(HINT_CAP));
        let exit = by.at.0;
        let parent = match scope {
            GatewayScope::Gateway if evidence.retry_after.is_none() && self.throttle(now, by, true) => {
                return true;
            }
            GatewayScope::Gateway => self.gateway(exit),
            // An account's own limit, or its wish for a place: another account at this gateway has others.
            GatewayScope::Credential | GatewayScope::Place => self.credential(exit),
            GatewayScope::Exit => {
                self.rest_exit(now, by, hint.max(HOLD));
                return true;
            }
            GatewayScope::Target => {
                self.rest_pair(now, by, hint.max(THROTTLED));
                return true;
            }
        };
        self.hold(now, by, parent, hint, (HOLD, HOLD_MOST));
        true
    }

    /// To connect is the gateway's part: that it fails says nothing about the session that was asked for.
    fn unreachable(&mut self, now: Time, by: &Receipt, cost: &mut Cost) -> bool {
        let Some(record) = self.exits.get(by.at.0) else { return false };
        let ([Some(ix), _], source) = (record.parents, record.source) else { return false };
        if source == Source::Listed && self.parents.get(ix).is_none_or(|parent| parent.members.len() == 1) {
            // Alone behind its address: whether it is dead is its own affair.
            return false;
        }
        if mem::replace(&mut cost.shared, true) {
            return true;
        }
        let enough = self.with_parent(ix, |parent| {
            if parent.gate.is_stale(by.sent) {
                return false;
            }
            parent.faults += 1;
            parent.faults >= FAULTS || !parent.gate.is_open()
        });
        if enough == Some(true) {
            self.hold(now, by, Some(ix), Duration::ZERO, (UNREACHABLE, UNREACHABLE_MOST));
        }
        true
    }

    fn hold(
        &mut self,
        now: Time,
        by: &Receipt,
        parent: Option<ParentIx>,
        hint: Duration,
        (first, most): (Duration, Duration),
    ) {
        let Some(ix) = parent else { return };
        let seed = self.seed;
        let held = self.with_parent(ix, |parent| {
            if parent.gate.is_stale(by.sent) {
                parent.gate.lengthen(now + hint);
                return None;
            }
            let rest = first.saturating_mul(1 << parent.doublings.min(10)).min(most);
            if parent.is_stopped() {
                // A person's affair.
                return None;
            }
            parent.doublings += 1;
            parent.faults = 0;
            parent.held = true;
            let draw = draw(seed, Stream::Cooldown, u64::from(ix.0), u64::from(parent.gate.shuts()));
            let rest = rest.max(hint).mul_f64(1.0 + unit(draw) / 4.0);
            parent.gate.shut(now, now + rest);
            Some(rest)
        });
        if let Some(rest) = held.flatten() {
            self.events.push(now, Event::GatewayHeld { exit: by.exit, rest: Some(rest) });
        }
    }

    fn gateway_works(&mut self, now: Time, by: &Receipt) {
        let Some([Some(ix), _]) = self.exits.get(by.at.0).map(|record| record.parents) else { return };
        let Some(parent) = self.parents.get(ix) else { return };
        if parent.flow.is_watched() {
            self.throttle(now, by, false);
        }
        let Some(parent) = self.parents.get(ix) else { return };
        if parent.gate.is_open() && parent.faults == 0 && parent.doublings == 0 {
            return;
        }
        self.with_parent(ix, |parent| {
            parent.faults = 0;
            if !parent.gate.is_stale(by.sent) {
                parent.gate.pass(by.id, 1);
                parent.doublings = 0;
            }
        });
    }

    /// Whether nothing may go: each exit has a login that is stopped, or is kept out.
    pub(crate) fn is_shut(&self) -> bool {
        self.each_has(Parent::is_stopped)
    }

    /// The same, where there is a login that no time lets try again.
    pub(super) fn is_stopped_for_good(&self) -> bool {
        let for_good = State::Resting { until: Time::MAX };
        self.each_has(|parent| parent.is_stopped() && parent.gate.state() == for_good)
            && !self.exits.fixed.iter().all(|record| record.gone || record.quarantined)
    }

    /// Whether each exit has such a parent, or is kept out.
    fn each_has(&self, is: impl Fn(&Parent) -> bool) -> bool {
        let vacant = self.exits.len() - self.exits.places();
        if self.barred.len() as usize + vacant != self.exits.len() {
            return false;
        }
        let any = |record: &ExitRecord| {
            record.parents.iter().flatten().any(|ix| self.parents.get(*ix).is_some_and(&is))
        };
        self.exits.fixed.iter().all(|record| record.gone || record.quarantined || any(record))
    }

    /// Lets one lease try each stopped login, and each gateway and origin that is left alone.
    pub(crate) fn resume(&mut self, now: Time) {
        self.resume_origins(now);
        for ix in self.parents.all() {
            self.with_parent(ix, |parent| {
                if matches!(parent.gate.state(), State::Resting { .. }) {
                    parent.gate.doubt(now);
                    (parent.doublings, parent.held) = (0, false);
                }
            });
        }
    }
}
