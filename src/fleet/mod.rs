//! The fleet: every worker that shares a scheduler, as one set of decisions. Pure: `now` comes in, values go out.

mod calling;
mod forecast;
mod gateways;
mod governor;
mod lane;
mod line;
mod multiplier;
mod operate;
mod receipt;
mod retry;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;
mod waiting;

pub use forecast::{Forecast, LimitedBy};
pub use gateways::{ClassSnapshot, GatewaySnapshot};
pub(crate) use lane::Booking;
pub(crate) use line::Ticket;
pub use receipt::Release;
pub(crate) use receipt::{Grant, Refusal, RetryAsk};
pub use snapshot::{
    ExitCounts, ExitTraffic, OriginSnapshot, OriginTotals, PairSnapshot, PoolSnapshot, RefusalCounts,
    Snapshot,
};
pub(crate) use waiting::{Reached, State, Turn};

pub use crate::pool::{
    BlockedSpread, Bounds, Cause, Diagnosis, Event, ExitBlocks, LoginState, Reason, Receipt, SpreadVerdict,
    Subnet, SubnetBlocks,
};
pub(crate) use crate::pool::{Events, Installed, MOST_POOLS, Member, Taken};

use lane::Lanes;
use line::Line;

use crate::error::HeldBy;
use crate::exit::{self, Reuse, Route};
use crate::knobs::Knobs;
use crate::outcome::{Egress, Evidence, Outcome, Phase, WireBytes};
use crate::pool::{BindingIx, Choice, Entry, ExitIx, LeaseId, NoExit, OriginIx, Pool, PoolConfig};
use crate::request::{Classes, Freshness, LeaseRequest, Origin, Time};
use crate::site::Sites;
use crate::verdict::RetryRules;
use std::sync::Arc;
use std::time::Duration;

/// One request burns at most as many exits; further refusals of it go uncharged. A page that everybody is refused must not
/// empty a list.
const BURNS: u8 = 2;
/// A caller who goes away after this long was waiting for something that did not come.
pub(crate) const SLOW: Duration = Duration::from_secs(10);
/// How often timers are run before somebody is refused. Whoever comes next goes on where this one stopped.
const TICKS: u32 = 64;
/// When to ask again after a bound was met.
const BUSY: Duration = Duration::from_secs(1);

const UNKNOWN_CLASS: Refusal = Refusal::Misuse(
    "the request is of a class that was not declared; declare it with Builder::class, or mend its name",
);

/// What a fleet is built from.
pub(crate) struct FleetConfig {
    /// Each exit and gateway in one of them alone.
    pub(crate) pools: Vec<exit::Pool>,
    pub(crate) sites: Arc<Sites>,
    pub(crate) member: Member,
    pub(crate) rules: RetryRules,
    pub(crate) seed: u64,
    /// Wall time at `Time::ZERO`, in nanoseconds since the Unix epoch: where windows begin.
    pub(crate) epoch: u64,
    pub(crate) bounds: Bounds,
    pub(crate) knobs: Knobs,
    pub(crate) classes: Classes,
}

/// An exit, the binding that holds it, and why it was chosen.
type Placed = (ExitIx, Option<(BindingIx, u32)>, Reason);

pub(crate) struct Fleet {
    pool: Pool,
    rules: RetryRules,
    /// Leases that are out, and how many may be.
    out: usize,
    most_out: usize,
    line: Line,
    /// Nothing is leased any more.
    closed: bool,
    /// How many leases may be out when it opens again.
    shut_out: usize,
    refusals: RefusalCounts,
    leases: u64,
    /// Counter of the draws for retries.
    retries: u64,
    meter: multiplier::Meter,
    governors: governor::Governors,
    lanes: Lanes,
    knobs: Knobs,
}

impl Fleet {
    pub(crate) fn new(config: FleetConfig) -> Self {
        Self {
            pool: Pool::new(PoolConfig {
                pools: config.pools,
                sites: config.sites,
                seed: config.seed,
                member: config.member,
                epoch: config.epoch,
                bounds: config.bounds,
                rest: config.rules.rest(),
                knobs: config.knobs,
            }),
            rules: config.rules,
            out: 0,
            most_out: config.bounds.leases,
            line: Line::new(config.bounds.waiters, config.classes.with_default()),
            closed: false,
            shut_out: 0,
            refusals: RefusalCounts::default(),
            leases: 0,
            retries: 0,
            meter: multiplier::Meter::default(),
            governors: governor::Governors::new(config.knobs.governor),
            lanes: Lanes::new(config.knobs.lane),
            knobs: config.knobs,
        }
    }

    /// Never waits. A refusal that somebody gets is to be [counted](Self::refuse).
    #[inline]
    pub(crate) fn lease(&mut self, now: Time, ask: &LeaseRequest, name: &Origin) -> Result<Grant, Refusal> {
        self.pool.tick(now);
        if self.out >= self.most_out {
            return Err(if self.closed { Refusal::Closed } else { Refusal::Full { retry_at: now + BUSY } });
        }
        if ask.class.is_some() && !self.line.knows_class(ask) {
            return Err(UNKNOWN_CLASS);
        }
        let Some(origin) = self.pool.origin(now, name) else {
            return Err(busy(now, "as many origins are in use as Bounds::origins allows"));
        };
        let (exit, binding, reason) = match self.pool.hit(now, ask, origin) {
            Some((exit, binding)) => (exit, Some(binding), Reason::Bound),
            None => self.place(now, ask, origin)?,
        };
        let id = LeaseId(self.leases);
        let Some((mut route, entry)) = self.pool.enter(now, id, (exit, origin), now + ask.deadline) else {
            return Err(busy(now, "the exit went while it was chosen"));
        };
        let Entry { trial, fresh, paced, turn, gateway, named, clean } = entry;
        route.set_held(binding.is_some());
        if fresh || ask.freshness != Freshness::Keep || ask.repeatable == Some(false) {
            self.restrict(&mut route, ask, fresh, binding);
        }
        self.leases += 1;
        self.out += 1;
        if self.pool.events.is_told_all() {
            let pool = self.pool.name_of(named);
            self.pool.events.push(
                now,
                Event::Lease {
                    lease: id.0,
                    key: ask.key.clone(),
                    origin: name.to_kept(),
                    exit: route.exit(),
                    generation: binding.map(|(_, generation)| generation),
                    reason,
                    trial,
                    pool,
                },
            );
        }
        let past = &*ask.trail;
        let charged = past.burned < BURNS || paced;
        let (exit_id, at) = (route.exit(), (exit, origin));
        let (first, again) = (past.sends == 0, past.burned > 0);
        let blocked = past.clean_block.map_or(LeaseId::NONE, LeaseId);
        let receipt = Receipt {
            id,
            exit: exit_id,
            at,
            named,
            binding,
            sent: now,
            turn,
            gateway,
            charged,
            first,
            again,
            clean,
            blocked,
        };
        Ok(Grant { receipt, route, reason, trial })
    }

    /// Who may use the connection again, and whether for this request twice.
    #[cold]
    fn restrict(
        &self,
        route: &mut Route,
        ask: &LeaseRequest,
        fresh: bool,
        binding: Option<(BindingIx, u32)>,
    ) {
        match ask.freshness {
            Freshness::Keep if !fresh => {}
            Freshness::PerLease if !fresh => route.reuse_by(self.pool.reuse(binding)),
            _ => route.reuse_by(Reuse::Nobody),
        }
        route.set_once(ask.repeatable == Some(false));
    }

    /// Kept out of the way of the hit, as is every change of a gate.
    #[inline(never)]
    fn place(&mut self, now: Time, ask: &LeaseRequest, origin: OriginIx) -> Result<Placed, Refusal> {
        let choice = self.choose(now, ask, origin).map_err(|none| match none {
            NoExit::Unusable { retry_at, counts, by } => Refusal::NoUsableExit { retry_at, counts, by },
            NoExit::Held { retry_at, by } => Refusal::OriginHeld { retry_at, by },
            NoExit::Moved { from, to, generation } => Refusal::Moved { from, to, generation },
            NoExit::Stopped => Refusal::FleetStopped,
            NoExit::Unfit => Refusal::Misuse(self.pool.unfit(ask)),
            NoExit::Unheld => Refusal::Misuse(
                "nothing in the pool can be held for so long: the gateway rotates by itself, or its sessions end earlier; ask \
                 for a shorter window, or per request",
            ),
        })?;
        let Some((exit, binding)) = self.pool.bind(now, ask, origin, &choice) else {
            return Err(busy(now, "as many sessions are held and in use as Bounds::minted allows"));
        };
        Ok((exit, binding, choice.reason))
    }

    /// Runs the timers that are due before it refuses anybody.
    #[inline]
    fn choose(&mut self, now: Time, ask: &LeaseRequest, origin: OriginIx) -> Result<Choice, NoExit> {
        for _ in 0..TICKS {
            match self.pool.choose(now, ask, origin) {
                Err(NoExit::Unusable { .. } | NoExit::Held { .. }) if self.pool.tick(now) => {}
                chosen => return chosen,
            }
        }
        self.pool.choose(now, ask, origin)
    }

    /// Counts a refusal that somebody gets, and tells of it.
    #[cold]
    pub(crate) fn refuse(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        name: &Origin,
        refusal: Refusal,
    ) -> Refusal {
        self.pool.events.tell(now, || {
            let (why, retry_at, counts) = refusal.facts();
            let (key, origin, retry_in) = (ask.key.clone(), name.to_kept(), retry_at.map(|at| at.since(now)));
            Event::Refusal { key, origin, why, retry_in, counts }
        });
        match refusal {
            Refusal::NoUsableExit { counts, .. } => {
                self.refusals.no_usable_exit += 1;
                self.refusals.last = counts;
            }
            Refusal::OriginHeld { by, .. } => match by {
                HeldBy::Failures => self.refusals.origin_held_by_failures += 1,
                HeldBy::Limit => self.refusals.origin_held_by_limit += 1,
            },
            Refusal::Behind { .. } => self.refusals.behind += 1,
            Refusal::Moved { .. } => self.refusals.moved += 1,
            Refusal::FleetStopped => self.refusals.stopped += 1,
            Refusal::Busy { .. } | Refusal::Full { .. } => self.refusals.busy += 1,
            Refusal::Closed => self.refusals.closed += 1,
            Refusal::Misuse(_) => {}
        }
        refusal
    }

    /// `amends` is what of the same lease was taken before. Says what is taken of this.
    #[inline]
    pub(crate) fn report(
        &mut self,
        now: Time,
        receipt: &Receipt,
        evidence: &Evidence,
        amends: Option<&Taken>,
    ) -> Option<Taken> {
        self.pool.tick(now);
        self.pool.tell_report(now, receipt, evidence, amends.is_some());
        let taken = self.pool.charge(now, receipt, evidence, amends);
        if let Some(taken) = &taken {
            // A block that is laid to the request says nothing of how hard the fleet asks.
            let before = amends.filter(|before| !before.cost.spared).map(|before| &before.evidence);
            if !taken.cost.spared {
                self.measure(now, receipt.at.1, evidence, before);
                self.govern(now, (receipt.sent, receipt.at.1), evidence, before);
            }
        }
        if receipt.blocked != LeaseId::NONE && evidence.outcome.is_ok() {
            self.charge_late(now, receipt);
        }
        taken
    }

    /// A request that was blocked has passed elsewhere: so it was the exit's block.
    #[cold]
    fn charge_late(&mut self, now: Time, passed: &Receipt) {
        if let Some((by, evidence)) = self.pool.charge_late(now, passed) {
            self.measure(now, by.at.1, &evidence, None);
        }
    }

    /// Once per lease: its guard sees to that. `evidence` is what it reported last. Says whether somebody may wait for it, and
    /// what was taken of an end without a word.
    #[inline]
    pub(crate) fn release(
        &mut self,
        receipt: &Receipt,
        how: Release,
        evidence: Option<&Evidence>,
    ) -> (bool, Option<Taken>) {
        let taken = match (how, evidence) {
            (Release::Dropped { after }, None) => self.dropped(receipt, after),
            _ => None,
        };
        self.out = self.out.saturating_sub(1);
        // Done without evidence is given back at its head, which was told.
        if evidence.is_none() && how != Release::Done {
            self.pool.end_in_silence(receipt);
        }
        self.pool.leave(receipt, evidence.is_some_and(Evidence::is_good_end));
        (!self.line.is_empty(), taken)
    }

    /// A caller went away without a word.
    #[cold]
    fn dropped(&mut self, receipt: &Receipt, after: Duration) -> Option<Taken> {
        let weak = Evidence::of(Outcome::Interrupted { phase: Phase::Head });
        if after >= SLOW { self.report(receipt.sent + after, receipt, &weak, None) } else { None }
    }

    /// Bytes of an attempt on the wire: before its release, or after.
    #[cold]
    pub(crate) fn spend(&mut self, receipt: &Receipt, wire: WireBytes) {
        self.pool.spend(receipt, wire);
    }

    /// What an attempt has revealed of its exit. Says whether a held exit leaves from elsewhere now.
    #[cold]
    pub(crate) fn reveal(&mut self, now: Time, receipt: &Receipt, egress: &Egress) -> bool {
        self.pool.reveal(now, receipt, egress)
    }

    /// The body of a lease that was given back at its head has ended well.
    pub(crate) fn ended_well(&mut self, receipt: &Receipt) {
        self.pool.ended_well(receipt);
    }

    /// The ways out that no lease will take again, or not over the same connections, since the last time.
    pub(crate) fn given_up(&mut self) -> Vec<Route> {
        self.pool.given_up()
    }

    /// What happened, until it is told.
    #[inline]
    pub(crate) const fn events(&mut self) -> &mut Events {
        &mut self.pool.events
    }

    /// Pairs that rest now.
    #[cfg(feature = "lab")]
    pub(crate) fn resting(&self, now: Time) -> impl Iterator<Item = (exit::ExitId, &Origin)> {
        let rests = self.pool.pair_facts(now).filter(|pair| !pair.cooling.is_zero());
        rests.map(|pair| (pair.exit, pair.origin))
    }

    /// What a site's blocks depend on, as far as that is clear.
    #[cfg(feature = "lab")]
    pub(crate) fn cause(&self, now: Time, origin: &Origin) -> Cause {
        self.pool.known(origin).map_or(Cause::Unclear, |origin| self.pool.cause(now, origin))
    }

    pub(crate) fn snapshot(&self, now: Time) -> Snapshot {
        let mut snapshot = Snapshot::of(&self.pool, now);
        snapshot.in_flight = u32::try_from(self.out).unwrap_or(u32::MAX);
        snapshot.waiting = u32::try_from(self.line.len()).unwrap_or(u32::MAX);
        snapshot.leases = self.leases;
        snapshot.events_lost = self.pool.events.lost();
        (snapshot.lately, snapshot.alarm) = (self.meter.lately(), self.meter.alarm());
        for origin in &mut snapshot.origins {
            origin.lately = self.pool.known(&origin.origin).and_then(|at| self.governors.lately(at));
        }
        snapshot.classes = self.classes();
        snapshot.parked = self.lanes.parked;
        snapshot.refusals = self.refusals;
        snapshot
    }
}

#[cold]
fn busy(now: Time, bound: &'static str) -> Refusal {
    Refusal::Busy { bound, retry_at: now + BUSY }
}
