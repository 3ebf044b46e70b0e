//! An origin that limits each exit: how far apart the fleet learns to keep an exit's uses there.

use super::crowd::Crowd;
use super::*;

/// What an origin allows one exit.
#[derive(Clone, Copy)]
enum Limit {
    /// So many a second, and so many that were saved up.
    Bucket { rate: f64, most: f64 },
    /// So many in each window of so many seconds, counted from zero.
    Window { most: u32, seconds: u64 },
}

impl Limit {
    fn gap(self) -> f64 {
        match self {
            Self::Bucket { rate, .. } => 1.0 / rate,
            Self::Window { most, seconds } => seconds as f64 / f64::from(most),
        }
    }
}

/// What it has taken of one exit: tokens and when they were counted, or a window and what is in it.
#[derive(Clone, Copy)]
struct Used(f64, f64);

struct Site {
    limit: Option<Limit>,
    /// Whether it says when to come back.
    hints: bool,
    used: HashMap<ExitId, Used>,
}

impl Site {
    fn of(limit: Limit, hints: bool) -> Self {
        Self { limit: Some(limit), hints, used: HashMap::new() }
    }

    fn answers(&mut self, now: Time, exit: ExitId) -> Outcome {
        let t = now.since(Time::ZERO).as_secs_f64();
        let (allowed, wait) = match self.limit {
            None => return Outcome::Ok,
            Some(Limit::Bucket { rate, most }) => {
                let used = self.used.entry(exit).or_insert(Used(most, t));
                let tokens = (used.0 + (t - used.1) * rate).min(most);
                let allowed = tokens >= 1.0;
                *used = Used(tokens - f64::from(u8::from(allowed)), t);
                (allowed, (1.0 - tokens) / rate)
            }
            Some(Limit::Window { most, seconds }) => {
                let window = (t / seconds as f64).floor();
                let used = self.used.entry(exit).or_insert(Used(window, 0.0));
                if used.0 < window {
                    *used = Used(window, 0.0);
                }
                used.1 += 1.0;
                (used.1 <= f64::from(most), (window + 1.0) * seconds as f64 - t)
            }
        };
        match allowed {
            true => Outcome::Ok,
            false => limited(self.hints.then_some(wait.ceil() as u64)),
        }
    }
}

/// Half as many workers as exits.
fn crowd(exits: u16, mut site: Site) -> Crowd {
    let answers = move |now, exit| site.answers(now, exit);
    Crowd::new(config(exits), (usize::from(exits) / 2).clamp(4, 200), answers)
}

const BUCKET: Limit = Limit::Bucket { rate: 0.5, most: 1.0 };
const SAVED: Limit = Limit::Bucket { rate: 0.1, most: 5.0 };
const WINDOW: Limit = Limit::Window { most: 5, seconds: 10 };
const LONG: Limit = Limit::Window { most: 10, seconds: 60 };

/// After `learn` seconds: at least so much of what the origin allows is used, and at most so many are limited, over a minute.
#[track_caller]
fn learns(limit: Limit, hints: bool, exits: u16, learn: u64, (used, limited): (f64, f64)) {
    let mut crowd = crowd(exits, Site::of(limit, hints));
    let learning = crowd.go(secs(learn));
    assert!(learning.longest <= 60.0, "{learning:?}");
    let brought = crowd.go(secs(60));
    let part = f64::from(brought.ok) / (f64::from(exits) * 60.0 / limit.gap());
    assert!(
        part >= used && brought.share() <= limited,
        "{exits} exits: {part} of what is allowed, {brought:?}"
    );
}

#[test]
fn a_rate_of_each_exit_is_learned_within_a_minute_with_hints_and_without() {
    for exits in [20, 200] {
        for hints in [true, false] {
            learns(BUCKET, hints, exits, 60, (0.75, 0.12));
            // It is lengthened once in its own length, and this one is ten seconds.
            learns(SAVED, hints, exits, 150, (0.75, 0.12));
            learns(WINDOW, hints, exits, 60, (0.85, 0.12));
            // Its gap comes out half too long: a window that is used up at its start serves nothing for most of a minute.
            learns(LONG, hints, exits, 180, (0.65, 0.20));
        }
    }
}

#[test]
fn a_rate_of_each_of_a_thousand_exits_is_learned_as_soon() {
    learns(SAVED, true, 1_000, 90, (0.75, 0.12));
}

/// Without the rule most of what is asked is limited.
#[test]
fn what_is_not_kept_apart_is_limited() {
    let mut site = Site::of(BUCKET, false);
    let setup = Setup { knobs: Knobs { spacing: None, ..Knobs::default() }, ..config(20) };
    let mut crowd = Crowd::new(setup, 10, move |now, exit| site.answers(now, exit));
    crowd.go(secs(60));
    let brought = crowd.go(secs(60));
    assert!(brought.share() > 0.5, "{brought:?}");
}

#[test]
fn a_gap_ends_within_four_minutes_of_the_end_of_a_limit_of_one_in_two_seconds_and_both_are_told() {
    let site = std::rc::Rc::new(std::cell::RefCell::new(Site::of(BUCKET, true)));
    let own = std::rc::Rc::clone(&site);
    let mut crowd = Crowd::new(config(20), 10, move |now, exit| own.borrow_mut().answers(now, exit));
    let spaced = |crowd: &mut Crowd| {
        let all = crowd.world.fleet.events().take();
        let gaps = all.into_iter().filter_map(|(_, event)| match event {
            Event::Spaced { origin, gap } => Some((origin.to_string(), gap)),
            _ => None,
        });
        gaps.collect::<Vec<_>>()
    };
    crowd.go(secs(60));
    let site_of = |gap| ("a.test".to_owned(), gap);
    assert_eq!(spaced(&mut crowd), [site_of(Some(Duration::from_millis(250)))]);
    assert!(crowd.world.snapshot().to_string().contains(" s apart"));
    site.borrow_mut().limit = None;
    crowd.go(secs(245));
    assert_eq!((spaced(&mut crowd), crowd.gap()), (vec![site_of(None)], 0.0));
    let brought = crowd.go(secs(10));
    assert!(brought.ok >= 990, "all ten workers are busy again: {brought:?}");
}

#[test]
fn one_429_in_a_hundred_keeps_nothing_apart() {
    for (exits, workers) in [(20, 10), (200, 50)] {
        let mut rolls = 0_u64;
        let answers = move |_, _| {
            rolls += 1;
            if crate::draw::mix(rolls) % 100 == 0 { limited(None) } else { Outcome::Ok }
        };
        let mut crowd = Crowd::new(config(exits), workers, answers);
        let brought = crowd.go(secs(120));
        assert!(brought.longest <= 0.25, "{brought:?}");
        assert!(f64::from(brought.ok) > 0.98 * 1_200.0 * workers as f64, "{brought:?}");
    }
}

/// Where two attempts say something, and not only twenty: what is tested here is what follows.
fn quick(setup: Setup) -> World {
    let spacing = Some(crate::knobs::Spacing { attempts: 1, ..Default::default() });
    World::new(Setup { knobs: Knobs { spacing, ..setup.knobs }, ..setup })
}

/// Two 429s in a row, more than a second apart: the least that makes a gap.
fn taught(world: &mut World, ask: &LeaseRequest) {
    world.once(ask, limited(None));
    world.pass(secs(2)).once(ask, limited(None));
    world.pass(secs(3));
}

fn gap(world: &World) -> Option<Duration> {
    world.snapshot().origins[0].gap
}

#[test]
fn a_trial_that_passed_is_a_use_of_its_exit_as_well() {
    let mut world = quick(config(2));
    taught(&mut world, &held());
    assert_eq!(gap(&world), Some(Duration::from_millis(250)));
    assert!(world.once(&held(), Outcome::Ok).trial);
    assert!(world.at("a.test", &held()).is_err(), "its next use is a gap later");
    assert!(!world.pass(Duration::from_millis(250)).lease(&held()).trial);
    assert!(world.at("a.test", &held()).is_err());
    let elsewhere = world.at("b.test", &held());
    assert!(elsewhere.is_ok(), "other origins have said nothing");
}

#[test]
fn a_429_without_a_hint_rests_a_pair_for_the_gap_at_least_and_one_with_a_hint_as_it_says() {
    for hint in [None, Some(1)] {
        let mut crowd = crowd(20, Site::of(BUCKET, true));
        crowd.go(secs(60));
        let ask = LeaseRequest::new("k").granularity(Granularity::Static);
        let world = &mut crowd.world;
        let grant = std::iter::repeat_with(|| world.pass(secs(20)).lease(&ask)).find(|grant| !grant.trial);
        world.finish(&grant.unwrap(), limited(hint));
        let Err(Refusal::NoUsableExit { retry_at, .. }) = world.at("a.test", &ask) else {
            panic!("it rests")
        };
        let rest = retry_at.since(world.now).as_secs_f64();
        let gap = gap(world).unwrap().as_secs_f64();
        assert!(gap > 1.5, "{gap}");
        let least = if hint.is_none() { gap } else { 1.0 };
        assert!((0.99 * least..=1.25 * least).contains(&rest), "{rest} for {least}");
    }
}

#[test]
fn an_attempt_is_counted_once_however_often_it_is_said() {
    let mut world = quick(config(2));
    world.once(&held(), limited(None));
    let good = world.pass(secs(2)).lease(&held());
    (0..50).for_each(|_| world.report(&good, Outcome::Ok));
    world.end(&good);
    world.once(&held(), limited(None));
    assert!(gap(&world).is_some(), "one of two is limited, and not one of 51");
}

#[test]
fn an_answer_that_turns_out_to_be_a_429_is_one() {
    let mut world = quick(config(2));
    world.once(&held(), limited(None));
    let grant = world.pass(secs(2)).lease(&held());
    world.report(&grant, Outcome::Ok);
    assert_eq!(gap(&world), None);
    world.report(&grant, limited(None));
    assert!(gap(&world).is_some());
}

#[test]
fn nobody_knows_which_exit_a_gateway_that_rotates_was_limited_at() {
    let gateways = vec![Gateway::rotating("http://user:pw@gw.test:7001").unwrap()];
    let mut world = World::new(Setup { exits: Vec::new(), gateways, ..config(1) });
    for _ in 0..20 {
        world.pass(secs(1)).once(&LeaseRequest::per_request(), limited(None));
    }
    assert_eq!(gap(&world), None);
}

#[test]
fn sessions_that_are_held_are_kept_apart_too() {
    let gateway = Gateway::parse("http://u-{session}:p@gw.test:9000").unwrap();
    let mut world = quick(Setup { exits: Vec::new(), gateways: vec![gateway], ..config(1) });
    taught(&mut world, &held());
    assert!(gap(&world).is_some());
    assert!(world.once(&held(), Outcome::Ok).trial);
    assert!(world.at("a.test", &held()).is_err());
}

#[test]
fn the_article_keeps_nothing_apart_and_who_changes_to_it_forgets_what_was_learned() {
    let mut world = quick(Setup { rules: RetryRules::article(), ..config(2) });
    taught(&mut world, &held());
    assert_eq!(gap(&world), None);
    let mut world = quick(config(2));
    taught(&mut world, &held());
    assert!(gap(&world).is_some());
    let pools = vec![exit::Pool::new("default", exits(2).into_iter().collect::<ExitList>())];
    world.fleet.reload(world.now, pools, Arc::default(), RetryRules::article()).unwrap();
    assert_eq!(gap(&world), None);
}

#[test]
fn an_exit_is_not_the_last_while_others_are_but_kept_from_their_next_use() {
    let spaced = exit::Pool::new("dc", exits(3).into_iter().collect::<ExitList>()).interval(secs(5));
    for (others, least) in [(2, 10.0), (0, 1.25)] {
        let pools = vec![spaced.clone()];
        let mut world = World::new(Setup { exits: Vec::new(), pools, ..config(1) });
        let per = LeaseRequest::per_request();
        let last = world.lease(&per);
        for _ in 0..2 {
            let other = world.lease(&per);
            world.finish(&other, if others > 0 { Outcome::Ok } else { limited(Some(60)) });
        }
        world.finish(&last, BLOCKED);
        let pairs = world.snapshot().hottest;
        let rest = pairs.iter().find(|pair| pair.exit == last.receipt.exit).unwrap().cooling.as_secs_f64();
        assert!((0.99 * least..=1.25 * least).contains(&rest), "{rest} for {least}");
    }
}

/// However long another rests: who comes back when it is told to keeps a fleet at work.
#[test]
fn a_refusal_says_when_the_first_exit_may_be_used_again_after_its_gap() {
    let mut world = quick(config(2));
    taught(&mut world, &held());
    world.once(&held(), Outcome::Ok);
    let per = LeaseRequest::per_request();
    let burned = world.once(&per, BLOCKED).receipt.exit;
    assert_ne!(world.pass(secs(1)).once(&held(), Outcome::Ok).receipt.exit, burned);
    let Err(Refusal::NoUsableExit { retry_at, counts, .. }) = world.at("a.test", &per) else {
        panic!("one rests, and one was used a moment ago")
    };
    assert_eq!((counts.cooling, counts.busy), (1, 1), "{counts:?}");
    assert_eq!(Some(retry_at.since(world.now)), gap(&world));
}

#[test]
fn a_block_that_follows_three_429s_of_its_exit_is_one_for_the_gap_and_one_that_follows_two_is_not() {
    for (limits, longer) in [(2, false), (3, true)] {
        let mut world = quick(config(2));
        for rest in [2, 3, 6].into_iter().take(limits) {
            world.once(&held(), limited(None));
            world.pass(secs(rest));
        }
        let before = gap(&world).unwrap();
        world.once(&held(), BLOCKED);
        let after = gap(&world).unwrap();
        assert_eq!(after > before, longer, "{limits}: {before:?}, then {after:?}");
    }
}
