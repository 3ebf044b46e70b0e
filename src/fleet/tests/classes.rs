//! Classes of requests have a share each where they wait.

use super::*;
use std::collections::BTreeMap;

/// How long a lease is out.
const TAKES: Duration = Duration::from_millis(100);

/// Callers of several classes, who ask again or do not, and what became of them.
struct Rush {
    world: World,
    out: Vec<(Time, &'static str, Grant)>,
    line: BTreeMap<Ticket, (&'static str, Time)>,
    ask: fn(&'static str) -> LeaseRequest,
    /// Who asks again at once.
    again: &'static [&'static str],
    served: BTreeMap<&'static str, u32>,
    /// When each came that was served, and how long it waited.
    waits: BTreeMap<&'static str, Vec<(Time, Duration)>>,
}

fn once(class: &'static str) -> LeaseRequest {
    LeaseRequest::per_request().class(class)
}

fn classes(all: &[(&'static str, u32)]) -> Classes {
    let mut classes = Classes::default();
    all.iter().for_each(|(name, weight)| classes.add((*name).into(), *weight));
    classes
}

impl Rush {
    fn new(mut setup: Setup, weights: &[(&'static str, u32)], again: &'static [&'static str]) -> Self {
        setup.classes = classes(weights);
        let (served, waits) = Default::default();
        Self { world: World::new(setup), out: vec![], line: BTreeMap::new(), ask: once, again, served, waits }
    }

    /// Four at once: 40 a second.
    fn of_four(weights: &[(&'static str, u32)], again: &'static [&'static str]) -> Self {
        let mut rush = Self::new(config(30), weights, again);
        let origin = rush.world.fleet.pool.origin(rush.world.now, &Origin::new("a.test")).unwrap();
        rush.world.fleet.pool.set_limit(origin, Some(4));
        rush
    }

    fn asks(&mut self, class: &'static str) {
        let now = self.world.now;
        let turn = self.world.fleet.lease_or_wait(now, &(self.ask)(class), &Origin::new("a.test"), Time::MAX);
        self.turn(class, now, turn);
    }

    fn turn(&mut self, class: &'static str, since: Time, turn: Turn) {
        let now = self.world.now;
        match turn {
            Turn::Granted(grant) => {
                *self.served.entry(class).or_default() += 1;
                self.waits.entry(class).or_default().push((since, now.since(since)));
                self.out.push((now + TAKES, class, grant));
            }
            Turn::Wait { ticket } => drop(self.line.insert(ticket, (class, since))),
            Turn::Refused(refusal) => panic!("{refusal:?}"),
        }
    }

    fn come(&mut self, ticket: Ticket) {
        if let Some((class, since)) = self.line.remove(&ticket) {
            let turn = self.world.fleet.claim(self.world.now, ticket);
            self.turn(class, since, turn);
        }
    }

    /// Lets so much time pass, in which `class` asks so many times a second.
    fn run(&mut self, time: Duration, class: Option<(&'static str, u64)>) {
        let end = self.world.now + time;
        let mut step = 0;
        while self.world.now < end {
            self.world.pass(Duration::from_millis(1));
            step += 1;
            let over = |rush: &Self| rush.out.iter().position(|(at, ..)| *at <= rush.world.now);
            while let Some(at) = over(self) {
                let (_, class, grant) = self.out.swap_remove(at);
                self.world.finish(&grant, Outcome::Ok);
                self.world.fleet.serve(self.world.now);
                if self.again.contains(&class) {
                    self.asks(class);
                }
            }
            if let Some((class, _)) = class.filter(|(_, rate)| step % (1_000 / rate) == 0) {
                self.asks(class);
            }
            let first = self.line.first_key_value().map(|(ticket, _)| *ticket);
            first.into_iter().for_each(|ticket| self.come(ticket));
            self.world.fleet.serve(self.world.now);
            while let Some(ticket) = self.world.fleet.poll_wake() {
                self.come(ticket);
            }
            if step % 8 == 0 {
                self.world.fleet.check_line(self.world.now);
            }
        }
    }

    fn served(&self, class: &str) -> f64 {
        self.served.get(class).copied().unwrap_or(0).into()
    }

    fn slowest(&self, class: &str) -> Duration {
        self.waits[class].iter().map(|(_, wait)| *wait).max().unwrap()
    }
}

const TWO: &[(&str, u32)] = &[("prices", 3), ("bulk", 1)];

#[test]
fn prices_do_not_wait_behind_a_flood() {
    for weights in [TWO, &[("prices", 1), ("bulk", 1)]] {
        let mut rush = Rush::of_four(weights, &[]);
        (0..1_000).for_each(|_| rush.asks("bulk"));
        rush.run(secs(20), Some(("prices", 1)));
        assert!(rush.slowest("prices") <= TAKES, "{:?}", rush.waits["prices"]);
        assert_eq!(rush.served("prices") + rush.served("bulk"), 804.0, "no place stays empty");
    }
    let mut rush = Rush::of_four(&[], &[]);
    rush.ask = |_| LeaseRequest::per_request();
    (0..1_000).for_each(|_| rush.asks("bulk"));
    rush.run(secs(30), Some(("prices", 1)));
    assert!(rush.slowest("prices") > secs(20), "without classes: {:?}", rush.waits["prices"]);
}

#[test]
fn who_waits_is_served_by_weight() {
    for weights in [(3, 1), (1, 1), (10, 3)] {
        let mut rush = Rush::of_four(&[("prices", weights.0), ("bulk", weights.1)], &["prices", "bulk"]);
        (0..40).for_each(|_| rush.asks("bulk"));
        (0..40).for_each(|_| rush.asks("prices"));
        rush.served.clear();
        rush.run(secs(30), None);
        let (got, due) =
            (rush.served("prices") / rush.served("bulk"), f64::from(weights.0) / f64::from(weights.1));
        assert!((got / due - 1.0).abs() < 0.05, "{weights:?}: {got}");
    }
}

/// Each waits as long as its share lets it, but not longer than its patience: and so each class has callers who go away.
#[test]
fn who_runs_out_of_patience_costs_its_class_no_turn() {
    let mut rush = Rush::of_four(TWO, &["prices", "bulk"]);
    for _ in 0..60 {
        rush.asks("bulk");
        rush.asks("prices");
    }
    rush.served.clear();
    for _ in 0..300 {
        rush.run(Duration::from_millis(100), None);
        let late = |(ticket, (class, since)): (&Ticket, &(&'static str, Time))| {
            (rush.world.now.since(*since) > secs(1)).then_some((*ticket, *class))
        };
        for (ticket, class) in rush.line.iter().filter_map(late).collect::<Vec<_>>() {
            rush.line.remove(&ticket);
            rush.world.fleet.leave(rush.world.now, ticket);
            rush.world.fleet.check_line(rush.world.now);
            rush.asks(class);
        }
    }
    let share = rush.served("prices") / rush.served("bulk");
    assert!((2.7..3.3).contains(&share), "{share}");
    for (class, waits) in &mut rush.waits {
        waits.sort();
        assert!(waits.iter().map(|(since, wait)| *since + *wait).is_sorted(), "{class}: in order of arrival");
    }
}

#[test]
fn what_one_class_leaves_the_others_have() {
    let mut rush = Rush::of_four(TWO, &["bulk"]);
    (0..40).for_each(|_| rush.asks("bulk"));
    rush.run(secs(10), None);
    assert!(rush.served("bulk") >= 400.0, "{}", rush.served("bulk"));
    // And it owes nothing for that.
    (0..200).for_each(|_| rush.asks("prices"));
    rush.served.clear();
    rush.run(secs(5), None);
    let share = rush.served("prices") / rush.served("bulk");
    assert!((2.8..3.2).contains(&share), "{share}");
}

#[test]
fn a_class_is_served_in_order_of_arrival() {
    let mut rush = Rush::of_four(TWO, &[]);
    (0..4).for_each(|_| rush.asks("bulk"));
    for _ in 0..200 {
        rush.run(Duration::from_millis(1), None);
        rush.asks("bulk");
        rush.asks("prices");
    }
    rush.run(secs(12), None);
    assert!(rush.line.is_empty());
    for (class, waits) in &mut rush.waits {
        waits.sort();
        assert!(waits.iter().map(|(since, wait)| *since + *wait).is_sorted(), "{class}: {waits:?}");
    }
}

#[test]
fn where_exits_are_few_it_does_not_matter_what_each_wants_of_one() {
    let mut setup = config(4);
    setup.exits.clear();
    let pool = exit::Pool::new("dc", exits(4).into_iter().collect::<ExitList>());
    setup.pools.push(pool.in_flight(NonZeroU32::MIN));
    let mut rush = Rush::new(setup, TWO, &["prices", "bulk"]);
    rush.ask = |class| match class {
        "prices" => LeaseRequest::new("").windowed(Duration::ZERO).max_uses(NonZeroU32::MIN).class(class),
        class => once(class),
    };
    (0..40).for_each(|_| rush.asks("bulk"));
    (0..40).for_each(|_| rush.asks("prices"));
    rush.served.clear();
    rush.run(secs(30), None);
    let share = rush.served("prices") / rush.served("bulk");
    assert!((share / 3.0 - 1.0).abs() < 0.05, "{share}");
    assert!(rush.served("prices") + rush.served("bulk") > 1_100.0, "{:?}", rush.served);
}

#[test]
fn a_flood_leaves_other_classes_places_in_the_line() {
    let mut setup = config(30);
    setup.bounds.waiters = 60;
    setup.classes = classes(TWO);
    let mut world = World::new(setup);
    let at = Origin::new("a.test");
    let origin = world.fleet.pool.origin(world.now, &at).unwrap();
    world.fleet.pool.set_limit(origin, Some(1));
    let _kept = world.lease(&once("bulk"));
    let mut waits = |class, asks| {
        let turn = |_| world.fleet.lease_or_wait(world.now, &once(class), &at, Time::MAX);
        (0..asks).map(turn).filter(|turn| matches!(turn, Turn::Wait { .. })).count()
    };
    assert_eq!([waits("bulk", 100), waits("prices", 100), waits("default", 100)], [40, 10, 10]);
}

#[test]
fn a_class_that_was_not_declared_is_a_misuse() {
    for (setup, class, fine) in [
        (config(1), "default", true),
        (config(1), "prices", false),
        (Setup { classes: classes(TWO), ..config(1) }, "default", true),
        (Setup { classes: classes(TWO), ..config(1) }, "prices", true),
        (Setup { classes: classes(TWO), ..config(1) }, "price", false),
    ] {
        let mut world = World::new(setup);
        let granted = world.at("a.test", &once(class));
        match granted {
            Ok(_) => assert!(fine, "{class}"),
            Err(refusal) => assert!(!fine && matches!(refusal, Refusal::Misuse(_)), "{class}: {refusal:?}"),
        }
    }
}

#[test]
fn classes_are_checked() {
    let many: Vec<_> = (0..17).map(|n| (&*format!("c{n}").leak(), 1)).collect();
    for (bad, said) in [
        (&[("", 1)][..], "without a name"),
        (&[("a", 0)], "weight 0"),
        (&[("a", 1_001)], "weight 1001"),
        (&[("a", 1), ("a", 2)], "`a` twice"),
        (&many, "are 17"),
    ] {
        let error = classes(bad).check().unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    assert!(classes(TWO).check().is_ok() && classes(&many[..16]).check().is_ok());
}

#[test]
fn who_waits_for_an_exit_of_its_own_keeps_nobody_without_patience_from_the_others() {
    let mut setup = config(20);
    setup.classes = classes(TWO);
    let mut world = World::new(setup);
    let own = held().on_loss(crate::request::OnLoss::Wait);
    world.once(&own, limited(Some(600)));
    let site = Origin::new("a.test");
    assert!(matches!(world.fleet.lease_or_wait(world.now, &own, &site, Time::MAX), Turn::Wait { .. }));
    world.pass(secs(60));
    assert!(world.fleet.lease_in_turn(world.now, &LeaseRequest::per_request(), &site).is_ok());
}

#[test]
fn a_snapshot_tells_the_share_of_each_class_and_how_many_of_it_wait() {
    let mut rush = Rush::of_four(&[("bulk", 1), ("check", 3)], &[]);
    (0..9).for_each(|_| rush.asks("bulk"));
    (0..2).for_each(|_| rush.asks("check"));
    let snapshot = rush.world.snapshot();
    let told: Vec<_> =
        snapshot.classes.iter().map(|row| (row.class.as_str(), row.weight, row.share, row.waiting)).collect();
    assert_eq!(told, [("bulk", 1, 0.2, 5), ("check", 3, 0.6, 2), ("default", 1, 0.2, 0)]);
    assert!(
        snapshot.to_string().contains("class                 check: weight 3, 60 % of turns, 2 waiting\n")
    );
    assert!(World::of(1).snapshot().classes.is_empty(), "none was declared");
}
