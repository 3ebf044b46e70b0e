//! Exits, and when one is dead. Dead is dead for every origin; a refusal by one origin never comes here.

use super::gate::Gate;
use super::ix::{BindingIx, GatewayIx, OriginIx, ParentIx};
use super::named::NamedIx;
use crate::exit::{Exit, ExitId, Session};
use crate::outcome::WireBytes;
use crate::request::Time;
use std::time::Duration;

/// Where an exit comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Listed,
    /// A slot of a gateway: a new token after each loss.
    Slot {
        gateway: GatewayIx,
        rider: u64,
        generation: u32,
    },
    /// A gateway that rotates by itself.
    Rotating {
        gateway: GatewayIx,
    },
    /// A session that one binding holds.
    Minted {
        gateway: GatewayIx,
        session: Session,
    },
}

impl Source {
    pub(super) const fn gateway(self) -> Option<GatewayIx> {
        match self {
            Self::Listed => None,
            Self::Slot { gateway, .. } | Self::Rotating { gateway } | Self::Minted { gateway, .. } => {
                Some(gateway)
            }
        }
    }
}

/// Faults in a row that make an exit dead.
const FAULTS: f32 = 3.0;
/// Fewer are enough if they hit different origins, each within half a minute of the one before: then it is not the origins.
const FAULTS_APART: f32 = 2.0;
const APART_WITHIN: Duration = Duration::from_secs(30);
/// The first rest of a dead exit; doubles up to five minutes.
const REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(300);
/// One doubling is forgiven for each minute in good health.
const FORGIVEN_AFTER: Duration = Duration::from_secs(60);

pub(crate) struct ExitRecord {
    pub(crate) exit: Exit,
    pub(super) source: Source,
    pub(super) named: NamedIx,
    /// It leads nowhere any more: it has left the pool, or its session was taken away. What holds it must leave it.
    pub(super) gone: bool,
    /// When it left.
    pub(super) left: Time,
    /// Its place is to be had.
    pub(super) vacant: bool,
    /// Most leases at once.
    pub(super) most: u32,
    /// From one lease to the next at one origin, in milliseconds.
    pub(super) spacing: u32,
    /// How many tokens there were before its own.
    pub(super) count: u64,
    /// The gateway and the login that it shares with others.
    pub(super) parents: [Option<ParentIx>; 2],
    /// How many of them admit nobody; one more if a person keeps it out.
    pub(super) barred: u8,
    /// A person keeps it out.
    pub(super) quarantined: bool,
    /// When its login was accepted last.
    pub(super) accepted: Option<Time>,
    pub(super) gate: Gate,
    pub(super) in_flight: u32,
    /// What it has carried; a new token begins at zero.
    pub(super) wire: WireBytes,
    /// How many bindings hold it.
    pub(super) bound: u32,
    /// The binding that holds it alone, and until when.
    pub(super) owner: Option<(BindingIx, Time)>,
    /// Boxed: few exits of a large pool have had a fault, and the others pay for no more.
    health: Option<Box<Health>>,
}

/// What is known of an exit that has had a fault.
#[derive(Default)]
struct Health {
    faults: f32,
    /// Those of them that came within half a minute each of the one before, and whether they hit different origins.
    burst: f32,
    apart: bool,
    last_fault: Option<(OriginIx, Time)>,
    doublings: u32,
    healthy_since: Time,
}

impl ExitRecord {
    #[inline]
    pub(super) const fn has_parents(&self) -> bool {
        !matches!(self.parents, [None, None])
    }

    pub(super) const fn new(exit: Exit, source: Source, named: NamedIx, count: u64) -> Self {
        Self {
            exit,
            source,
            named,
            gone: false,
            left: Time::ZERO,
            vacant: false,
            most: u32::MAX,
            spacing: 0,
            count,
            parents: [None; 2],
            barred: 0,
            quarantined: false,
            accepted: None,
            gate: Gate::OPEN,
            in_flight: 0,
            wire: WireBytes::new(0, 0),
            bound: 0,
            owner: None,
            health: None,
        }
    }

    pub(crate) fn id(&self) -> ExitId {
        self.exit.id()
    }

    /// A good end: earlier faults were not the exit's.
    pub(super) fn clear_faults(&mut self) {
        if let Some(health) = &mut self.health {
            health.clear_faults();
        }
    }

    /// So much of its faults was none.
    pub(super) fn forgive(&mut self, weight: f32) {
        let Some(health) = &mut self.health else { return };
        health.faults = (health.faults - weight).max(0.0);
        health.burst = (health.burst - weight).max(0.0);
        if health.burst == 0.0 {
            (health.apart, health.last_fault) = (false, None);
        }
    }

    /// The exit served a trial.
    pub(super) fn revive(&mut self, now: Time) {
        let health = self.health.get_or_insert_default();
        health.healthy_since = now;
        health.clear_faults();
    }

    /// One more fault; returns how long the exit must rest if it is dead now. `trial` says that it was on trial.
    pub(super) fn fault(
        &mut self,
        now: Time,
        origin: OriginIx,
        weight: f32,
        trial: bool,
    ) -> Option<Duration> {
        self.health.get_or_insert_default().fault(now, origin, weight, trial)
    }
}

impl Health {
    fn clear_faults(&mut self) {
        (self.faults, self.burst, self.apart, self.last_fault) = (0.0, 0.0, false, None);
    }

    fn fault(&mut self, now: Time, origin: OriginIx, weight: f32, trial: bool) -> Option<Duration> {
        let near = self.last_fault.filter(|(_, when)| now.since(*when) <= APART_WITHIN);
        if near.is_none() {
            (self.burst, self.apart) = (0.0, false);
        }
        self.apart |= near.is_some_and(|(at, _)| at != origin);
        self.last_fault = Some((origin, now));
        self.faults += weight;
        self.burst += weight;
        if !trial && self.faults < FAULTS && !(self.apart && self.burst >= FAULTS_APART) {
            return None;
        }
        if !trial {
            let minutes = now.since(self.healthy_since).as_secs() / FORGIVEN_AFTER.as_secs();
            self.doublings = self.doublings.saturating_sub(u32::try_from(minutes).unwrap_or(u32::MAX));
        }
        let rest = REST.saturating_mul(1 << self.doublings.min(10)).min(LONGEST_REST);
        self.doublings = (self.doublings + 1).min(10);
        self.clear_faults();
        Some(rest)
    }
}
