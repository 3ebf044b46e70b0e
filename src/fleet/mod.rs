//! The fleet: every worker that shares a scheduler, as one set of decisions. Pure: `now` comes in, values go out.

mod receipt;
mod snapshot;
#[cfg(test)]
mod tests;

pub(crate) use receipt::{Grant, Refusal, RetryAsk};
pub use receipt::{Receipt, Release};
pub use snapshot::{ExitCounts, OriginSnapshot, PairSnapshot, RefusalCounts, Snapshot};

pub(crate) use crate::pool::Bounds;
pub use crate::pool::Reason;

use crate::draw::{Stream, draw};
use crate::exit::Exit;
use crate::outcome::{Evidence, Outcome, OutcomeCounts, Phase, Seen};
use crate::pool::{Charge, Choice, OriginIx, Pool, Slab, Unusable};
use crate::request::{LeaseRequest, Origin, Time};
use crate::verdict::{Facts, RetryRules, Verdict};
use std::time::Duration;

/// One request burns at most as many exits; further refusals of it go uncharged. A page that everybody is refused must not
/// empty a list.
const BURNS: u8 = 2;
/// A caller who goes away after this long was waiting for something that did not come.
const SLOW: Duration = Duration::from_secs(10);
/// When to ask again after a bound was met.
const BUSY: Duration = Duration::from_secs(1);

/// What a fleet is built from.
pub(crate) struct FleetConfig {
    pub(crate) exits: Vec<Exit>,
    pub(crate) rules: RetryRules,
    pub(crate) seed: u64,
    /// Wall time at `Time::ZERO`, in nanoseconds since the Unix epoch: where windows begin.
    pub(crate) epoch: u64,
    pub(crate) bounds: Bounds,
}

/// A lease that is out.
struct Out {
    /// The last report was of a good end.
    good: bool,
    reported: bool,
}

pub(crate) struct Fleet {
    pool: Pool,
    rules: RetryRules,
    out: Slab<Out>,
    counts: OutcomeCounts,
    refusals: RefusalCounts,
    leases: u64,
    /// Counter of the draws for retries.
    retries: u64,
}

impl Fleet {
    pub(crate) fn new(config: FleetConfig) -> Self {
        Self {
            pool: Pool::new(config.exits, config.seed, config.epoch, config.bounds),
            rules: config.rules,
            out: Slab::new(config.bounds.leases),
            counts: OutcomeCounts::default(),
            refusals: RefusalCounts::default(),
            leases: 0,
            retries: 0,
        }
    }

    /// Never waits.
    pub(crate) fn lease(&mut self, now: Time, ask: &LeaseRequest, name: &Origin) -> Result<Grant, Refusal> {
        self.pool.tick(now);
        if self.out.is_full() {
            return Err(self.busy(now, "as many leases are out as the scheduler allows"));
        }
        let Some(origin) = self.pool.origin(now, name) else {
            return Err(self.busy(now, "as many origins are in use as the scheduler allows"));
        };
        let choice = self.choose(now, ask, origin).map_err(|none| {
            self.refusals.no_usable_exit += 1;
            self.refusals.last = none.counts;
            Refusal::NoUsableExit { retry_at: none.retry_at, counts: none.counts }
        })?;
        let binding = self.pool.bind(now, ask, origin, &choice);
        let Some(id) = self.out.insert(Out { good: false, reported: false }) else {
            return Err(self.busy(now, "as many leases are out as the scheduler allows"));
        };
        let at = (choice.exit, origin);
        let trial = self.pool.enter(id, at, now + ask.deadline);
        self.leases += 1;
        let route = self.pool.exit(choice.exit).route().clone();
        let charged = ask.trail.burned < BURNS;
        let receipt = Receipt { id, exit: route.exit(), at, binding, sent: now, charged };
        Ok(Grant { receipt, route, reason: choice.reason, trial })
    }

    /// Nobody is refused while a timer that is due could free an exit.
    fn choose(&mut self, now: Time, ask: &LeaseRequest, origin: OriginIx) -> Result<Choice, Unusable> {
        loop {
            match self.pool.choose(now, ask, origin) {
                Err(_) if self.pool.tick(now) => {}
                Err(_) => return self.pool.choose(now, ask, origin),
                Ok(choice) => return Ok(choice),
            }
        }
    }

    fn busy(&mut self, now: Time, bound: &'static str) -> Refusal {
        self.refusals.busy += 1;
        Refusal::Busy { bound, retry_at: now + BUSY }
    }

    /// `amends` is what the same lease reported before.
    pub(crate) fn report(
        &mut self,
        now: Time,
        receipt: &Receipt,
        evidence: &Evidence,
        amends: Option<&Evidence>,
    ) {
        self.pool.tick(now);
        if !self.pool.charge(now, &charge(receipt), evidence, amends) {
            return;
        }
        if let Some(before) = amends {
            let count = self.counts.of(&before.outcome);
            *count = count.saturating_sub(1);
        }
        *self.counts.of(&evidence.outcome) += 1;
        if let Some(out) = self.out.get_mut(receipt.id) {
            let fault = matches!(evidence.outcome, Outcome::ProxyError { .. } | Outcome::Interrupted { .. });
            (out.reported, out.good) = (true, evidence.seen == Seen::Seen && !fault);
        }
    }

    /// Once per lease; a second time does nothing.
    pub(crate) fn release(&mut self, now: Time, receipt: &Receipt, how: Release) {
        self.pool.tick(now);
        let Some(out) = self.out.get(receipt.id) else { return };
        if let (Release::Dropped { after }, false) = (how, out.reported) {
            if after >= SLOW {
                let weak = Evidence::of(Outcome::Interrupted { phase: Phase::Head });
                self.report(now, receipt, &weak, None);
            }
        }
        if let Some(out) = self.out.remove(receipt.id) {
            self.pool.leave(receipt.id, receipt.at, out.good);
        }
    }

    /// `ask.trail` already counts this attempt.
    pub(crate) fn retry(&mut self, now: Time, ask: &RetryAsk<'_>) -> Verdict {
        self.pool.tick(now);
        let (_, origin) = ask.receipt.at;
        let next = self.choose(now, ask.ask, origin);
        let facts = Facts {
            evidence: ask.evidence,
            heat_next: next.as_ref().ok().map(|choice| self.pool.heat(now, choice.exit, origin)),
            soonest: next.err().map_or(Duration::ZERO, |none| none.retry_at.since(now)),
            sends: ask.ask.trail.sends,
            repeatable: ask.repeatable,
            replayable: ask.replayable,
            left: ask.deadline.since(now),
            draw: draw(self.pool.seed(), Stream::Retry, ask.receipt.exit.as_u64(), self.retries),
        };
        self.retries += 1;
        self.rules.verdict(&facts)
    }

    pub(crate) fn snapshot(&self, now: Time) -> Snapshot {
        let mut snapshot = Snapshot::of(&self.pool, now);
        snapshot.in_flight = u32::try_from(self.out.len()).unwrap_or(u32::MAX);
        snapshot.leases = self.leases;
        snapshot.outcomes = self.counts;
        snapshot.refusals = self.refusals;
        snapshot
    }
}

const fn charge(receipt: &Receipt) -> Charge {
    let Receipt { id, at, binding, sent, charged, .. } = *receipt;
    Charge { lease: id, at, binding, sent, charged }
}
