//! What somebody holds who waits: others who hold the same wait for the same.

use super::Pool;
use super::bindings::Holder;
use super::ix::{ExitIx, OriginIx};
use super::view::View;
use crate::request::{Granularity, LeaseRequest, Time};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stake {
    pub(crate) exit: ExitIx,
    /// Nobody else may use it.
    pub(crate) alone: bool,
    /// It may be taken anew though others keep off.
    pub(crate) owned: bool,
    /// Who may move leaves it.
    pub(crate) lost: bool,
    /// Everybody does: its window is over.
    pub(crate) over: bool,
    /// It is only busy: who moves waits for it, too.
    pub(crate) busy: bool,
    /// When it is held no more.
    pub(crate) until: Time,
}

impl Pool {
    /// What the request holds.
    pub(crate) fn stake(&self, now: Time, ask: &LeaseRequest, origin: OriginIx) -> Option<Stake> {
        if ask.granularity == Granularity::PerRequest {
            return None;
        }
        let record = self.origins.get(origin)?;
        let (ix, held) = self.bindings.find(Holder::of(ask, record.hash))?;
        let known = self.exits.get(held.exit)?;
        let owned = known.owner.is_some_and(|(owner, _)| owner == ix);
        let own = owned.then_some(held.exit);
        let all = self.among(ask, record);
        let view =
            View { pool: self, ask, origin, record, among: all, all, avoid: &[], own, explain: false, now };
        let until = view.held_until(held);
        if until.is_none() && !owned {
            return None;
        }
        let alone = owned || held.exit.index().is_none();
        let lost = held.lost || view.lost(held.exit);
        let over = until.is_none();
        let (busy, until) = (view.is_busy(held.exit), until.unwrap_or(Time::MAX));
        Some(Stake { exit: held.exit, alone, owned, lost, over, busy, until })
    }

    /// A name for who holds what the request would; nothing if nobody does.
    pub(crate) fn holder(&self, ask: &LeaseRequest, origin: OriginIx) -> Option<u64> {
        let record = self.origins.get(origin).filter(|_| ask.granularity != Granularity::PerRequest)?;
        Some(Holder::of(ask, record.hash).entity())
    }
}
