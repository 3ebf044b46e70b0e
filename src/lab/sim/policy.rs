//! Whose rules do the work.

use super::contender::{
    ArticleA, ArticleB, Aws, Contender, Crawlee, Endless, Envoy, Naive, Oracle, Ours, Parts, ReqwestRetry,
    ReqwestRotate, Scrapy, Stygian, Tower, Version,
};
use super::luck::Luck;
use super::part::Part;
use super::scenario::Scenario;
use crate::knobs::Knobs;
use crate::verdict::RetryRules;

/// A design: this crate's, or what people use today.
///
/// The others are their rules, written again: an argument about rules, not about products. Each has its own number of sends
/// where [`Scenario::sends`] does not set one, the crate's own classifier unless it says otherwise, and the same deadline: 120 s a
/// job in a closed load, the scenario's patience in an open one. Where no rule says which exit, it is a random one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Policy {
    /// This crate's fleet with its defaults.
    Ours,
    /// The same by the retry article's rules.
    OursArticle,
    /// The same by the negotiated rules.
    OursNegotiated,
    /// The same without one of its parts.
    Without(Part),
    /// One send.
    NoRetry,
    /// Another random exit at once, eight sends.
    Naive,
    /// The same with four.
    Naive4,
    /// The same until the job's time is over.
    NaiveUnlimited,
    /// tower 0.5: waits of 50 ms doubled each time, with a jitter that is the same for every request, up to eight sends, while the
    /// default budget allows.
    Tower,
    /// The same with a jitter that is each request's own.
    TowerJitter,
    /// tower without a budget, in lockstep.
    TowerNoBudget,
    /// reqwest-retry 0.9: U(0, 1) times 1 s doubled each time to 30 min, four sends; by status: 403 is final, a block page is a
    /// success.
    ReqwestRetry,
    /// The same, and all that is no success is tried again.
    ReqwestRetryCommon,
    /// Crawlee 3: a thousand identities that a block retires, three retries at once.
    Crawlee3,
    /// The same with ten rotations for blocks beside them, as its later versions have it.
    Crawlee3Rotations,
    /// Crawlee 4: the same, and a 429 stops its site for everybody, and is free.
    Crawlee4,
    /// scrapy-rotating-proxies 0.6.2: one bad answer buries an exit for minutes at every site; five retries at once.
    Scrapy,
    /// Envoy: five failures in a row eject an exit, of a tenth of them at most; four sends within a budget.
    Envoy10,
    /// The same where all may be ejected.
    Envoy100,
    /// AWS's SDKs: three attempts from a bucket of tokens, and a sending rate that throttling lowers.
    Aws,
    /// The same without the sending rate.
    AwsStandard,
    /// reqwest-rotate 0.1: round robin over exits that answer; a 403 is the caller's. Four sends.
    ReqwestRotate,
    /// stygian-proxy 0.16: a breaker for each exit, six sends at once.
    Stygian,
    /// The scheduler article, as written, with a key for each page, asked per request: the same exit each time.
    ArticleA,
    /// The same repaired: another exit each time, and a list of what is burned.
    ArticleARepaired,
    /// The scheduler article, as written, with windows of 600 s for a thousand products: a burned one gets its exit again.
    ArticleAWindowed,
    /// The same repaired: a burned one gets another exit.
    ArticleAWindowedRepaired,
    /// The retry article, as written: who is blocked sleeps for five minutes.
    ArticleB,
    /// The same repaired: the pair does, and heat is smoothed.
    ArticleBRepaired,
    /// Each attempt through an address that nobody has used: a line of reference. No limit of an address binds it.
    Endless,
    /// Sees the world as it is, but not what will be: a line of reference.
    Oracle,
}

impl Policy {
    /// What the table shows, in its order.
    pub const ALL: &'static [Self] = &[
        Self::Ours,
        Self::Naive,
        Self::Tower,
        Self::ReqwestRetry,
        Self::Crawlee3Rotations,
        Self::Crawlee4,
        Self::Scrapy,
        Self::Envoy10,
        Self::Aws,
        Self::ReqwestRotate,
        Self::Stygian,
        Self::ArticleA,
        Self::ArticleARepaired,
        Self::ArticleB,
        Self::ArticleBRepaired,
        Self::NoRetry,
    ];

    /// What is there by name as well, but for [`Without`](Self::Without).
    pub const OTHERS: &'static [Self] = &[
        Self::OursArticle,
        Self::OursNegotiated,
        Self::Naive4,
        Self::NaiveUnlimited,
        Self::TowerJitter,
        Self::TowerNoBudget,
        Self::ReqwestRetryCommon,
        Self::Crawlee3,
        Self::Envoy100,
        Self::AwsStandard,
        Self::ArticleAWindowed,
        Self::ArticleAWindowedRepaired,
    ];

    /// What no design can be: lines to compare them with.
    pub const REFERENCE: &'static [Self] = &[Self::Endless, Self::Oracle];

    /// Every one, those without a part included.
    pub fn every() -> impl Iterator<Item = Self> {
        let parts = Part::ALL.iter().map(|part| Self::Without(*part));
        Self::ALL.iter().chain(Self::OTHERS).copied().chain(parts)
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::every().chain(Self::REFERENCE.iter().copied()).find(|policy| policy.name() == name)
    }

    /// Whether it is a line to compare designs with, and none that anybody would choose.
    #[must_use]
    pub fn is_reference(self) -> bool {
        Self::REFERENCE.contains(&self) || self == Self::NoRetry
    }

    /// Whether it is this crate's.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Ours | Self::OursArticle | Self::OursNegotiated | Self::Without(_))
    }

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::OursArticle => "ours-article",
            Self::OursNegotiated => "ours-negotiated",
            Self::Without(part) => part.without(),
            Self::NoRetry => "no-retry",
            Self::Naive => "naive",
            Self::Naive4 => "naive-4",
            Self::NaiveUnlimited => "naive-unlimited",
            Self::Tower => "tower",
            Self::TowerJitter => "tower-jitter",
            Self::TowerNoBudget => "tower-no-budget",
            Self::ReqwestRetry => "reqwest-retry",
            Self::ReqwestRetryCommon => "reqwest-retry-common",
            Self::Crawlee3 => "crawlee3",
            Self::Crawlee3Rotations => "crawlee3-rotations",
            Self::Crawlee4 => "crawlee4",
            Self::Scrapy => "scrapy-rotating-proxies",
            Self::Envoy10 => "envoy-10",
            Self::Envoy100 => "envoy-100",
            Self::Aws => "aws",
            Self::AwsStandard => "aws-standard",
            Self::ReqwestRotate => "reqwest-rotate",
            Self::Stygian => "stygian",
            Self::ArticleA => "article-a",
            Self::ArticleARepaired => "article-a-repaired",
            Self::ArticleAWindowed => "article-a-windowed",
            Self::ArticleAWindowedRepaired => "article-a-windowed-repaired",
            Self::ArticleB => "article-b",
            Self::ArticleBRepaired => "article-b-repaired",
            Self::Endless => "endless",
            Self::Oracle => "oracle",
        }
    }

    /// The fleet of the designs that are this crate's.
    fn parts(self) -> Option<Parts> {
        let usual = Parts::default();
        match self {
            Self::Ours => Some(usual),
            Self::OursArticle => Some(Parts { rules: RetryRules::article(), ..usual }),
            Self::OursNegotiated => Some(Parts { rules: RetryRules::negotiated(), ..usual }),
            Self::Without(part) => Some(Parts { knobs: part.off(Knobs::default()), ..usual }),
            _ => None,
        }
    }

    pub(super) fn contender(self, scenario: &Scenario, seed: u64) -> Box<dyn Contender> {
        if let Some(parts) = self.parts() {
            let sends = scenario.sends.unwrap_or_else(|| parts.rules.max_sends()).max(1);
            let rules = parts.rules.max_attempts(sends);
            return Box::new(Ours::new(scenario, seed, Parts { rules, ..parts }));
        }
        // Its draws are not the world's.
        let (world, luck) = (scenario, Luck::new(!seed));
        match self {
            Self::Naive4 => Box::new(Naive::looped(world, luck, 4)),
            Self::NaiveUnlimited => Box::new(Naive::looped(world, luck, u32::MAX)),
            Self::NoRetry => Box::new(Naive::once(world, luck)),
            Self::Tower => Box::new(Tower::looped(world, luck, (true, true))),
            Self::TowerJitter => Box::new(Tower::looped(world, luck, (false, true))),
            Self::TowerNoBudget => Box::new(Tower::looped(world, luck, (true, false))),
            Self::ReqwestRetry => Box::new(ReqwestRetry::looped(world, luck, true)),
            Self::ReqwestRetryCommon => Box::new(ReqwestRetry::looped(world, luck, false)),
            Self::Crawlee3 => Box::new(Crawlee::looped(world, luck, Version::Three)),
            Self::Crawlee3Rotations => Box::new(Crawlee::looped(world, luck, Version::Rotating)),
            Self::Crawlee4 => Box::new(Crawlee::looped(world, luck, Version::Four)),
            Self::Scrapy => Box::new(Scrapy::looped(world, luck)),
            Self::Envoy10 => Box::new(Envoy::looped(world, luck, 10)),
            Self::Envoy100 => Box::new(Envoy::looped(world, luck, 100)),
            Self::Aws => Box::new(Aws::looped(world, luck, true)),
            Self::AwsStandard => Box::new(Aws::looped(world, luck, false)),
            Self::ReqwestRotate => Box::new(ReqwestRotate::looped(world, luck)),
            Self::Stygian => Box::new(Stygian::looped(world, luck)),
            Self::ArticleA => Box::new(ArticleA::looped(world, luck, (false, false))),
            Self::ArticleARepaired => Box::new(ArticleA::looped(world, luck, (false, true))),
            Self::ArticleAWindowed => Box::new(ArticleA::looped(world, luck, (true, false))),
            Self::ArticleAWindowedRepaired => Box::new(ArticleA::looped(world, luck, (true, true))),
            Self::ArticleB => Box::new(ArticleB::looped(world, luck, false)),
            Self::ArticleBRepaired => Box::new(ArticleB::looped(world, luck, true)),
            Self::Endless => Box::new(Endless::new(scenario.exits)),
            Self::Oracle => Box::new(Oracle::new(scenario)),
            // The last one; what is the fleet's own went above.
            _ => Box::new(Naive::looped(world, luck, 8)),
        }
    }
}
