//! What is played: the sites, the exits, the work.

use super::job::{Load, Spread};
use super::world::{
    Ban, Blocks, Broken, Bucket, ExitRules, GatewayRules, Hint, Latency, Limit, Login, Rules, SUBNET, Shock,
    Soft, Violations,
};
use crate::exit::Gateway;
use std::fmt::Write as _;
use std::num::NonZeroU32;
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
    pub(super) origins: Vec<Rules>,
    pub(super) latency: Latency,
    pub(super) exit: fn(u32) -> ExitRules,
    /// The exits stand behind these, in turns. None: each has an address of its own.
    pub(super) gateways: Vec<GatewayRules>,
    /// They are sessions of one login at each gateway, and no list.
    pub(super) sessions: bool,
    /// Open load: how long a job may take before it is lost. `None`: what cannot be done in time is done later.
    pub(super) patience: Option<Duration>,
    /// When all are blocked at once, if they are, and when that is over.
    pub(super) trigger: Option<(Duration, Duration)>,
    pub(super) horizon: Duration,
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Each exit may ask twice in a second four times; a ban is a minute, and longer each time.
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

/// Every fifth exit is so, the others are good.
const fn fifth(at: u32, rules: ExitRules) -> ExitRules {
    if at % 5 == 0 { rules } else { ExitRules::GOOD }
}

fn with_ban(change: impl FnOnce(&mut Violations)) -> Rules {
    let mut rules = t();
    if let Some(violations) = &mut rules.violations {
        change(violations);
    }
    rules
}

impl Scenario {
    /// Names of the worlds with one site and a closed load: T limits each exit (T2 without a hint, T3 by windows), S bans 40 %
    /// of them at once on top, Esc bans longer and longer, Sub whole subnets, Soft with pages instead of statuses; G limits the
    /// fleet; H has bad exits, P poisonous requests, U a bad time, A blocks whoever asks too fast, L slow exits; Noise blocks
    /// 2 % whatever one does; Mix is T with bad exits and poison.
    pub const NAMES: &'static [&'static str] =
        &["T", "T2", "T3", "S", "Esc", "Sub", "Soft", "G", "H", "P", "U", "A", "L", "Noise", "Mix"];

    /// A world by its name: 200 exits, 256 workers, 20,000 jobs.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.iter().find(|known| **known == name)?;
        let mut scenario = Self::plain(name);
        scenario.origins = vec![scenario.rules()];
        match *name {
            "S" => scenario.trigger = Some((secs(60), secs(360))),
            "U" => scenario.trigger = Some((secs(60), secs(240))),
            "P" => scenario.poison = 0.25,
            "Mix" => scenario.poison = 0.05,
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
            origins: Vec::new(),
            latency: Latency::LogNormal { median: 0.8, sigma: 0.5 },
            exit: |_| ExitRules::GOOD,
            gateways: Vec::new(),
            sessions: false,
            patience: None,
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
        if name == "S3" {
            origins[0].down = Some((secs(600), secs(780)));
        }
        Some(Self {
            exits: 50,
            jobs: 0,
            load: Load::Open { per_second: [12.0, 3.0], seconds: 1_800.0 },
            origins,
            latency: Latency::Instant { failure: Duration::from_millis(200), dead: secs(5) },
            exit: |at| ExitRules { dead_from: (at < 5).then_some(Duration::ZERO), ..ExitRules::GOOD },
            patience: Some(secs(300)),
            ..Self::plain(name)
        })
    }

    /// The worlds behind gateways: Full opens 40 tunnels at once, Full2 has a second gateway with room, Out is not to be reached
    /// for 60 s, Brown refuses half of all for 30 s. Key has a login that dies and gets another password 120 s later, Key2 a
    /// second gateway that does not, Quota traffic for 6,000 tunnels and more after 150 s; Stray, Stray5 and Stray10 refuse
    /// right logins, of 10,000 one, and of 100 five and ten.
    pub const GATEWAYS: &'static [&'static str] =
        &["Full", "Full2", "Out", "Brown", "Key", "Key2", "Quota", "Stray", "Stray5", "Stray10"];

    /// The worlds in which every fifth exit is not good: Dead and Gone are dead from 30 s on, Dead by silence; Flap is up and down
    /// for 20 s each; Lossy breaks one body in twenty off. In Rot all are good, limited as in T, and have another address every 10
    /// minutes.
    pub const EXITS: &'static [&'static str] = &["Dead", "Gone", "Flap", "Lossy", "Rot"];

    /// A world behind gateways by its name: 200 exits, 256 workers, 40,000 jobs.
    #[must_use]
    pub fn behind(name: &str) -> Option<Self> {
        let name = Self::GATEWAYS.iter().find(|known| **known == name)?;
        let good = GatewayRules::GOOD;
        let full = GatewayRules { most: Some(40), ..good };
        let dies = GatewayRules { login: Login::Dies(secs(30), secs(150)), ..good };
        let strays = |strays| vec![GatewayRules { strays, ..good }];
        let (gateways, trigger) = match *name {
            "Full" => (vec![full], None),
            "Full2" => (vec![full, good], None),
            "Out" => (vec![GatewayRules { down: Some((secs(30), secs(90))), ..good }], Some((30, 90))),
            "Brown" => {
                (vec![GatewayRules { brown: Some((secs(30), secs(60), 0.5)), ..good }], Some((30, 60)))
            }
            "Key" => (vec![dies], Some((30, 150))),
            "Key2" => (vec![dies, good], Some((30, 150))),
            "Quota" => (vec![GatewayRules { login: Login::Quota(6_000, secs(150)), ..good }], None),
            "Stray5" => (strays(0.05), None),
            "Stray10" => (strays(0.1), None),
            _ => (strays(1e-4), None),
        };
        Some(Self {
            jobs: 40_000,
            origins: vec![Rules::FREE],
            sessions: matches!(name.as_bytes(), [b'K' | b'Q', ..]) || name.starts_with("Stray"),
            gateways,
            trigger: trigger.map(|(from, to)| (secs(from), secs(to))),
            horizon: secs(1_800),
            ..Self::plain(name)
        })
    }

    /// A world of exits that are not all good, by its name: 200 exits, 256 workers, 20,000 jobs.
    #[must_use]
    pub fn through(name: &str) -> Option<Self> {
        let name = Self::EXITS.iter().find(|known| **known == name)?;
        let mut scenario = Self { origins: vec![Rules::FREE], ..Self::plain(name) };
        match *name {
            "Dead" => {
                scenario.exit = |at| fifth(at, ExitRules { dead_from: Some(secs(30)), ..ExitRules::GOOD })
            }
            "Gone" => {
                scenario.exit = |at| {
                    let gone =
                        ExitRules { dead_from: Some(secs(30)), broken: Broken::Refuses, ..ExitRules::GOOD };
                    fifth(at, gone)
                }
            }
            "Flap" => scenario.exit = |at| fifth(at, ExitRules { flaps: Some(secs(20)), ..ExitRules::GOOD }),
            "Lossy" => scenario.exit = |at| fifth(at, ExitRules { lossy: 0.05, ..ExitRules::GOOD }),
            _ => {
                scenario.exit = |_| ExitRules { rotates: Some(secs(600)), ..ExitRules::GOOD };
                (scenario.origins, scenario.jobs) = (vec![t()], 100_000);
            }
        }
        Some(scenario)
    }

    /// The gateways, whose sessions the exits are, with such a password; none if they are listed.
    pub(super) fn sessions(&self, password: &str) -> Vec<Gateway> {
        let count = self.gateways.len();
        let each = NonZeroU32::new(self.exits / u32::try_from(count.max(1)).unwrap_or(1));
        let gateway = |at: usize| {
            let spec = format!("http://user-{{session}}:{password}@gateway{at}.test:7000");
            Some(Gateway::parse(&spec).ok()?.sessions(each?))
        };
        (0..count).filter(|_| self.sessions).filter_map(gateway).collect()
    }

    /// The number of the gateway with this name.
    pub(super) fn gateway_of(host: &str) -> u32 {
        host.trim_start_matches("gateway").trim_end_matches(".test").parse().unwrap_or(0)
    }

    /// Sets how many jobs there are.
    #[must_use]
    pub const fn jobs(mut self, jobs: u32) -> Self {
        self.jobs = jobs;
        self
    }

    /// Sets how many exits there are, at least 1, and how many workers.
    #[must_use]
    pub fn pool(mut self, exits: u32, workers: u32) -> Self {
        (self.exits, self.load) = (exits.max(1), Load::Closed { workers });
        self
    }

    /// Sets how long a job may take in an open load.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn exit_rules(&self, at: u32) -> ExitRules {
        (self.exit)(at)
    }

    /// The exits as a list, neighbours in one /24. In S2 they are told apart by their login alone.
    pub(super) fn list(&self) -> String {
        let mut list = String::new();
        if self.sessions {
            return list;
        }
        for at in 0..self.exits {
            let (subnet, host) = (at / SUBNET, at % SUBNET + 1);
            let gateways = u32::try_from(self.gateways.len()).unwrap_or(0);
            let _ = match self.name {
                _ if gateways > 0 => {
                    writeln!(list, "http://user-{at}:secret@gateway{}.test:7000", at % gateways)
                }
                "S2" => writeln!(list, "http://user-{at}:secret@gateway.test:7000"),
                _ => writeln!(list, "http://10.{}.{}.{host}:8080", subnet / 256, subnet % 256),
            };
        }
        list
    }
}
