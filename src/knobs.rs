//! Every number that the fleet's collective decisions turn on, in one place: what it is, its unit, and where it is from. A part
//! that is `None` is switched off, so that its worth can be measured; the parts that stay have earned it in `docs/simulation.md`.

use std::time::Duration;

/// The parts, one by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Knobs {
    pub(crate) hold: Option<Hold>,
    pub(crate) lane: Option<Lane>,
    pub(crate) governor: Option<Governor>,
}

impl Default for Knobs {
    fn default() -> Self {
        Self { hold: Some(Hold::default()), lane: Some(Lane::default()), governor: Some(Governor::default()) }
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

/// Retries take turns: each one reserves a slot of its origin's lane, and of the whole fleet's. Slots per second: the floor, or
/// a share of what succeeds ([`RetryRules::retries_per_success`](crate::verdict::RetryRules::retries_per_success)), or a part
/// of what is in flight, whichever is most. A retry costs one, or two after a fault of its exit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Lane {
    /// Slots per second that there are in any case: when nothing succeeds any more, retries must not stop for that.
    pub(crate) floor: f64,
    /// Slots per second for each lease in flight, at its most lately.
    pub(crate) part: f64,
    /// Slots that may be taken at once after a pause, or `part` of what is in flight, if that is more.
    pub(crate) burst: f64,
    /// How far off a slot may be: whoever would wait longer is told when to come back.
    pub(crate) longest: Duration,
    /// After this time a success, or the most that was in flight, counts half.
    pub(crate) half_life: Duration,
    /// Whether a send that met a rate limit is one of the sends that a request has. If not, the deadline ends it.
    pub(crate) limited_sends_count: bool,
}

impl Default for Lane {
    /// 2 a second and 0.1 for each in flight: with 30 s to wait, all that are in flight may fail at once and nobody is parked.
    /// Half after 5 s: a storm may spend 7 s' worth of the successes before it.
    fn default() -> Self {
        Self {
            floor: 2.0,
            part: 0.1,
            burst: 3.0,
            longest: Duration::from_secs(30),
            half_life: Duration::from_secs(5),
            limited_sends_count: true,
        }
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
