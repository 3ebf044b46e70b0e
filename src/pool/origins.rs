//! The origins that are known, by name.

use super::bits::Bits;
use super::flow::Flow;
use super::gap::Gap;
use super::gate::State;
use super::heat::Heat;
use super::hold::{Trouble, Usual};
use super::ix::{ExitIx, GatewayIx, OriginIx, SpreadIx};
use super::plan::Plan;
use super::proof::Proof;
use super::room::Room;
use super::slab::Slab;
use crate::draw;
use crate::outcome::{OutcomeCounts, WireBytes};
use crate::request::{Origin, Time};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::time::Duration;

impl OriginRecord {
    /// The block rate that an exit starts from here.
    pub(super) fn prior(&self, now: Time, gateway: Option<GatewayIx>) -> f32 {
        let all = self.heat.prior(now);
        gateway.and_then(|gateway| self.gateways.get(gateway.index())).map_or(all, |heat| heat.rate(now, all))
    }

    pub(super) fn heat_of(&mut self, gateway: GatewayIx) -> &mut Heat {
        if self.gateways.len() <= gateway.index() {
            self.gateways.resize(gateway.index() + 1, Heat::COLD);
        }
        &mut self.gateways[gateway.index()]
    }
}

pub(crate) struct OriginRecord {
    pub(crate) name: Origin,
    /// A hash of the name that is the same in every process.
    pub(crate) hash: u64,
    /// Leases given for it.
    pub(crate) leases: u64,
    pub(crate) counts: OutcomeCounts,
    pub(crate) wire: WireBytes,
    /// Successes lately.
    pub(super) flow: Flow,
    /// Over all exits: the prior of each pair.
    pub(super) heat: Heat,
    /// The same for each gateway's exits alone: the prior of theirs. Empty until one has been used.
    pub(super) gateways: Vec<Heat>,
    /// Which pools serve it, and which of them now, if that was said.
    pub(super) plan: Option<Box<Plan>>,
    /// Whether it was looked up.
    pub(super) planned: bool,
    /// Where its blocks are counted by exit, if it has had some lately.
    pub(super) spread: Option<SpreadIx>,
    /// What its blocks have proven to be.
    pub(super) proof: Proof,
    /// How far apart it wants the uses of one exit.
    pub(super) gap: Gap,
    /// Exits whose pair admits nobody.
    pub(super) benched: Bits,
    /// When each of them that was but used a moment ago is back.
    pub(super) spaced: BTreeSet<(Time, ExitIx)>,
    /// How many places rest here after a block. A session is let go instead, and its pair forgotten.
    pub(super) burned: u32,
    /// When each resting pair's rest is over.
    pub(super) resting: BTreeSet<(Time, ExitIx)>,
    pub(super) room: Room,
    /// How often it fails by itself.
    pub(super) usual: Usual,
    /// Its failures since it said anything else, if there were some.
    pub(super) trouble: Option<Box<Trouble>>,
    /// Requests that wait in line to go here.
    pub(super) waiting: u32,
    /// When the last attempt was sent that ended well here, through whatever exit, and a nanosecond, so that `Time::ZERO`
    /// means that there was none.
    pub(super) worked: Time,
    pub(super) last_used: Time,
}

impl OriginRecord {
    /// A lease is over; it was sent at `good` if it ended well. Says whether somebody may come now who could not before.
    #[inline]
    pub(super) fn left(&mut self, good: Option<Time>) -> bool {
        if let Some(sent) = good {
            self.works(sent);
        }
        self.room.leave()
    }

    /// In which order it is forgotten, unless somebody is there or wants to go: who is idle, then all others, the least recently
    /// used first. Sites that rest must not fill the table, whatever they ask for; nor push out those that are in use.
    fn rank(&self, now: Time) -> Option<(bool, Time)> {
        let busy = self.room.in_flight > 0 || self.room.promised > 0 || self.waiting > 0;
        let rests = !self.room.gate.state().admits() || self.benched.len() > 0;
        (!busy).then(|| (rests || now.since(self.last_used) < LATELY, self.last_used))
    }

    /// An attempt that was sent then ended well.
    #[inline]
    pub(super) fn works(&mut self, sent: Time) {
        self.worked = self.worked.max(Time::from_nanos(sent.as_nanos().saturating_add(1)));
    }
}

/// What origins that were forgotten had counted: a total never shrinks for want of room.
#[derive(Clone, Copy, Default)]
pub(crate) struct Gone {
    pub(crate) origins: u64,
    /// Exits that rested there then.
    pub(crate) rests: u64,
    pub(crate) leases: u64,
    pub(crate) counts: OutcomeCounts,
    pub(crate) wire: WireBytes,
}

pub(crate) struct Origins {
    by_name: HashMap<Origin, OriginIx>,
    gone: Gone,
    slab: Slab<OriginRecord>,
}

/// How many records an eviction looks at.
const LOOK: usize = 64;
/// Who was used so lately goes as late as who rests.
const LATELY: Duration = Duration::from_secs(60);

impl Origins {
    pub(super) fn new(cap: usize) -> Self {
        Self { by_name: HashMap::new(), gone: Gone::default(), slab: Slab::new(cap) }
    }

    /// The origin of that name; `None` if somebody is at each of those that could make room.
    #[inline]
    pub(super) fn intern(&mut self, now: Time, name: &Origin) -> Option<OriginIx> {
        if let Some(known) = self.by_name.get(name) {
            return Some(*known);
        }
        self.insert(now, name)
    }

    #[cold]
    fn insert(&mut self, now: Time, name: &Origin) -> Option<OriginIx> {
        if self.slab.is_full() {
            let (_, gone) = self.slab.evict(LOOK, |record| record.rank(now))?;
            self.by_name.remove(&gone.name);
            self.gone.origins += 1;
            self.gone.rests += u64::from(gone.benched.len());
            self.gone.leases += gone.leases;
            self.gone.counts += gone.counts;
            self.gone.wire += gone.wire;
        }
        let record = OriginRecord {
            name: name.to_kept(),
            hash: draw::text(name.as_str()),
            leases: 0,
            counts: OutcomeCounts::default(),
            wire: WireBytes::default(),
            flow: Flow::STILL,
            heat: Heat::COLD,
            gateways: Vec::new(),
            plan: None,
            planned: false,
            spread: None,
            proof: Proof::default(),
            gap: Gap::default(),
            benched: Bits::default(),
            spaced: BTreeSet::new(),
            burned: 0,
            resting: BTreeSet::new(),
            room: Room::EMPTY,
            usual: Usual::default(),
            trouble: None,
            waiting: 0,
            worked: Time::ZERO,
            last_used: now,
        };
        let name = record.name.clone();
        let ix = OriginIx(self.slab.insert(record)?);
        self.by_name.insert(name, ix);
        Some(ix)
    }

    pub(crate) fn get(&self, ix: OriginIx) -> Option<&OriginRecord> {
        self.slab.get(ix.0)
    }

    pub(super) fn get_mut(&mut self, ix: OriginIx) -> Option<&mut OriginRecord> {
        self.slab.get_mut(ix.0)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut OriginRecord> {
        self.slab.iter_mut()
    }

    /// Bytes on the wire to and from an origin, which may have been forgotten.
    pub(super) fn spend(&mut self, ix: OriginIx, wire: WireBytes) {
        match self.slab.get_mut(ix.0) {
            Some(record) => record.wire += wire,
            None => self.gone.wire += wire,
        }
    }

    /// Outcomes of all origins there ever were.
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(super) fn total(&self) -> OutcomeCounts {
        self.slab.iter().fold(self.gone.counts, |mut total, record| {
            total += record.counts;
            total
        })
    }

    pub(super) const fn gone(&self) -> Gone {
        self.gone
    }

    /// Those that are left alone, in a fixed order.
    pub(super) fn held(&self) -> Vec<OriginIx> {
        let held = |ix: &OriginIx| {
            let state = self.get(*ix).map(|record| record.room.gate.state());
            matches!(state, Some(State::Resting { .. }))
        };
        let mut held: Vec<_> = self.by_name.values().copied().filter(held).collect();
        held.sort_unstable();
        held
    }

    pub(super) fn find(&self, name: &Origin) -> Option<OriginIx> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OriginRecord> {
        self.slab.iter()
    }
}
