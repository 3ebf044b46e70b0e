//! Sites: what holds for one origin alone. Which pools serve it, in which order, and what its statuses mean.
//!
//! ```
//! use tower_egress::exit::{ExitList, Pool};
//! use tower_egress::{Outcome, Scheduler, site::Site};
//!
//! let dc = Pool::new("dc", ExitList::parse("203.0.113.7:8080")?);
//! let resi = Pool::new("resi", ExitList::parse("203.0.113.8:8080")?);
//! let scheduler = Scheduler::builder()
//!     .pool(dc)
//!     .pool(resi)
//!     // The cheap pool first; the dear one while the site refuses the cheap one too often.
//!     .site("shop.example", Site::order(["dc", "resi"]))
//!     // A partner whose 4xx are answers.
//!     .site("api.partner.example", Site::api())
//!     // A shop that says "slow down" in words of its own.
//!     .site("*.odd.example", Site::new().status(420, Outcome::RateLimited { retry_after: None }))
//!     .build()?;
//! # let _ = scheduler;
//! # Ok::<(), tower_egress::ConfigError>(())
//! ```

mod table;

pub(crate) use table::Sites;

use crate::error::ConfigError;
use crate::outcome::Outcome;
use std::sync::Arc;
use std::time::Duration;

/// What holds for one origin. Give it to [`Builder::site`](crate::scheduler::Builder::site).
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    pub(crate) pools: Vec<Arc<str>>,
    /// Whether pools were said, so that none is a mistake.
    ordered: bool,
    pub(crate) escalate_at: f64,
    pub(crate) quiet: Duration,
    /// Sorted by status.
    statuses: Vec<(u16, Outcome)>,
    api: bool,
}

/// The block rate that is too high unless said.
const ESCALATE_AT: f64 = 0.3;
/// How long a pool that was left is left alone unless said.
const QUIET: Duration = Duration::from_secs(600);

impl Default for Site {
    fn default() -> Self {
        Self {
            pools: Vec::new(),
            ordered: false,
            escalate_at: ESCALATE_AT,
            quiet: QUIET,
            statuses: Vec::new(),
            api: false,
        }
    }
}

impl Site {
    /// A site like any other.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A site that is served by these pools alone, the first one first; see [`pools`](Self::pools).
    #[must_use]
    pub fn order<'a>(pools: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new().pools(pools)
    }

    /// A partner's API: every 4xx is an answer of its own (a 403 is no block, a 404 no gap), and blames nobody. Only a
    /// `Retry-After`, and the proxy's 407, act. Its bodies are not searched for block pages.
    #[must_use]
    pub fn api() -> Self {
        Self { api: true, ..Self::default() }
    }

    /// Sets which pools serve it, in this order. New work goes to the first one; while the site refuses it [too
    /// often](Self::escalate_at), to the next; after a [quiet](Self::quiet) time, back. A request that finds nobody usable in
    /// the pool whose turn it is goes on through a later one, else through an earlier one.
    #[must_use]
    pub fn pools<'a>(mut self, pools: impl IntoIterator<Item = &'a str>) -> Self {
        (self.pools, self.ordered) = (pools.into_iter().map(Arc::from).collect(), true);
        self
    }

    /// Sets which share of refusals (403, 429, block pages) a pool may have: above 0, at most 1. Sixteen in a row are too much for
    /// the default, 0.3, and so is half of them for some hundred answers; a little more than the share may stay for long.
    #[must_use]
    pub fn escalate_at(mut self, share: f64) -> Self {
        self.escalate_at = share;
        self
    }

    /// Sets how long a pool that was left is left alone before it is tried again; doubles while that fails, up to eight
    /// times as long. 1 s to a day. Default 600 s.
    #[must_use]
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// Says what a status means here, before the [table](crate::classify) and after the headers of known walls.
    #[must_use]
    pub fn status(mut self, status: u16, outcome: Outcome) -> Self {
        match self.statuses.binary_search_by_key(&status, |(known, _)| *known) {
            Ok(at) => self.statuses[at].1 = outcome,
            Err(at) => self.statuses.insert(at, (status, outcome)),
        }
        self
    }

    /// What a status means here, if that was said.
    pub(crate) fn outcome_of(&self, status: u16) -> Option<Outcome> {
        let at = self.statuses.binary_search_by_key(&status, |(known, _)| *known).ok()?;
        Some(self.statuses[at].1)
    }

    /// Whether it is an API, whose 4xx are answers.
    pub(crate) const fn is_api(&self) -> bool {
        self.api
    }

    /// What its setters cannot refuse.
    pub(crate) fn check(&self, origin: &str) -> Result<(), ConfigError> {
        let of = |what: &str| format!("of `{origin}` {what}");
        let bare = origin.strip_prefix("*.").unwrap_or(if origin == "*" { "all" } else { origin });
        if bare.is_empty() || bare.contains(|c: char| c.is_whitespace() || matches!(c, '/' | '*' | '@')) {
            let cure = "write a host, like `shop.example`, `*.shop.example` or `*`";
            return Err(ConfigError::new("site origin", format!("`{origin}` is no name of a site"), cure));
        }
        if self.ordered && self.pools.is_empty() {
            let cure = "name one at least, or leave the order out for any pool";
            return Err(ConfigError::new("site pools", of("are none"), cure));
        }
        if !(self.escalate_at > 0.0 && self.escalate_at <= 1.0) {
            let cure = "give the share of refusals that is too much, like 0.3";
            return Err(ConfigError::new("site escalate_at", of("is not above 0 and at most 1"), cure));
        }
        if !(Duration::from_secs(1)..=Duration::from_secs(86_400)).contains(&self.quiet) {
            return Err(ConfigError::new("site quiet", of("is not 1 s to a day"), "give it in seconds"));
        }
        for (at, pool) in self.pools.iter().enumerate() {
            if self.pools[..at].contains(pool) {
                return Err(ConfigError::new(
                    "site pools",
                    of(&format!("name `{pool}` twice")),
                    "name each once",
                ));
            }
        }
        if let Some((status, _)) = self.statuses.iter().find(|(status, _)| !(100..=999).contains(status)) {
            let cure = "a status has three digits";
            return Err(ConfigError::new("site status", of(&format!("is {status}")), cure));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_request_has_and_an_order_of_nothing_are_mistakes() {
        for good in ["shop.example", "shop.example:8443", "*.shop.example", "*", "127.0.0.1:80", "a group"] {
            assert_eq!(Site::new().check(good).is_ok(), !good.contains(' '), "{good}");
        }
        for bad in [
            "",
            "https://shop.example",
            "shop.example/",
            "*shop.example",
            "shop.*.example",
            "*.",
            "me@shop.example",
        ] {
            let wrong = Site::new().check(bad).unwrap_err().to_string();
            assert!(wrong.contains("is no name of a site; write a host"), "{wrong}");
        }
        let nothing = Site::order([]).check("shop.example").unwrap_err().to_string();
        assert!(nothing.starts_with("site pools of `shop.example` are none; "), "{nothing}");
    }
}
