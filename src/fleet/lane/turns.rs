//! One lane as one time: GCRA, the leaky bucket of ATM (ITU-T I.371, annex A), except that it never refuses: it tells when the
//! turn is.

use crate::knobs::Lane;
use crate::request::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// How fast turns come, and how many at once after a pause.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::fleet) struct Pace {
    pub(in crate::fleet) rate: f64,
    pub(in crate::fleet) burst: f64,
}

impl Pace {
    /// What there is in any case, or a part of what is in flight, if that is more.
    pub(super) fn of(lane: &Lane, in_flight: f64) -> Self {
        let concurrent = lane.part * in_flight;
        Self { rate: lane.floor.max(concurrent), burst: lane.burst.max(concurrent) }
    }

    pub(super) fn time(self, cost: f64) -> Duration {
        Duration::try_from_secs_f64((cost / self.rate).max(0.0)).unwrap_or(Duration::MAX)
    }
}

/// When the next turn starts, had it always been taken. In the past as far as turns were left out.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::fleet) struct Turns(Time);

impl Turns {
    /// When a turn of this cost would be. The later one asks the later it is, whatever becomes of the pace.
    pub(in crate::fleet) fn peek(self, now: Time, cost: f64, pace: Pace) -> Time {
        self.start(now, cost, pace).max(now)
    }

    /// Takes that turn.
    pub(in crate::fleet) fn reserve(&mut self, now: Time, cost: f64, pace: Pace) -> Time {
        let start = self.start(now, cost, pace);
        self.0 = start + pace.time(cost);
        start.max(now)
    }

    /// How far turns are taken.
    pub(super) fn ahead(self, now: Time) -> Duration {
        self.0.since(now)
    }

    /// No more is saved up than a burst.
    fn start(self, now: Time, cost: f64, pace: Pace) -> Time {
        let saved = pace.time(pace.burst - cost).as_nanos();
        let earliest = now.as_nanos().saturating_sub(u64::try_from(saved).unwrap_or(u64::MAX));
        self.0.max(Time::from_nanos(earliest))
    }
}

/// A turn that was given back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Again {
    pub(super) at: Time,
    /// For one retry that is dear, or any.
    pub(super) dear: bool,
    /// It was of the origin's part of what is shared.
    pub(super) shared: bool,
}

/// Turns that were given back, and are still to come: whoever asks next takes the first of them. To let the last turn come
/// earlier instead would put two at one time.
#[derive(Default)]
pub(super) struct Returned(BinaryHeap<Reverse<Again>>);

impl Returned {
    /// As many are kept. Where more give up at once, the other turns go by.
    const MOST: usize = 256;

    pub(super) fn keep(&mut self, turn: Again) {
        if self.0.len() < Self::MOST {
            self.0.push(Reverse(turn));
        }
    }

    /// The first that is to come, if it is for one as dear.
    pub(super) fn first(&mut self, now: Time, dear: bool) -> Option<Again> {
        while self.0.peek().is_some_and(|Reverse(turn)| turn.at < now) {
            self.0.pop();
        }
        self.0.peek().map(|Reverse(turn)| *turn).filter(|turn| turn.dear || !dear)
    }

    pub(super) fn take(&mut self) {
        self.0.pop();
    }
}
