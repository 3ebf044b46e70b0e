//! The turns that the whole fleet shares, step by step, and how many origins ask for them.

use super::turns::Pace;
use crate::knobs::Lane;
use crate::request::Time;

/// The dearest retry. The whole fleet has room for one a step in any case.
pub(super) const DEAREST: f64 = 2.0;

const SECOND: u64 = 1_000_000_000;

pub(super) struct Timetable {
    /// A second, or as long as the floor takes for the dearest turn: one of several processes has few.
    step: u64,
    /// What is booked in this step and those to come: a ring.
    booked: Box<[f64]>,
    /// How many origins asked last in this step and those that were: a ring as long.
    asked: Box<[u32]>,
    asking: u32,
    /// The step that is now.
    now: u64,
    /// Left out in the steps before.
    saved: f64,
}

impl Timetable {
    pub(super) fn new(lane: &Lane) -> Self {
        let reach = lane.longest.as_secs().clamp(1, 600);
        let dearest = if lane.floor > 0.0 { DEAREST / lane.floor } else { 1.0 };
        let seconds = dearest.clamp(1.0, reach as f64);
        let step = (seconds * SECOND as f64) as u64;
        let steps = usize::try_from((reach * SECOND).div_ceil(step)).unwrap_or(0) + 2;
        let (booked, asked) = (vec![0.0; steps].into(), vec![0; steps].into());
        Self { step, booked, asked, asking: 0, now: 0, saved: f64::MAX }
    }

    fn place(&self, step: u64) -> usize {
        usize::try_from(step % self.booked.len() as u64).unwrap_or(0)
    }

    /// Turns a step.
    fn rate(&self, pace: Pace) -> f64 {
        pace.rate * (self.step as f64 / SECOND as f64)
    }

    pub(super) fn pass(&mut self, now: Time, pace: Pace) {
        let (step, rate) = (now.as_nanos() / self.step, self.rate(pace));
        let over = step.saturating_sub(self.now);
        for gone in 0..over.min(self.booked.len() as u64) {
            let place = self.place(self.now + gone);
            let booked = std::mem::take(&mut self.booked[place]);
            self.saved = (self.saved + rate - booked).clamp(0.0, pace.burst);
            let long_ago = self.place(self.now + gone + 1);
            self.asking -= std::mem::take(&mut self.asked[long_ago]);
        }
        if over > self.booked.len() as u64 {
            self.saved = pace.burst;
        }
        self.saved = self.saved.min(pace.burst);
        self.now = self.now.max(step);
    }

    /// An origin asks, which asked last at `before`: how many do, lately. Exact, and without a list of them.
    pub(super) fn ask(&mut self, before: &mut Option<u64>) -> u32 {
        if let Some(before) = before.filter(|before| before + self.asked.len() as u64 > self.now) {
            let place = self.place(before);
            self.asked[place] -= 1;
            self.asking -= 1;
        }
        let place = self.place(self.now);
        self.asked[place] += 1;
        self.asking += 1;
        *before = Some(self.now);
        self.asking
    }

    /// The first step with room, from `at` on; and when the turn is then.
    pub(super) fn find(&self, at: Time, cost: f64, pace: Pace) -> Option<(u64, Time)> {
        let (from, rate) = ((at.as_nanos() / self.step).max(self.now), self.rate(pace));
        (from..self.now + self.booked.len() as u64).find_map(|step| {
            let saved = if step == self.now { self.saved } else { 0.0 };
            let fits = self.booked[self.place(step)] + cost <= (rate.max(DEAREST) + saved).ceil();
            fits.then(|| (step, at.max(Time::from_nanos(step * self.step))))
        })
    }

    pub(super) fn book(&mut self, step: u64, cost: f64) {
        let place = self.place(step);
        self.booked[place] += cost;
    }

    /// A turn that was booked is not wanted any more.
    pub(super) fn cancel(&mut self, step: u64, cost: f64) {
        if step >= self.now {
            let place = self.place(step);
            self.booked[place] = (self.booked[place] - cost).max(0.0);
        }
    }
}
