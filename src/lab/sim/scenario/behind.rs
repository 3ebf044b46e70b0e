//! The worlds in which exits and their gateways are what is not well.

use super::{Rules, Scenario, by_chance, secs, t};
use crate::exit::Gateway;
use crate::lab::sim::world::{Broken, ExitRules, GatewayRules, Login};
use std::num::NonZeroU32;
use std::time::Duration;

/// The passwords of the gateways' logins: at first, and once their operator has another.
pub(in crate::lab::sim) const FIRST: &str = "first";
pub(in crate::lab::sim) const SECOND: &str = "second";

/// Every fifth exit is so, the others are good.
const fn fifth(at: u32, rules: ExitRules) -> ExitRules {
    if at % 5 == 0 { rules } else { ExitRules::GOOD }
}

impl Scenario {
    /// Worlds of Noise in which all exits are sessions of one gateway with one login: Login, where it is refused from 60 s on;
    /// Stray5 and Stray10, where 5 and 10 % of the attempts are, though it is right.
    pub const LOGINS: [&'static str; 3] = ["Login", "Stray5", "Stray10"];

    /// The worlds behind gateways at a site that serves everybody: Full opens 40 tunnels at once, Full2 has a second gateway
    /// with room, Out is not to be reached for 60 s, Brown refuses half of all for 30 s. Key has a login that dies and gets
    /// another password 120 s later, Key2 a second gateway that does not, Quota traffic for 6,000 tunnels and more after 150 s;
    /// Stray refuses one right login of 10,000.
    pub const GATEWAYS: &'static [&'static str] =
        &["Full", "Full2", "Out", "Brown", "Key", "Key2", "Quota", "Stray"];

    /// The worlds in which every fifth exit is not good: Dead and Gone are dead from 30 s on, Dead by silence; Flap is up and
    /// down for 20 s each; Lossy breaks one body in twenty off. In Rot all are good, limited as in T, and have another address
    /// every 10 minutes.
    pub const EXITS: &'static [&'static str] = &["Dead", "Gone", "Flap", "Lossy", "Rot"];

    /// A world behind gateways by its name, one of [`LOGINS`](Self::LOGINS) or [`GATEWAYS`](Self::GATEWAYS): 200 exits, 256
    /// workers, 20,000 jobs in the ones and 40,000 in the others.
    #[must_use]
    pub fn behind(name: &str) -> Option<Self> {
        let name = Self::LOGINS.iter().chain(Self::GATEWAYS).find(|known| **known == name)?;
        let logins = Self::LOGINS.contains(name);
        // Nobody revives the login of Login: what waits for it waits in vain.
        let (jobs, horizon) = match *name {
            "Login" => (20_000, secs(180)),
            _ if logins => (20_000, secs(40_000)),
            _ => (40_000, secs(1_800)),
        };
        let trigger = match *name {
            "Out" => Some((30, 90)),
            "Brown" => Some((30, 60)),
            "Key" | "Key2" => Some((30, 150)),
            _ => None,
        };
        Some(Self {
            jobs,
            origins: vec![if logins { by_chance(0.02) } else { Rules::FREE }],
            sessions: logins || matches!(*name, "Key" | "Key2" | "Quota" | "Stray"),
            gateways: gateways(name),
            trigger: trigger.map(|(from, to)| (secs(from), secs(to))),
            horizon,
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
    pub(in crate::lab::sim) fn sessions(&self, password: &str) -> Vec<Gateway> {
        let count = self.gateways.len();
        let each = NonZeroU32::new(self.exits / u32::try_from(count.max(1)).unwrap_or(1));
        let gateway = |at: usize| {
            let spec = format!("http://user-{{session}}:{password}@gateway{at}.test:7000");
            Some(Gateway::parse(&spec).ok()?.sessions(each?))
        };
        (0..count).filter(|_| self.sessions).filter_map(gateway).collect()
    }

    /// The number of the gateway with this name.
    pub(in crate::lab::sim) fn gateway_of(host: &str) -> u32 {
        host.trim_start_matches("gateway").trim_end_matches(".test").parse().unwrap_or(0)
    }
}

fn gateways(name: &str) -> Vec<GatewayRules> {
    let good = GatewayRules::GOOD;
    let full = GatewayRules { most: Some(40), ..good };
    let dies = |from, to| GatewayRules { login: Login::Dies(from, to), ..good };
    let strays = |strays| vec![GatewayRules { strays, ..good }];
    match name {
        "Login" => vec![dies(secs(60), Duration::MAX)],
        "Full" => vec![full],
        "Full2" => vec![full, good],
        "Out" => vec![GatewayRules { down: Some((secs(30), secs(90))), ..good }],
        "Brown" => vec![GatewayRules { brown: Some((secs(30), secs(60), 0.5)), ..good }],
        "Key" => vec![dies(secs(30), secs(150))],
        "Key2" => vec![dies(secs(30), secs(150)), good],
        "Quota" => vec![GatewayRules { login: Login::Quota(6_000, secs(150)), ..good }],
        "Stray5" => strays(0.05),
        "Stray10" => strays(0.1),
        _ => strays(1e-4),
    }
}
