//! From exits and rules to a scheduler.

use super::Scheduler;
use super::events::Observers;
use crate::error::ConfigError;
use crate::exit::{Exit, ExitId, ExitList, Gateway, Pool};
use crate::fleet::{Bounds, Event, FleetConfig, MOST_POOLS, Member};
use crate::knobs::Knobs;
use crate::request::{Classes, Key, Origin};
use crate::site::{Site, Sites};
use crate::verdict::RetryRules;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

/// Builds a [`Scheduler`]. Everything is checked by [`build`](Self::build).
#[derive(Clone, Debug, Default)]
pub struct Builder {
    exits: Vec<Exit>,
    gateways: Vec<Gateway>,
    pools: Vec<Pool>,
    sites: Sites,
    rules: RetryRules,
    seed: Option<u64>,
    member: Option<(u32, u32)>,
    bounds: Bounds,
    classes: Classes,
    observers: Observers,
}

impl Builder {
    /// Adds exits. The same exit twice counts once. Lines of the list that were [skipped](ExitList::skipped) are logged.
    #[must_use]
    pub fn exits(mut self, exits: ExitList) -> Self {
        tell_skipped(&exits);
        self.exits.extend(exits);
        self
    }

    /// Adds a gateway. The same gateway twice counts once.
    #[must_use]
    pub fn gateway(mut self, gateway: Gateway) -> Self {
        self.gateways.push(gateway);
        self
    }

    /// Adds a named pool. What [`exits`](Self::exits) and [`gateway`](Self::gateway) add is the pool `default`.
    #[must_use]
    pub fn pool(mut self, pool: Pool) -> Self {
        tell_skipped(&pool.exits);
        self.pools.push(pool);
        self
    }

    /// Says what holds at one origin alone: its name as [`Origin`] has it, `*.shop.example` for all below a name, `*` for
    /// all that nothing else is said of. The closest name holds; said twice, the later.
    #[must_use]
    pub fn site(mut self, origin: impl Into<Origin>, site: Site) -> Self {
        self.sites.insert(origin.into().as_str(), site);
        self
    }

    /// Tells this process which of `of` it is, counted from 0: it then draws and counts apart from the others. What holds an
    /// exit rides the same session in all of them, if they have the same seed.
    ///
    /// Of what there is in any case it takes a share: of the two retries a second that a site and the fleet have whatever
    /// succeeds, and of the least concurrency that a site or a gateway in trouble is left. What it learns it learns from its own
    /// attempts, each process for itself: gaps, limits and rests come out right, since all feel the same site, and come later. What
    /// you say of a pool counts for each process: with four of them let
    /// [`Pool::interval`](crate::exit::Pool::interval) be four times as long, and
    /// [`Pool::in_flight`](crate::exit::Pool::in_flight) a fourth.
    #[must_use]
    pub fn member(mut self, index: u32, of: u32) -> Self {
        self.member = Some((index, of));
        self
    }

    /// Sets the seed of all choices: the same seed and the same calls at the same times lease the same exits. Random
    /// unless said, and then logged.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the rules of retries.
    #[must_use]
    pub fn rules(mut self, rules: RetryRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets how much it keeps at most.
    #[must_use]
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Declares a class of requests and its weight, 1 to 1,000; at most 16. Where requests wait in line for a site, each class
    /// that waits is served in proportion to its weight, and first come, first served within it: what one does not use goes to
    /// the others. Where nobody waits, or the same exit, classes change nothing. Requests that
    /// [name no class](crate::LeaseRequest::class) are of `default`, of weight 1 unless declared. Half of the places in the line
    /// ([`Bounds::waiters`]) are kept for all classes alike, so that none fills it. A scheduler keeps its classes for life.
    ///
    /// ```
    /// use tower_egress::{ExitList, LeaseRequest, Next, Scheduler};
    ///
    /// let scheduler = Scheduler::builder()
    ///     .exits(ExitList::parse("203.0.113.7:8080")?)
    ///     .class("prices", 3) // three of four, while both wait
    ///     .class("bulk", 1)
    ///     .build()?;
    /// let lease = scheduler.lease(&LeaseRequest::new("sku-42").class("prices").origin("shop.example"))?;
    /// let typo = LeaseRequest::new("sku-42").class("price").origin("shop.example");
    /// assert_eq!(scheduler.lease(&typo).unwrap_err().next(), Next::Bug);
    /// # drop(lease);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn class(mut self, name: impl Into<Key>, weight: u32) -> Self {
        self.classes.add(name.into(), weight);
        self
    }

    /// Tells `observer` of everything that happens, in order, with the wall time of each event. It runs on whatever task
    /// comes out of the scheduler next, without a lock: it should be quick, and may call the scheduler. If it panics, so
    /// does the call that it was told in; nothing leaks, but the events that were to be told with it are lost.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use tower_egress::scheduler::Event;
    /// use tower_egress::{ExitList, LeaseRequest, Outcome, Scheduler};
    ///
    /// static BLOCKS: AtomicU32 = AtomicU32::new(0);
    /// let scheduler = Scheduler::builder()
    ///     .exits(ExitList::parse("203.0.113.7:8080")?)
    ///     .observe(|_at, event| {
    ///         if matches!(event, Event::Report { outcome: Outcome::Blocked { .. }, .. }) {
    ///             BLOCKS.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     })
    ///     .build()?;
    /// let lease = scheduler.lease(&LeaseRequest::new("sku-42").origin("shop.example"))?;
    /// lease.report(Outcome::Blocked { by: tower_egress::outcome::BlockedBy::Unknown });
    /// assert_eq!(BLOCKS.load(Ordering::Relaxed), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(SystemTime, &Event) + Send + Sync + 'static) -> Self {
        self.observers.add(observer);
        self
    }

    /// Builds the scheduler; its clock starts now.
    ///
    /// # Errors
    /// That there is neither an exit nor a gateway, that one of them was given with two passwords, or that a member, a bound
    /// or a gateway's number of sessions is out of range, or that classes, a pool, a site or the two together cannot be.
    pub fn build(self) -> Result<Scheduler, ConfigError> {
        let (index, of) = self.member.unwrap_or((0, 1));
        if index >= of {
            return Err(ConfigError::new("member", "is not below the number of members", "count from 0"));
        }
        self.bounds.check()?;
        self.classes.check()?;
        let knobs = Knobs::default().for_one_of(of);
        knobs
            .check()
            .map_err(|rule| ConfigError::new("knobs", format!("are wrong: {rule}"), "mend src/knobs"))?;
        let (seed, bounds, observers) = (self.seed, self.bounds, self.observers.clone());
        let classes = self.classes.clone();
        let Stock { pools, sites, rules } = self.stock()?;
        let config = FleetConfig {
            pools,
            sites,
            member: Member { index, of },
            rules,
            seed: seed.unwrap_or_else(random_seed),
            epoch: 0,
            bounds,
            knobs,
            classes,
        };
        Ok(Scheduler::start(config, observers))
    }

    /// What a scheduler is stocked with, at first and at each reload: checked.
    pub(super) fn stock(self) -> Result<Stock, ConfigError> {
        self.rules.check()?;
        let mut pools = self.pools;
        let is_default = |pool: &Pool| pool.name() == DEFAULT;
        if !self.exits.is_empty() || !self.gateways.is_empty() {
            if pools.iter().any(is_default) {
                let cure =
                    "name it otherwise: what Builder::exits and Builder::gateway add is the pool `default`";
                return Err(ConfigError::new("pools", "hold `default` beside exits without a pool", cure));
            }
            let listed = Pool::new(DEFAULT, self.exits.into_iter().collect::<ExitList>());
            pools.push(self.gateways.into_iter().fold(listed, Pool::and));
        }
        if pools.is_empty() {
            return Err(ConfigError::new(
                "exits",
                "are missing",
                "add a list with Builder::exits, or Builder::gateway, or Builder::pool",
            ));
        }
        if pools.len() > MOST_POOLS {
            let what = format!("are {}", pools.len());
            return Err(ConfigError::new("pools", what, "name at most 63: a pool may have several gateways"));
        }
        for (at, pool) in pools.iter().enumerate() {
            pool.check()?;
            if pools[..at].iter().any(|before| before.name() == pool.name()) {
                let what = format!("hold `{}` twice", pool.name());
                return Err(ConfigError::new("pools", what, "give each a name of its own"));
            }
        }
        let gateways = pools.iter().map(|pool| pool.gateways.len()).sum::<usize>();
        if gateways > MOST_GATEWAYS {
            let what = format!("are {gateways}");
            return Err(ConfigError::new(
                "gateways",
                what,
                "give at most 4,096; a list holds what is one exit",
            ));
        }
        check_gateways(&pools)?;
        let pools: Vec<_> = distinct(pools)?.into_iter().map(Pool::located).collect();
        for (origin, site) in self.sites.iter() {
            site.check(&origin)?;
            if let Some(unknown) =
                site.pools.iter().find(|name| !pools.iter().any(|pool| pool.name() == &***name))
            {
                let what = format!("of `{origin}` name `{unknown}`, which is no pool");
                return Err(ConfigError::new("site pools", what, "add the pool, or mend its name"));
            }
        }
        Ok(Stock { pools, sites: Arc::new(self.sites), rules: self.rules })
    }
}

/// Exits that are missing must not go unseen.
fn tell_skipped(list: &ExitList) {
    if let Some(first) = list.skipped().first() {
        let lines = list.skipped_total();
        tracing::warn!(target: "tower_egress", lines, %first, "lines of a list could not be read, and name no exit");
    }
}

/// What a scheduler is stocked with.
pub(super) struct Stock {
    pub(super) pools: Vec<Pool>,
    pub(super) sites: Arc<Sites>,
    pub(super) rules: RetryRules,
}

/// Most gateways.
const MOST_GATEWAYS: usize = 4_096;
/// The name of the pool of exits that were given without one.
const DEFAULT: &str = "default";

/// Each gateway in one pool, in one way.
fn check_gateways(pools: &[Pool]) -> Result<(), ConfigError> {
    let mut seen: HashMap<u64, (usize, &Gateway)> = HashMap::new();
    for (at, pool) in pools.iter().enumerate() {
        for gateway in &pool.gateways {
            match seen.insert(gateway.id(), (at, gateway)) {
                Some((before, _)) if before != at => {
                    let what = format!(
                        "of `{}` and `{}` have a gateway in common",
                        pools[before].name(),
                        pool.name()
                    );
                    return Err(ConfigError::new("pools", what, "keep it in one of them"));
                }
                Some((_, before)) if before != gateway => {
                    return Err(ConfigError::new(
                        "gateways",
                        "hold one gateway in two ways",
                        "keep one of the two",
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The exits of each pool in the order they were given, each once, and in one pool alone.
fn distinct(pools: Vec<Pool>) -> Result<Vec<Pool>, ConfigError> {
    let mut seen: HashMap<ExitId, (usize, Exit)> = HashMap::new();
    let mut out: Vec<Pool> = Vec::with_capacity(pools.len());
    for (at, mut pool) in pools.into_iter().enumerate() {
        let mut own = Vec::new();
        for exit in std::mem::take(&mut pool.exits) {
            let exit = match pool.terms.vendor {
                Some(vendor) => exit.vendor(vendor),
                None => exit,
            };
            match seen.get(&exit.id()) {
                None => {
                    seen.insert(exit.id(), (at, exit.clone()));
                    own.push(exit);
                }
                Some((before, _)) if *before != at => {
                    let first = &out[*before];
                    let what = format!(
                        "of `{}` and `{}` have exit {} in common",
                        first.name(),
                        pool.name(),
                        exit.id()
                    );
                    return Err(ConfigError::new("pools", what, "keep it in one of them"));
                }
                Some((_, known)) if *known == exit => {}
                Some(_) => {
                    let what = format!("hold exit {} with two passwords", exit.id());
                    return Err(ConfigError::new("exits", what, "keep one of the two"));
                }
            }
        }
        pool.exits = own.into_iter().collect();
        if pool.exits.is_empty() && pool.gateways.is_empty() {
            let what = format!("of `{}` are all of another pool", pool.name());
            return Err(ConfigError::new("pool exits", what, "keep each in one pool"));
        }
        out.push(pool);
    }
    Ok(out)
}

#[expect(clippy::disallowed_methods, reason = "the one place that draws the seed")]
fn random_seed() -> u64 {
    let seed = rand::random();
    tracing::info!(target: "tower_egress", seed, "no seed was given; this one repeats the run");
    seed
}
