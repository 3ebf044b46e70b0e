//! Which named pools serve an origin, and which of them now.
//!
//! ```text
//!             refused too often                   quiet is over
//!   pool k ──────────────────────────▶ pool k+1 ───────────────▶ pool k+1, one in four tries pool k
//!     ▲                                    ▲                          │        │
//!     │                                    └── refused too often: ────┘        │
//!     │                                        quiet twice as long             │
//!     └──────────────────────────────── eight answers, refused seldom ─────────┘
//! ```

use super::event::Event;
use super::heat::Heat;
use super::named::{Among, Named, NamedIx};
use crate::request::{Key, Origin, Time};
use crate::site::Site;
use std::sync::Arc;
use std::time::Duration;

/// Answers after which a trial of a pool is over.
const ENOUGH: u32 = 8;
/// So many refusals end a trial of a pool early.
const TOO_MANY: u32 = 4;
/// One choice in as many tries the cheaper pool.
const TRIES: u64 = 4;
/// How often the quiet time doubles at most.
const DOUBLINGS: u32 = 3;
/// Where the score of a pool says that it is refused too often. Page's test (1954) adds up what each answer speaks for "half
/// way from the limit to always" against "at the limit", never below zero; from a limit of 0.3 that is sixteen refusals in a
/// row, whatever was before.
const TOO_OFTEN: f32 = 12.0;

/// The order of one origin, and where it stands in it.
pub(super) struct Plan {
    site: Arc<Site>,
    order: Vec<NamedIx>,
    level: usize,
    /// What the pool whose turn it is has met since it is.
    heat: Heat,
    score: f32,
    since: Time,
    /// When the pool before it may be tried, and what that has met.
    try_at: Time,
    tried: (u32, u32),
    /// How often in a row it had to be left again.
    failed: u32,
    came_back: Option<Time>,
    choices: u64,
}

/// A change of pools.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Turned {
    pub(super) from: NamedIx,
    pub(super) to: NamedIx,
    /// The share of refusals in the pool that was judged.
    pub(super) refused: f32,
    pub(super) dearer: bool,
}

impl Turned {
    /// What is told of it.
    #[cold]
    pub(super) fn told(&self, origin: &Origin, named: &[Named]) -> Event {
        let name = |ix: NamedIx| Key::from(Arc::clone(&named[ix.index()].name));
        let (origin, from, to) = (origin.clone(), name(self.from), name(self.to));
        match self.dearer {
            true => Event::Escalated { origin, from, to, refused: self.refused },
            false => Event::CameBack { origin, from, to, refused: self.refused },
        }
    }
}

impl Plan {
    /// The plan of a site that names pools; one that had it before goes on where it stands, as far as the pools are the same.
    pub(super) fn of(site: &Arc<Site>, named: &[Named], before: Option<Box<Self>>) -> Option<Box<Self>> {
        let find = |name: &Arc<str>| named.iter().position(|named| named.name == *name);
        let places = site.pools.iter().filter_map(find);
        let order: Vec<_> = places.filter_map(|at| u8::try_from(at).ok()).map(NamedIx).collect();
        if order.is_empty() {
            return None;
        }
        match before {
            Some(before) if before.order == order => {
                Some(Box::new(Self { site: Arc::clone(site), ..*before }))
            }
            _ => Some(Box::new(Self {
                site: Arc::clone(site),
                order,
                level: 0,
                heat: Heat::COLD,
                score: 0.0,
                since: Time::ZERO,
                try_at: Time::MAX,
                tried: (0, 0),
                failed: 0,
                came_back: None,
                choices: 0,
            })),
        }
    }

    /// The pool whose turn it is.
    pub(super) fn turn(&self) -> NamedIx {
        self.order[self.level]
    }

    /// All its pools.
    pub(super) fn all(&self) -> Among {
        self.order.iter().fold(Among::NONE, |all, ix| all.or(Among::only(*ix)))
    }

    /// Where the next choice looks first, then, and at last.
    pub(super) fn looks(&self, now: Time) -> impl Iterator<Item = Among> {
        let tries = self.level > 0 && now >= self.try_at && self.choices % TRIES == 0;
        let first = self.level - usize::from(tries);
        let (before, after) = self.order.split_at(first);
        after.iter().chain(before.iter().rev()).map(|ix| Among::only(*ix))
    }

    /// One more choice.
    pub(super) fn chose(&mut self) {
        self.choices = self.choices.wrapping_add(1);
    }

    /// An answer through a pool, of an attempt sent then. Says whether another pool's turn begins.
    pub(super) fn note(&mut self, now: Time, pool: NamedIx, sent: Time, refused: bool) -> Option<Turned> {
        let at = self.order.iter().position(|ix| *ix == pool)?;
        if at == self.level && sent >= self.since {
            self.heat.add(now, if refused { 1.0 } else { 0.0 });
            #[allow(clippy::cast_possible_truncation, reason = "a share")]
            let step = step(self.site.escalate_at as f32, refused);
            self.score = (self.score + step).max(0.0);
            return self.dearer(now);
        }
        if at + 1 == self.level && now >= self.try_at && sent >= self.try_at {
            self.tried.0 += 1;
            self.tried.1 += u32::from(refused);
            return self.cheaper(now);
        }
        None
    }

    fn dearer(&mut self, now: Time) -> Option<Turned> {
        if self.level + 1 >= self.order.len() || self.score < TOO_OFTEN {
            return None;
        }
        let (good, bad) = self.heat.counts(now);
        let soon = self.came_back.is_some_and(|at| now.since(at) < self.site.quiet);
        self.failed = if soon { (self.failed + 1).min(DOUBLINGS) } else { 0 };
        let from = self.turn();
        self.level += 1;
        self.begin(now);
        Some(Turned { from, to: self.turn(), refused: bad / (good + bad), dearer: true })
    }

    #[allow(clippy::cast_precision_loss, reason = "at most eight")]
    fn cheaper(&mut self, now: Time) -> Option<Turned> {
        let (answers, bad) = self.tried;
        if bad < TOO_MANY && answers < ENOUGH {
            return None;
        }
        let refused = bad as f32 / answers as f32;
        if bad >= TOO_MANY || f64::from(refused) >= self.site.escalate_at {
            self.failed = (self.failed + 1).min(DOUBLINGS);
            (self.try_at, self.tried) = (now + self.quiet(), (0, 0));
            return None;
        }
        let from = self.turn();
        self.level -= 1;
        self.came_back = Some(now);
        self.begin(now);
        Some(Turned { from, to: self.turn(), refused, dearer: false })
    }

    /// Another pool's turn begins.
    fn begin(&mut self, now: Time) {
        (self.heat, self.score, self.since, self.tried) = (Heat::COLD, 0.0, now, (0, 0));
        self.try_at = now + self.quiet();
    }

    fn quiet(&self) -> Duration {
        self.site.quiet.saturating_mul(1 << self.failed)
    }
}

/// What an answer adds to the score, by the limit: the logarithm of how much likelier it is where refusals are half way
/// between the limit and always.
fn step(limit: f32, refused: bool) -> f32 {
    let limit = limit.clamp(0.001, 0.99);
    let more = f32::midpoint(limit, 1.0);
    if refused { libm::logf(more / limit) } else { libm::logf((1.0 - more) / (1.0 - limit)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Stream, draw, unit};
    use crate::exit::Terms;

    const CHEAP: NamedIx = NamedIx(0);
    const DEAR: NamedIx = NamedIx(1);

    fn plan(site: Site) -> Plan {
        let named = ["cheap", "dear"].map(|name| Named::new(name.into(), Terms::default()));
        *Plan::of(&Arc::new(site.pools(["cheap", "dear"])), &named, None).unwrap()
    }

    fn refuse(plan: &mut Plan, times: u32, now: Time) {
        for _ in 0..times {
            let _ = plan.note(now, CHEAP, now, true);
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_few_refusals_change_nothing_and_sixteen_in_a_row_do_whatever_was_before() {
        for good in [0, 1, 500] {
            let mut plan = plan(Site::new());
            (0..good).for_each(|_| assert_eq!(plan.note(at(1), CHEAP, at(1), false), None));
            for n in 0..15 {
                assert_eq!(plan.note(at(1), CHEAP, at(1), true), None, "after {n}");
            }
            let turned = plan.note(at(1), CHEAP, at(1), true).unwrap();
            assert_eq!((turned.from, turned.to, turned.dearer), (CHEAP, DEAR, true));
        }
    }

    #[test]
    fn what_is_refused_less_than_its_limit_stays_for_hours_and_what_is_refused_more_goes_soon() {
        let answers = |share: f64| {
            let mut plan = plan(Site::new());
            let refused = |n: u64| unit(draw(7, Stream::Retry, 1, n)) < share;
            (0..100_000_u64).find(|n| plan.note(at(*n / 20), CHEAP, at(*n / 20), refused(*n)).is_some())
        };
        for share in [0.1, 0.2, 0.25, 0.28] {
            assert_eq!(answers(share), None, "{share} is not too much");
        }
        for (share, most) in [(0.6, 200), (0.8, 60), (1.0, 16)] {
            assert!(answers(share).is_some_and(|n| n < most), "{share}: {:?}", answers(share));
        }
    }

    #[test]
    fn it_comes_back_by_one_in_four_once_it_is_quiet() {
        let mut plan = plan(Site::new().quiet(Duration::from_secs(60)));
        refuse(&mut plan, 16, at(1));
        let first = |plan: &mut Plan, now| {
            let first = plan.looks(now).next().unwrap();
            plan.chose();
            first
        };
        assert_eq!((0..8).filter(|_| first(&mut plan, at(60)) == Among::only(CHEAP)).count(), 0);
        assert_eq!((0..8).filter(|_| first(&mut plan, at(61)) == Among::only(CHEAP)).count(), 2);
        // What was sent before says nothing of it now.
        assert_eq!(plan.note(at(61), CHEAP, at(1), false), None);
        for _ in 0..7 {
            assert_eq!(plan.note(at(62), CHEAP, at(62), false), None);
        }
        let turned = plan.note(at(62), CHEAP, at(62), true).unwrap();
        assert_eq!((turned.from, turned.to, turned.dearer), (DEAR, CHEAP, false));
        assert!(plan.looks(at(62)).eq([Among::only(CHEAP), Among::only(DEAR)]));
    }

    #[test]
    fn quiet_doubles_while_it_stays_bad() {
        let mut plan = plan(Site::new().quiet(Duration::from_secs(60)));
        refuse(&mut plan, 16, at(0));
        for (try_at, next) in [(60, 180), (180, 420), (420, 900), (900, 1_380)] {
            assert_eq!(plan.try_at, at(try_at));
            refuse(&mut plan, 4, at(try_at));
            assert_eq!((plan.try_at, plan.turn()), (at(next), DEAR));
        }
    }
}
