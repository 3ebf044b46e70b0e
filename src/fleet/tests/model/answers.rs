//! Whether an answer is one that the list allows.

use super::play::Player;
use super::reference::State;
use super::steps::Want;
use crate::fleet::{Grant, Reason, Refusal};
use crate::outcome::OutcomeCounts;
use crate::pool::ExitIx;
use crate::request::{LeaseRequest, Time};

/// When to ask again while somebody else's trial is out.
const TRIAL: u64 = 1_000_000_000;

impl Player {
    /// The exits that the request may have, and those of them that it has not used in vain.
    fn usable(
        &self,
        state: &State,
        want: Want,
        origin: usize,
        ask: &LeaseRequest,
    ) -> (Vec<usize>, Vec<usize>) {
        let must = self.must_have(state, want, origin);
        let listed = |exit: usize| self.ids.get(exit).copied();
        let all = must.map_or_else(|| 0..self.list.layout.exits(), |own| own..own + 1);
        let must = must.is_some();
        let refused = |exit| !must && listed(exit).is_some_and(|id| ask.trail.refused.contains(&id));
        let all: Vec<_> = all.filter(|exit| state.is_usable(*exit, origin) && !refused(*exit)).collect();
        let vain = |exit: usize| listed(exit).is_some_and(|id| ask.trail.avoid.contains(&id));
        let fresh = all.iter().copied().filter(|exit| !vain(*exit)).collect();
        (all, fresh)
    }

    /// The one exit that the request waits for. An identity that has lost its own is told of any other.
    fn must_have(&self, state: &State, want: Want, origin: usize) -> Option<usize> {
        let own = self.list.holds(want, origin)?;
        let waits = match want {
            Want::Life(_) => true,
            Want::Identity(_) => !state.is_lost(own, origin),
            Want::Any | Want::Turn | Want::Window(_) => false,
        };
        waits.then_some(own)
    }

    pub(super) fn check_grant(
        &self,
        grant: &Grant,
        want: Want,
        origin: usize,
        exit: usize,
        ask: &LeaseRequest,
    ) {
        let state = self.state();
        let (usable, fresh) = self.usable(&state, want, origin, ask);
        assert!(usable.contains(&exit), "{want:?} got {exit}, of {usable:?}: {grant:?}");
        let slot = exit >= self.list.layout.listed;
        let holds = !matches!(want, Want::Any | Want::Turn);
        assert!(
            holds || slot || fresh.is_empty() || fresh.contains(&exit),
            "{exit} was used in vain, and {fresh:?} not"
        );
        match (grant.reason, self.list.holds(want, origin)) {
            (Reason::Bound, own) => assert_eq!(own, Some(exit), "what is bound is what was held"),
            (Reason::Moved { .. }, own) => {
                let own = own.expect("who moves has held one");
                assert!(matches!(want, Want::Window(_)), "{want:?} does not move unasked");
                assert!(exit != own || usable.len() == 1, "who moves leaves");
            }
            (Reason::Borrowed { .. }, own) => assert!(own.is_some() && matches!(want, Want::Window(_))),
            (Reason::Placed, own) => assert!(own.is_none() && holds, "{want:?} is placed once"),
            (Reason::Renewed { .. }, _) => unreachable!("a list has no sessions"),
            (Reason::Turn | Reason::Picked | Reason::Found, _) => assert!(!holds),
        }
    }

    /// A refusal needs that nothing is usable; and it says no later time than the first that is.
    pub(super) fn check_refused(&self, refusal: &Refusal, want: Want, origin: usize, ask: &LeaseRequest) {
        let state = self.state();
        let (usable, _) = self.usable(&state, want, origin, ask);
        let exits = 0..self.list.layout.exits();
        let stopped = |exit: usize| {
            let login = &state.logins[state.layout.parent(exit)];
            login.gate.rests(state.now) == Some(u64::MAX)
        };
        match *refusal {
            Refusal::NoUsableExit { retry_at, .. } => {
                assert!(
                    usable.is_empty(),
                    "{want:?} at {origin} is refused, but {usable:?} may go: {refusal:?}"
                );
                self.check_retry_at(&state, retry_at, want, origin, ask);
            }
            Refusal::FleetStopped => match self.must_have(&state, want, origin) {
                Some(own) => assert!(stopped(own)),
                None => {
                    let mut rest = exits.filter(|exit| !state.exits[*exit].quarantined).peekable();
                    assert!(rest.peek().is_some() && rest.all(stopped), "a login is left");
                }
            },
            Refusal::Moved { from, .. } => {
                let own = self.list.holds(want, origin).expect("who has lost one had one");
                assert!(matches!(want, Want::Identity(_)) && from == self.ids[own]);
                assert!(state.is_lost(own, origin), "{from} is not lost");
            }
            Refusal::Behind { retry_at, .. } => {
                assert!(!self.line.is_empty() && retry_at > self.world.now, "it is behind nobody");
            }
            // Knobs are off there: the model knows no origin that is held.
            Refusal::OriginHeld { .. }
            | Refusal::Misuse(_)
            | Refusal::Busy { .. }
            | Refusal::Full { .. }
            | Refusal::Closed => {
                panic!("{refusal:?}")
            }
        }
    }

    fn check_retry_at(&self, state: &State, at: Time, want: Want, origin: usize, ask: &LeaseRequest) {
        let all: Vec<_> = match self.must_have(state, want, origin) {
            Some(own) => vec![own],
            None => (0..self.list.layout.exits()).collect(),
        };
        if !ask.trail.refused.is_empty() {
            return;
        }
        let back: Vec<_> = all.iter().map(|exit| state.back(*exit, origin)).collect();
        let soonest = back.iter().flatten().min().copied();
        let at = at.as_nanos();
        assert!(soonest.is_none_or(|soonest| at <= soonest), "told {at}, but one is back at {soonest:?}");
        // Whose trial is out ends at a time that nobody knows.
        let rests = all.iter().filter_map(|exit| state.rests(*exit, origin)).min();
        let least = rests.unwrap_or(u64::MAX).min(state.now.saturating_add(TRIAL));
        assert!(at >= least, "told {at}, but none is back before {least}");
    }

    pub(super) fn check_soonest(&self, at: Time, want: Want, origin: usize, ask: &LeaseRequest) {
        let state = self.state();
        let (usable, _) = self.usable(&state, want, origin, ask);
        assert!(at >= self.world.now && (usable.is_empty() || at == self.world.now), "{at:?}: {usable:?}");
    }

    /// What the snapshot says, against the list.
    pub(super) fn audit(&mut self) {
        let now = self.world.now;
        while self.world.fleet.pool.tick(now) {}
        self.settle();
        if !self.audited {
            return;
        }
        self.world.fleet.pool.check();
        self.world.fleet.check_line(now);
        let snapshot = self.world.snapshot();
        let count = |n: usize| u32::try_from(n).unwrap();
        assert_eq!(snapshot.in_flight, count(self.out.len()), "in flight is what is out");
        assert_eq!(snapshot.waiting, count(self.line.len()));
        if !self.checked {
            return;
        }
        let state = self.state();
        let those =
            |is: &dyn Fn(usize) -> bool| count((0..state.exits.len()).filter(|exit| is(*exit)).count());
        let login = |exit: usize| &state.logins[state.layout.parent(exit)].gate;
        let exits = snapshot.exits;
        assert_eq!(snapshot.exits_in_use, those(&|exit| state.exits[exit].out > 0));
        assert_eq!(exits.dead, those(&|exit| !state.exits[exit].gate.is_open()), "dead");
        assert_eq!(exits.quarantined, those(&|exit| state.exits[exit].quarantined));
        assert_eq!(exits.stopped, those(&|exit| login(exit).rests(state.now).is_some()), "stopped");
        assert_eq!(exits.suspect, those(&|exit| login(exit).is_doubted(state.now)), "suspect");
        let held = |exit: usize| !state.addresses[state.layout.parent(exit)].gate.is_open();
        assert_eq!(exits.held, those(&held), "held");
        for told in &snapshot.origins {
            let at = self.names.iter().position(|name| *name == told.origin).unwrap();
            let site = &state.sites[at];
            assert_eq!((told.leases, told.outcomes), (site.leases, site.counts), "{}", told.origin);
            let benched =
                |exit: usize| state.pairs.get(&(exit, at)).is_some_and(|pair| !pair.gate.admits(state.now));
            assert_eq!(told.benched, those(&benched), "benched at {}", told.origin);
        }
        let total: OutcomeCounts = snapshot.outcomes;
        assert_eq!(total.total(), state.sites.iter().map(|site| site.counts.total()).sum::<u64>());
        self.audit_heat(&state);
    }

    fn audit_heat(&self, state: &State) {
        let pool = &self.world.fleet.pool;
        for out in &self.out {
            let (exit, origin) = out.at();
            let (ExitIx::Fixed(at), site) = (exit, out.origin()) else { continue };
            let (heat, exact) = (pool.heat(self.world.now, exit, origin), state.heat(at as usize, site));
            assert!((0.0..=1.0).contains(&heat) && heat.is_finite(), "{heat}");
            assert!((f64::from(heat) - exact).abs() < 1e-4, "exit {at} at {site}: {heat}, exactly {exact}");
        }
        for facts in pool.pair_facts(self.world.now) {
            let Some(exit) = self.ids.iter().position(|id| *id == facts.exit) else { continue };
            let site = self.names.iter().position(|name| name == facts.origin).unwrap();
            let exact = state.heat(exit, site);
            assert!(
                (f64::from(facts.heat) - exact).abs() < 1e-4,
                "pair {exit} {site}: {} {exact}",
                facts.heat
            );
            let until = state.pairs[&(exit, site)].gate.rests(state.now).unwrap_or(state.now);
            assert_eq!(facts.cooling.as_nanos(), u128::from(until - state.now), "pair {exit} {site} rests");
        }
    }
}
