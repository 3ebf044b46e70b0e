//! Every number that the fleet's collective decisions turn on, in one place: what it is, its unit, and where it is from. A part
//! that is `None` is switched off, so that its worth can be measured; the parts that stay have earned it in `docs/simulation.md`.

use std::time::Duration;

/// The parts, one by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Knobs {
    pub(crate) hold: Option<Hold>,
    pub(crate) lane: Option<Lane>,
    pub(crate) governor: Option<Governor>,
    pub(crate) diagnosis: Option<Diagnosis>,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            hold: Some(Hold::default()),
            lane: Some(Lane::default()),
            governor: Some(Governor::default()),
            diagnosis: Some(Diagnosis::default()),
        }
    }
}

/// An origin that fails everybody is left alone as a whole, and then tried by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hold {
    /// As many different exits must meet the same failure, and nobody anything else between.
    pub(crate) exits: u8,
    /// Within this time.
    pub(crate) within: Duration,
    /// The first hold; it doubles with each canary that fails.
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Default for Hold {
    /// Three exits in 2 s, for 5 s doubling to 60 s: eight wasted 503s in an outage of three minutes.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { exits: 3, within: seconds(2), first: seconds(5), longest: seconds(60) }
    }
}

/// Retries take turns: each one reserves a slot of its origin's lane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Lane {
    /// Retries per success, lately.
    pub(crate) ratio: f64,
    /// Retries per second that there are in any case.
    pub(crate) floor: f64,
    /// How far off a slot may be: whoever would wait longer is told when to come back.
    pub(crate) longest: Duration,
}

impl Default for Lane {
    /// A quarter: a first try that fails in one of five cases keeps attempts per success at 1.25.
    fn default() -> Self {
        Self { ratio: 0.25, floor: 2.0, longest: Duration::from_secs(30) }
    }
}

/// How many leases may be out at one origin, by how many attempts fail there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Governor {
    /// The multiplier above which there must be fewer, surely.
    pub(crate) act: f64,
    /// The multiplier up to which there may be more.
    pub(crate) grow: f64,
    /// What is left of the limit after a cut.
    pub(crate) cut: f64,
    /// No limit is lower.
    pub(crate) least: u32,
}

impl Default for Governor {
    /// 1.25, well before the alarm at 1.5; 0.7 as AWS's adaptive mode cuts.
    fn default() -> Self {
        Self { act: 1.25, grow: 1.2, cut: 0.7, least: 4 }
    }
}

/// What an origin's blocks depend on: the request, the subnet, the exit, or none of them; and what follows from it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Diagnosis {
    /// How often the figures are looked at. A verdict begins, and ends, when two looks in a row say so.
    pub(crate) tick: Duration,
    /// What was counted of retries weighs half after this time.
    pub(crate) half_life: Duration,
    /// Blocks depend on the request if the Z of Mantel and Haenszel is above this,
    pub(crate) z: f64,
    /// a request that was blocked elsewhere has more than so many times the odds of others to be blocked,
    pub(crate) odds: f64,
    /// and as many of them were blocked again, lately.
    pub(crate) blocked_again: f64,
    /// A block that is laid to the request rests its pair for so long: from, to.
    pub(crate) spared: (Duration, Duration),
    /// A request that was blocked by as many clean exits is not sent again while that verdict holds.
    pub(crate) clean_blocks: u8,
    /// The exits of a subnet that is refused rest once, all of them.
    pub(crate) rest_subnets: bool,
}

impl Default for Diagnosis {
    /// One in a thousand by chance (and about one in 100,000 once there are counts of some minutes: what is old weighs less in
    /// the sum than in its deviation). Five blocked again, because fewer are not normally distributed.
    fn default() -> Self {
        Self {
            tick: Duration::from_secs(5),
            half_life: Duration::from_secs(30),
            z: 3.09,
            odds: 3.0,
            blocked_again: 5.0,
            spared: (Duration::from_millis(500), Duration::from_millis(1_500)),
            clean_blocks: 2,
            rest_subnets: true,
        }
    }
}
