//! The choice of an exit: looks, and changes nothing, so that the same choice answers "who would be next?"; then binds.

use super::Pool;
use super::bindings::{Holder, Place, Windows};
use super::choice::{Blocked, Choice, Hold, NoExit, Target};
use super::ix::{BindingIx, ExitIx, OriginIx};
use super::named::{Among, Named, NamedIx};
use super::origins::OriginRecord;
use super::reason::Reason;
use super::view::View;
use crate::error::UnusableCounts;
use crate::request::{Affinity, Granularity, LeaseRequest, Time};

impl Pool {
    /// The exit for a request. It keeps away from those it has used in vain, unless no other is left.
    pub(crate) fn choose(&self, now: Time, ask: &LeaseRequest, origin: OriginIx) -> Result<Choice, NoExit> {
        self.view(now, ask, origin, true)
    }

    /// As [`choose`](Self::choose), for who only wants to know whether there is one.
    pub(crate) fn look(&self, now: Time, ask: &LeaseRequest, origin: OriginIx) -> Result<Choice, NoExit> {
        self.view(now, ask, origin, false)
    }

    fn view(&self, now: Time, ask: &LeaseRequest, origin: OriginIx, explain: bool) -> Result<Choice, NoExit> {
        let Some(record) = self.origins.get(origin) else {
            let (counts, by) = (UnusableCounts::default(), Blocked::Anyone);
            return Err(NoExit::Unusable { retry_at: now, counts, by });
        };
        if let Some(held) = self.shut(now, origin) {
            return Err(held);
        }
        let all = self.among(ask, record);
        let view = |among, avoid| {
            let view = View { pool: self, ask, origin, record, among, all, avoid, own: None, explain, now };
            view.choose()
        };
        let avoid = ask.trail.avoid.as_slice();
        if all == Among::ALL {
            // No pool is better than another: most sites and requests name none.
            return match view(all, avoid) {
                Err(NoExit::Unusable { .. }) if !avoid.is_empty() => view(all, &[]),
                first => first,
            };
        }
        let mut last = NoExit::Unfit;
        for avoid in [avoid, &[]] {
            for among in self.looks(now, record, all) {
                last = match view(among, avoid) {
                    // What is held is held in whatever pool.
                    Err(none @ NoExit::Unusable { by: Blocked::Holder, .. }) => return Err(none),
                    Err(none @ (NoExit::Unusable { .. } | NoExit::Stopped | NoExit::Unheld)) => none,
                    chosen => return chosen,
                };
            }
        }
        match last {
            NoExit::Unfit => Err(last),
            // Why not, over all of them.
            _ => view(all, &[]),
        }
    }

    /// The pools that may serve the request there; all of them, if neither names any.
    pub(super) fn among(&self, ask: &LeaseRequest, record: &OriginRecord) -> Among {
        let all = record.plan.as_ref().map_or(Among::ALL, |plan| plan.all());
        match &ask.filter {
            None => all,
            Some(filter) => {
                let suits =
                    |(ix, named): (u8, &Named)| named.suits(filter).then_some(Among::only(NamedIx(ix)));
                let suiting = (0..).zip(&self.exits.named).filter_map(suits).fold(Among::NONE, Among::or);
                all.and(suiting)
            }
        }
    }

    /// Why no pool has what the request wants there.
    pub(crate) fn unfit(&self, ask: &LeaseRequest) -> &'static str {
        let lacks = ask.filter.as_ref().and_then(|filter| Named::lacks(&self.exits.named, filter));
        lacks.unwrap_or(
            "no one pool has all that the request asks for (pool, country, kind) and serves its site: look at the pools' terms \
             and the site's order",
        )
    }

    /// Where to look first, then, and at last: in one pool after the other where the site has an order.
    fn looks(&self, now: Time, record: &OriginRecord, all: Among) -> impl Iterator<Item = Among> {
        let in_order = record.plan.as_ref().map(|plan| plan.looks(now)).into_iter().flatten();
        let at_once = record.plan.is_none().then_some(Among::ALL);
        in_order.chain(at_once).map(move |among| among.and(all)).filter(|among| !among.is_none())
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
        if matches!(ask.granularity, Granularity::PerRequest) || !ask.trail.is_clean() {
            return None;
        }
        let site = self.origins.get(origin).filter(|site| site.room.is_open())?;
        let (ix, held) = self.bindings.find_mut(Holder::of(ask, site.hash))?;
        if !held.serves(now, ask.granularity) || !ask.knows(held.generation) {
            return None;
        }
        let free = match held.exit {
            ExitIx::Fixed(index) => {
                let index = index as usize;
                let out = self.down.contains(index)
                    || self.barred.contains(index)
                    || self.full.contains(index)
                    || site.benched.contains(index);
                let owned = ask.exclusive || self.owned.contains(index);
                !out && (!owned || self.exits.fixed[index].owner.map(|(owner, _)| owner) == Some(ix))
            }
            ExitIx::Minted(slot) => {
                let pair = self.pairs.at(held.exit, origin);
                let record = self.exits.minted.get(slot)?;
                record.gate.state().admits()
                    && !record.gone
                    && record.in_flight < record.most
                    && self.parents.admit(record)
                    && pair.is_none_or(|pair| pair.gate.state().admits())
            }
        };
        if !free {
            return None;
        }
        held.touch(now);
        Some((held.exit, (ix, held.generation)))
    }

    /// Carries the choice out as far as it binds; returns the exit, the binding and its generation. `None` if every minted
    /// session is in use.
    #[inline]
    pub(crate) fn bind(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        origin: OriginIx,
        choice: &Choice,
    ) -> Option<(ExitIx, Option<(BindingIx, u32)>)> {
        if let Some(plan) = self.origins.get_mut(origin).and_then(|record| record.plan.as_mut()) {
            plan.chose();
        }
        let Target::Exit(exit) = choice.target else {
            let Hold::Bind(place) = choice.hold else { return None };
            return self.mint(now, ask, origin, place, choice.target);
        };
        match choice.hold {
            Hold::Nothing => {
                self.picks += 1;
                Some((exit, None))
            }
            Hold::Turn => {
                self.next_turn(exit);
                Some((exit, None))
            }
            Hold::Keep(ix, generation) => {
                self.bindings.touch(now, ix);
                self.reserve(now, ask, ix, choice, exit);
                Some((exit, Some((ix, generation))))
            }
            Hold::Bind(place) => {
                if ask.affinity == Affinity::RoundRobin {
                    self.next_turn(exit);
                }
                let ix = self.rebind(now, ask, origin, place, exit)?;
                self.reserve(now, ask, ix, choice, exit);
                Some((exit, Some((ix, place.generation))))
            }
        }
    }

    fn next_turn(&mut self, exit: ExitIx) {
        if let ExitIx::Fixed(index) = exit {
            self.turn = index.wrapping_add(1);
        }
    }

    fn rebind(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        origin: OriginIx,
        place: Place,
        exit: ExitIx,
    ) -> Option<BindingIx> {
        let site = self.origins.get(origin)?.hash;
        let (ix, gone) = self.bindings.bind(now, ask, site, place, exit)?;
        self.moved.holder(place.entity);
        if let Some(record) = self.exits.get_mut(exit) {
            record.bound += 1;
        }
        if let Some((old, exit, holder)) = gone {
            self.moved.holder(holder);
            self.unbind(old, exit);
        }
        Some(ix)
    }

    /// Mints the session that a binding holds from now on.
    fn mint(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        origin: OriginIx,
        place: Place,
        target: Target,
    ) -> Option<(ExitIx, Option<(BindingIx, u32)>)> {
        let Target::Mint(gateway) = target else { return None };
        if self.exits.minted.is_full() && !self.forget_minted() {
            return None;
        }
        let record = self.exits.mint(gateway, place.entity, place.generation, place.window)?;
        let slot = self.exits.minted.insert(record)?;
        let exit = ExitIx::Minted(slot);
        let ix = self.rebind(now, ask, origin, place, exit)?;
        Some((exit, Some((ix, place.generation))))
    }

    /// Lets the least recently used of a few idle minted sessions go, with its binding. Says whether there was one.
    fn forget_minted(&mut self) -> bool {
        let exits = &self.exits;
        let idle = |exit: ExitIx| exits.get(exit).is_some_and(|record| record.in_flight == 0);
        let minted = |exit| matches!(exit, ExitIx::Minted(_)) && idle(exit);
        let Some((ix, exit, holder)) = self.bindings.forget(minted) else { return false };
        self.moved.holder(holder);
        self.unbind(ix, exit);
        true
    }

    /// Keeps everybody else off the exit, if the request wants that and it is not lent.
    /// By its own window: what was placed for a shorter one is held on.
    fn reserve(&mut self, now: Time, ask: &LeaseRequest, ix: BindingIx, choice: &Choice, exit: ExitIx) {
        let lent = matches!(choice.reason, Reason::Borrowed { .. });
        if let (true, false, Some(held)) = (ask.exclusive, lent, self.bindings.get(ix)) {
            let (length, _) = ask.granularity.window();
            let until = Windows::new(self.seed, self.epoch, held.entity, length).end(now);
            self.set_owner(exit, Some((ix, until.max(held.until))));
        }
    }

    pub(super) fn unbind(&mut self, ix: BindingIx, exit: ExitIx) {
        let Some(record) = self.exits.get_mut(exit) else { return };
        record.bound = record.bound.saturating_sub(1);
        if record.owner.is_some_and(|(owner, _)| owner == ix) {
            self.set_owner(exit, None);
        }
        if let ExitIx::Minted(slot) = exit {
            self.retire(slot);
        }
    }

    /// The heat of a pair, 0 to 1.
    pub(crate) fn heat(&self, now: Time, exit: ExitIx, origin: OriginIx) -> f32 {
        let gateway = self.exits.get(exit).and_then(|record| record.source.gateway());
        let prior = self.origins.get(origin).map_or(0.05, |record| record.prior(now, gateway));
        self.pairs.at(exit, origin).map_or(prior, |pair| pair.heat.rate(now, prior))
    }

    /// The heat that a choice would meet.
    pub(crate) fn heat_of(&self, now: Time, choice: &Choice, origin: OriginIx) -> f32 {
        match choice.target {
            Target::Exit(exit) => self.heat(now, exit, origin),
            Target::Mint(gateway) => {
                self.origins.get(origin).map_or(0.05, |record| record.prior(now, Some(gateway)))
            }
        }
    }

    /// The origin's own block rate over all exits, 0 to 1.
    pub(crate) fn prior(&self, now: Time, origin: OriginIx) -> f32 {
        self.origins.get(origin).map_or(0.05, |record| record.heat.prior(now))
    }
}
