//! The lane of retries: each one reserves its turn, and waits until it has come.
//!
//! At its origin in any case (`turns.rs`): that is what an origin is asked again in a second. Beyond that what counts is who
//! pays. What an origin's own successes have paid for it has, whatever others do. All else is shared (`timetable.rs`): step
//! by step, since with one time for all an origin whose turns reach far would be before the others
//! (`a_storm_at_one_origin_holds_up_no_other`); and each origin that asks for it has an equal part, with one more part left
//! free for who has not asked yet (`few_broken_sites_starve_no_retry_of_the_others`).

mod timetable;
mod turns;

pub(super) use turns::{Pace, Turns};

use super::Fleet;
use crate::draw::unit;
use crate::knobs::Lane;
use crate::outcome::{Evidence, Outcome, Seen};
use crate::pool::{OriginIx, decay};
use crate::request::Time;
use std::time::Duration;
use timetable::{DEAREST, Timetable};
use turns::{Again, Returned};

/// Who is parked is told a time of its own, up to so many reaches of the lane after the first free turn.
const SPREAD: u32 = 2;

/// The most that was at once, fading.
#[derive(Clone, Copy, Default)]
struct Peak(f64, Time);

impl Peak {
    /// Who waits for its turn holds no lease: a storm must not slow down its own lane.
    fn see(&mut self, now: Time, many: usize, half_life: f64) -> f64 {
        self.0 = (self.0 * decay(now.since(self.1), half_life)).max(many as f64);
        self.1 = now;
        self.0
    }
}

/// Turns that successes have paid for and no retry has taken; less than none, where turns to come were taken in advance.
#[derive(Clone, Copy, Default)]
struct Earned {
    turns: f64,
    /// Successes that were taken in.
    counted: u64,
}

impl Earned {
    fn take_in(&mut self, successes: u64, share: f64, most: f64) {
        // Fewer than before, if some turned out otherwise.
        let new = successes as f64 - self.counted as f64;
        self.turns = share.mul_add(new, self.turns).min(most);
        self.counted = successes;
    }
}

struct OriginLane {
    origin: OriginIx,
    turns: Turns,
    returned: Returned,
    /// Its part of what is shared, and the step in which it asked for that last.
    shared: Turns,
    asked: Option<u64>,
    earned: Earned,
    /// The times told to those who were parked.
    parked: Turns,
    in_flight: Peak,
}

pub(super) struct Lanes {
    /// By the origin's place, as far as one was ever retried.
    origins: Vec<Option<Box<OriginLane>>>,
    all: Timetable,
    in_flight: Peak,
    pub(super) parked: u64,
}

impl Lanes {
    pub(super) fn new(lane: Option<Lane>) -> Self {
        let all = Timetable::new(&lane.unwrap_or_default());
        Self { origins: Vec::new(), all, in_flight: Peak::default(), parked: 0 }
    }

    /// The lane of an origin, beside what all share.
    fn of(&mut self, origin: OriginIx) -> (&mut OriginLane, &mut Timetable) {
        let place = origin.index();
        if self.origins.len() <= place {
            self.origins.resize_with(place + 1, || None);
        }
        let known = &mut self.origins[place];
        if known.as_ref().is_some_and(|known| known.origin != origin) {
            *known = None;
        }
        (known.get_or_insert_with(|| Box::new(OriginLane::new(origin))), &mut self.all)
    }
}

/// What a retry asks of the lane.
pub(super) struct TurnAsk {
    pub(super) origin: OriginIx,
    pub(super) evidence: Evidence,
    /// The rules' own delay.
    pub(super) delay: Duration,
    /// Until the deadline.
    pub(super) left: Duration,
    pub(super) draw: u64,
}

/// A turn that was reserved: whoever does not come gives it [back](Fleet::give_back).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booking {
    origin: OriginIx,
    at: Time,
    cost: f64,
    /// The step of the shared turns; `None` if the origin's successes have paid for it.
    step: Option<u64>,
}

/// A turn that is about to be reserved.
#[derive(Clone, Copy)]
struct Slot {
    at: Time,
    cost: f64,
    /// It was given back.
    again: Option<Again>,
}

/// How a turn is paid for.
#[derive(Clone, Copy)]
enum Paid {
    Earned,
    /// Shared: its step, if there is one with room, and how fast those of the origin's part come.
    Shared(Option<u64>, Pace),
}

/// How fast turns come now.
struct Paces {
    /// At the origin.
    own: Pace,
    /// Turns a second that its successes pay for.
    earns: f64,
    /// What is shared.
    all: Pace,
    /// Whether the fleet knows no other origin.
    alone: bool,
    /// The slowest part of what is shared: the dearest turn within the reach.
    least: f64,
}

impl Fleet {
    /// How long the retry waits, its turn being reserved; or, parked, how long until there may be one.
    #[cold]
    pub(super) fn turn(&mut self, now: Time, ask: &TurnAsk) -> Result<(Duration, Option<Booking>), Duration> {
        let Some(lane) = self.knobs.lane else { return Ok((ask.delay, None)) };
        let cost = cost(&ask.evidence);
        // Where blocks follow requests, each has few tries; where fewer attempts are no cure, to hold them back is none.
        if cost <= 0.0 || self.pool.blocks_requests(now, ask.origin) || self.governors.excuse(ask.origin) {
            return Ok((ask.delay, None));
        }
        let paces = self.paces(now, &lane, ask.origin);
        let (own, all) = self.lanes.of(ask.origin);
        let slot = own.slot(now, cost, &paces);
        let (at, paid) = own.pay(now, slot, &paces, all);
        match at {
            Some(at) if at.since(now) <= lane.longest && at.since(now) < ask.left => {
                let booking = own.book(now, Slot { at, ..slot }, paid, &paces, all);
                Ok((ask.delay.max(at.since(now)), Some(booking)))
            }
            _ => {
                let turn = at.unwrap_or(now + lane.longest).max(slot.at);
                let pace = match paid {
                    Paid::Shared(_, pace) if pace.rate < paces.own.rate => pace,
                    _ => paces.own,
                };
                let told = own.told(turn, cost, pace, (lane.longest * SPREAD, ask.draw));
                self.lanes.parked += 1;
                Err(told.since(now))
            }
        }
    }

    /// What has passed since is taken in.
    fn paces(&mut self, now: Time, lane: &Lane, origin: OriginIx) -> Paces {
        let (pulse, share) = (self.pool.pulse(now, origin), self.rules.share());
        let half_life = lane.half_life.as_secs_f64().max(1e-3);
        let all = Pace::of(lane, self.lanes.in_flight.see(now, self.out, half_life));
        let alone = self.pool.knows_one_origin();
        let (own, table) = self.lanes.of(origin);
        table.pass(now, all);
        let concurrent = Pace::of(lane, own.in_flight.see(now, pulse.in_flight as usize, half_life));
        let earns = share * pulse.successes;
        own.earned.take_in(pulse.served, share, concurrent.burst);
        // What was taken in advance while more succeeded is no debt of those who ask now.
        own.earned.turns = own.earned.turns.max(-earns * own.turns.ahead(now).as_secs_f64());
        let own = Pace { rate: concurrent.rate.max(earns), ..concurrent };
        Paces { own, earns, all, alone, least: DEAREST / lane.longest.as_secs_f64().max(1.0) }
    }

    /// A turn that nobody comes for is the next one's who asks; what others were told stays.
    #[cold]
    pub(crate) fn give_back(&mut self, now: Time, booking: &Booking) {
        let known = self.lanes.origins.get_mut(booking.origin.index()).and_then(Option::as_mut);
        let Some(own) = known.filter(|known| known.origin == booking.origin) else { return };
        if booking.at > now {
            own.returned.keep(Again {
                at: booking.at,
                dear: booking.cost >= DEAREST,
                shared: booking.step.is_some(),
            });
        }
        match booking.step {
            None => own.earned.turns += booking.cost,
            Some(step) => self.lanes.all.cancel(step, booking.cost),
        }
    }
}

impl OriginLane {
    fn new(origin: OriginIx) -> Self {
        let (turns, shared, parked) = (Turns::default(), Turns::default(), Turns::default());
        let (returned, earned, in_flight) = (Returned::default(), Earned::default(), Peak::default());
        Self { origin, turns, returned, shared, asked: None, earned, parked, in_flight }
    }

    /// Its next turn: one that was given back, or after all others.
    fn slot(&mut self, now: Time, cost: f64, paces: &Paces) -> Slot {
        let again = self.returned.first(now, cost >= DEAREST);
        let at = again.map_or_else(|| self.turns.peek(now, cost, paces.own), |again| again.at);
        Slot { at, cost, again }
    }

    /// When it may be: at once if the origin's successes have paid for it, or will have until then; else when one of those is
    /// free that all share.
    fn pay(&mut self, now: Time, slot: Slot, paces: &Paces, all: &mut Timetable) -> (Option<Time>, Paid) {
        let until = slot.at.since(now).as_secs_f64();
        if paces.earns.mul_add(until, self.earned.turns) >= slot.cost {
            return (Some(slot.at), Paid::Earned);
        }
        let asking = all.ask(&mut self.asked);
        let parts = if paces.alone { 1.0 } else { f64::from(asking + 1) };
        let pace = Pace { rate: (paces.all.rate / parts).max(paces.least), burst: paces.all.burst / parts };
        let from = match slot.again {
            Some(Again { shared: true, .. }) => slot.at,
            _ => self.shared.peek(now, slot.cost, pace).max(slot.at),
        };
        let found = all.find(from, slot.cost, paces.all);
        (found.map(|(_, at)| at), Paid::Shared(found.map(|(step, _)| step), pace))
    }

    fn book(&mut self, now: Time, slot: Slot, paid: Paid, paces: &Paces, all: &mut Timetable) -> Booking {
        let Slot { at, cost, again } = slot;
        match again {
            Some(_) => self.returned.take(),
            None => drop(self.turns.reserve(now, cost, paces.own)),
        }
        let step = match paid {
            Paid::Earned => None,
            Paid::Shared(step, pace) => {
                if !again.is_some_and(|again| again.shared) {
                    self.shared.reserve(now, cost, pace);
                }
                step
            }
        };
        match step {
            None => self.earned.turns -= cost,
            Some(step) => all.book(step, cost),
        }
        Booking { origin: self.origin, at, cost, step }
    }

    /// One after the other, for else all who are parked would come back with the first free turn; and in any order once that
    /// reaches too far.
    fn told(&mut self, turn: Time, cost: f64, pace: Pace, (most, draw): (Duration, u64)) -> Time {
        let alone = Pace { burst: cost, ..pace };
        let at = self.parked.peek(turn, cost, alone);
        if at.since(turn) > most {
            return turn + most.mul_f64(unit(draw));
        }
        self.parked.reserve(turn, cost, alone)
    }
}

/// What a retry costs in turns. Nothing, where something else already makes it wait (a gateway, a login), where another
/// session is all it needs, and after what the origin never saw: an exit that is dead, an idle connection that closes when it is
/// used again. An exit that breaks later costs time and bytes.
const fn cost(evidence: &Evidence) -> f64 {
    match evidence.outcome {
        Outcome::GatewayOverloaded { .. } | Outcome::AuthError { .. } | Outcome::SessionLost => 0.0,
        _ if matches!(evidence.seen, Seen::Never) => 0.0,
        Outcome::ProxyError { .. } | Outcome::Interrupted { .. } => DEAREST,
        _ => 1.0,
    }
}
