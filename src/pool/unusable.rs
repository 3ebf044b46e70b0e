//! Why nobody may go, and when somebody may.

use super::choice::{Blocked, NoExit};
use super::gate::State;
use super::ix::ExitIx;
use super::parents::Kind;
use super::view::View;
use crate::error::UnusableCounts;
use crate::request::Time;
use std::time::Duration;

/// When to ask again while somebody else's trial is out: about as long as an answer takes.
pub(super) const TRIAL: Duration = Duration::from_secs(1);

impl View<'_> {
    /// For all exits. Each is counted once, under the first reason that holds.
    pub(super) fn unusable(&self) -> NoExit {
        if !self.explain {
            if self.pool.is_stopped_for_good() {
                return NoExit::Stopped;
            }
            return NoExit::Unusable {
                retry_at: self.now,
                counts: UnusableCounts::default(),
                by: Blocked::Anyone,
            };
        }
        let pool = self.pool;
        let plain = pool.exits.is_plain() && pool.full.len() == 0 && !pool.exits.is_spaced();
        if !plain || pool.barred.len() > 0 || pool.owned.len() > 0 {
            return self.unusable_one_by_one();
        }
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (down, dead) = (pool.down.len(), count(pool.dead.len()));
        let mut counts = UnusableCounts::default();
        let left = count(pool.exits.len()).saturating_sub(down);
        counts.dead = dead;
        let benched = left.min(self.record.benched.len());
        counts.avoided = left - benched;
        counts.cooling = benched.min(count(self.record.resting.len()));
        counts.busy = (benched - counts.cooling).min(count(self.record.spaced.len()));
        counts.on_trial = (down - dead) + (benched - counts.cooling - counts.busy);
        let soonest = self.first_back();
        let trial = (counts.on_trial > 0 || soonest.is_none()).then(|| self.now + TRIAL);
        let retry_at = [soonest, trial].into_iter().flatten().min().unwrap_or(self.now);
        NoExit::Unusable { retry_at: retry_at.max(self.now), counts, by: blocked(&counts) }
    }

    /// The same where gateways or logins are shut or somebody has exits alone, which is rare: looks at each exit.
    fn unusable_one_by_one(&self) -> NoExit {
        let pool = self.pool;
        let mut counts = UnusableCounts::default();
        let mut soonest: Option<Time> = None;
        for index in 0..pool.exits.len() {
            let exit = ExitIx::at(index);
            let Some(record) = pool.exits.get(exit).filter(|record| self.all.has(record.named)) else {
                continue;
            };
            if record.gone {
                continue;
            }
            let parents: Vec<_> =
                record.parents.iter().flatten().filter_map(|ix| pool.parents.get(*ix)).collect();
            let shut = parents.iter().find(|parent| parent.is_stopped());
            let shut = shut.or_else(|| parents.iter().find(|parent| !parent.admits()));
            let pair = pool.pairs.at(exit, self.origin).map_or(State::Open, |pair| pair.gate.state());
            if record.quarantined {
                counts.quarantined += 1;
                continue;
            }
            let (whose, state) = match (shut, record.gate.state()) {
                (Some(parent), _) if parent.is_stopped() => (&mut counts.stopped, parent.gate.state()),
                (Some(parent), _) if parent.is_doubted() => (&mut counts.suspect, parent.gate.state()),
                (Some(parent), _) => (&mut counts.held, parent.gate.state()),
                (None, State::Resting { until }) => (&mut counts.dead, State::Resting { until }),
                (None, state) if !state.admits() => (&mut counts.on_trial, state),
                (None, _) => match pair {
                    State::Resting { .. } => (&mut counts.cooling, pair),
                    State::Spaced { .. } => (&mut counts.busy, pair),
                    pair if !pair.admits() => (&mut counts.on_trial, pair),
                    _ if record.in_flight >= record.most => (&mut counts.busy, State::Open),
                    _ if self.reserved(exit) => {
                        let until = record.owner.map_or(self.now, |(_, until)| until);
                        if until == Time::MAX {
                            // For life: no time frees it.
                            counts.reserved += 1;
                            continue;
                        }
                        (&mut counts.reserved, State::Resting { until })
                    }
                    _ => {
                        // No time makes it usable for this request.
                        counts.avoided += 1;
                        continue;
                    }
                },
            };
            *whose += 1;
            let at = match state {
                State::Resting { until } | State::Spaced { until } => until,
                State::Open | State::Trial { .. } => self.now + TRIAL,
            };
            let at = at.max(self.back(exit));
            soonest = Some(soonest.map_or(at, |soonest| soonest.min(at)));
        }
        if counts.total() == 0 {
            return NoExit::Unfit;
        }
        if counts.stopped > 0
            && counts.stopped + counts.quarantined == counts.total()
            && soonest.is_none_or(|at| at == Time::MAX)
        {
            return NoExit::Stopped;
        }
        let retry_at = soonest.unwrap_or(self.now + TRIAL).max(self.now);
        NoExit::Unusable { retry_at, counts, by: blocked(&counts) }
    }

    /// For the one exit that the request must have, as long as it is held.
    pub(super) fn waits_for(&self, exit: ExitIx, held_until: Time) -> NoExit {
        match self.when_back(exit) {
            NoExit::Unusable { retry_at, counts, by } => {
                NoExit::Unusable { retry_at: retry_at.min(held_until), counts, by }
            }
            NoExit::Stopped if held_until < Time::MAX => {
                let counts = UnusableCounts { stopped: 1, ..UnusableCounts::default() };
                NoExit::Unusable { retry_at: held_until, counts, by: Blocked::Holder }
            }
            none => none,
        }
    }

    fn when_back(&self, exit: ExitIx) -> NoExit {
        let by = Blocked::Holder;
        let mut counts = UnusableCounts::default();
        if self.pool.exits.get(exit).is_some_and(|record| record.quarantined) {
            counts.quarantined = 1;
            return NoExit::Unusable { retry_at: self.now + TRIAL, counts, by };
        }
        let back = self.back(exit);
        if back == Time::MAX {
            return NoExit::Stopped;
        }
        let parents = self.pool.exits.get(exit).map_or([None; 2], |record| record.parents);
        for parent in parents.into_iter().flatten().filter_map(|ix| self.pool.parents.get(ix)) {
            let retry_at = match parent.gate.state() {
                State::Resting { until } => until,
                State::Trial { lease: Some(_), .. } => self.now + TRIAL,
                _ if !parent.admits() => self.now + TRIAL,
                State::Open | State::Spaced { .. } | State::Trial { .. } => continue,
            };
            match parent.kind {
                Kind::Credential if parent.is_stopped() => counts.stopped = 1,
                Kind::Credential if parent.is_doubted() => counts.suspect = 1,
                Kind::Credential | Kind::Gateway => counts.held = 1,
            }
            return NoExit::Unusable { retry_at: retry_at.max(back), counts, by };
        }
        let pair = self.pool.pairs.at(exit, self.origin).map(|pair| pair.gate.state());
        let own = self.pool.exits.get(exit).map_or(State::Open, |record| record.gate.state());
        // An exit whose trial nobody has taken yet would let the request through: then it is the pair that does not.
        let (whose, state) = match own.admits() {
            true => (&mut counts.cooling, pair.unwrap_or(State::Open)),
            false => (&mut counts.dead, own),
        };
        let retry_at = match state {
            State::Resting { until } => {
                *whose = 1;
                until
            }
            State::Trial { .. } => {
                counts.on_trial = 1;
                self.now + TRIAL
            }
            State::Spaced { until } => {
                counts.busy = 1;
                until
            }
            State::Open => {
                counts.reserved = u32::from(self.reserved(exit));
                counts.busy = 1 - counts.reserved;
                self.now + TRIAL
            }
        };
        NoExit::Unusable { retry_at: retry_at.max(back), counts, by }
    }

    /// When the first is back of those that rest, or are kept from their next use.
    fn first_back(&self) -> Option<Time> {
        let mut first = None;
        for rests in [&self.pool.dead, &self.record.resting, &self.record.spaced] {
            for (until, exit) in rests {
                if first.is_some_and(|first| first <= *until) {
                    break;
                }
                let back = self.back(*exit).max(*until);
                first = Some(first.map_or(back, |first: Time| first.min(back)));
            }
        }
        first
    }

    /// When every rest of an exit is over: it may be dead, and burned here as well.
    fn back(&self, exit: ExitIx) -> Time {
        let record = self.pool.exits.get(exit);
        let parents = record.into_iter().flat_map(|record| record.parents).flatten();
        let parents = parents.filter_map(|ix| self.pool.parents.get(ix)).map(|parent| parent.gate.state());
        let pair = self.pool.pairs.at(exit, self.origin).map(|pair| pair.gate.state());
        let until = |state| if let State::Resting { until } = state { until } else { self.now };
        let own = record.map(|record| record.gate.state());
        parents.chain(own).chain(pair).map(until).fold(self.now, Time::max)
    }
}

/// Exits that refused this request stay out of its reach; what another holds for life is counted likewise.
fn blocked(counts: &UnusableCounts) -> Blocked {
    if counts.avoided == counts.total() { Blocked::ForGood } else { Blocked::Anyone }
}
