//! A configuration file in TOML: exits, gateways, pools, sites, rules and limits (feature `config`).
//!
//! [`Config`] is a file that was read with all that it points to, lists of proxies, secrets and certificates, and found right:
//! what is wrong is a [`ConfigError`] with file, line and field. It sets only what the file says; everything else is as its type
//! documents it.
//!
//! ```
//! use tower_egress::{Config, Scheduler};
//!
//! let config = Config::parse(r#"
//!     [[pool]]
//!     name = "dc"
//!     proxies = ["203.0.113.7:8080", "203.0.113.8:8080"]
//!     price_per_gb = 0.5
//!
//!     [[pool]]
//!     name = "resi"
//!     proxies = ["203.0.113.9:8080"]
//!     price_per_gb = 8.0
//!
//!     [[site]]
//!     origin = "shop.example"
//!     pools = ["dc", "resi"]   # the dear one while the site refuses the cheap one
//!
//!     [request]
//!     window = "10m"
//! "#)?;
//! let builder = config.builder(); // a Scheduler's, or what `operator().reload` takes
//! let ask = config.lease("sku-42");
//! # let _ = (builder, ask);
//!
//! let typo = Config::parse("[[pool]]\nname = 'dc'\nproxys = 'proxies.txt'").unwrap_err();
//! assert_eq!(typo.to_string(), "line 3: pool[0] has no key `proxys`; did you mean `proxies`?");
//! # Ok::<(), tower_egress::ConfigError>(())
//! ```
//!
//! # Keys
//! | table | keys |
//! |---|---|
//! | | `seed` |
//! | `[[pool]]` | `name`; `proxies`, `strict`; `gateway`; `proxy_tls`; `kind`, `country`, `vendor`, `weight`, `price_per_gb`, `max_in_flight`, `min_interval` |
//! | `[pool.gateway]`, or several as `[[pool.gateway]]` | one of `provider`, `template`, `rotating`; `user`, `password`, `fields`, `via` (`http`, `https`, `socks5h`, `socks5`), `country`, `state`, `city`, `ttl`, `lifetime`, `idle`, `sessions`, `token_length`, `digits` |
//! | `[[site]]` | `origin`, `pools`, `escalate_at`, `quiet`, `api`, `statuses` |
//! | `[request]` | `class`, `granularity`, `window`, `max_uses`, `affinity`, `scope`, `on_loss`, `exclusive`, `freshness`, `deadline`, `patience`, `attempts`, `repeatable`, `pools`, `country`, `kind` |
//! | `[retry]` | `preset` (`default`, `article`, `negotiated`), `max_attempts`, `retries_per_success`, `replay_cap` |
//! | `[classify]` | `attempt_timeout`, `body_idle_timeout`, `collect`, `pages` (whether block pages are looked for) |
//! | `[client]` | `connect_timeout`, `tunnel_timeout`, `tls_timeout`, `establish_timeout`, `idle_timeout`, `max_idle`, `tunnel_http`, `http2`, `roots`, `proxy_tls` |
//! | `proxy_tls`, of a pool or the client | `roots`, `identity = { chain, key }`, `server_name` |
//! | `[classes]` | a weight for each name, as `prices = 3` |
//! | `[bounds]` | `leases`, `waiters`, `origins`, `pairs`, `bindings`, `minted`, `events` |
//! | `[member]` | `index`, `of` |
//!
//! Each is the setter of that name, and documented there: [`Pool`], [`Gateway`](crate::Gateway), [`Site`], [`LeaseRequest`],
//! [`RetryRules`], [`ClassifyLayer`], [`Bounds`], [`Builder`]; `[client]` is `ExitClientBuilder`.
//!
//! - Time spans are texts, `"250ms"`, `"30s"`, `"1h 30m"`, of at most 100 years; sizes are bytes.
//! - `proxies` is the path of a list, or a list of specs. A bad line of a file is skipped, and [told](Config::skipped), unless
//!   `strict = true`; a bad spec in the file itself is an error.
//! - Where a secret may stand (a spec, `template`, `rotating`, `user`, `password`, a field of `fields`), `{ env = "NAME" }`
//!   takes it from the environment and `{ file = "PATH" }` from a file, without the line ends at its end. An empty one is an error.
//!   One in the file itself works, and is [warned](Config::warnings) of.
//! - Paths are relative to the file's folder.
//! - `statuses = { "420" = "rate_limited" }`; the words are `ok`, `rate_limited`, `blocked`, `blocked_exit`, `blocked_country`,
//!   `blocked_pattern`, `target_denied`, `target_unreachable`, `target_failed`, `origin_error` and `fatal`.
//!
//! # Reload
//! Read the file again, and hand its builder to a scheduler that runs: `scheduler.operator().reload(config.builder())`. A file
//! that cannot be read changes nothing, since there is no `Config` then. [`Config::not_taken_over`] says what else has changed. See [`Operator::reload`](crate::scheduler::Operator::reload).
//! A secret that may change while the program runs belongs into a file: variables are those of its start.

mod complaint;
mod document;
mod gateways;
mod keys;
mod places;
mod pools;
mod reader;
mod request;
mod sites;
mod summary;
#[cfg(test)]
mod tests;
mod value;
mod wire;

use crate::classify::ClassifyLayer;
#[cfg(feature = "client")]
use crate::client::ExitClientBuilder;
use crate::error::ConfigError;
use crate::exit::Pool;
use crate::request::{Affinity, Classes, Granularity, Key, LeaseRequest};
use crate::scheduler::{Bounds, Builder, Scheduler};
use crate::site::Site;
use crate::stack::EgressLayer;
use crate::verdict::RetryRules;
use document::{Document, Limits};
use reader::{Env, Reader};
use request::set;
use std::path::Path;

/// A configuration that was read and found right. Prints as a summary; neither that nor its `Debug` shows a secret.
#[derive(Clone, Debug)]
pub struct Config {
    pools: Vec<Pool>,
    /// What the summary says of each pool's gateways.
    told: Vec<Vec<String>>,
    sites: Vec<(String, Site)>,
    rules: RetryRules,
    replay_cap: Option<usize>,
    /// What requests ask for, and whether the file says so.
    lease: LeaseRequest,
    classify: Limits,
    #[cfg(feature = "client")]
    client: ExitClientBuilder,
    bounds: Bounds,
    classes: Classes,
    member: Option<(u32, u32)>,
    seed: Option<u64>,
    warnings: Vec<ConfigError>,
    skipped: Vec<ConfigError>,
}

impl Config {
    /// Reads a file, and all that it points to. Its paths are relative to its folder.
    ///
    /// # Errors
    /// What is wrong, with the file and the line of the place: it cannot be read, is no TOML, has an unknown key (with the
    /// nearest known one), a value of a wrong type or out of range, a pool twice, a site with an unknown pool, or names a
    /// variable or file that is not there. No value that may be a secret is repeated.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let bytes = reader::read(path).map_err(|error| {
            let cure = "check the path and its permissions";
            ConfigError::new("config", format!("cannot be read: {error}"), cure).in_file(path)
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
            ConfigError::new("config", "is not UTF-8", "save the file as UTF-8")
                .at_line(u32::try_from(line).unwrap_or(u32::MAX))
                .in_file(path)
        })?;
        Self::read(&text, Some(path), &|name| std::env::var(name))
    }

    /// Reads a text, and all that it points to. Its paths are relative to the working directory.
    ///
    /// # Errors
    /// As [`from_path`](Self::from_path), without a file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::read(text, None, &|name| std::env::var(name))
    }

    fn read(text: &str, file: Option<&Path>, env: Env<'_>) -> Result<Self, ConfigError> {
        let (document, mut reader) = Reader::open(text, file, env)?;
        let Document { pool, site, retry, request, classify, client, bounds, classes, member, seed } =
            document;
        let pools = pools::read(&mut reader, &pool)?;
        let told = pool.iter().zip(&pools).map(|(table, pool)| table.told(pool.gateways())).collect();
        let sites = sites::read(&reader, &site, &pools)?;
        let classes = document::classes(&reader, &classes)?;
        let lease = request.read(&reader, &pools, &classes)?;
        #[cfg(feature = "client")]
        let client = wire::client(&reader, client.as_ref())?;
        #[cfg(not(feature = "client"))]
        wire::client(&reader, client.as_ref())?;
        let member = member.map(|member| member.read(&reader)).transpose()?;
        let rules = retry.rules(&reader)?;
        let (bounds, classify) = (bounds.read(&reader)?, classify.read(&reader)?);
        let Reader { warnings, skipped, .. } = reader;
        let replay_cap = retry.replay_cap;
        Ok(Self {
            pools,
            told,
            sites,
            rules,
            replay_cap,
            lease,
            classify,
            #[cfg(feature = "client")]
            client,
            bounds,
            classes,
            member,
            seed,
            warnings,
            skipped,
        })
    }

    /// The scheduler's part: pools, sites, rules of retries, bounds, classes, member and seed. Add what only a program can, such as
    /// observers, and build it; or reload a scheduler with it.
    #[must_use]
    pub fn builder(&self) -> Builder {
        let builder = Builder::default().rules(self.rules.clone()).bounds(self.bounds);
        let classes = self.classes.iter();
        let builder = classes.fold(builder, |builder, (name, weight)| builder.class(name.clone(), weight));
        let builder = self.pools.iter().cloned().fold(builder, Builder::pool);
        let sites = self.sites.iter().cloned();
        let builder = sites.fold(builder, |builder, (origin, site)| builder.site(origin.as_str(), site));
        let builder = set(builder, self.member, |builder, (index, of)| builder.member(index, of));
        set(builder, self.seed, Builder::seed)
    }

    /// What work for `key` asks for, as `[request]` has it. What only the program knows it adds: the
    /// [worker](LeaseRequest::worker), the [generation](LeaseRequest::generation) of an identity.
    #[must_use]
    pub fn lease(&self, key: impl Into<Key>) -> LeaseRequest {
        LeaseRequest { key: key.into(), ..self.lease.clone() }
    }

    /// The layer that names outcomes, as `[classify]` has it.
    #[must_use]
    pub fn classify(&self) -> ClassifyLayer {
        let Limits { attempt, body_idle, collect, pages } = self.classify;
        let layer = set(ClassifyLayer::new(), attempt, ClassifyLayer::attempt_timeout);
        let layer = set(layer, body_idle, ClassifyLayer::body_idle_timeout);
        let layer = set(layer, collect, ClassifyLayer::collect);
        set(layer, pages, ClassifyLayer::pages)
    }

    /// The three layers in their order, as `[classify]` and `[retry]` have them. Requests that say nothing themselves lease as
    /// `[request]` has it if that needs no key of theirs: if it holds nothing, or shares by origin or in turns.
    #[must_use]
    pub fn egress_layer(&self, scheduler: &Scheduler) -> EgressLayer {
        let Limits { attempt, body_idle, collect, pages } = self.classify;
        let layer = set(EgressLayer::new(scheduler), attempt, EgressLayer::attempt_timeout);
        let layer = set(layer, body_idle, EgressLayer::body_idle_timeout);
        let layer = set(layer, collect, EgressLayer::collect);
        let layer = set(layer, pages, EgressLayer::pages);
        let layer = set(layer, self.replay_cap, EgressLayer::replay_cap);
        let keyless = matches!(self.lease.granularity, Granularity::PerRequest)
            || matches!(self.lease.affinity, Affinity::Origin | Affinity::RoundRobin);
        if keyless { layer.default_lease(self.lease.clone()) } else { layer }
    }

    /// The client, as `[client]` has it.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn client(&self) -> ExitClientBuilder {
        self.client.clone()
    }

    /// What `next` says otherwise than this one, and a [reload](crate::scheduler::Operator::reload) does not take over: tables,
    /// and keys outside of a table. `[request]`, `[classify]`, `[client]` and `retry.replay_cap` are a matter of layers and
    /// clients, which are built once; `[bounds]`, `[classes]`, `[member]` and `seed` are a scheduler's for life. Of `proxy_tls` it sees the
    /// server's name alone.
    ///
    /// ```
    /// use tower_egress::Config;
    ///
    /// let first = Config::parse("[request]\nwindow = '10m'")?;
    /// let next = Config::parse("[request]\nwindow = '5m'")?;
    /// assert_eq!(first.not_taken_over(&next), ["[request]"]);
    /// # Ok::<(), tower_egress::ConfigError>(())
    /// ```
    #[must_use]
    pub fn not_taken_over(&self, next: &Self) -> Vec<&'static str> {
        let differ = |one: &dyn std::fmt::Debug, other: &dyn std::fmt::Debug| {
            format!("{one:?}") != format!("{other:?}")
        };
        let changes = [
            ("[request]", differ(&self.lease, &next.lease)),
            ("[classify]", differ(&self.classify, &next.classify)),
            #[cfg(feature = "client")]
            ("[client]", differ(&self.client, &next.client)),
            ("retry.replay_cap", self.replay_cap != next.replay_cap),
            ("[bounds]", self.bounds != next.bounds),
            ("[classes]", self.classes != next.classes),
            ("[member]", self.member != next.member),
            ("seed", self.seed != next.seed),
        ];
        changes.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }

    /// The pools, in the order of the file.
    #[must_use]
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// What works, but should not stay: secrets that stand in the file itself. Each says where, and what to do.
    #[must_use]
    pub fn warnings(&self) -> &[ConfigError] {
        &self.warnings
    }

    /// Lines of lists of proxies that could not be read, and are left out: of each list the first 100.
    #[must_use]
    pub fn skipped(&self) -> &[ConfigError] {
        &self.skipped
    }
}
