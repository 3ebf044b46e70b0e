//! The machine by itself, in front of origins of all kinds: a closed loop of workers in virtual time.

use super::course::{Act, Governed};
use crate::draw::{mix, unit};
use crate::knobs::Governor;
use crate::request::Time;
use std::collections::BTreeSet;
use std::time::Duration;

/// What an origin makes of an attempt that is sent now, the n-th: whether it succeeds.
type Rule = Box<dyn FnMut(Time, u64) -> bool>;

/// So many a second succeed, and half of that at once.
fn by_rate(rate: f64) -> Rule {
    let burst = (rate / 2.0).max(1.0);
    let (mut tokens, mut last) = (burst, Time::ZERO);
    Box::new(move |now, _| {
        tokens = (tokens + now.since(last).as_secs_f64() * rate).min(burst);
        last = now;
        let passes = tokens >= 1.0;
        tokens -= f64::from(u8::from(passes));
        passes
    })
}

/// A share of all fails, whatever the rate.
fn by_chance(fails: f64, seed: u64) -> Rule {
    Box::new(move |_, n| unit(mix(mix(seed) ^ n)) >= fails)
}

struct Site {
    knobs: Option<Governor>,
    governed: Option<Governed>,
    limit: Option<u32>,
    out: BTreeSet<(Time, Time, u64, bool)>,
    peak: u32,
    now: Time,
    sent: u64,
    done: u64,
    acts: Vec<(Time, Act)>,
}

impl Site {
    fn new(knobs: Option<Governor>) -> Self {
        Self {
            knobs,
            governed: None,
            limit: None,
            out: BTreeSet::new(),
            peak: 0,
            now: Time::ZERO,
            sent: 0,
            done: 0,
            acts: Vec::new(),
        }
    }

    /// Works until so many have succeeded, or the time is over. An answer takes 0.3 to 0.7 s.
    fn work(&mut self, workers: u32, jobs: u64, until: Time, rule: &mut Rule) {
        while self.done < jobs && self.now < until {
            let most = self.limit.unwrap_or(u32::MAX).min(workers) as usize;
            while self.out.len() < most {
                self.sent += 1;
                let takes = Duration::from_secs_f64(0.3 + 0.4 * unit(mix(self.sent)));
                let good = rule(self.now, self.sent);
                self.out.insert((self.now + takes, self.now, self.sent, good));
                self.peak = self.peak.max(self.out.len() as u32);
            }
            let Some((at, sent, _, good)) = self.out.pop_first() else { return };
            self.now = at;
            self.done += u64::from(good);
            self.report(sent, good);
        }
    }

    fn report(&mut self, sent: Time, good: bool) {
        let Some(knobs) = self.knobs else { return };
        let Some(governed) = &mut self.governed else {
            if !good {
                self.peak = self.out.len() as u32;
                self.governed = Some(Governed::new(&knobs, self.now, 1));
            }
            return;
        };
        governed.count(sent, Some(good), None);
        if !governed.may_end(&knobs, self.now) {
            return;
        }
        let peak = std::mem::replace(&mut self.peak, self.out.len() as u32);
        let Some(act) = governed.tick(&knobs, self.now, peak) else { return };
        match act {
            Act::Cut { to, .. } | Act::Raise { to } | Act::LetGo { to, .. } => self.limit = Some(to),
            Act::Lift { .. } => self.limit = None,
            Act::Forget => self.governed = None,
        }
        if act != Act::Forget {
            self.acts.push((self.now, act));
        }
    }
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

/// How many workers there are, and how many times too many attempts a second they make.
#[test]
fn what_blocks_by_rate_is_asked_at_about_its_rate() {
    for (workers, load, most) in
        [(8, 1.5, 1.35), (32, 1.5, 1.3), (32, 3.0, 1.3), (32, 10.0, 1.6), (128, 3.0, 1.3), (128, 10.0, 1.3)]
    {
        let rate = f64::from(workers) * 2.0 / load;
        let (mut site, mut rule) = (Site::new(Some(Governor::default())), by_rate(rate));
        site.work(workers, u64::MAX, at(60), &mut rule);
        let before = (site.sent, site.done);
        site.work(workers, u64::MAX, at(300), &mut rule);
        let (sent, done) = ((site.sent - before.0) as f64, (site.done - before.1) as f64);
        let (multiplier, used) = (sent / done, done / 240.0 / rate);
        assert!(
            multiplier < most && used > 0.95,
            "{workers} x {load}: {multiplier:.2}, {used:.2}, {:?}",
            site.acts
        );
    }
}

#[test]
fn what_fails_by_chance_is_hardly_slowed() {
    for workers in [8, 32, 128] {
        for fails in [0.02, 0.15, 0.22, 0.3, 0.6, 0.9] {
            let jobs = (f64::from(workers) * 2.0 * (1.0 - fails) * 60.0) as u64;
            let takes = |knobs, seed| {
                let mut site = Site::new(knobs);
                site.work(workers, jobs, at(1_000), &mut by_chance(fails, seed));
                site.now.since(Time::ZERO).as_secs_f64()
            };
            let slower = |seed| takes(Some(Governor::default()), seed) / takes(None, seed);
            let slower: Vec<f64> = (0..5).map(slower).collect();
            let mean = slower.iter().sum::<f64>() / 5.0;
            assert!(
                mean <= 1.3 && slower.iter().all(|one| *one <= 1.5),
                "{workers} at {fails}: {slower:.2?}"
            );
            assert!(fails > 0.1 || mean == 1.0, "mere noise of {fails}: {slower:?}");
        }
    }
}

/// A machine, and a time at which it may end its next tick.
fn machine() -> (Governor, Governed, Time) {
    let knobs = Governor::default();
    (knobs, Governed::new(&knobs, at(0), 0), at(0))
}

/// A tick of attempts that are sent and reported at once.
fn tick(of: &mut (Governor, Governed, Time), failed: u32, all: u32, peak: u32) -> Option<Act> {
    let (knobs, governed, now) = of;
    *now = *now + Duration::from_secs(8);
    (0..all).for_each(|n| governed.count(*now, Some(n >= failed), None));
    assert!(governed.may_end(knobs, *now), "{all} are enough");
    governed.tick(knobs, *now, peak)
}

#[test]
fn a_cut_goes_from_what_is_out_by_how_much_fails() {
    let cut = |failed, peak| match tick(&mut machine(), failed, 200, peak) {
        Some(Act::Cut { from, to, .. }) => (from, to),
        other => panic!("{other:?}"),
    };
    assert_eq!([cut(80, 40), cut(80, 100)], [(40, 28), (100, 70)], "0.7 of it");
    assert_eq!(
        [cut(120, 100), cut(190, 100)],
        [(100, 54), (100, 50)],
        "what surely succeeds, but half at least"
    );
    let mut few = machine();
    assert_eq!(tick(&mut few, 190, 200, 4), None, "there cannot be fewer");
    assert_eq!(tick(&mut few, 190, 200, 5).map(|act| matches!(act, Act::Cut { to: 4, .. })), Some(true));
    // A limit that nobody reaches is cut from what is out as well.
    let mut one = machine();
    tick(&mut one, 80, 200, 100);
    assert!(matches!(tick(&mut one, 80, 200, 60), Some(Act::Cut { from: 60, to: 42, .. })));
}

#[test]
fn what_was_sent_before_the_last_cut_counts_no_more() {
    let mut one = machine();
    assert!(matches!(tick(&mut one, 100, 200, 100), Some(Act::Cut { .. })));
    let (knobs, governed, now) = &mut one;
    (0..100).for_each(|_| governed.count(*now, Some(false), None));
    *now = *now + Duration::from_secs(60);
    assert!(!governed.may_end(knobs, *now));
    (0..20).for_each(|_| governed.count(*now, Some(true), None));
    assert_eq!(governed.tick(knobs, *now, 70), Some(Act::Raise { to: 72 }));
}

#[test]
fn a_limit_grows_only_where_it_is_used_and_goes_after_three_healthy_ticks_unused() {
    let mut one = machine();
    assert!(matches!(tick(&mut one, 100, 200, 100), Some(Act::Cut { to: 60..=70, .. })));
    let Some(Act::Raise { to }) = tick(&mut one, 10, 200, 60) else { panic!("it is used") };
    assert!(matches!(tick(&mut one, 10, 200, to / 2 + 1), Some(Act::Raise { .. })), "half is enough");
    for _ in 0..3 {
        assert_eq!(tick(&mut one, 60, 300, 20), None, "neither healthy nor bad");
    }
    assert_eq!([tick(&mut one, 0, 200, 20), tick(&mut one, 0, 200, 20)], [None, None]);
    assert!(matches!(tick(&mut one, 0, 200, 20), Some(Act::Lift { .. })));
    assert_eq!(tick(&mut one, 0, 200, 20), Some(Act::Forget));
}

#[test]
fn above_what_was_too_many_it_grows_slowly() {
    let mut one = machine();
    tick(&mut one, 60, 200, 400);
    let mut steps = Vec::new();
    let mut limit = 280;
    while let (Some(Act::Raise { to }), true) = (tick(&mut one, 0, 200, limit), limit < 450) {
        steps.push(to - limit);
        limit = to;
    }
    assert_eq!(steps, [28, 30, 33, 37, 10, 10, 10, 10, 10], "a tenth, then half a square root");
}

#[test]
fn bad_luck_is_no_limit_for_ever() {
    let mut one = machine();
    tick(&mut one, 60, 200, 100);
    assert!(matches!(tick(&mut one, 20, 200, 70), Some(Act::Raise { to: 77 })));
    let acts: Vec<_> = (0..6).map(|_| tick(&mut one, 40, 200, 77)).collect();
    assert_eq!(acts.iter().flatten().count(), 2, "between 1.2 and 1.25 it rises now and then: {acts:?}");
}

#[test]
fn where_fewer_are_no_cure_they_are_let_go_and_left_alone_until_it_is_worse() {
    let mut one = machine();
    assert!(matches!(tick(&mut one, 120, 200, 100), Some(Act::Cut { to: 54, .. })));
    assert!(matches!(tick(&mut one, 118, 200, 54), Some(Act::Cut { to: 20..=30, .. })));
    let Some(Act::LetGo { to, before, seen }) = tick(&mut one, 121, 200, 29) else {
        panic!("it has not fallen")
    };
    assert_eq!((to, before.failed, seen.failed), (58, 120, 121));
    assert_eq!(tick(&mut one, 119, 200, 58), Some(Act::Raise { to: 116 }));
    assert!(matches!(tick(&mut one, 119, 200, 100), Some(Act::Lift { .. })));
    for _ in 0..4 {
        assert_eq!(tick(&mut one, 120, 200, 100), None, "for a minute");
    }
    assert_eq!(tick(&mut one, 170, 200, 100), None, "that may be chance");
    assert!(matches!(tick(&mut one, 170, 200, 100), Some(Act::Cut { .. })), "it is worse");
}

#[test]
fn what_was_not_much_fewer_proves_nothing_and_is_let_go_without_a_word() {
    let mut one = machine();
    assert!(matches!(tick(&mut one, 120, 200, 5), Some(Act::Cut { to: 4, .. })));
    assert_eq!([tick(&mut one, 120, 200, 4), tick(&mut one, 120, 200, 4)], [None, None]);
    assert_eq!(tick(&mut one, 120, 200, 4), Some(Act::Raise { to: 8 }));
}

#[test]
fn few_attempts_let_nobody_go() {
    let mut one = machine();
    assert!(matches!(tick(&mut one, 15, 20, 100), Some(Act::Cut { to, .. }) if to > 50));
    assert!(matches!(tick(&mut one, 15, 20, 60), Some(Act::Cut { to, .. }) if to < 40));
    assert_eq!(
        [tick(&mut one, 15, 20, 36), tick(&mut one, 15, 20, 36)],
        [None, None],
        "20 and 40 are too few"
    );
    assert!(matches!(tick(&mut one, 15, 20, 36), Some(Act::LetGo { seen, .. }) if seen.of == 60));
}

#[test]
fn where_fewer_have_helped_what_still_fails_is_asked_about_again() {
    let mut one = machine();
    tick(&mut one, 160, 200, 100);
    // It falls, surely, and is not good yet.
    assert!(matches!(tick(&mut one, 100, 200, 50), Some(Act::Cut { from: 50, .. })));
    assert!(
        matches!(tick(&mut one, 101, 200, 30), Some(Act::Cut { from: 30, .. })),
        "compared with the last that helped"
    );
}

#[test]
fn a_limit_that_nothing_confirms_lapses() {
    let mut one = machine();
    tick(&mut one, 100, 200, 100);
    let (knobs, governed, now) = &mut one;
    *now = *now + Duration::from_secs(599);
    governed.count(*now, Some(true), None);
    assert!(!governed.may_end(knobs, *now));
    *now = *now + Duration::from_secs(1);
    assert!(governed.may_end(knobs, *now));
    assert!(matches!(governed.tick(knobs, *now, 1), Some(Act::Lift { .. })));
}

#[test]
fn the_first_second_is_looked_at_once() {
    let (knobs, mut governed, _) = machine();
    let early = at(1);
    (0..19).for_each(|_| governed.count(early, Some(false), None));
    assert!(!governed.may_end(&knobs, early), "19 are too few");
    (0..30).for_each(|_| governed.count(early, Some(true), None));
    assert!(governed.may_end(&knobs, early));
    assert!(matches!(governed.tick(&knobs, early, 30), Some(Act::Cut { .. })));
    let (knobs, mut governed, _) = machine();
    (0..20).for_each(|_| governed.count(early, Some(true), None));
    assert_eq!(governed.tick(&knobs, early, 200), None);
    (0..100).for_each(|_| governed.count(early, Some(false), None));
    assert!(!governed.may_end(&knobs, at(2)), "the next look is at the end of the tick");
    assert!(
        matches!(governed.tick(&knobs, at(7), 30), Some(Act::Cut { from: 200, .. })),
        "with all that was out"
    );
}
