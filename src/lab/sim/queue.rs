//! What happens next: events by the millisecond, and in one in the order in which tokio's timers go off. So who is served first
//! of those who come together is the same in the engine and under tokio's paused clock.
//!
//! That is the order in which they were planned, but for one that was put off: it keeps its place in tokio's wheel until the
//! wheel comes by, and only then goes to where it belongs. So the wheel is tokio's: six levels of 64 slots, a millisecond each
//! in the first, and in the next as much as all of the one before.

use crate::request::Time;
use std::collections::{HashMap, VecDeque};

const LEVELS: usize = 6;
const BITS: usize = 6;
const SLOTS: u64 = 1 << BITS;
/// Further than that nothing is planned: two years.
const FAR: u64 = (1 << (BITS * LEVELS)) - 1;

/// An event that is planned, or was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Planned(u64);

pub(super) struct Queue<E> {
    levels: Vec<Level>,
    /// For now.
    due: VecDeque<u64>,
    /// What was not taken back, with its millisecond.
    events: HashMap<u64, (u64, E)>,
    /// The millisecond that it is.
    now: u64,
    planned: u64,
}

struct Level {
    occupied: u64,
    slots: Vec<VecDeque<u64>>,
}

impl<E> Queue<E> {
    pub(super) fn new() -> Self {
        let level = || Level { occupied: 0, slots: (0..SLOTS).map(|_| VecDeque::new()).collect() };
        let levels = (0..LEVELS).map(|_| level()).collect();
        Self { levels, due: VecDeque::new(), events: HashMap::new(), now: 0, planned: 0 }
    }

    /// At the next whole millisecond: no timer of tokio's is finer.
    pub(super) fn plan(&mut self, at: Time, event: E) -> Planned {
        let (number, when) = (self.planned, milli(at));
        self.planned += 1;
        self.events.insert(number, (when, event));
        if when <= self.now {
            self.due.push_back(number)
        } else {
            self.file(number, when)
        }
        Planned(number)
    }

    /// At this very time, after all that was planned for it.
    pub(super) fn plan_now(&mut self, event: E) -> Planned {
        self.plan(Time::ZERO, event)
    }

    /// Puts another event in the place of one.
    pub(super) fn change(&mut self, planned: Planned, event: E) {
        if let Some(place) = self.events.get_mut(&planned.0) {
            place.1 = event;
        }
    }

    /// Puts an event at another time, and another in its place. Put off, it keeps its place in the wheel until that comes by.
    pub(super) fn put(&mut self, planned: Planned, at: Time, event: E) -> Planned {
        match self.events.get_mut(&planned.0) {
            Some(place) if milli(at) >= place.0 && place.0 > self.now => {
                *place = (milli(at), event);
                planned
            }
            _ => {
                self.take_back(planned);
                self.plan(at, event)
            }
        }
    }

    /// Whether it had not happened yet.
    pub(super) fn take_back(&mut self, planned: Planned) -> bool {
        self.events.remove(&planned.0).is_some()
    }

    pub(super) fn next(&mut self) -> Option<(Time, E)> {
        loop {
            while let Some(number) = self.due.pop_front() {
                if let Some((_, event)) = self.events.remove(&number) {
                    return Some((Time::from_nanos(self.now.saturating_mul(MILLI)), event));
                }
            }
            self.turn()?;
        }
    }

    fn file(&mut self, number: u64, when: u64) {
        let level = ((self.now ^ when) | (SLOTS - 1)).ilog2() as usize / BITS;
        let level = level.min(LEVELS - 1);
        let slot = (when >> (BITS * level)) % SLOTS;
        self.levels[level].occupied |= 1 << slot;
        self.levels[level].slots[slot as usize].push_back(number);
    }

    /// Goes on to the next slot that holds anything: in the first level that is due, in the others it goes a level down.
    fn turn(&mut self) -> Option<()> {
        let (level, slot) = (0..LEVELS).find_map(|level| {
            let here = (self.now >> (BITS * level)) % SLOTS;
            // None lies behind: nothing is planned further than the wheel is long.
            let ahead = self.levels[level].occupied & (u64::MAX << here);
            (ahead != 0).then(|| (level, u64::from(ahead.trailing_zeros())))
        })?;
        let (above, below) = (BITS * (level + 1), BITS * level);
        self.now = (self.now >> above << above) + (slot << below);
        self.levels[level].occupied &= !(1 << slot);
        for number in std::mem::take(&mut self.levels[level].slots[slot as usize]) {
            match self.events.get(&number) {
                None => {}
                Some((when, _)) if *when <= self.now => self.due.push_back(number),
                Some((when, _)) => self.file(number, *when),
            }
        }
        Some(())
    }
}

const MILLI: u64 = 1_000_000;

fn milli(at: Time) -> u64 {
    at.as_nanos().div_ceil(MILLI).min(FAR)
}
