//! Named pools: exits that are of one kind, bought in one place, and used on the same terms.

use super::{ExitList, Gateway, Vendor};
use crate::error::ConfigError;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// Exits under a name: a list, a gateway, or several of them, with what they have in common. Give it to
/// [`Builder::pool`](crate::scheduler::Builder::pool).
///
/// ```
/// use std::time::Duration;
/// use tower_egress::exit::{ExitList, Gateway, Pool};
///
/// let cheap = Pool::new("dc", ExitList::parse("203.0.113.7:8080\n203.0.113.8:8080")?)
///     .kind("datacenter")
///     .price(0.5)
///     .interval(Duration::from_secs(1));
/// let dear = Pool::new("resi", Gateway::parse("http://user-{session}:pw@gw.example:7000")?)
///     .kind("residential")
///     .country("us")
///     .price(8.0);
/// # let _ = (cheap, dear);
/// # Ok::<(), tower_egress::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    pub(crate) name: Arc<str>,
    pub(crate) exits: ExitList,
    pub(crate) gateways: Vec<Gateway>,
    pub(crate) terms: Terms,
}

/// What the exits of a pool have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    pub(crate) country: Option<Arc<str>>,
    pub(crate) kind: Option<Arc<str>>,
    pub(crate) vendor: Option<Vendor>,
    /// How often one of its exits is drawn, against those of others.
    pub(crate) weight: u32,
    /// For a gigabyte.
    pub(crate) price: Option<f64>,
    /// Leases on one exit at once.
    pub(crate) in_flight: Option<NonZeroU32>,
    /// Between two leases of one exit at one origin.
    pub(crate) interval: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            country: None,
            kind: None,
            vendor: None,
            weight: 1,
            price: None,
            in_flight: None,
            interval: Duration::ZERO,
        }
    }
}

/// Where a pool's exits come from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// A list.
    List(ExitList),
    /// A gateway.
    Gateway(Gateway),
}

impl From<ExitList> for Source {
    fn from(list: ExitList) -> Self {
        Self::List(list)
    }
}

impl From<Gateway> for Source {
    fn from(gateway: Gateway) -> Self {
        Self::Gateway(gateway)
    }
}

/// A gigabyte, as providers bill it.
const GIGABYTE: f64 = 1e9;
/// Longest name of a pool or tag, in bytes.
const NAME_MOST: usize = 64;
/// Largest weight.
const WEIGHT_MOST: u32 = 1_000;

impl Pool {
    /// A pool with that name: 1 to 64 letters, digits, `-`, `_` and `.`.
    #[must_use]
    pub fn new(name: &str, source: impl Into<Source>) -> Self {
        let pool = Self {
            name: name.into(),
            exits: ExitList::default(),
            gateways: Vec::new(),
            terms: Terms::default(),
        };
        pool.and(source)
    }

    /// Adds another list or gateway to it.
    #[must_use]
    pub fn and(mut self, source: impl Into<Source>) -> Self {
        match source.into() {
            Source::List(list) => self.exits.append(list),
            Source::Gateway(gateway) => self.gateways.push(gateway),
        }
        self
    }

    /// Says in which country its exits are, for [`LeaseRequest::country`](crate::LeaseRequest::country): two letters, case
    /// does not matter.
    #[must_use]
    pub fn country(mut self, country: &str) -> Self {
        self.terms.country = Some(country.to_ascii_lowercase().into());
        self
    }

    /// Says of what kind its exits are, for [`LeaseRequest::kind`](crate::LeaseRequest::kind): a word of yours, like
    /// `residential`.
    #[must_use]
    pub fn kind(mut self, kind: &str) -> Self {
        self.terms.kind = Some(kind.into());
        self
    }

    /// Says whose proxies they are, where their hosts do not: what a refusal means depends on it.
    #[must_use]
    pub fn vendor(mut self, vendor: Vendor) -> Self {
        self.terms.vendor = Some(vendor);
        self
    }

    /// Sets how often one of its exits is chosen against one of another pool, where both may be: 1 to 1,000. Default 1.
    #[must_use]
    pub fn weight(mut self, weight: u32) -> Self {
        self.terms.weight = weight;
        self
    }

    /// Says what a gigabyte (10^9 bytes) through it costs, in whatever money:
    /// [`Snapshot`](crate::scheduler::Snapshot) adds it up.
    #[must_use]
    pub fn price(mut self, gigabyte: f64) -> Self {
        self.terms.price = Some(gigabyte);
        self
    }

    /// Sets how many leases one of its exits carries at once. Who finds all at their limit waits in line. Default: no limit.
    #[must_use]
    pub fn in_flight(mut self, most: NonZeroU32) -> Self {
        self.terms.in_flight = Some(most);
        self
    }

    /// Sets how long an exit is left alone at an origin from one lease to the next. Default: not at all.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.terms.interval = interval;
        self
    }

    /// The pool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its country is that of its gateways, unless it was said or they differ.
    pub(crate) fn located(mut self) -> Self {
        if self.terms.country.is_none() && self.exits.is_empty() {
            let mut all = self.gateways.iter().map(Gateway::where_from);
            let first = all.next().flatten();
            if all.all(|country| country == first) {
                self.terms.country = first.map(Arc::from);
            }
        }
        self
    }

    /// The exits that its lists name.
    #[must_use]
    pub const fn exits(&self) -> &ExitList {
        &self.exits
    }

    /// Its gateways.
    #[must_use]
    pub fn gateways(&self) -> &[Gateway] {
        &self.gateways
    }

    /// What its setters cannot refuse.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let Terms { country, kind, weight, price, interval, .. } = &self.terms;
        let is_name = |text: &str| {
            let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            (1..=NAME_MOST).contains(&text.len()) && text.bytes().all(good)
        };
        let name_cure = "write 1 to 64 letters, digits, `-`, `_` and `.`";
        if !is_name(&self.name) {
            return Err(ConfigError::new("pool name", "is none", name_cure));
        }
        if self.exits.is_empty() && self.gateways.is_empty() {
            let what = format!("of `{}` are missing", self.name);
            return Err(ConfigError::new("pool exits", what, "give it a list or a gateway"));
        }
        let of = |what: &str| format!("of `{}` {what}", self.name);
        if country
            .as_ref()
            .is_some_and(|code| code.len() != 2 || !code.bytes().all(|b| b.is_ascii_lowercase()))
        {
            return Err(ConfigError::new("pool country", of("is not two letters"), "write it like `de`"));
        }
        if kind.as_ref().is_some_and(|kind| !is_name(kind)) {
            return Err(ConfigError::new("pool kind", of("is none"), name_cure));
        }
        if !(1..=WEIGHT_MOST).contains(weight) {
            return Err(ConfigError::new(
                "pool weight",
                of("is not 1 to 1,000"),
                "compare exit with exit: 1 is even",
            ));
        }
        if price.is_some_and(|price| !(0.0..=1e6).contains(&price)) {
            let cure = "give the price of a gigabyte";
            return Err(ConfigError::new("pool price", of("is not 0 to 1,000,000"), cure));
        }
        if *interval > Duration::from_secs(86_400) {
            let cure = "give the time from one lease of an exit to its next at the same origin";
            return Err(ConfigError::new("pool interval", of("is longer than a day"), cure));
        }
        for gateway in &self.gateways {
            gateway.check()?;
            // A request for the pool's country would leave from the gateway's.
            if let (Some(own), Some(other)) =
                (country, gateway.where_from().filter(|at| Some(*at) != country.as_deref()))
            {
                let what = of(&format!("is {own}, and its gateway's {other}"));
                return Err(ConfigError::new("pool country", what, "say it once, to the gateway"));
            }
        }
        Ok(())
    }
}

impl Terms {
    /// What so many bytes cost.
    #[allow(clippy::cast_precision_loss, reason = "2^53 bytes are nine petabytes")]
    pub(crate) fn cost(&self, bytes: u64) -> Option<f64> {
        self.price.map(|price| price * (bytes as f64 / GIGABYTE))
    }
}
