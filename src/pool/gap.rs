//! How far apart an origin wants the uses of one exit: learned from its 429s, and shared by all its exits, since a limit on an
//! address is the site's policy and not the exit's.
//!
//! While more attempts are limited than may be, surely (by Wilson's lower bound over twenty at least), what the origin serves is
//! all that it serves: so many exits over that rate is the gap. As long as unused allowance is there it serves more than that, so
//! the gap mostly comes from below; where buckets are empty or windows long it overshoots, and comes back within minutes. While
//! hardly any attempt is limited it is shortened little by little. What was sent before it was lengthened says nothing about it: a
//! burst of 429s counts once.
//!
//! That 429s come of how often an exit is used is taken for granted: where they do not, the gap grows for nothing.

use super::Pool;
use super::bits::Bits;
use super::event::Event;
use super::exits::{ExitRecord, Source};
use super::ix::ExitIx;
use super::receipt::Receipt;
use crate::knobs::Spacing;
use crate::outcome::Outcome;
use crate::request::Time;
use crate::share::Share;
use std::time::Duration;

/// How long a gap stands at least that came of no 429.
const BRIEF: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gap {
    /// In seconds; 0 while nothing speaks for one.
    seconds: f32,
    /// When it was lengthened last: what was sent before says nothing about it.
    lengthened: Time,
    /// Since when attempts are counted: since then, or since the last tick. How many of them were limited.
    since: Time,
    limited: Share,
    served: Served,
    /// It came of no 429, and goes quickly while there is none.
    brief: bool,
    /// When the next use of any exit is due, had each been used evenly.
    turn: Time,
}

/// How much the origin serves, lately: a count that halves.
#[derive(Clone, Copy, Debug, Default)]
struct Served {
    count: f32,
    at: Time,
    /// Since when it is counted; zero while it is not.
    since: Time,
}

impl Served {
    fn add(&mut self, now: Time, served: bool, half_life: Duration) {
        let kept = libm::exp2f(-now.since(self.at).as_secs_f32() / half_life.as_secs_f32());
        (self.count, self.at) = (self.count * kept + f32::from(u8::from(served)), now);
    }

    /// A second; right also before the first half-life is over.
    fn rate(&self, now: Time, half_life: Duration) -> f32 {
        let lives = now.since(self.since).as_secs_f32() / half_life.as_secs_f32();
        let seconds = half_life.as_secs_f32() / std::f32::consts::LN_2 * (1.0 - libm::exp2f(-lives));
        self.count / seconds.max(0.1)
    }
}

impl Gap {
    /// Whether attempts are counted.
    pub(super) fn is_watched(&self) -> bool {
        self.served.since > Time::ZERO
    }

    pub(super) const fn seconds(&self) -> f32 {
        self.seconds
    }

    /// Of who comes back to an origin that was left alone, many would meet one exit before its first answer is there.
    pub(super) fn begin(&mut self, now: Time, seconds: f32) {
        if self.seconds < seconds {
            self.served = Served { count: 0.0, at: now, since: now };
            self.set(now, seconds);
            (self.lengthened, self.brief) = (now, true);
        }
    }

    /// As a figure.
    pub(super) fn figure(&self) -> Option<Duration> {
        (self.seconds > 0.0).then(|| Duration::from_secs_f32(self.seconds))
    }

    /// One answer of the origin to an attempt that was sent then; `exits` is how many may serve it.
    pub(super) fn count(
        &mut self,
        now: Time,
        sent: Time,
        limited: bool,
        exits: impl FnOnce() -> usize,
        rules: &Spacing,
    ) {
        if !self.is_watched() {
            if !limited {
                return;
            }
            self.served = Served { count: 0.0, at: now, since: now };
            self.since = now;
            return;
        }
        self.served.add(now, !limited, rules.half_life);
        if sent < self.lengthened {
            return;
        }
        self.limited.count(!limited);
        let watched = now.since(self.served.since) >= rules.watch;
        // What a gap does shows when it is over.
        let shown = now.since(self.lengthened).as_secs_f32() >= self.seconds;
        if self.brief && !limited && now.since(self.since) >= BRIEF {
            return self.shorten(now, rules.brief, rules);
        }
        if self.limited.of < rules.attempts {
            return;
        }
        if limited && watched && shown && self.limited.least() > rules.most {
            self.set(now, self.longer(now, exits(), rules));
            (self.lengthened, self.brief) = (now, false);
        } else if now.since(self.since) >= rules.tick {
            let few = self.limited.value() < rules.few;
            self.shorten(now, if few { rules.shorter } else { 1.0 }, rules);
        }
    }

    fn shorten(&mut self, now: Time, by: f32, rules: &Spacing) {
        let shorter = self.seconds * by;
        if shorter < rules.least {
            *self = Self::default();
        } else {
            self.set(now, shorter);
        }
    }

    /// An exit is used. When the next one may be, if that is not now: a gap that was just learned holds at once, and not only
    /// when each of the exits has been used once more.
    #[allow(clippy::cast_precision_loss, reason = "as many exits as there may be")]
    pub(super) fn turn(&mut self, now: Time, exits: usize, rules: &Spacing) -> Option<Time> {
        let saved = u64::try_from(rules.ahead.as_nanos()).unwrap_or(u64::MAX);
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(saved));
        self.turn = self.turn.max(earliest) + Duration::from_secs_f32(self.seconds / exits.max(1) as f32);
        (self.turn > now).then_some(self.turn)
    }

    #[allow(clippy::cast_precision_loss, reason = "as many exits as there may be")]
    fn longer(&self, now: Time, exits: usize, rules: &Spacing) -> f32 {
        let least = (self.seconds * rules.longer).max(rules.least);
        let all = exits as f32 / self.served.rate(now, rules.half_life).max(0.01);
        all.clamp(least, least.max(self.seconds * rules.at_once)).min(rules.longest)
    }

    fn set(&mut self, now: Time, seconds: f32) {
        (self.seconds, self.since, self.limited) = (seconds, now, Share::default());
    }
}

impl Pool {
    /// Takes in what an origin's answer says of its limit, once an attempt: by its first word, or when it turns out to be a 429.
    #[cold]
    pub(super) fn learn_gap(&mut self, now: Time, by: &Receipt, limited: bool, before: Option<&Outcome>) {
        let (exit, origin) = by.at;
        let Some(rules) = self.knobs.spacing.filter(|_| self.rest.learns()) else { return };
        if before.is_some_and(|before| !limited || before.is_rate_limited()) {
            return;
        }
        // Behind a gateway that rotates by itself nobody knows which exit it was.
        let rotates = |known: &ExitRecord| matches!(known.source, Source::Rotating { .. });
        if self.exits.get(exit).is_some_and(rotates) {
            return;
        }
        let Some(mut gap) = self.origins.get(origin).map(|record| record.gap) else { return };
        let before = gap.figure();
        gap.count(now, by.sent, limited, || self.exits_for(by), &rules);
        let after = gap.figure();
        if before.is_some() != after.is_some() {
            if let Some(name) = self.name(origin) {
                self.events.push(now, Event::Spaced { origin: name, gap: after });
            }
        }
        if let Some(record) = self.origins.get_mut(origin) {
            record.gap = gap;
        }
    }

    /// How many exits like that one may serve the origin now: of its pool, where the origin has an order of pools, and of all
    /// pools else. Sessions that are held are counted apart from places: either alone is mostly what an origin is asked through.
    /// What is counted too high makes the gap half as long again at most, what is counted too low lets it grow slowly.
    fn exits_for(&self, by: &Receipt) -> usize {
        let (exit, origin) = by.at;
        let Some(record) = self.origins.get(origin) else { return 1 };
        let ordered = record.plan.is_some();
        let of = |named| !ordered || named == by.named;
        if let ExitIx::Minted(_) = exit {
            return self.exits.minted.iter().filter(|session| of(session.named)).count().max(1);
        }
        let named = (0..).zip(&self.exits.named).filter(|(ix, _)| !ordered || *ix == by.named.index());
        let out: [&Bits; 2] = [&self.down, &self.barred];
        let up: usize = named.map(|(_, named)| named.set.count_without(out)).sum();
        up.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: fn() -> Spacing = Spacing::default;

    fn at(seconds: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(seconds)
    }

    /// As many attempts a second for so long, of which so many in a row of ten are limited; each is answered at once.
    fn feed(gap: &mut Gap, (from, seconds): (f64, f64), rate: f64, limited: u64, exits: usize) -> f64 {
        let many = (seconds * rate) as u64;
        for n in 1..=many {
            let now = from + n as f64 / rate;
            gap.count(at(now), at(now), n % 10 < limited, || exits, &RULES());
        }
        from + seconds
    }

    #[test]
    fn the_rate_that_is_served_is_right_from_the_first_half_life_on() {
        for seconds in [1.0, 4.0, 60.0] {
            let mut gap = Gap::default();
            gap.count(at(1.0), at(1.0), true, || 1, &RULES());
            feed(&mut gap, (1.0, seconds), 50.0, 0, 1);
            // The watch ends after the first tick without a 429: what it has counted until then is kept here.
            let served = if gap.is_watched() { gap.served } else { continue };
            let rate = served.rate(at(1.0 + seconds), RULES().half_life);
            assert!((47.0..=53.0).contains(&rate), "{rate} after {seconds} s");
        }
    }

    #[test]
    fn a_gap_never_exceeds_the_longest_and_ends_in_nine_minutes_even_then() {
        let mut gap = Gap::default();
        let mut now = feed(&mut gap, (1.0, 600.0), 5.0, 10, 1_000);
        assert_eq!(gap.figure(), Some(Duration::from_secs(60)));
        let from = now;
        while gap.figure().is_some() {
            now = feed(&mut gap, (now, 1.0), 5.0, 0, 1_000);
        }
        assert!((500.0..=570.0).contains(&(now - from)), "{}", now - from);
        assert!(!gap.is_watched(), "and costs nothing then");
    }

    #[test]
    fn a_burst_that_was_under_way_lengthens_it_once() {
        let mut gap = Gap::default();
        feed(&mut gap, (1.0, 3.0), 10.0, 10, 20);
        let (before, now) = (gap.seconds(), at(20.0));
        assert!(before > 0.0);
        (0..100).for_each(|_| gap.count(now, at(19.9), true, || 20, &RULES()));
        let once = gap.seconds();
        assert!(once > before && once <= before * 1.5 + 1e-6, "{before}, then {once}");
        (0..100).for_each(|_| gap.count(at(60.0), at(19.9), true, || 20, &RULES()));
        assert_eq!(gap.seconds(), once, "what was sent before the change says nothing about it");
    }

    #[test]
    fn it_is_lengthened_once_in_its_own_length() {
        let mut gap = Gap::default();
        let now = feed(&mut gap, (1.0, 120.0), 20.0, 10, 1_000);
        let before = gap.seconds();
        assert!(before > 10.0);
        feed(&mut gap, (now, f64::from(before)), 20.0, 10, 1_000);
        assert!(gap.seconds() <= before * 1.5 + 1e-3, "{before}, then {}", gap.seconds());
    }

    #[test]
    fn a_clock_that_stands_still_teaches_nothing() {
        for now in [Time::ZERO, at(5.0)] {
            let mut gap = Gap::default();
            (0..1_000).for_each(|n| gap.count(now, now, n % 2 == 0, || 20, &RULES()));
            assert_eq!(gap.figure(), None);
            // Nor does one that goes backwards.
            gap.count(Time::ZERO, Time::ZERO, true, || 20, &RULES());
            assert!(gap.seconds().is_finite());
        }
    }
}
