//! What follows from what an origin's blocks depend on.
//!
//! | they depend on | what follows |
//! |---|---|
//! | the request | a block on a clean exit is laid to the request: the pair rests for a second, without heat or strike. If the request passes elsewhere, it was the exit's after all, and is charged as usual |
//! | the request, but the exit was limited three times or more in half a minute | the block is the ban that follows, and is charged |
//! | the subnet | its other exits rest once, as after a first block |
//! | the exit, or nothing of them | nothing: the governor may slow down, and no rest is made shorter |
//!
//! A verdict may slow anything down. What frees an exit of a charge is only that it serves others.

use super::Pool;
use super::event::Event;
use super::exits::{ExitRecord, Source};
use super::ix::{ExitIx, OriginIx};
use super::receipt::{Cost, Receipt};
use super::spread::{Cause, Diagnosis, Subnet};
use crate::draw::{Stream, draw, unit};
use crate::exit::ExitId;
use crate::outcome::{BlockedBy, Egress, Evidence, Outcome};
use crate::request::Time;
use std::net::IpAddr;
use std::time::Duration;

impl Pool {
    /// Counts an attempt at an origin with recent blocks. Says whether it is a block that is laid to the request.
    #[cold]
    #[inline(never)]
    pub(super) fn diagnose(&mut self, now: Time, by: &Receipt, evidence: &Evidence) -> bool {
        let (exit, origin) = by.at;
        let known = self.exits.get(exit);
        // Behind a gateway that rotates by itself nobody knows which exit it was.
        if known.is_some_and(|known| matches!(known.source, Source::Rotating { .. })) {
            return false;
        }
        let Some(record) = self.origins.get_mut(origin) else { return false };
        let len = self.exits.len();
        let subnet = || known.and_then(subnet_of);
        let change = self.spreads.count(&mut record.spread, now, (by, len), &evidence.outcome, subnet);
        let at = record.spread;
        if let Some(diagnosis) = change {
            self.begin(now, origin, diagnosis);
        }
        let Outcome::Blocked { by: blocked_by } = evidence.outcome else { return false };
        if self.spares(now, by, origin) && blocked_by != BlockedBy::Pattern {
            self.spreads.spare(at, by, evidence);
            self.rest_briefly(now, by);
            return true;
        }
        if by.charged {
            self.spreads.charged(at, exit, len);
        }
        false
    }

    /// Whether a block is laid to the request: not one that follows limits.
    fn spares(&self, now: Time, by: &Receipt, origin: OriginIx) -> bool {
        let earned = || self.pairs.at(by.at.0, origin).is_some_and(|pair| pair.earns_ban(now));
        by.clean && self.blocks_requests(now, origin) && !earned()
    }

    /// What an origin's blocks depend on, if that is clear.
    fn diagnosis(&self, now: Time, origin: OriginIx) -> Option<&Diagnosis> {
        self.spreads.diagnosis(self.origins.get(origin)?.spread, now)
    }

    /// What an origin's blocks depend on.
    pub(crate) fn cause(&self, now: Time, origin: OriginIx) -> Cause {
        self.diagnosis(now, origin).map_or(Cause::Unclear, |diagnosis| diagnosis.cause)
    }

    /// Whether an origin's blocks follow requests, and not exits.
    pub(crate) fn blocks_requests(&self, now: Time, origin: OriginIx) -> bool {
        self.cause(now, origin) == Cause::Request
    }

    /// Whether a request that was blocked on so many clean exits is blocked on all.
    #[cold]
    pub(crate) fn blocks_request(&self, now: Time, origin: OriginIx, clean_blocks: u8) -> bool {
        let enough = self.spreads.knobs().is_some_and(|knobs| clean_blocks >= knobs.clean_blocks);
        enough && self.blocks_requests(now, origin)
    }

    /// The pair of a block that is laid to the request. What rests or is on trial is left as it is.
    fn rest_briefly(&mut self, now: Time, by: &Receipt) {
        let Some((least, most)) = self.spreads.knobs().map(|knobs| knobs.spared) else { return };
        let chance = unit(draw(self.seed, Stream::Spare, by.exit.as_u64(), by.id.0));
        let rest = least + most.saturating_sub(least).mul_f64(chance);
        self.space(now, by.at.0, by.at.1, now + rest);
    }

    /// A request has passed whose block before was laid to it: the block's exit is charged after all. Answers what for.
    pub(crate) fn charge_late(&mut self, now: Time, passed: &Receipt) -> Option<(Receipt, Evidence)> {
        let at = self.origins.get(passed.at.1)?.spread;
        let (by, evidence) = self.spreads.spared(at, passed.blocked)?;
        if by.charged {
            self.spreads.charged(at, by.at.0, self.exits.len());
            self.charge_pair::<true>(now, &by, &evidence, None, &mut Cost::default());
        }
        Some((by, evidence))
    }

    /// Tells of what the blocks depend on from now on.
    fn begin(&mut self, now: Time, origin: OriginIx, diagnosis: Diagnosis) {
        let rests = self.spreads.knobs().is_some_and(|knobs| knobs.rest_subnets);
        if rests {
            diagnosis.subnets.iter().for_each(|net| self.rest_subnet(now, origin, net.subnet));
        }
        if let Some(origin) = self.name(origin) {
            self.events.push(now, Event::Diagnosed { origin, diagnosis });
        }
    }

    /// The exits of a subnet rest at the origin once, but for the last that may serve it.
    fn rest_subnet(&mut self, now: Time, origin: OriginIx, subnet: Subnet) {
        let Some(at) = self.origins.get(origin).map(|record| record.spread) else { return };
        let lies = |record: &ExitRecord| {
            let lies = self.spreads.subnet(at, record.id()).or_else(|| subnet_of(record));
            !record.gone && lies == Some(subnet)
        };
        let exits: Vec<_> = (0..self.exits.len())
            .map(ExitIx::at)
            .filter(|exit| self.exits.get(*exit).is_some_and(lies))
            .collect();
        for exit in exits {
            if !self.is_last(exit, Some(origin)) {
                self.rest_open_pair(now, (exit, origin), self.rest.first);
            }
        }
    }

    /// Rests a pair that nobody has refused. Whoever holds its exit keeps it.
    fn rest_open_pair(&mut self, now: Time, (exit, origin): (ExitIx, OriginIx), rest: Duration) {
        let Some(entity) = self.exits.id(exit).map(ExitId::as_u64) else { return };
        let (origins, exits) = (&self.origins, &self.exits);
        let gone = |exit, origin| origins.get(origin).is_none() || exits.get(exit).is_none();
        let Some(slot) = self.pairs.make(now, exit, origin, gone) else {
            self.uncooled += 1;
            return;
        };
        let seed = self.seed;
        self.with_pair(slot, |pair| {
            if pair.gate.is_open() {
                let draw = draw(seed, Stream::Cooldown, entity, u64::from(pair.gate.shuts()));
                pair.gate.shut(now, now + rest.mul_f64(1.0 + unit(draw) / 4.0));
                (pair.burned, pair.paced) = (false, false);
            }
        });
    }

    /// What a request has revealed of its exit's neighbourhood.
    pub(super) fn reveal_subnet(&mut self, by: &Receipt, egress: &Egress) {
        let Some(at) = self.origins.get(by.at.1).map(|record| record.spread) else { return };
        let address = egress.address().and_then(|address| address.parse::<IpAddr>().ok());
        if let Some(address) = address.filter(|_| at.is_some()) {
            self.spreads.reveal(at, by.exit, Subnet::of(address));
        }
    }
}

/// Where the exit's own address lies, if that is what its host says: not of a gateway's, which leave from elsewhere.
fn subnet_of(record: &ExitRecord) -> Option<Subnet> {
    let host = record.exit.route().host();
    if record.source != Source::Listed {
        return None;
    }
    host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok().map(Subnet::of)
}
