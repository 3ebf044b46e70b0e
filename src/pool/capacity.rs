//! What an origin may be asked for now, as far as anything limits it.

use super::Pool;
use super::exits::{ExitRecord, Source};
use super::gate::State;
use super::ix::{ExitIx, OriginIx};
use super::named::Among;
use crate::request::Time;
use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::time::Duration;

/// What rests no longer than this is soon back, and serves in the long run.
const SOON: Duration = Duration::from_secs(60);
/// An exit that rests at the site no longer than this, or two of its gaps, was limited and not refused: it serves as the others do.
const MOMENT: Duration = Duration::from_secs(2);

/// Every limit there is at one origin. Rates are per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Capacity {
    /// For how long the origin is left alone still.
    pub(crate) held: Option<Duration>,
    /// Exits that may serve it, in use or not; sessions that are held are among them. What keeps all that are behind one gateway or
    /// one login is no matter if it is soon over; and if nothing else serves, nor is what keeps each of them.
    pub(crate) exits: u32,
    /// If there is none, for how long the first still rests; `None` if none comes back by itself.
    pub(crate) back: Option<Duration>,
    /// How far apart each of them is to be used: as learned from its 429s, and by the terms of its pool.
    pub(crate) gap: Duration,
    pub(crate) interval: Duration,
    /// What all exits may be used for with these two; infinite if one of them may at any time.
    pub(crate) by_gaps: f64,
    /// Most leases in flight: by the exits' pools, and at the origin.
    pub(crate) most: Option<u64>,
    pub(crate) limit: Option<u32>,
    pub(crate) in_flight: u32,
    /// Requests wait in line for it.
    pub(crate) waits: bool,
    /// Successes a second lately, and how many of them still count.
    pub(crate) served: f64,
    pub(crate) recent: f64,
}

impl Pool {
    /// Walks over the exits. `None` for an origin: one that nothing is known of yet.
    pub(crate) fn capacity(&self, now: Time, origin: Option<OriginIx>) -> Capacity {
        let record = origin.and_then(|origin| self.origins.get(origin));
        let gap = record.map_or(0.0, |record| record.gap.seconds());
        let plan = record.and_then(|record| record.plan.as_ref()).map(|plan| plan.all());
        let stays = |exit: &&ExitRecord| !exit.gone && !exit.quarantined && is_among(plan.as_ref(), exit);
        let resting = record.into_iter().flat_map(|record| &record.resting);
        let resting: BTreeMap<ExitIx, Time> = resting.map(|(until, exit)| (*exit, *until)).collect();
        let fixed = (0..).map(ExitIx::Fixed).zip(&self.exits.fixed).filter(|(_, exit)| stays(exit));
        // When all that it shares is back, and it itself.
        let shared = |exit: &ExitRecord| self.shares_until(now, exit);
        let alone = |ix: &ExitIx, exit: &ExitRecord| {
            until(now, exit.gate.state()).max(resting.get(ix).copied().unwrap_or(now))
        };
        let soon = now + SOON;
        let moment = now + Duration::from_secs_f32(2.0 * gap).max(MOMENT);
        let known: Vec<_> = fixed.map(|(ix, exit)| (exit, shared(exit), alone(&ix, exit))).collect();
        let is_down = |exit: &ExitRecord| !exit.gate.is_open();
        let mut serve: Vec<&ExitRecord> = Vec::new();
        for (exit, shared, alone) in &known {
            if *shared <= soon && *alone <= moment && !is_down(exit) {
                serve.push(exit);
            }
        }
        serve.extend(self.exits.minted.iter().filter(stays).filter(|exit| shared(exit) <= soon));
        if serve.is_empty() {
            let back = known.iter().filter(|(_, shared, alone)| *shared.max(alone) <= soon);
            serve.extend(back.map(|(exit, ..)| *exit));
        }
        let first = known.iter().map(|(_, shared, alone)| *shared.max(alone)).min();
        let back = first.filter(|first| serve.is_empty() && *first < Time::MAX);
        let served = record.map_or(0.0, |record| {
            let mut flow = record.flow;
            flow.take_in(now, record.counts.ok, false, self.half_life);
            flow.rate(now, self.half_life)
        });
        let mut capacity = Capacity {
            held: record.and_then(|record| Self::held_for(now, &record.room)),
            exits: 0,
            back: back.map(|back| back.since(now)),
            gap: Duration::from_secs_f32(gap),
            interval: Duration::ZERO,
            by_gaps: 0.0,
            most: Some(0),
            limit: record.and_then(|record| record.room.limit()),
            in_flight: record.map_or(0, |record| record.room.in_flight),
            waits: record.is_some_and(|record| record.waiting > 0),
            served,
            recent: served * self.half_life / LN_2,
        };
        serve.into_iter().for_each(|exit| capacity.add(exit));
        capacity
    }

    /// When all that the exit shares is to be had again, as far as it rests.
    fn shares_until(&self, now: Time, exit: &ExitRecord) -> Time {
        let parents = exit.parents.iter().flatten().filter_map(|ix| self.parents.get(*ix));
        parents.map(|parent| until(now, parent.gate.state())).max().unwrap_or(now)
    }
}

/// When a rest is over; now, if there is none.
fn until(now: Time, state: State) -> Time {
    if let State::Resting { until } = state { until.max(now) } else { now }
}

fn is_among(plan: Option<&Among>, exit: &ExitRecord) -> bool {
    plan.is_none_or(|plan| plan.has(exit.named))
}

impl Capacity {
    fn add(&mut self, exit: &ExitRecord) {
        let interval = Duration::from_millis(exit.spacing.into());
        // What is behind a gateway that rotates is another address each time.
        let gap = if matches!(exit.source, Source::Rotating { .. }) { Duration::ZERO } else { self.gap };
        self.exits += 1;
        self.interval = self.interval.max(interval);
        self.by_gaps += 1.0 / gap.max(interval).as_secs_f64();
        self.most =
            if exit.most == u32::MAX { None } else { self.most.map(|most| most + u64::from(exit.most)) };
    }
}
