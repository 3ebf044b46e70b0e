//! What the governor does at one origin: a pure machine that is fed with outcomes and asked at the end of a tick.
//!
//! ```text
//!               too many fail             fewer fail now, still too many
//!    Watching ─────────────────▶ Cutting ─────▶ Cutting
//!    ▲     ▲                      │    │
//!    │     └───────── well ───────┘    │ with far fewer leases out as many fail
//!    │ its time is over                ▼
//!    Excused ◀──────────────────── LettingGo: more again, tick by tick
//!        to the end without harm: no limit.
//!        surely more fail: a limit below, and what failed at the bottom is usual
//! ```

use crate::draw::unit;
use crate::knobs::Governor;
use crate::request::Time;
use crate::share::{Share, of_multiplier};

/// What is to be done at the end of a tick.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Fewer, for too many fail.
    Cut { from: u32, to: u32, seen: Share },
    /// More: all is well, or nothing else is to be tried.
    Raise { to: u32 },
    /// Fewer were no cure: more again, tick by tick.
    LetGo { to: u32, before: Share, seen: Share },
    /// As many as come.
    Lift { seen: Share },
    /// There is nothing left to look after.
    Forget,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Course {
    Watching,
    /// `top` leases were out when `before` was seen, and there have been so many ticks since.
    Cutting {
        before: Share,
        top: u32,
        tries: u16,
        /// Surely fewer have failed already after a cut.
        helped: bool,
    },
    /// Back to `top`, unless surely more fail than at the bottom.
    LettingGo {
        bottom: Share,
        top: u32,
    },
    /// Fewer were no cure for so many failures as are `usual`. Until then it is cut only where surely more fail.
    Excused {
        usual: Share,
        until: Time,
        /// The last tick was worse: two in a row are no chance.
        worse: bool,
    },
}

/// A tick that has ended.
#[derive(Clone, Copy, Debug)]
struct Tick {
    now: Time,
    seen: Share,
    /// Most leases out at once, and that but for those who were out when there were more.
    peak: u32,
    top: u32,
    /// Surely too many failed.
    troubled: bool,
    well: bool,
}

/// Times as many tries, where cuts have helped.
const RARELY: u16 = 4;

/// One origin at which something has failed lately.
pub(super) struct Governed {
    seen: Share,
    /// Only what was sent after the last cut counts: the rest is what came of the limit before.
    epoch: Option<Time>,
    /// When the tick may end.
    due: Time,
    /// When the one early look may be.
    early: Option<Time>,
    /// The last tick's end.
    ended: Time,
    /// Most leases out at once in this tick.
    peak: u32,
    limit: Option<u32>,
    /// What was last too many.
    too_many: u32,
    course: Course,
    /// Healthy ticks in a row.
    healthy: u8,
    /// Ticks since the limit rose that were neither well nor surely bad.
    doubtful: u8,
    /// Times in a row that cuts were futile.
    futile: u8,
    lately: Share,
}

impl Governed {
    /// Begins with a failure, which does not count itself: it was not met by chance. `hash` keeps the ticks of several origins
    /// apart.
    pub(super) fn new(knobs: &Governor, now: Time, hash: u64) -> Self {
        let first = knobs.tick.mul_f64(0.75 + 0.5 * unit(hash));
        Self {
            seen: Share::default(),
            epoch: None,
            due: now + first,
            early: Some(now + knobs.early),
            ended: now,
            peak: 0,
            limit: None,
            too_many: 0,
            course: Course::Watching,
            healthy: 0,
            doubtful: 0,
            futile: 0,
            lately: Share::default(),
        }
    }

    /// One outcome, and what the same attempt had shown before. `None` is what no concurrency would cure.
    pub(super) fn count(&mut self, sent: Time, success: Option<bool>, amends: Option<bool>) {
        if self.epoch.is_some_and(|epoch| sent <= epoch) {
            return;
        }
        if let Some(before) = amends {
            self.seen.take_back(before);
        }
        if let Some(succeeded) = success {
            self.seen.count(succeeded);
        }
    }

    /// Whether fewer leases out were no cure.
    pub(super) const fn is_excused(&self) -> bool {
        matches!(self.course, Course::LettingGo { .. } | Course::Excused { .. })
    }

    /// Attempts of the last tick that ended.
    pub(super) const fn lately(&self) -> Share {
        self.lately
    }

    /// Whether [`tick`](Self::tick) would do anything.
    pub(super) fn may_end(&self, knobs: &Governor, now: Time) -> bool {
        let due = self.early.map_or(self.due, |early| early.min(self.due));
        now >= due && (self.seen.of >= knobs.attempts || self.is_stale(knobs, now))
    }

    fn is_stale(&self, knobs: &Governor, now: Time) -> bool {
        now.since(self.ended) >= knobs.lapse
    }

    /// Ends the tick. `peak` is how many leases were out at once since the last time.
    pub(super) fn tick(&mut self, knobs: &Governor, now: Time, peak: u32) -> Option<Act> {
        if self.is_stale(knobs, now) {
            return Some(self.lapse(knobs, now));
        }
        self.peak = self.peak.max(peak);
        let troubled = self.seen.least() > of_multiplier(knobs.act);
        if now < self.due {
            // A look before the time, once: who looks often enough sees whatever he fears.
            self.early = None;
            if !troubled {
                return None;
            }
        }
        let (seen, peak) = (std::mem::take(&mut self.seen), std::mem::take(&mut self.peak));
        (self.due, self.early, self.ended, self.lately) = (now + knobs.tick, None, now, seen);
        let well = seen.value() <= of_multiplier(knobs.grow);
        self.healthy = if well { self.healthy.saturating_add(1) } else { 0 };
        let tick =
            Tick { now, seen, peak, top: self.limit.map_or(peak, |limit| limit.min(peak)), troubled, well };
        match self.course {
            Course::Watching => self.watch(knobs, tick),
            Course::Cutting { .. } if well => self.recover(knobs, tick),
            Course::Cutting { before, top, tries, helped } => {
                self.press(knobs, tick, (before, top), tries, helped)
            }
            Course::LettingGo { bottom, top } => self.let_go(knobs, tick, bottom, top),
            Course::Excused { usual, until, worse } => self.excuse(knobs, tick, (usual, until), worse),
        }
    }

    /// Nothing was heard for so long that what was found out says nothing any more.
    fn lapse(&mut self, knobs: &Governor, now: Time) -> Act {
        if self.limit.is_none() {
            return Act::Forget;
        }
        let seen = self.seen;
        *self = Self { due: now + knobs.tick, early: None, ..Self::new(knobs, now, 0) };
        Act::Lift { seen }
    }

    fn watch(&mut self, knobs: &Governor, tick: Tick) -> Option<Act> {
        if tick.troubled {
            let cut = self.cut(knobs, tick)?;
            self.course = Course::Cutting { before: tick.seen, top: tick.top, tries: 1, helped: false };
            return Some(cut);
        }
        if tick.well { self.recover(knobs, tick) } else { self.doubt(knobs, tick) }
    }

    fn doubt(&mut self, knobs: &Governor, tick: Tick) -> Option<Act> {
        // Neither well nor surely bad: more now and then, or bad luck would be a limit for ever.
        self.doubtful = self.doubtful.saturating_add(1);
        let limit = self.limit.filter(|_| self.doubtful >= knobs.healthy)?;
        if limit >= tick.peak.saturating_mul(2) { None } else { Some(self.raise(knobs, limit)) }
    }

    /// From what was really out, for a limit that nobody reaches says nothing. `None` if there are so few already.
    fn cut(&mut self, knobs: &Governor, tick: Tick) -> Option<Act> {
        let Tick { now, seen, top, .. } = tick;
        let left = (1.0 - seen.least()) * knobs.grow;
        let to = times(top, left.clamp(knobs.deepest, knobs.cut)).max(knobs.least);
        if to >= top {
            return None;
        }
        (self.limit, self.too_many, self.epoch) = (Some(to), top, Some(now));
        Some(Act::Cut { from: top, to, seen })
    }

    /// After a cut it is not well yet.
    fn press(
        &mut self,
        knobs: &Governor,
        tick: Tick,
        (before, first): (Share, u32),
        tries: u16,
        helped: bool,
    ) -> Option<Act> {
        let Tick { seen, top, troubled, .. } = tick;
        if seen.is_below(before) {
            if !troubled {
                self.course = Course::Watching;
                return self.doubt(knobs, tick);
            }
            // It helps, but not enough: the next cuts are compared with this.
            self.course = Course::Cutting { before: seen, top, tries: 1, helped: true };
            return self.cut(knobs, tick);
        }
        // Where it has helped and there cannot be fewer, to let go is a trial, and made less and less often.
        let patience = if helped && top <= knobs.least { RARELY << self.futile.min(1) } else { 1 };
        let tried = tries >= u16::from(knobs.tries) * patience
            || patience == 1 && top <= times(first, knobs.contrast);
        if !tried {
            self.course = Course::Cutting { before, top: first, tries: tries.saturating_add(1), helped };
            return if troubled { self.cut(knobs, tick) } else { None };
        }
        if !self.is_futile(knobs, seen, before, f64::from(top) / f64::from(first.max(1))) {
            // Goes on with the same tick.
            (self.seen, self.peak) = (seen, top);
            return None;
        }
        self.futile = self.futile.saturating_add(1);
        self.course = Course::LettingGo { bottom: seen, top: first };
        let to = self.more(times(top, knobs.back));
        // Where it has helped, or there were hardly fewer, nothing is proven.
        let proven = !helped && top <= times(first, knobs.contrast);
        Some(if proven { Act::LetGo { to, before, seen } } else { Act::Raise { to } })
    }

    /// Whether what fails does surely not follow the rate. If it did, an origin that lets so many through a second would
    /// have served as many as before, of fewer: `left` is what is left of the concurrency.
    fn is_futile(&self, knobs: &Governor, seen: Share, before: Share, left: f64) -> bool {
        let succeeded = f64::from(before.of - before.failed + 1) / f64::from(before.of + 2);
        let by_rate = 1.0 - succeeded / left;
        seen.of >= knobs.proof && (seen.least() > by_rate || seen.of >= knobs.enough)
    }

    fn let_go(&mut self, knobs: &Governor, tick: Tick, bottom: Share, first: u32) -> Option<Act> {
        let doubled = knobs.excused.saturating_mul(1 << u32::from(self.futile.saturating_sub(1)).min(20));
        let until = tick.now + doubled.min(knobs.longest);
        if tick.troubled && bottom.is_below(tick.seen) {
            // Some of it is our rate after all; what failed at the bottom is not.
            self.course = Course::Excused { usual: bottom, until, worse: false };
            return self.cut(knobs, tick);
        }
        match self.limit {
            Some(limit) if limit < first => {
                let to = self.more(times(limit, knobs.back));
                Some(Act::Raise { to })
            }
            _ => {
                self.course = Course::Excused { usual: tick.seen, until, worse: false };
                self.limit = None;
                Some(Act::Lift { seen: tick.seen })
            }
        }
    }

    /// So many fail there as a rule: only more is too many.
    fn excuse(
        &mut self,
        knobs: &Governor,
        tick: Tick,
        (usual, until): (Share, Time),
        was_worse: bool,
    ) -> Option<Act> {
        let worse = tick.troubled && usual.is_below(tick.seen);
        let again = worse && was_worse;
        if tick.now >= until || again && self.limit.is_none() {
            self.course = Course::Watching;
            return self.watch(knobs, tick);
        }
        let usual = if worse { usual } else { usual.and(tick.seen) };
        self.course = Course::Excused { usual, until, worse };
        if worse {
            return if again { self.cut(knobs, tick) } else { None };
        }
        let limit = self.limit?;
        if limit >= tick.peak.saturating_mul(2) {
            self.limit = None;
            return Some(Act::Lift { seen: tick.seen });
        }
        Some(self.raise(knobs, limit))
    }

    /// A healthy tick.
    fn recover(&mut self, knobs: &Governor, tick: Tick) -> Option<Act> {
        (self.course, self.futile) = (Course::Watching, 0);
        let Some(limit) = self.limit else { return Some(Act::Forget) };
        if limit < tick.peak.saturating_mul(2) {
            return Some(self.raise(knobs, limit));
        }
        if self.healthy < knobs.healthy {
            return None;
        }
        self.limit = None;
        Some(Act::Lift { seen: tick.seen })
    }

    fn raise(&mut self, knobs: &Governor, limit: u32) -> Act {
        let ramp = if limit < self.too_many { times(limit, knobs.ramp) } else { 0 };
        let to = limit.saturating_add((limit.isqrt() / 2).max(1)).max(ramp);
        Act::Raise { to: self.more(to) }
    }

    fn more(&mut self, to: u32) -> u32 {
        self.doubtful = 0;
        self.limit = Some(to);
        to
    }
}

/// Rounded down, as is right for a limit.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, and nothing is negative"
)]
fn times(n: u32, by: f64) -> u32 {
    (f64::from(n) * by) as u32
}
