//! Sites: what they let an address do, and what they do to one that does more.

use super::bucket::{Bucket, Level};
use super::{Attempt, SUBNET, Truth};
use crate::lab::sim::luck::{For, Luck};
use crate::request::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// How often an address may ask.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::lab::sim) enum Limit {
    Bucket(Bucket),
    /// So many in each window.
    Window(u32, Duration),
    /// By exit: each bucket is for those below its number, and for none before.
    Tiers(Vec<(u32, Bucket)>),
}

/// What a 429 says of when to come back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lab::sim) enum Hint {
    None,
    /// When there is a token again, in whole seconds, rounded up.
    Exact,
    Fixed(Duration),
}

/// How long a ban is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) struct Ban {
    pub(in crate::lab::sim) first: Duration,
    /// So many times longer with each ban of the same address before.
    pub(in crate::lab::sim) factor: f64,
    pub(in crate::lab::sim) longest: Duration,
}

/// Who asks too often too often is banned.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) struct Violations {
    pub(in crate::lab::sim) count: usize,
    pub(in crate::lab::sim) within: Duration,
    pub(in crate::lab::sim) ban: Ban,
    /// Whether to ask while banned is one as well.
    pub(in crate::lab::sim) while_banned: bool,
    /// As many banned exits of a subnet ban all of it.
    pub(in crate::lab::sim) subnet: Option<u32>,
}

/// At one time a share of the exits is banned, whatever they did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) struct Shock {
    pub(in crate::lab::sim) at: Duration,
    pub(in crate::lab::sim) share: f64,
    pub(in crate::lab::sim) ban: Duration,
}

/// Blocks by chance.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(in crate::lab::sim) struct Blocks {
    pub(in crate::lab::sim) share: f64,
    /// Every fifth exit is refused so often instead.
    pub(in crate::lab::sim) fifth: Option<f64>,
    /// Poisonous requests are refused so often instead.
    pub(in crate::lab::sim) poison: f64,
    /// From then to then everybody is, so often.
    pub(in crate::lab::sim) phase: Option<(Duration, Duration, f64)>,
    /// Above so many attempts a second everybody is, the more the more there are.
    pub(in crate::lab::sim) above: Option<f64>,
}

/// Blocks come as pages with 200; the classifier finds so many of them, and sees so many where there are none.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::lab::sim) struct Soft {
    pub(in crate::lab::sim) found: f64,
    pub(in crate::lab::sim) alarm: f64,
}

#[derive(Clone, PartialEq, Debug)]
pub(in crate::lab::sim) struct Rules {
    pub(in crate::lab::sim) limit: Option<Limit>,
    pub(in crate::lab::sim) hint: Hint,
    /// For all exits together; what is above it is no violation.
    pub(in crate::lab::sim) fleet: Option<Bucket>,
    /// So many are limited whatever they did: no violation either.
    pub(in crate::lab::sim) by_chance: f64,
    pub(in crate::lab::sim) violations: Option<Violations>,
    pub(in crate::lab::sim) shock: Option<Shock>,
    pub(in crate::lab::sim) blocks: Blocks,
    /// 503 for everybody.
    pub(in crate::lab::sim) down: Option<(Duration, Duration)>,
    pub(in crate::lab::sim) soft: Option<Soft>,
}

impl Rules {
    pub(in crate::lab::sim) const FREE: Self = Self {
        limit: None,
        hint: Hint::Exact,
        fleet: None,
        by_chance: 0.0,
        violations: None,
        shock: None,
        blocks: Blocks { share: 0.0, fifth: None, poison: 0.0, phase: None, above: None },
        down: None,
        soft: None,
    };

    /// How many attempts a second an exit is let through with, in the long run.
    pub(in crate::lab::sim) fn per_exit(&self) -> f64 {
        match &self.limit {
            Some(Limit::Bucket(bucket)) => bucket.per_second,
            Some(Limit::Window(most, window)) => f64::from(*most) / window.as_secs_f64(),
            Some(Limit::Tiers(_)) | None => f64::INFINITY,
        }
    }
}

/// What a site knows of an address.
#[derive(Clone, Default)]
struct Known {
    level: Option<Level>,
    window: (u64, u32),
    violations: VecDeque<Time>,
    banned_until: Time,
    bans: u32,
    /// Which of the exit's addresses this is about.
    address: u64,
}

/// What a site has done and met with.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::lab::sim) struct Tally {
    pub(in crate::lab::sim) bans: u64,
    pub(in crate::lab::sim) while_banned: u64,
    pub(in crate::lab::sim) refused_down: u64,
    /// Of all exits: for how long they are banned, by the bans so far.
    burned: Duration,
}

pub(in crate::lab::sim) struct Origin {
    pub(in crate::lab::sim) rules: Rules,
    known: Vec<Known>,
    fleet: Option<Level>,
    shocked: bool,
    /// Arrivals of the last second.
    recent: VecDeque<Time>,
    pub(in crate::lab::sim) tally: Tally,
}

impl Origin {
    pub(super) fn new(rules: Rules, exits: u32) -> Self {
        let fleet = rules.fleet.map(Bucket::full);
        let known = vec![Known::default(); exits as usize];
        Self { rules, known, fleet, shocked: false, recent: VecDeque::new(), tally: Tally::default() }
    }

    /// Somebody asks.
    pub(super) fn ask(
        &mut self,
        now: Time,
        attempt: &Attempt,
        luck: Luck,
        address: u64,
    ) -> (Truth, Option<Duration>) {
        let rate = self.rate(now);
        let at = attempt.exit as usize;
        if self.known[at].address != address {
            self.known[at] = Known { address, ..Known::default() };
        }
        if self.is_down(now) {
            self.tally.refused_down += 1;
            return (Truth::Down, None);
        }
        if now < self.known[at].banned_until {
            self.tally.while_banned += 1;
            if self.rules.violations.is_some_and(|rules| rules.while_banned) {
                self.violate(now, at);
            }
            return (Truth::Banned, None);
        }
        if let Err(wait) = self.take(now, at) {
            self.violate(now, at);
            return (Truth::Limited, self.hint(wait));
        }
        if let (Some(bucket), Some(level)) = (self.rules.fleet, &mut self.fleet) {
            if let Err(wait) = bucket.take(level, now) {
                return (Truth::Limited, self.hint(wait));
            }
        }
        let (p, truth) = self.block_share(now, attempt, rate);
        let Attempt { job, number, exit, .. } = attempt;
        let keys = [job.origin.into(), job.id.into(), (*number).into(), (*exit).into()];
        if luck.chance(self.rules.by_chance, For::Limit, &keys) {
            return (Truth::Limited, self.hint(Duration::ZERO));
        }
        (if luck.chance(p, For::Block, &keys) { truth } else { Truth::Served }, None)
    }

    fn is_down(&self, now: Time) -> bool {
        let since = now.since(Time::ZERO);
        self.rules.down.is_some_and(|(from, to)| from <= since && since < to)
    }

    /// Attempts of the last second, this one included.
    fn rate(&mut self, now: Time) -> f64 {
        if self.rules.blocks.above.is_none() {
            return 0.0;
        }
        self.recent.push_back(now);
        while self.recent.front().is_some_and(|at| now.since(*at) >= Duration::from_secs(1)) {
            self.recent.pop_front();
        }
        self.recent.len() as f64
    }

    fn block_share(&self, now: Time, attempt: &Attempt, rate: f64) -> (f64, Truth) {
        let blocks = &self.rules.blocks;
        if attempt.job.poison {
            return (blocks.poison, Truth::Poisoned);
        }
        let above = blocks.above.map(|most| ((rate - most) / most).clamp(0.0, 0.9));
        (above.unwrap_or_else(|| self.share(now, attempt.exit)), Truth::Blocked)
    }

    /// How often the exit is blocked by chance, whatever the rate is.
    pub(in crate::lab::sim) fn share(&self, now: Time, exit: u32) -> f64 {
        let blocks = &self.rules.blocks;
        let since = now.since(Time::ZERO);
        let phase = blocks.phase.filter(|(from, to, _)| *from <= since && since < *to).map(|phase| phase.2);
        phase.or_else(|| blocks.fifth.filter(|_| exit % 5 == 0)).unwrap_or(blocks.share)
    }

    /// A token of the exit's, or how long until there is one.
    fn take(&mut self, now: Time, at: usize) -> Result<(), Duration> {
        let known = &mut self.known[at];
        match &self.rules.limit {
            None => Ok(()),
            Some(Limit::Window(most, window)) => {
                let (length, since) = (window.as_nanos().max(1), now.since(Time::ZERO).as_nanos());
                let index = u64::try_from(since / length).unwrap_or(u64::MAX);
                if known.window.0 != index {
                    known.window = (index, 0);
                }
                if known.window.1 < *most {
                    known.window.1 += 1;
                    return Ok(());
                }
                Err(Duration::from_nanos(u64::try_from(length - since % length).unwrap_or(u64::MAX)))
            }
            Some(_) => {
                let Some(bucket) = self.bucket(at) else { return Ok(()) };
                bucket.take(self.known[at].level.get_or_insert_with(|| bucket.full()), now)
            }
        }
    }

    fn bucket(&self, at: usize) -> Option<Bucket> {
        match self.rules.limit.as_ref()? {
            Limit::Bucket(bucket) => Some(*bucket),
            Limit::Tiers(tiers) => {
                tiers.iter().find(|(below, _)| at < *below as usize).map(|(_, bucket)| *bucket)
            }
            Limit::Window(..) => None,
        }
    }

    fn hint(&self, wait: Duration) -> Option<Duration> {
        match self.rules.hint {
            Hint::None => None,
            Hint::Exact => Some(Duration::from_secs_f64(wait.as_secs_f64().ceil().max(1.0))),
            Hint::Fixed(hint) => Some(hint),
        }
    }

    fn violate(&mut self, now: Time, at: usize) {
        let Some(rules) = self.rules.violations else { return };
        let known = &mut self.known[at];
        known.violations.push_back(now);
        while known.violations.front().is_some_and(|then| now.since(*then) > rules.within) {
            known.violations.pop_front();
        }
        if known.violations.len() >= rules.count {
            known.violations.clear();
            self.ban(now, at, rules.ban);
            if let Some(most) = rules.subnet {
                self.ban_subnet(now, at, most, rules.ban);
            }
        }
    }

    fn ban(&mut self, now: Time, at: usize, ban: Ban) {
        let known = &mut self.known[at];
        let before = now.max(known.banned_until);
        let length = ban.first.as_secs_f64() * libm::pow(ban.factor, f64::from(known.bans.min(60)));
        known.banned_until = now + Duration::from_secs_f64(length.min(ban.longest.as_secs_f64()));
        self.tally.burned += known.banned_until.since(before);
        known.bans += 1;
        self.tally.bans += 1;
    }

    fn ban_subnet(&mut self, now: Time, at: usize, most: u32, ban: Ban) {
        let size = SUBNET as usize;
        let first = at / size * size;
        let subnet = first..(first + size).min(self.known.len());
        let banned = |known: &&Known| known.banned_until > now;
        let count = self.known[subnet.clone()].iter().filter(banned).count();
        if count >= most as usize {
            for other in subnet {
                if self.known[other].banned_until <= now {
                    self.ban(now, other, ban);
                }
            }
        }
    }

    /// The shock, if it is due.
    pub(super) fn shock(&mut self, now: Time, origin: u32, luck: Luck) {
        let Some(shock) = self.rules.shock.filter(|_| !self.shocked) else { return };
        let at = Time::ZERO + shock.at;
        if now < at {
            return;
        }
        self.shocked = true;
        for (exit, known) in (0_u64..).zip(&mut self.known) {
            if luck.chance(shock.share, For::Shock, &[origin.into(), exit]) {
                let until = at + shock.ban;
                self.tally.burned += until.since(at.max(known.banned_until));
                known.banned_until = known.banned_until.max(until);
                known.bans += 1;
            }
        }
    }

    /// When the exit would be served at the earliest, if so many of its attempts are still under way. For who sees the truth.
    pub(in crate::lab::sim) fn free_at(&self, now: Time, exit: u32, under_way: u32) -> Time {
        let known = &self.known[exit as usize];
        let free = now.max(known.banned_until);
        match (&self.rules.limit, self.bucket(exit as usize)) {
            (Some(Limit::Window(most, window)), _) => {
                let (length, since) = (window.as_nanos().max(1), now.since(Time::ZERO).as_nanos());
                let index = u64::try_from(since / length).unwrap_or(u64::MAX);
                let used = if known.window.0 == index { known.window.1 } else { 0 };
                if used + under_way < *most {
                    return free;
                }
                let next = Duration::from_nanos(u64::try_from(length - since % length).unwrap_or(u64::MAX));
                free.max(now + next)
            }
            (_, Some(bucket)) => {
                let level = known.level.unwrap_or_else(|| bucket.full());
                free.max(now + bucket.until(level, now, 1.0 + f64::from(under_way)))
            }
            _ => free,
        }
    }

    /// The same for the limit of all exits together, and for the rate above which everybody is blocked.
    pub(in crate::lab::sim) fn fleet_free_at(&self, now: Time, under_way: u32) -> Time {
        let calm = self.rules.blocks.above.map_or(now, |most| self.calm_at(now, under_way, most));
        match (self.rules.fleet, self.fleet) {
            (Some(bucket), Some(level)) => {
                calm.max(now + bucket.until(level, now, 1.0 + f64::from(under_way)))
            }
            _ => calm,
        }
    }

    /// When one more may be expected to arrive among no more than so many in its second: those of the last half of one, and
    /// those on their way, which take about the other half.
    fn calm_at(&self, now: Time, under_way: u32, most: f64) -> Time {
        let half = Duration::from_millis(500);
        let recent = self.recent.iter().filter(|at| now.since(**at) < half);
        let excess = recent.clone().count() as f64 + f64::from(under_way) + 1.0 - most;
        let leaving = recent.cloned().nth((excess.ceil().max(1.0) as usize).saturating_sub(1));
        match leaving {
            _ if excess <= 0.0 => now,
            Some(at) => at + half,
            None => now + half / 10,
        }
    }

    /// For how many seconds exits were banned until then, all together.
    pub(in crate::lab::sim) fn burned(&self, end: Time) -> f64 {
        let still = self.known.iter().map(|known| known.banned_until.since(end).as_secs_f64()).sum::<f64>();
        (self.tally.burned.as_secs_f64() - still).max(0.0)
    }

    /// When it is up again, if it is down.
    pub(in crate::lab::sim) fn up_at(&self, now: Time) -> Time {
        match self.rules.down {
            Some((_, to)) if self.is_down(now) => Time::ZERO + to,
            _ => now,
        }
    }
}
