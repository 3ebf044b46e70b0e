//! What a person does to the pool.

use super::Pool;
use super::exits::Source;
use super::gate::State;
use super::ix::{ExitIx, ParentIx};
use super::parents::Kind;
use crate::exit::{Exit, ExitId, Gateway};
use crate::request::Time;

impl Pool {
    fn find(&self, id: ExitId) -> Option<ExitIx> {
        self.exits.fixed.iter().position(|record| record.id() == id && !record.gone).map(ExitIx::at)
    }

    /// Keeps an exit out, or lets it back in. Says whether there is such an exit.
    pub(crate) fn quarantine(&mut self, id: ExitId, on: bool) -> bool {
        let Some(exit) = self.find(id) else { return false };
        let (Some(index), Some(record)) = (exit.index(), self.exits.get_mut(exit)) else { return false };
        if record.quarantined != on {
            record.quarantined = on;
            record.barred = if on { record.barred + 1 } else { record.barred.saturating_sub(1) };
            let barred = record.barred > 0;
            // It may come back, but over connections of its own.
            let out = on.then(|| record.exit.clone());
            self.exits.give_up(out);
            self.barred.set(index, barred, self.exits.len());
            self.moved.everywhere();
        }
        true
    }

    /// A new password for a listed exit.
    pub(crate) fn set_exit(&mut self, now: Time, exit: &Exit) -> bool {
        let Some(ix) = self.find(exit.id()) else { return false };
        let Some(record) = self.exits.get_mut(ix) else { return false };
        if record.source != Source::Listed {
            return false;
        }
        let old = std::mem::replace(&mut record.exit, exit.clone());
        record.accepted = None;
        self.exits.give_up([old]);
        let credential = self.credential(ix);
        self.doubt(now, credential);
        true
    }

    /// A new password for a gateway. Everything else stays what it was, its sessions too.
    pub(crate) fn set_gateway(&mut self, now: Time, gateway: &Gateway) -> bool {
        let Some(ix) = self.exits.find_gateway(gateway) else { return false };
        let Some(renewed) = self.exits.gateways[ix.index()].gateway.with_login_of(gateway) else {
            return false;
        };
        self.exits.replace_gateway(ix, renewed);
        let [_, credential] = self.exits.parents_of(ix);
        self.doubt(now, credential);
        true
    }

    /// Lets one lease try a login that is new.
    pub(super) fn doubt(&mut self, now: Time, credential: Option<ParentIx>) {
        let Some(ix) = credential else { return };
        self.with_parent(ix, |parent| {
            debug_assert_eq!(parent.kind, Kind::Credential);
            match parent.gate.state() {
                State::Open | State::Spaced { .. } => parent.gate.renew(now),
                _ => parent.gate.doubt(now),
            }
            parent.renewed();
        });
    }
}
