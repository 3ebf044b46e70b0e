//! How far apart an origin wants the uses of one exit: learned from its 429s, and shared by all its exits, since a limit on an
//! address is the site's policy and not the exit's.
//!
//! While more attempts are limited than may be, surely (by Wilson's lower bound over twenty at least), what the origin serves is
//! all that it serves: so many exits over that rate is the gap. As long as unused allowance is there it serves more than that, so
//! the gap mostly comes from below; where buckets are empty or windows long it overshoots, and comes back within minutes. While
//! hardly any attempt is limited it is shortened little by little. What was sent before it was lengthened says nothing about it: a
//! burst of 429s counts once.
//!
//! That 429s come of how often an exit is used is taken for granted only until it is tried: see [`bet`].

mod bet;
mod served;
#[cfg(test)]
mod tests;

use self::bet::{Bet, Came, Excuse};
use self::served::{Exits, Served, Uses};
use super::Pool;
use super::bits::Bits;
use super::event::Event;
use super::exits::{ExitRecord, Source};
use super::ix::{ExitIx, OriginIx};
use super::named::NamedIx;
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
    /// When windows were used up last, perhaps: that a gap is too short shows only at the end of the next one.
    dry: Option<Time>,
    /// It came of no 429, and goes quickly while there is none.
    brief: bool,
    /// When the next use of any exit is due, had each been used evenly.
    turn: Time,
    /// What lengthening it is to cure, while that is open; and what nothing has cured.
    bet: Option<Bet>,
    excuse: Option<Excuse>,
}

impl Gap {
    /// A ban has followed limits: what was let go as chance is none.
    pub(super) fn rule_out_chance(&mut self) {
        self.excuse = None;
    }

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

    /// Whether 429s have taught it. One after a hold is none that the site has asked for, and nothing to tell of.
    fn is_taught(&self) -> bool {
        self.seconds > 0.0 && !self.brief
    }

    /// As a figure.
    pub(super) fn figure(&self) -> Option<Duration> {
        (self.seconds > 0.0).then(|| Duration::from_secs_f32(self.seconds))
    }

    /// One answer of the origin to an attempt that was sent then, limited or banned for that, and through how many exits it is asked.
    pub(super) fn count(
        &mut self,
        now: Time,
        sent: Time,
        limited: bool,
        exits: impl FnOnce() -> Exits,
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
        if self.brief && !limited && now.since(self.since) >= BRIEF {
            return self.shorten(now, rules.brief, rules);
        }
        if self.limited.of < rules.attempts {
            return;
        }
        if self.is_excused(now, rules) {
            return;
        }
        let surely = self.limited.least() > rules.most;
        if limited && (surely || self.bet.is_some()) {
            let uses = Uses::of(exits(), self.served.rate(now, rules.half_life), self.limited);
            self.settle(now, &uses, rules);
            if surely {
                self.lengthen(now, &uses, rules);
            }
        } else if self.bet.is_some_and(|bet| bet.came(self.limited, rules) == Came::Cured) {
            self.bet = None;
        }
        let soon = self.dry.is_none_or(|dry| now.since(dry) >= rules.proof);
        if now.since(self.since) >= if soon { rules.tick } else { rules.tick * 2 } {
            self.tick(now, rules);
        }
    }

    /// Whether 429s are taken as usual here, and no more come than usual: looked at once in a tick, of enough attempts.
    fn is_excused(&mut self, now: Time, rules: &Spacing) -> bool {
        let Some(excuse) = self.excuse else { return false };
        let looks = now.since(self.since) >= rules.tick && self.limited.of >= rules.enough;
        if excuse.is_over(now) || (looks && excuse.is_exceeded(self.limited)) {
            self.excuse = None;
            return false;
        }
        if looks {
            let none = self.limited.failed == 0 && self.seconds == 0.0;
            self.set(now, self.seconds);
            if none {
                self.forget();
            }
        }
        true
    }

    /// Nothing is counted any more, but for what is excused.
    fn forget(&mut self) {
        *self = Self { excuse: self.excuse, ..Self::default() };
    }

    /// What has come of the last bet.
    fn settle(&mut self, now: Time, uses: &Uses, rules: &Spacing) {
        let Some(mut bet) = self.bet else { return };
        match bet.came(self.limited, rules) {
            Came::Cured => self.bet = None,
            Came::Worse => self.bet = Some(bet.anew(self.seconds.max(uses.all), self.limited)),
            // What the origin serves lately is right after a half-life, and what a gap does shows when it is over.
            Came::Nothing => {
                let lasts = now.since(self.lengthened);
                let shown = lasts >= rules.half_life && lasts.as_secs_f32() >= 2.0 * self.seconds;
                let counts = self.limited.of >= rules.enough && self.limited.value() >= rules.few;
                let at_stake = bet.is_at_stake(self.seconds, rules);
                if !(shown && counts && at_stake && uses.are_kept_apart_by(self.seconds, rules)) {
                    return;
                }
                if !bet.proof {
                    bet = Bet { proof: true, ..bet.anew(self.seconds, self.limited) };
                    self.bet = Some(bet);
                    self.longer(now, bet.stake(rules));
                } else if now.since(bet.since) >= rules.proof && self.limited.value() <= rules.chance {
                    let excuse = Excuse::of(now, &bet, self.limited, rules);
                    self.longer(now, 0.0);
                    (self.bet, self.excuse) = (None, Some(excuse));
                }
            }
        }
    }

    fn lengthen(&mut self, now: Time, uses: &Uses, rules: &Spacing) {
        let watched = now.since(self.served.since);
        let shown = now.since(self.lengthened).as_secs_f32() >= self.seconds;
        // Windows that are used up say nothing but how long they have been.
        let dry = self.limited.value() >= rules.dry;
        self.dry = if dry { Some(now) } else { self.dry };
        let longest = if dry { watched.as_secs_f32() * rules.dry_part } else { rules.longest };
        let longest = longest.clamp(rules.least, rules.longest);
        if self.excuse.is_some() || watched < rules.watch || !shown || (dry && self.seconds >= longest) {
            return;
        }
        let least = (self.seconds * rules.longer).max(rules.least);
        let longer = uses.all.clamp(least, least.max(self.seconds * rules.at_once)).min(longest);
        let Some(mut bet) = self.bet else {
            let from = if self.seconds > 0.0 { self.seconds } else { longer.max(uses.all) };
            self.bet = Some(Bet::new(now, from, self.limited));
            return self.longer(now, longer);
        };
        if bet.is_at_stake(self.seconds, rules) {
            if uses.are_kept_apart_by(self.seconds, rules) && self.limited.value() <= rules.chance {
                return;
            }
            bet = bet.anew(uses.each.max(self.seconds), bet.share);
        }
        if self.seconds < bet.gap {
            // So far it keeps nothing apart that was not.
            bet.share = bet.share.and(self.limited);
        }
        self.bet = Some(bet);
        self.longer(now, longer.max(self.seconds * rules.bold).min(bet.stake(rules)).min(longest));
    }

    fn tick(&mut self, now: Time, rules: &Spacing) {
        if self.limited.value() < rules.few {
            self.shorten(now, rules.shorter, rules);
        } else if !self.bet.is_some_and(|bet| bet.is_at_stake(self.seconds, rules)) {
            // What is at stake is counted until it is decided.
            self.set(now, self.seconds);
        }
    }

    fn shorten(&mut self, now: Time, by: f32, rules: &Spacing) {
        let shorter = self.seconds * by;
        if self.bet.is_some_and(|bet| shorter < bet.gap) {
            self.bet = None;
        }
        if shorter < rules.least {
            self.forget();
        } else {
            self.set(now, shorter);
        }
    }

    /// What was sent until now says nothing about this one.
    fn longer(&mut self, now: Time, seconds: f32) {
        self.set(now, seconds);
        (self.lengthened, self.brief) = (now, false);
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
        let before = gap.is_taught();
        let exits = || {
            let all = self.exits_at(by.at, by.named);
            let resting = self.origins.get(origin).map_or(0, |record| record.resting.len());
            Exits { all, awake: all.saturating_sub(resting).max(1) }
        };
        gap.count(now, by.sent, limited, exits, &rules);
        if before != gap.is_taught() {
            if let Some(name) = self.name(origin) {
                let gap = gap.figure().filter(|_| gap.is_taught());
                self.events.push(now, Event::Spaced { origin: name, gap });
            }
        }
        if let Some(record) = self.origins.get_mut(origin) {
            record.gap = gap;
        }
    }

    /// Through how many exits like that one the origin may be asked: of its pool, where the origin has an order of pools, and of
    /// all pools else: who was limited, or burned, is back in a while. Sessions that are held are counted apart from places: either
    /// alone is mostly what an origin is asked through. What is counted too high makes the gap half as long again at most, what is
    /// counted too low lets it grow slowly.
    pub(super) fn exits_at(&self, (exit, origin): (ExitIx, OriginIx), pool: NamedIx) -> usize {
        let Some(record) = self.origins.get(origin) else { return 1 };
        let ordered = record.plan.is_some();
        if let ExitIx::Minted(_) = exit {
            let of = |session: &&ExitRecord| !ordered || session.named == pool;
            return self.exits.minted.iter().filter(of).count().max(1);
        }
        let named = (0..).zip(&self.exits.named).filter(|(ix, _)| !ordered || *ix == pool.index());
        let out: [&Bits; 2] = [&self.down, &self.barred];
        let up: usize = named.map(|(_, named)| named.set.count_without(out)).sum();
        up.max(1)
    }
}
