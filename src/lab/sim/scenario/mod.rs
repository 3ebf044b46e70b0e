//! What is played: the sites, the exits, the work.

mod behind;
mod exits;

pub(super) use behind::{FIRST, SECOND};
pub(super) use exits::Exits;

use super::job::{Job, Load, Spread, Surge};
use super::luck::{For, Luck};
use super::world::{
    Ban, Blocks, Bucket, ExitRules, GatewayRules, Hint, Latency, Limit, Rules, SUBNET, Shock, Soft,
    Violations,
};
use crate::exit::ExitList;
use crate::request::Time;
use std::fmt::Write as _;
use std::time::Duration;

/// One world and its work. The named ones are in [`NAMES`](Self::NAMES).
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(super) name: &'static str,
    pub(super) exits: u32,
    pub(super) jobs: u32,
    pub(super) load: Load,
    pub(super) spread: Spread,
    pub(super) poison: f64,
    /// One job in so many is a price check, if some are; and the weights of those and of all others, if they are classes.
    pub(super) prices: Option<u32>,
    pub(super) weights: Option<(u32, u32)>,
    pub(super) origins: Vec<Rules>,
    pub(super) latency: Latency,
    pub(super) exit: fn(u32) -> ExitRules,
    /// The exits stand behind these, in turns. None: each has an address of its own.
    pub(super) gateways: Vec<GatewayRules>,
    /// For who can use them so, they are sessions of one login at each gateway, and no list.
    pub(super) sessions: bool,
    /// Open load: how long a job may take before it is lost. `None`: what cannot be done in time is done later.
    pub(super) patience: Option<Duration>,
    /// How often each design sends a job at most, instead of its own number.
    pub(super) sends: Option<u32>,
    /// When all are blocked at once, if they are, and when that is over.
    pub(super) trigger: Option<(Duration, Duration)>,
    pub(super) horizon: Duration,
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Each exit may ask once in two seconds, five times at once; a ban is a minute, and longer each time.
fn t() -> Rules {
    let ban = Ban { first: secs(60), factor: 2.0, longest: secs(60 * 64) };
    let violations = Violations { count: 5, within: secs(60), ban, while_banned: true, subnet: None };
    Rules {
        limit: Some(Limit::Bucket(Bucket { per_second: 0.5, burst: 5.0 })),
        violations: Some(violations),
        ..Rules::FREE
    }
}

fn by_chance(share: f64) -> Rules {
    Rules { blocks: Blocks { share, ..Blocks::default() }, ..Rules::FREE }
}

fn with_ban(change: impl FnOnce(&mut Violations)) -> Rules {
    let mut rules = t();
    if let Some(violations) = &mut rules.violations {
        change(violations);
    }
    rules
}

impl Scenario {
    /// Names of the worlds with a closed load, at one site but for the last: T limits each exit (T2 without a hint, T3 by windows), S bans 40 %
    /// of them at once on top, Esc bans longer and longer, Sub whole subnets, Soft with pages instead of statuses; G limits the
    /// fleet; H has bad exits, P poisonous requests, U a bad time, A blocks whoever asks too fast, L slow exits; Noise blocks
    /// 2 % whatever one does, Chance limits 5 % so; Mix is T with bad exits and poison; Many are 50 sites like T, the k-th with
    /// 1 / k of the first one's jobs.
    pub const NAMES: &'static [&'static str] = &[
        "T", "T2", "T3", "S", "Esc", "Sub", "Soft", "G", "H", "P", "U", "A", "L", "Noise", "Chance", "Mix",
        "Many",
    ];

    /// The worlds that are played where not all are.
    pub const CORE: [&'static str; 12] =
        ["T", "T3", "S", "Esc", "Sub", "Soft", "G", "H", "P", "U", "L", "Noise"];

    /// Worlds of T in which one job in 33 is a price check, and the others are a crawl. In Prices these are two classes, and a
    /// check weighs three times as much; in Alike all are of one.
    pub const PRICES: [&'static str; 2] = ["Prices", "Alike"];

    fn prices(name: &str) -> Option<Self> {
        let name = Self::PRICES.into_iter().find(|known| *known == name)?;
        let weights = (name == "Prices").then_some((3, 1));
        let load = Load::Closed { workers: 264 };
        Some(Self { prices: Some(33), weights, load, origins: vec![t()], ..Self::plain(name) })
    }

    /// Any world by its name: one of [`NAMES`](Self::NAMES), one of them with `-surge`, S1, S2, S3, or one of
    /// [`LOGINS`](Self::LOGINS), [`GATEWAYS`](Self::GATEWAYS), [`EXITS`](Self::EXITS) and [`PRICES`](Self::PRICES).
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        match name.strip_suffix("-surge") {
            Some(calm) => Some(Self::named(calm)?.surge()),
            None => Self::named(name)
                .or_else(|| Self::open(name))
                .or_else(|| Self::behind(name))
                .or_else(|| Self::through(name))
                .or_else(|| Self::prices(name)),
        }
    }

    /// A world by its name: 200 exits, 256 workers, 20,000 jobs.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.iter().find(|known| **known == name)?;
        let mut scenario = Self::plain(name);
        if *name == "Many" {
            scenario.spread = Spread::Zipf(50);
        }
        scenario.origins = vec![scenario.rules(); scenario.spread.origins() as usize];
        match *name {
            "S" => scenario.trigger = Some((secs(60), secs(360))),
            "U" => scenario.trigger = Some((secs(60), secs(240))),
            "P" => scenario.poison = 0.25,
            "Mix" => scenario.poison = 0.05,
            // Long enough for what is learned to be unlearned.
            "Chance" => scenario.jobs = 100_000,
            "L" => {
                scenario.exit =
                    |at| ExitRules { slower: if at % 5 == 0 { 8.0 } else { 1.0 }, ..ExitRules::GOOD }
            }
            _ => {}
        }
        Some(scenario)
    }

    fn plain(name: &'static str) -> Self {
        Self {
            name,
            exits: 200,
            jobs: 20_000,
            load: Load::Closed { workers: 256 },
            spread: Spread::One,
            poison: 0.0,
            prices: None,
            weights: None,
            origins: Vec::new(),
            latency: Latency::LogNormal { median: 0.8, sigma: 0.5 },
            exit: |_| ExitRules::GOOD,
            gateways: Vec::new(),
            sessions: false,
            patience: None,
            sends: None,
            trigger: None,
            horizon: secs(40_000),
        }
    }

    fn rules(&self) -> Rules {
        let blocks = |blocks| Rules { blocks, ..Rules::FREE };
        match self.name {
            "T2" => Rules { hint: Hint::None, ..t() },
            "T3" => Rules { limit: Some(Limit::Window(30, secs(60))), ..t() },
            "S" => Rules { shock: Some(Shock { at: secs(60), share: 0.4, ban: secs(300) }), ..t() },
            "Esc" => {
                with_ban(|rules| rules.ban = Ban { first: secs(60), factor: 4.0, longest: secs(86_400) })
            }
            "Sub" => with_ban(|rules| rules.subnet = Some(3)),
            "Soft" => Rules { soft: Some(Soft { found: 0.9, alarm: 0.001 }), ..t() },
            "G" => Rules {
                limit: Some(Limit::Bucket(Bucket { per_second: 2.0, burst: 5.0 })),
                fleet: Some(Bucket { per_second: 60.0, burst: 60.0 }),
                ..t()
            },
            "H" => blocks(Blocks { share: 0.02, fifth: Some(0.8), ..Blocks::default() }),
            "P" => blocks(Blocks { share: 0.02, poison: 0.95, ..Blocks::default() }),
            "U" => {
                blocks(Blocks { share: 0.03, phase: Some((secs(60), secs(240), 0.6)), ..Blocks::default() })
            }
            "A" => blocks(Blocks { above: Some(60.0), ..Blocks::default() }),
            "L" | "Noise" => by_chance(0.02),
            "Chance" => Rules { by_chance: 0.05, hint: Hint::None, ..Rules::FREE },
            "Mix" => {
                let mixed = Blocks { share: 0.02, fifth: Some(0.8), poison: 0.95, ..Blocks::default() };
                Rules { blocks: mixed, ..t() }
            }
            _ => t(),
        }
    }

    /// S1 as it is, S2 behind one gateway, S3 with an outage: two sites at 12 and 3 jobs a second for half an hour, 50 exits of
    /// which 5 are dead, and patience for 300 s.
    #[must_use]
    pub fn open(name: &str) -> Option<Self> {
        let name = ["S1", "S2", "S3"].into_iter().find(|known| *known == name)?;
        let tiers = |slow: f64| {
            let bucket = |per_minute: f64| Bucket { per_second: per_minute / 60.0, burst: per_minute };
            Limit::Tiers(vec![(32, bucket(30.0)), (50, bucket(slow))])
        };
        let ban = Ban { first: secs(600), factor: 1.0, longest: secs(600) };
        let violations = Violations { count: 5, within: secs(60), ban, while_banned: false, subnet: None };
        let site = |slow| Rules {
            limit: Some(tiers(slow)),
            hint: Hint::Fixed(secs(60)),
            violations: Some(violations),
            ..Rules::FREE
        };
        let mut origins = vec![site(6.0), site(30.0)];
        let trigger = (name == "S3").then_some((secs(600), secs(780)));
        origins[0].down = trigger;
        Some(Self {
            exits: 50,
            jobs: 0,
            load: Load::Open { per_second: [12.0, 3.0], seconds: 1_800.0, surge: None },
            origins,
            latency: Latency::Instant { failure: Duration::from_millis(200), dead: secs(5) },
            exit: |at| ExitRules { dead_from: (at < 5).then_some(Duration::ZERO), ..ExitRules::GOOD },
            patience: Some(secs(300)),
            trigger,
            ..Self::plain(name)
        })
    }

    /// Sets how many jobs there are.
    #[must_use]
    pub const fn jobs(mut self, jobs: u32) -> Self {
        self.jobs = jobs;
        self
    }

    /// Sets how many exits there are, at least 1, and how many workers; an open load stays as it is, in proportion to the
    /// exits.
    #[must_use]
    pub fn pool(mut self, exits: u32, workers: u32) -> Self {
        let before = std::mem::replace(&mut self.exits, exits.max(1));
        self.load = match self.load {
            Load::Closed { .. } => Load::Closed { workers },
            Load::Open { per_second, seconds, surge } => {
                let more = f64::from(self.exits) / f64::from(before);
                Load::Open { per_second: per_second.map(|rate| rate * more), seconds, surge }
            }
        };
        self
    }

    /// The same site under an open load of half of what it lets through, and four times that from 60 to 120 s: an overload
    /// that ends, after which all should be as before. Where the site has a bad time of its own, the load is steady.
    ///
    /// A closed load would not do: its workers ask for more than the site admits from the beginning, and there is no calm to
    /// compare with.
    #[must_use]
    pub fn surge(mut self) -> Self {
        let calm = self.trigger.is_some();
        let surge = Surge { from: 60.0, to: 120.0, factor: 4.0 };
        let over = *self.trigger.get_or_insert((secs(60), secs(120)));
        let per_exit = self.origins.iter().map(Rules::per_exit).fold(1.0, f64::min);
        let per_second = [per_exit * f64::from(self.exits) / 2.0, 0.0];
        let seconds = (over.1 + super::metrics::CALM + secs(180)).as_secs_f64();
        self.load = Load::Open { per_second, seconds, surge: (!calm).then_some(surge) };
        self.name = match self.name {
            "T" => "T-surge",
            "S" => "S-surge",
            "Esc" => "Esc-surge",
            "Sub" => "Sub-surge",
            _ => "surge",
        };
        self
    }

    /// Sets for how long jobs come in an open load.
    #[must_use]
    pub fn lasting(mut self, time: Duration) -> Self {
        if let Load::Open { seconds, .. } = &mut self.load {
            *seconds = time.as_secs_f64();
        }
        self
    }

    /// The classes and their weights, if there are some.
    pub(super) fn classes(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let classes = self.weights.map(|(prices, bulk)| [(PRICES, prices), (BULK, bulk)]);
        classes.into_iter().flatten()
    }

    /// One job in so many is a price check, where these are a class.
    pub(super) fn classed(&self) -> Option<u32> {
        self.prices.filter(|_| self.weights.is_some())
    }

    /// Sets how long a job may take in an open load.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Sets how often each design may send a job, instead of its own number: 1 at least, [`u32::MAX`] for no end but the deadline.
    /// Sends that a design does not count are free.
    #[must_use]
    pub const fn sends(mut self, sends: u32) -> Self {
        self.sends = Some(sends);
        self
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// When all are blocked or refused at once, if they are, and when that is over.
    #[must_use]
    pub const fn trouble(&self) -> Option<(Duration, Duration)> {
        self.trigger
    }

    /// How many workers there are; none in an open load.
    pub(super) const fn workers(&self) -> u32 {
        match self.load {
            Load::Closed { workers } => workers,
            Load::Open { .. } => 0,
        }
    }

    /// All jobs, and when those come that come by themselves.
    pub(super) fn work(&self, luck: Luck) -> Vec<(Job, Option<Time>)> {
        let Load::Open { per_second, seconds, surge } = self.load else {
            let new = |id| (Job::new(luck, id, self.spread, self.poison), None);
            return (0..self.jobs).map(new).collect();
        };
        let mut come = Vec::new();
        for (origin, rate) in (0..).zip(per_second) {
            let mut steady = 0.0;
            for k in 0_u64.. {
                steady -= libm::log(1.0 - luck.unit(For::Arrival, &[u64::from(origin), k])) / rate;
                let at = surge.map_or(steady, |surge| surge.at(steady));
                if at >= seconds {
                    break;
                }
                come.push((at, origin));
            }
        }
        come.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |at| Some(Time::ZERO + Duration::from_secs_f64(at));
        let new = |(id, (comes, origin))| (Job::at(luck, id, origin, self.poison), at(comes));
        (0..).zip(come).map(new).collect()
    }

    pub(super) fn exit_rules(&self, at: u32) -> ExitRules {
        (self.exit)(at)
    }

    /// The exit that is found by this one's host and port: the last of all that have them.
    pub(super) fn same_address(&self, exit: u32) -> u32 {
        let gateways = if self.name == "S2" { 1 } else { self.gateways.len() as u32 };
        let rounds = self.exits.saturating_sub(exit + 1).checked_div(gateways);
        exit + rounds.unwrap_or(0) * gateways
    }

    /// The exits, where they are listed.
    pub(super) fn listed(&self) -> ExitList {
        ExitList::parse(&self.list()).expect("the list is our own")
    }

    /// The exits as a list, neighbours in one /24. In S2 and behind gateways they are told apart by their login alone.
    fn list(&self) -> String {
        let mut list = String::new();
        for at in 0..self.exits {
            let (subnet, host) = (at / SUBNET, at % SUBNET + 1);
            let _ = match self.name {
                _ if !self.gateways.is_empty() => {
                    writeln!(
                        list,
                        "http://user-{at}:secret@gateway{}.test:7000",
                        at as usize % self.gateways.len()
                    )
                }
                "S2" => writeln!(list, "http://user-{at}:secret@gateway.test:7000"),
                _ => writeln!(list, "http://10.{}.{}.{host}:8080", subnet / 256, subnet % 256),
            };
        }
        list
    }
}

const PRICES: &str = "prices";
const BULK: &str = "bulk";

/// Whether a job is a price check, if one in so many is.
pub(super) fn is_price(one_in: Option<u32>, job: u32) -> bool {
    one_in.is_some_and(|one_in| job % one_in.max(1) == 0)
}

/// The class of a job, where one in so many is a price check.
pub(super) fn class(classed: Option<u32>, job: u32) -> Option<&'static str> {
    classed.map(|_| if is_price(classed, job) { PRICES } else { BULK })
}

/// Workers start one after the other.
pub(super) fn worker_starts(worker: u32) -> Time {
    Time::ZERO + Duration::from_millis(4) * worker
}
