//! What exits share, and so lose together: the login of a gateway's exits, and the address of those behind one host and port.
//! Each is a parent with a gate of its own; an exit may go only where all its parents admit.

mod facts;
mod gateway;
mod login;
mod places;
mod row;
mod series;
mod served;
mod strays;
mod throttle;

pub(crate) use facts::GatewayFacts;
pub use facts::LoginState;

use super::Pool;
use super::exits::ExitRecord;
use super::gate::{Gate, State};
use super::ix::ParentIx;
use super::receipt::{Cost, Receipt};
use super::timers::Due;
use crate::outcome::{AuthReason, Evidence, GatewayScope, Outcome, Phase, Seen};
use crate::request::Time;
use row::Row;
use served::Served;
use strays::Strays;
use throttle::Flow;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Credential,
    Gateway,
}

/// A login was refused.
struct Refused {
    by: Receipt,
    at: Time,
    /// Perhaps by the site: then its exit has no part in it.
    hearsay: bool,
}

pub(super) struct Parent {
    pub(super) kind: Kind,
    pub(super) gate: Gate,
    /// Its exits among the fixed ones.
    members: Vec<u32>,
    /// When its login was accepted last.
    accepted: Option<Time>,
    /// Who was refused, and when. If a login that is sent later is accepted, that was their exits' fault.
    refused: Vec<Refused>,
    /// Of a login: its leases so far, and those that were refused one after the other.
    entered: u64,
    row: Row,
    strays: Strays,
    /// Of a gateway.
    pub(super) flow: Flow,
    served: Served,
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
            strays: Strays::default(),
            flow: Flow::default(),
            served: Served::default(),
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
            Outcome::AuthError { reason } => self.refused_login(now, by, (reason, evidence.hearsay), cost),
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
