//! The choice of an exit. Looks, and changes nothing: the same choice answers "who would be next?".

use super::bindings::{BindingIx, Place, Windows};
use super::bits::Out;
use super::exits::ExitIx;
use super::origins::{OriginIx, OriginRecord};
use super::reason::Reason;
use super::{Pool, State};
use crate::draw::{Stream, below, draw, mix, text};
use crate::error::UnusableCounts;
use crate::exit::ExitId;
use crate::request::{Granularity, LeaseRequest, Time};
use std::num::NonZeroU32;
use std::time::Duration;

/// Draws for two usable exits before the scan.
const DRAWS: u64 = 24;
/// Keeps an exit without heat from winning whatever its queue.
const FLOOR: f32 = 0.02;
/// How many usable exits a walk skips at most, so that each is about as likely as the others.
const SKIP: usize = 8;
/// Scores closer than this are equal.
const CLEARLY: f32 = 0.9;
/// When to ask again while somebody else's trial is out: about as long as an answer takes.
const TRIAL: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) exit: ExitIx,
    pub(crate) reason: Reason,
    hold: Hold,
}

#[derive(Clone, Copy, Debug)]
enum Hold {
    /// Nothing is held.
    Nothing,
    /// The binding stays as it is.
    Keep(BindingIx, u32),
    /// The key holds the exit from now on.
    Bind(Place),
}

/// No exit may serve the origin now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unusable {
    pub(crate) retry_at: Time,
    pub(crate) counts: UnusableCounts,
}

/// What one choice looks at.
struct View<'a> {
    pool: &'a Pool,
    origin: OriginIx,
    record: &'a OriginRecord,
    avoid: &'a [ExitId],
    refused: &'a [ExitId],
    now: Time,
}

impl Pool {
    /// The exit for a request. It keeps away from those it has used in vain, unless no other is left.
    pub(crate) fn choose(&self, now: Time, ask: &LeaseRequest, origin: OriginIx) -> Result<Choice, Unusable> {
        let Some(record) = self.origins.get(origin) else {
            return Err(Unusable { retry_at: now, counts: UnusableCounts::default() });
        };
        let (avoid, refused) = (ask.trail.avoid.as_slice(), ask.trail.refused.as_slice());
        let view = |avoid| View { pool: self, origin, record, avoid, refused, now };
        let choose = |view: &View<'_>| match ask.granularity {
            Granularity::PerRequest => view.pick(),
            Granularity::Windowed { max_age, max_uses } => view.held(ask, max_age, max_uses),
        };
        let choice =
            choose(&view(avoid)).or_else(|| if avoid.is_empty() { None } else { choose(&view(&[])) });
        choice.ok_or_else(|| view(&[]).unusable())
    }

    /// The exit that the key holds, where nothing speaks against it: most leases of a busy fleet end here, so this looks
    /// each thing up once.
    #[inline]
    pub(crate) fn hit(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        origin: OriginIx,
    ) -> Option<(ExitIx, (BindingIx, u32))> {
        let Granularity::Windowed { max_age, max_uses } = ask.granularity else { return None };
        let (ix, held) = self.bindings.find_mut(&ask.key, origin)?;
        let index = held.exit.index();
        let free = !self.down.contains(index) && !self.origins.get(origin)?.benched.contains(index);
        if !free || !ask.trail.is_clean() || !held.serves(now, max_age, max_uses) {
            return None;
        }
        held.touch(now);
        Some((held.exit, (ix, held.generation)))
    }

    /// Carries the choice out as far as it binds; returns the binding and its generation.
    #[inline]
    pub(crate) fn bind(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        origin: OriginIx,
        choice: &Choice,
    ) -> Option<(BindingIx, u32)> {
        match choice.hold {
            Hold::Nothing => {
                self.picks += 1;
                None
            }
            Hold::Keep(ix, generation) => {
                self.bindings.touch(now, ix);
                Some((ix, generation))
            }
            Hold::Bind(place) => Some((self.bindings.bind(now, &ask.key, origin, place)?, place.generation)),
        }
    }

    /// The heat of a pair, 0 to 1.
    pub(crate) fn heat(&self, now: Time, exit: ExitIx, origin: OriginIx) -> f32 {
        let prior = self.origins.get(origin).map_or(0.05, |record| record.heat.prior(now));
        self.pairs.at(exit, origin).map_or(prior, |pair| pair.heat.rate(now, prior))
    }
}

impl View<'_> {
    #[inline]
    fn usable(&self, exit: ExitIx) -> bool {
        let index = exit.index();
        !self.pool.down.contains(index) && !self.record.benched.contains(index) && !self.avoids(exit)
    }

    fn avoids(&self, exit: ExitIx) -> bool {
        let among = |list: &[ExitId]| !list.is_empty() && list.contains(&self.pool.id(exit));
        among(self.avoid) || among(self.refused)
    }

    /// Power of two choices: of two usable exits drawn at random, the better one. Where few are usable, the two come from
    /// a walk.
    fn pick(&self) -> Option<Choice> {
        let count = self.pool.exits.len();
        let base = draw(self.pool.seed, Stream::Pick, self.record.hash, self.pool.picks);
        let prior = self.record.heat.prior(self.now);
        let mut first = None;
        for step in 0..DRAWS {
            let exit = ExitIx(u32::try_from(below(mix(base ^ step), count)).ok()?);
            if first == Some(exit) || !self.usable(exit) {
                continue;
            }
            match first {
                None => first = Some(exit),
                Some(first) => return Some(picked(self.better(first, exit, prior), Reason::Picked)),
            }
        }
        let first = match first {
            Some(exit) => exit,
            None => self.any(mix(base ^ DRAWS), None)?,
        };
        let second = self.any(mix(base ^ (DRAWS + 1)), Some(first)).unwrap_or(first);
        Some(picked(self.better(first, second, prior), Reason::Found))
    }

    /// Any usable exit, each about as likely as the others, but not `not`.
    fn any(&self, draw: u64, not: Option<ExitIx>) -> Option<ExitIx> {
        let exit = |index: usize| u32::try_from(index).map_or(ExitIx(u32::MAX), ExitIx);
        let suits = |index: usize| Some(exit(index)) != not && !self.avoids(exit(index));
        let out = Out { sets: (&self.pool.down, &self.record.benched), len: self.pool.exits.len() };
        out.any(below(draw, out.len), below(mix(draw), SKIP), suits).map(exit)
    }

    /// The one with clearly less heat times queue, else the first. A difference that is only the rest of old heat must not
    /// keep an exit idle for ever.
    fn better(&self, a: ExitIx, b: ExitIx, prior: f32) -> ExitIx {
        if self.score(b, prior) < CLEARLY * self.score(a, prior) { b } else { a }
    }

    #[allow(clippy::cast_precision_loss, reason = "a queue of 2^24 leases on one exit is full anyway")]
    fn score(&self, exit: ExitIx, prior: f32) -> f32 {
        let heat =
            self.pool.pairs.at(exit, self.origin).map_or(prior, |pair| pair.heat.rate(self.now, prior));
        (heat + FLOOR) * (self.pool.exits[exit.index()].in_flight + 1) as f32
    }

    /// The exit a key holds, or takes.
    #[inline]
    fn held(&self, ask: &LeaseRequest, max_age: Duration, max_uses: Option<NonZeroU32>) -> Option<Choice> {
        let known = self.pool.bindings.find(&ask.key, self.origin);
        let Some((ix, held)) = known else {
            let entity = mix(text(ask.key.as_str()) ^ self.record.hash);
            return self.bind((entity, 0), max_age, Reason::Placed, None);
        };
        let current = if held.length == max_age {
            self.now < held.until
        } else {
            let windows = self.windows(held.entity, max_age);
            windows.index(held.placed) == windows.index(self.now)
        };
        let used_up = max_uses.is_some_and(|most| held.uses >= most.get());
        let hold = Hold::Keep(ix, held.generation);
        if current && !held.lost && !used_up && self.usable(held.exit) {
            return Some(Choice { exit: held.exit, reason: Reason::Bound, hold });
        }
        if !current {
            return self.bind((held.entity, held.generation), max_age, Reason::Placed, None);
        }
        let next = (held.entity, held.generation.wrapping_add(1));
        if held.lost || self.lost(held.exit) {
            let from = self.pool.id(held.exit);
            return self.bind(next, max_age, Reason::Moved { from }, Some(held.exit));
        }
        if used_up {
            return self.bind(next, max_age, Reason::Placed, Some(held.exit));
        }
        let seed = self.seed((held.entity, held.generation), self.windows(held.entity, max_age));
        let exit = self.place(seed, None)?;
        Some(Choice { exit, reason: Reason::Borrowed { from: self.pool.id(held.exit) }, hold })
    }

    fn windows(&self, entity: u64, length: Duration) -> Windows {
        Windows::new(self.pool.seed, self.pool.epoch, entity, length)
    }

    /// The seed of a key's sequence of places.
    fn seed(&self, (entity, generation): (u64, u32), windows: Windows) -> u64 {
        let counter = mix(windows.index(self.now)) ^ u64::from(generation);
        draw(self.pool.seed, Stream::Place, entity, counter)
    }

    /// The exit that the key holds from now on; not the one it had, unless that is the only one.
    fn bind(
        &self,
        (entity, generation): (u64, u32),
        length: Duration,
        reason: Reason,
        not: Option<ExitIx>,
    ) -> Option<Choice> {
        let windows = self.windows(entity, length);
        let seed = self.seed((entity, generation), windows);
        let exit = self.place(seed, not).or_else(|| self.place(seed, None))?;
        let place = Place { entity, exit, generation, length, until: windows.end(self.now) };
        Some(Choice { exit, reason, hold: Hold::Bind(place) })
    }

    fn place(&self, seed: u64, not: Option<ExitIx>) -> Option<ExitIx> {
        let suits = |exit: ExitIx| Some(exit) != not && self.usable(exit);
        self.pool.ring.place(seed, suits).or_else(|| self.any(seed, not))
    }

    /// Whether what holds the exit must leave it: it is dead, or burned at this origin.
    fn lost(&self, exit: ExitIx) -> bool {
        if self.pool.down.contains(exit.index()) {
            return true;
        }
        let burned = |pair: &super::Pair| pair.burned && matches!(pair.gate.state(), State::Resting { .. });
        self.record.benched.contains(exit.index())
            && self.pool.pairs.at(exit, self.origin).is_some_and(burned)
    }

    /// Why nobody may go, and when somebody may. Each exit is counted once, under the first reason that holds.
    fn unusable(&self) -> Unusable {
        let pool = self.pool;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (down, dead) = (pool.down.len(), count(pool.dead.len()));
        let barred = |id: &&ExitId| {
            let at = pool.exits.binary_search_by_key(*id, |exit| exit.id());
            at.is_ok_and(|index| !pool.down.contains(index) && !self.record.benched.contains(index))
        };
        let avoided = count(self.refused.iter().filter(barred).count());
        let benched = count(pool.exits.len()).saturating_sub(down).saturating_sub(avoided);
        let cooling = benched.min(count(self.record.resting.len()));
        let on_trial = (down - dead) + (benched - cooling);
        let mut counts = UnusableCounts::default();
        (counts.dead, counts.cooling, counts.on_trial, counts.avoided) = (dead, cooling, on_trial, avoided);
        let rests = [pool.dead.first(), self.record.resting.first()];
        let soonest = rests.into_iter().flatten().map(|(until, _)| *until).min();
        let trial = (on_trial > 0 || soonest.is_none()).then(|| self.now + TRIAL);
        let retry_at = [soonest, trial].into_iter().flatten().min().unwrap_or(self.now);
        Unusable { retry_at: retry_at.max(self.now), counts }
    }
}

fn picked(exit: ExitIx, reason: Reason) -> Choice {
    Choice { exit, reason, hold: Hold::Nothing }
}
