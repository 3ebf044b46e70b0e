//! The choice of an exit: looks, and changes nothing, so that the same choice answers "who would be next?"; then binds.

use super::Pool;
use super::bindings::{BindingIx, Holder, Place};
use super::exits::ExitIx;
use super::origins::OriginIx;
use super::reason::Reason;
use super::view::View;
use crate::error::UnusableCounts;
use crate::exit::ExitId;
use crate::request::{Granularity, LeaseRequest, Time};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) exit: ExitIx,
    pub(crate) reason: Reason,
    pub(super) hold: Hold,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Hold {
    /// Nothing is held: the next draw.
    Nothing,
    /// Nothing is held: the next turn.
    Turn,
    /// The binding stays as it is.
    Keep(BindingIx, u32),
    /// The holder holds the exit from now on.
    Bind(Place),
}

/// Why there is no exit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoExit {
    /// None may serve the origin, or the one that must may not.
    Unusable { retry_at: Time, counts: UnusableCounts },
    /// The one that is held is lost, and its holder does not move unasked.
    Moved { from: ExitId, to: ExitId, generation: u32 },
}

impl Pool {
    /// The exit for a request. It keeps away from those it has used in vain, unless no other is left.
    pub(crate) fn choose(&self, now: Time, ask: &LeaseRequest, origin: OriginIx) -> Result<Choice, NoExit> {
        let Some(record) = self.origins.get(origin) else {
            return Err(NoExit::Unusable { retry_at: now, counts: UnusableCounts::default() });
        };
        let view = |avoid| View { pool: self, ask, origin, record, avoid, own: None, now };
        let first = view(ask.trail.avoid.as_slice()).choose();
        match first {
            Err(NoExit::Unusable { .. }) if !ask.trail.avoid.is_empty() => view(&[]).choose(),
            first => first,
        }
    }

    /// The exit that is held, where nothing speaks against it: most leases of a busy fleet end here, so this looks each thing
    /// up once.
    #[inline]
    pub(crate) fn hit(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        origin: OriginIx,
    ) -> Option<(ExitIx, (BindingIx, u32))> {
        if ask.granularity == Granularity::PerRequest || !ask.trail.is_clean() {
            return None;
        }
        let (ix, held) = self.bindings.find_mut(Holder::of(ask, origin))?;
        let index = held.exit.index();
        let out = self.down.contains(index) || self.origins.get(origin)?.benched.contains(index);
        let (length, max_uses) = ask.granularity.window();
        if out || !held.serves(now, length, max_uses) {
            return None;
        }
        let owned = ask.exclusive || self.owned.contains(index);
        if owned && self.exits[index].owner.map(|(owner, _)| owner) != Some(ix) {
            return None;
        }
        held.touch(now);
        Some((held.exit, (ix, held.generation)))
    }

    /// Carries the choice out as far as it binds; returns the binding and its generation.
    #[inline]
    pub(crate) fn bind(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        origin: OriginIx,
        choice: &Choice,
    ) -> Option<(BindingIx, u32)> {
        match choice.hold {
            Hold::Nothing => {
                self.picks += 1;
                None
            }
            Hold::Turn => {
                self.turn = choice.exit.0.wrapping_add(1);
                None
            }
            Hold::Keep(ix, generation) => {
                self.bindings.touch(now, ix);
                self.reserve(ask, ix, choice);
                Some((ix, generation))
            }
            Hold::Bind(place) => {
                if choice.reason == Reason::Turn {
                    self.turn = choice.exit.0.wrapping_add(1);
                }
                let (ix, gone) = self.bindings.bind(now, ask, origin, place)?;
                if let Some((old, exit)) = gone {
                    self.unbind(old, exit);
                }
                self.exits[place.exit.index()].bound += 1;
                self.reserve(ask, ix, choice);
                Some((ix, place.generation))
            }
        }
    }

    /// Keeps everybody else off the exit, if the request wants that and it is not lent.
    fn reserve(&mut self, ask: &LeaseRequest, ix: BindingIx, choice: &Choice) {
        let lent = matches!(choice.reason, Reason::Borrowed { .. });
        if let (true, false, Some(until)) = (ask.exclusive, lent, self.bindings.until(ix)) {
            self.set_owner(choice.exit, Some((ix, until)));
        }
    }

    fn unbind(&mut self, ix: BindingIx, exit: ExitIx) {
        let record = &mut self.exits[exit.index()];
        record.bound = record.bound.saturating_sub(1);
        if record.owner.is_some_and(|(owner, _)| owner == ix) {
            self.set_owner(exit, None);
        }
    }

    /// The heat of a pair, 0 to 1.
    pub(crate) fn heat(&self, now: Time, exit: ExitIx, origin: OriginIx) -> f32 {
        let prior = self.prior(now, origin);
        self.pairs.at(exit, origin).map_or(prior, |pair| pair.heat.rate(now, prior))
    }

    /// The origin's own block rate over all exits, 0 to 1.
    pub(crate) fn prior(&self, now: Time, origin: OriginIx) -> f32 {
        self.origins.get(origin).map_or(0.05, |record| record.heat.prior(now))
    }
}
