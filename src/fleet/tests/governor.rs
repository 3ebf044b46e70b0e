//! The governor: how many leases may be out at one origin. The machine by itself is tested in `fleet/governor/tests.rs`.

use super::*;
use crate::draw::{mix, unit};
use crate::knobs::Governor;
use std::collections::{BTreeMap, VecDeque};

/// Counts, and rests nothing.
const FAILED: Outcome = Outcome::OriginError { status: http::StatusCode::SERVICE_UNAVAILABLE };

fn governed() -> World {
    let knobs = Knobs { governor: Some(Governor::default()), ..Knobs::NONE };
    World::new(Setup { knobs, ..config(40) })
}

/// Workers in a closed loop at one origin, each with one request at a time.
struct Crowd {
    world: World,
    out: BTreeMap<(Time, u64), (Grant, bool)>,
    /// Those who wait, in the order in which they came.
    asleep: VecDeque<Ticket>,
    sent: u64,
    done: u64,
    /// Whether each was called in its turn.
    fair: bool,
    most: usize,
    events: Vec<Event>,
}

impl Crowd {
    fn new() -> Self {
        let (out, asleep) = (BTreeMap::new(), VecDeque::new());
        let (world, events) = (governed(), Vec::new());
        Self { world, out, asleep, sent: 0, done: 0, fair: true, most: 0, events }
    }

    /// Works for so long. `serves` says whether the n-th attempt succeeds.
    fn work(&mut self, workers: usize, time: Duration, mut serves: impl FnMut(Time, u64) -> bool) {
        let until = self.world.now + time;
        while self.world.now < until {
            while self.out.len() + self.asleep.len() < workers {
                let (now, ask) = (self.world.now, LeaseRequest::per_request());
                let turn = self.world.fleet.lease_or_wait(now, &ask, &"a.test".into(), now + secs(30_000));
                self.turn(turn, &mut serves);
            }
            self.wake(&mut serves);
            let Some(((at, _), (grant, good))) = self.out.pop_first() else {
                panic!("all wait, for nothing")
            };
            self.world.now = at;
            self.world.finish(&grant, if good { Outcome::Ok } else { FAILED });
            self.done += u64::from(good);
            self.wake(&mut serves);
            self.events.extend(self.world.notices());
        }
    }

    fn wake(&mut self, serves: &mut impl FnMut(Time, u64) -> bool) {
        self.world.fleet.serve(self.world.now);
        while let Some(ticket) = self.world.fleet.poll_wake() {
            if self.world.fleet.wait(self.world.now, ticket).is_none() {
                self.fair &= self.asleep.front() == Some(&ticket);
                self.asleep.retain(|other| *other != ticket);
                let turn = self.world.fleet.claim(self.world.now, ticket);
                self.turn(turn, serves);
            }
            self.world.fleet.serve(self.world.now);
        }
    }

    fn turn(&mut self, turn: Turn, serves: &mut impl FnMut(Time, u64) -> bool) {
        match turn {
            Turn::Granted(grant) => {
                self.sent += 1;
                let takes = Duration::from_secs_f64(0.3 + 0.4 * unit(mix(self.sent)));
                let good = serves(self.world.now, self.sent);
                self.out.insert((self.world.now + takes, self.sent), (grant, good));
                self.most = self.most.max(self.out.len());
            }
            Turn::Wait { ticket } => self.asleep.push_back(ticket),
            Turn::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    fn limit(&self) -> Option<u32> {
        self.world.snapshot().origins[0].limit
    }
}

/// So many a second succeed, and half of that at once.
fn by_rate(rate: f64) -> impl FnMut(Time, u64) -> bool {
    let (mut tokens, mut last) = (rate / 2.0, Time::ZERO);
    move |now, _| {
        tokens = (tokens + now.since(last).as_secs_f64() * rate).min(rate / 2.0);
        last = now;
        let passes = tokens >= 1.0;
        tokens -= f64::from(u8::from(passes));
        passes
    }
}

#[test]
fn a_fleet_that_is_served_is_never_limited() {
    let mut crowd = Crowd::new();
    crowd.work(64, secs(120), |_, n| n % 20 > 0);
    assert_eq!((crowd.limit(), crowd.most, crowd.events), (None, 64, vec![]), "5 % failed");
    let mut calm = Crowd::new();
    calm.work(64, secs(20), |_, _| true);
    assert_eq!(calm.world.fleet.governors.len(), 0, "nothing is kept of an origin where nothing fails");
}

#[test]
fn a_burst_is_cut_within_two_seconds_to_what_the_origin_bears() {
    let mut crowd = Crowd::new();
    // 64 workers make 128 attempts a second.
    let mut serves = by_rate(40.0);
    crowd.work(64, secs(2), &mut serves);
    let [Event::Slowed { origin, from: 64, to, multiplier }] = &crowd.events[..] else {
        panic!("{:?}", crowd.events)
    };
    assert_eq!((origin.as_str(), crowd.limit()), ("a.test", Some(*to)));
    assert!((32..=44).contains(to) && multiplier.value > 1.25, "{to}, {multiplier:?}");
    crowd.work(64, secs(60), &mut serves);
    let (sent, done) = (crowd.sent, crowd.done);
    crowd.work(64, secs(200), &mut serves);
    let (sent, done) = ((crowd.sent - sent) as f64, (crowd.done - done) as f64);
    assert!(
        sent / done < 1.3 && done > 0.95 * 40.0 * 200.0,
        "{} attempts a success, {done} in all",
        sent / done
    );
    assert!(crowd.fair, "who waits for the origin goes in turn");
    assert!(crowd.events.len() < 40, "{} acts in 262 s are told", crowd.events.len());
    let table = crowd.world.snapshot().to_string();
    assert!(table.contains(" at once, attempts per success lately 1."), "{table}");
}

#[test]
fn when_the_origin_bears_all_again_the_limit_grows_and_goes() {
    let mut crowd = Crowd::new();
    crowd.work(64, secs(60), by_rate(40.0));
    assert!(crowd.limit().is_some_and(|limit| limit < 40), "{:?}", crowd.limit());
    crowd.work(64, secs(240), |_, _| true);
    assert_eq!(crowd.limit(), None);
    assert!(
        matches!(crowd.events.last(), Some(Event::Unlimited { multiplier: Some(all_is_well), .. }) if all_is_well.value < 1.01)
    );
    assert_eq!(crowd.asleep.len() + crowd.world.fleet.governors.len(), 0);
}

#[test]
fn what_fails_at_any_rate_is_told_and_let_go() {
    let mut crowd = Crowd::new();
    let by_chance = |_, n| unit(mix(n)) >= 0.6;
    crowd.work(64, secs(60), by_chance);
    let told = |event: &Event| matches!(event, Event::NotOurRate { before, after, .. } if after.value > 2.0 && before.value > 2.0);
    assert_eq!(crowd.events.iter().filter(|event| told(event)).count(), 1, "{:?}", crowd.events);
    assert!(matches!(crowd.events.last(), Some(Event::Unlimited { .. })), "{:?}", crowd.events);
    assert_eq!((crowd.limit(), crowd.asleep.len()), (None, 0));
    assert!(crowd.done as f64 > 60.0 * 128.0 * 0.4 / 1.5, "{}", crowd.done);
}

#[test]
fn who_goes_away_and_what_no_concurrency_would_cure_do_not_count() {
    let mut world = governed();
    for turn in 0..400 {
        let grant = world.pass(Duration::from_millis(50)).lease(&LeaseRequest::per_request());
        match turn % 4 {
            0 => world.finish(&grant, Outcome::Fatal),
            1 => world.finish(&grant, Outcome::TargetDenied),
            2 => world.finish(&grant, Outcome::Ok),
            _ => drop(world.fleet.release(&grant.receipt, Release::Dropped { after: secs(1) }, None)),
        }
    }
    assert_eq!(world.fleet.governors.len(), 0);
}

#[test]
fn a_drained_fleet_gives_nothing_and_then_keeps_its_limit() {
    let mut crowd = Crowd::new();
    let mut serves = by_rate(40.0);
    crowd.work(64, secs(30), &mut serves);
    let limit = crowd.limit();
    assert!(limit.is_some() && !crowd.asleep.is_empty());
    let now = crowd.world.now;
    crowd.world.fleet.close();
    crowd.world.fleet.serve(now);
    while let Some(ticket) = crowd.world.fleet.poll_wake() {
        let turn = crowd.world.fleet.claim(now, ticket);
        assert!(matches!(turn, Turn::Refused(Refusal::Closed)), "{turn:?}");
        crowd.asleep.retain(|other| *other != ticket);
        crowd.world.fleet.serve(now);
    }
    assert!(crowd.asleep.is_empty(), "nobody is left behind");
    for (_, (grant, good)) in std::mem::take(&mut crowd.out) {
        crowd.world.finish(&grant, if good { Outcome::Ok } else { FAILED });
    }
    crowd.world.fleet.open();
    assert_eq!(crowd.limit(), limit);
    crowd.work(64, secs(30), &mut serves);
    assert!(crowd.limit().is_some() && crowd.out.len() <= 64);
}

#[test]
fn no_more_is_kept_than_there_may_be_origins() {
    let knobs = Knobs { governor: Some(Governor::default()), ..Knobs::NONE };
    let mut world = World::new(Setup { knobs, bounds: Bounds::default().origins(16), ..config(4) });
    for turn in 0..200 {
        let grant = world.pass(secs(1)).at(&format!("{turn}.test"), &LeaseRequest::per_request()).unwrap();
        world.finish(&grant, FAILED);
    }
    assert_eq!(world.fleet.governors.len(), 16);
    let grant = world.at("fresh.test", &LeaseRequest::per_request()).unwrap();
    world.finish(&grant, Outcome::Ok);
    assert_eq!(world.fleet.governors.len(), 15, "what was known of the origin in its place is forgotten");
}

#[test]
fn other_origins_are_not_limited() {
    let mut world = governed();
    for _ in 0..200 {
        world.pass(Duration::from_millis(50));
        let out: Vec<_> = (0..20).map(|_| world.at("a.test", &LeaseRequest::per_request())).collect();
        out.into_iter().flatten().for_each(|grant| world.finish(&grant, FAILED));
        let grant = world.at("b.test", &LeaseRequest::per_request()).unwrap();
        world.finish(&grant, Outcome::Ok);
    }
    let notices = world.notices();
    let of = |name: &str| {
        world.snapshot().origins.into_iter().find(|origin| origin.origin.as_str() == name).unwrap()
    };
    assert!(notices.iter().any(|event| matches!(event, Event::Slowed { from: 20, .. })));
    assert_eq!((of("b.test").limit, of("b.test").lately), (None, None));
}
