//! What must hold between the tables, whatever has happened. For tests that do anything in any order.

use super::Pool;
use super::Promise;
use super::gate::State;
use super::ix::ExitIx;
use super::pairs::Pair;
use super::timers::Due;
use std::collections::BTreeMap;

impl Pool {
    /// Panics if two tables disagree.
    pub(crate) fn check(&self) {
        for index in 0..self.exits.len() {
            self.check_fixed(index);
        }
        let all = self.exits.minted.iter().all(|record| record.bound > 0 || record.in_flight > 0);
        assert!(all, "a minted exit that nothing holds and nothing rides");
        let minted = |exit| matches!(exit, ExitIx::Minted(_));
        let bound: u32 = self.exits.minted.iter().map(|record| record.bound).sum();
        assert_eq!(self.bindings.iter().filter(|binding| minted(binding.exit)).count(), bound as usize);
        for pair in self.pairs.iter() {
            let Some(origin) = self.origins.get(pair.origin) else { continue };
            let Some(index) = pair.exit.index() else { continue };
            assert_eq!(origin.benched.contains(index), !pair.gate.state().admits());
            if let State::Resting { until } = pair.gate.state() {
                assert!(origin.resting.contains(&(until, pair.exit)));
            }
            if let State::Spaced { until } = pair.gate.state() {
                assert!(origin.spaced.contains(&(until, pair.exit)));
            }
        }
        for origin in self.origins.iter() {
            let spaced = |pair: &&Pair| {
                let at = self.origins.get(pair.origin).is_some_and(|at| at.name == origin.name);
                at && pair.exit.index().is_some() && matches!(pair.gate.state(), State::Spaced { .. })
            };
            assert_eq!(origin.spaced.len(), self.pairs.iter().filter(spaced).count());
            assert!(origin.resting.len() <= origin.benched.len() as usize);
            let here = |pair: &&Pair| {
                let at = self.origins.get(pair.origin);
                pair.exit.index().is_some() && at.is_some_and(|at| at.name == origin.name)
            };
            let burned = self.pairs.iter().filter(here).filter(|pair| pair.is_burned()).count();
            assert_eq!(origin.burned as usize, burned, "what is counted rests after a block");
            let ix = self.origins.find(&origin.name).expect("it is known by its name");
            if let Some(due) = origin.room.gate.state().due_at() {
                assert!(self.timers.has(due, Due::Origin(ix)));
            }
        }
        let riding = |record: &&super::exits::ExitRecord| record.in_flight > 0;
        let in_use =
            self.exits.fixed.iter().filter(riding).count() + self.exits.minted.iter().filter(riding).count();
        assert_eq!(in_use, self.in_use as usize);
    }

    /// Panics if places at origins are kept for nobody.
    pub(crate) fn check_promises<'a>(&self, promises: impl Iterator<Item = &'a Promise>) {
        let mut kept = BTreeMap::new();
        promises
            .filter_map(|promise| promise.place())
            .for_each(|origin| *kept.entry(origin).or_insert(0) += 1);
        for origin in self.origins.iter() {
            let ix = self.origins.find(&origin.name).expect("it is known by its name");
            assert_eq!(origin.room.promised, kept.remove(&ix).unwrap_or(0), "{}", origin.name);
        }
        assert!(kept.is_empty(), "an origin was forgotten while a place was kept");
    }

    fn check_fixed(&self, index: usize) {
        let (exit, record) = (ExitIx::at(index), &self.exits.fixed[index]);
        let parents = || record.parents.iter().flatten().map(|ix| self.parents.get(*ix).unwrap());
        let shut = parents().filter(|parent| !parent.admits()).count();
        if record.vacant {
            assert!(
                record.gone && record.bound == 0 && record.in_flight == 0 && !self.barred.contains(index)
            );
            return;
        }
        let reasons = shut + usize::from(record.quarantined) + usize::from(record.gone);
        assert_eq!(usize::from(record.barred), reasons);
        assert_eq!(self.full.contains(index), record.in_flight >= record.most);
        let named = &self.exits.named[record.named.index()];
        assert_eq!(named.set.contains(index), !record.gone, "who is in the pool may be drawn");
        assert_eq!(self.barred.contains(index), record.barred > 0);
        let state = record.gate.state();
        assert_eq!(self.down.contains(index), !state.admits());
        if let State::Resting { until } = state {
            assert!(self.dead.contains(&(until, exit)));
        }
        if let Some(due) = state.due_at() {
            assert!(self.timers.has(due, Due::Exit(exit)));
        }
        assert_eq!(self.owned.contains(index), record.owner.is_some());
        if let Some((owner, until)) = record.owner {
            assert_eq!(self.bindings.get(owner).map(|binding| binding.exit), Some(exit), "a ghost owns it");
            assert!(self.timers.has(until, Due::Owner(exit)));
        }
        let bound = self.bindings.iter().filter(|binding| binding.exit == exit).count();
        assert_eq!(bound, record.bound as usize);
    }
}
