//! The lane of retries: each one reserves its turn, at its origin and in the whole fleet, and waits until both have come.
//!
//! At an origin by GCRA, the leaky bucket of ATM (ITU-T I.371, annex A) as one time, except that it never refuses: it tells
//! when the turn is. In the whole fleet turns are booked by the second: with one time there, an origin whose turns reach far
//! would be before all others (`a_storm_at_one_origin_holds_up_no_other`).

use super::Fleet;
use crate::draw::unit;
use crate::knobs::Lane;
use crate::outcome::{Evidence, Outcome, Seen};
use crate::pool::{OriginIx, decay};
use crate::request::Time;
use std::time::Duration;

/// The dearest retry. The whole fleet has room for one a second in any case.
const DEAREST: f64 = 2.0;
/// Who is parked is told a time of its own, up to so many reaches of the lane after the first free turn.
const SPREAD: u32 = 2;

/// How fast turns come, and how many at once after a pause.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pace {
    pub(super) rate: f64,
    pub(super) burst: f64,
}

impl Pace {
    fn of(lane: &Lane, share: f64, successes: f64, in_flight: f64) -> Self {
        let concurrent = lane.part * in_flight;
        Self { rate: lane.floor.max(share * successes).max(concurrent), burst: lane.burst.max(concurrent) }
    }

    fn time(self, cost: f64) -> Duration {
        Duration::try_from_secs_f64((cost / self.rate).max(0.0)).unwrap_or(Duration::MAX)
    }
}

/// One lane: when the next turn starts, had it always been taken. In the past as far as turns were left out.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Turns(Time);

impl Turns {
    /// When a turn of this cost would be. The later one asks the later it is, whatever becomes of the pace.
    pub(super) fn peek(self, now: Time, cost: f64, pace: Pace) -> Time {
        self.start(now, cost, pace).max(now)
    }

    /// Takes that turn.
    pub(super) fn reserve(&mut self, now: Time, cost: f64, pace: Pace) -> Time {
        let start = self.start(now, cost, pace);
        self.0 = start + pace.time(cost);
        start.max(now)
    }

    /// No more is saved up than a burst.
    fn start(self, now: Time, cost: f64, pace: Pace) -> Time {
        let saved = pace.time(pace.burst - cost).as_nanos();
        let earliest = now.as_nanos().saturating_sub(u64::try_from(saved).unwrap_or(u64::MAX));
        self.0.max(Time::from_nanos(earliest))
    }
}

/// The turns of the whole fleet, by the second.
struct Timetable {
    /// What is booked in this second and those to come: a ring.
    booked: Box<[f64]>,
    second: u64,
    /// Left out in the seconds before.
    saved: f64,
}

impl Timetable {
    fn new(reach: Duration) -> Self {
        let seconds = usize::try_from(reach.as_secs().min(600)).unwrap_or(0) + 2;
        Self { booked: vec![0.0; seconds].into(), second: 0, saved: f64::MAX }
    }

    fn place(&self, second: u64) -> usize {
        usize::try_from(second % self.booked.len() as u64).unwrap_or(0)
    }

    fn pass(&mut self, now: Time, pace: Pace) {
        let second = now.as_nanos() / 1_000_000_000;
        let over = second.saturating_sub(self.second);
        for gone in 0..over.min(self.booked.len() as u64) {
            let place = self.place(self.second + gone);
            let booked = std::mem::take(&mut self.booked[place]);
            self.saved = (self.saved + pace.rate - booked).clamp(0.0, pace.burst);
        }
        if over > self.booked.len() as u64 {
            self.saved = pace.burst;
        }
        self.saved = self.saved.min(pace.burst);
        self.second = self.second.max(second);
    }

    /// The first second with room, from `at` on; and when the turn is then.
    fn find(&self, at: Time, cost: f64, pace: Pace) -> Option<(usize, Time)> {
        let from = (at.as_nanos() / 1_000_000_000).max(self.second);
        (from..self.second + self.booked.len() as u64).find_map(|second| {
            let saved = if second == self.second { self.saved } else { 0.0 };
            let place = self.place(second);
            let fits = self.booked[place] + cost <= (pace.rate.max(DEAREST) + saved).ceil();
            fits.then(|| (place, at.max(Time::from_nanos(second * 1_000_000_000))))
        })
    }
}

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

#[derive(Clone, Copy)]
struct OriginLane {
    origin: OriginIx,
    turns: Turns,
    /// The times told to those who were parked.
    parked: Turns,
    in_flight: Peak,
}

pub(super) struct Lanes {
    /// By the origin's place, as far as one was ever retried.
    origins: Vec<Option<OriginLane>>,
    all: Timetable,
    in_flight: Peak,
    pub(super) parked: u64,
}

impl Lanes {
    pub(super) fn new(lane: Option<Lane>) -> Self {
        let all = Timetable::new(lane.unwrap_or_default().longest);
        Self { origins: Vec::new(), all, in_flight: Peak::default(), parked: 0 }
    }

    fn of(&mut self, origin: OriginIx) -> &mut OriginLane {
        let place = origin.index();
        if self.origins.len() <= place {
            self.origins.resize(place + 1, None);
        }
        let (turns, parked, in_flight) = (Turns::default(), Turns::default(), Peak::default());
        let known = self.origins[place].filter(|known| known.origin == origin);
        self.origins[place].insert(known.unwrap_or(OriginLane { origin, turns, parked, in_flight }))
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

impl Fleet {
    /// How long the retry waits, its turn being reserved; or, parked, how long until there may be one.
    #[cold]
    pub(super) fn turn(&mut self, now: Time, ask: &TurnAsk) -> Result<Duration, Duration> {
        let Some(lane) = self.knobs.lane else { return Ok(ask.delay) };
        let cost = cost(&ask.evidence);
        // Where blocks follow requests, each has few tries; where fewer attempts are no cure, to hold them back is none.
        if cost <= 0.0 || self.pool.blocks_requests(now, ask.origin) || self.governors.excuse(ask.origin) {
            return Ok(ask.delay);
        }
        let (pulse, share) = (self.pool.pulse(now, ask.origin), self.rules.share());
        let half_life = lane.half_life.as_secs_f64().max(1e-3);
        let (whole, out) = (self.lanes.in_flight.see(now, self.out, half_life), pulse.in_flight as usize);
        let pace_of_all = Pace::of(&lane, share, pulse.successes_of_all, whole);
        self.lanes.all.pass(now, pace_of_all);
        let own = self.lanes.of(ask.origin);
        let pace = Pace::of(&lane, share, pulse.successes, own.in_flight.see(now, out, half_life));
        let own_turn = own.turns.peek(now, cost, pace);
        let booked = self.lanes.all.find(own_turn, cost, pace_of_all);
        let at = booked.map_or(now + lane.longest, |(_, at)| at).max(own_turn);
        let wait = at.since(now);
        let own = self.lanes.of(ask.origin);
        match booked {
            Some((place, _)) if wait <= lane.longest && wait < ask.left => {
                own.turns.reserve(now, cost, pace);
                self.lanes.all.booked[place] += cost;
                Ok(ask.delay.max(wait))
            }
            _ => {
                let told = own.told(at, cost, pace, (lane.longest * SPREAD, ask.draw));
                self.lanes.parked += 1;
                Err(told.since(now))
            }
        }
    }
}

impl OriginLane {
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
