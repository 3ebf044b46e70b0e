//! Whether all exits are blocked alike.
//!
//! A martingale: of each attempt e is what it came to, 1 if it was blocked, less p, the rate of blocks at the site just before;
//! and R is the sum of e over the earlier attempts through its exit. If the exit makes no difference, e R is 0 on average
//! whatever R is, and its variance is p (1 - p) R^2. So Z = (sum e R - 1) / sqrt(sum p (1 - p) R^2) is about standard normal, also where the
//! rate changes from second to second, and where exits rest after a block, or are chosen by how they fared: p and R are
//! known before the attempt. Tarone's Z (Testing the goodness of fit of the binomial distribution, 1979) is the same sum for a p
//! that stays: it takes exits that were used in a bad minute for bad ones. Two blocks of one exit add 1 at most, which is
//! taken off, since a single coincidence is no sign.
//!
//! A low Z says "alike" only where it could have been high ([`Alike::would_show`]).

use super::figure::SpreadVerdict;
use crate::request::Time;
use std::time::Duration;

/// What was counted weighs half after this time.
const HALF_LIFE: Duration = Duration::from_secs(30);
/// p follows the last attempts, each for a sixteenth: a quarter of a second at 60 a second.
const FOLLOWS: f64 = 1.0 / 16.0;
/// With fewer attempts or fewer blocks lately nothing is said.
const ATTEMPTS: f64 = 60.0;
const BLOCKS: f64 = 6.0;
/// Above: the blocks are on some exits (one in a thousand by chance). Below: no sign of it (one-sided 95 %).
const CONCENTRATED: f64 = 3.09;
const EVEN: f64 = 1.64;
/// That the pattern is refused is not said below this share.
const PATTERN_SHARE: f64 = 0.20;

/// An exit's: as of its last attempt, less with age.
#[derive(Clone, Copy, Default)]
pub(super) struct Past {
    /// R.
    above: f64,
    /// The sum of p, as far as others are what it is made of.
    expected: f64,
    attempts: f64,
    at: Option<Time>,
}

/// Sums over all attempts, less with age.
pub(super) struct Alike {
    at: Time,
    /// p.
    rate: f64,
    attempts: f64,
    blocks: f64,
    sum: Sum,
    /// The same if each exit that was asked again had served each time before.
    served: Sum,
}

/// Of e R, and of its variance.
#[derive(Clone, Copy, Default)]
struct Sum {
    product: f64,
    variance: f64,
}

impl Sum {
    fn add(&mut self, (e, r): (f64, f64), variance: f64) {
        self.product += e * r;
        self.variance += variance * r * r;
    }

    fn age(&mut self, kept: f64) {
        (self.product, self.variance) = (self.product * kept, self.variance * kept);
    }

    fn z(&self) -> f64 {
        if self.variance > 0.0 { (self.product - 1.0) / self.variance.sqrt() } else { 0.0 }
    }
}

/// What is left of a count after so long.
fn kept(since: Duration) -> f64 {
    libm::exp2(-since.as_secs_f64() / HALF_LIFE.as_secs_f64())
}

impl Alike {
    pub(super) fn new(now: Time) -> Self {
        let nothing = Sum::default();
        Self { at: now, rate: 0.5, attempts: 0.0, blocks: 0.0, sum: nothing, served: nothing }
    }

    /// An attempt, and what its exit has come to before.
    pub(super) fn count(&mut self, now: Time, exit: &mut Past, blocked: bool) {
        self.age(now);
        exit.age(now);
        let (p, hit) = (self.rate, f64::from(u8::from(blocked)));
        let variance = p * (1.0 - p);
        self.sum.add((hit - p, exit.above), variance);
        (self.attempts, self.blocks) = (self.attempts + 1.0, self.blocks + hit);
        exit.attempts += 1.0;
        // Where most go through one exit, p is its own rate, and it cannot be above that.
        let others = p * (1.0 - exit.attempts / self.attempts).max(0.0);
        self.served.add((others, exit.expected), variance);
        (exit.above, exit.expected) = (exit.above + hit - p, exit.expected + others);
        self.rate += (hit - p) * FOLLOWS;
    }

    /// What was counted has turned out otherwise, and is counted anew. What others were weighed by it stays.
    pub(super) fn take_back(&mut self, exit: &mut Past, blocked: bool) {
        let hit = f64::from(u8::from(blocked));
        (self.attempts, self.blocks) = ((self.attempts - 1.0).max(0.0), (self.blocks - hit).max(0.0));
        exit.attempts = (exit.attempts - 1.0).max(0.0);
        exit.above -= hit - self.rate;
    }

    fn age(&mut self, now: Time) {
        let kept = kept(now.since(self.at));
        self.at = now;
        (self.attempts, self.blocks) = (self.attempts * kept, self.blocks * kept);
        self.sum.age(kept);
        self.served.age(kept);
    }

    /// `None` where there is too little to say something.
    pub(super) fn z(&self) -> Option<f64> {
        (self.attempts >= ATTEMPTS && self.blocks >= BLOCKS).then(|| self.sum.z())
    }

    /// Whether Z would have been high if the blocks were all on some exits. Those rest after their first, and who is asked again
    /// serves: then Z is that of `served` on average, and less than [`EVEN`] once in a thousand if that is [`CONCENTRATED`]
    /// above it.
    fn would_show(&self) -> bool {
        self.served.z() >= EVEN + CONCENTRATED
    }

    pub(super) fn verdict(&self) -> SpreadVerdict {
        let is_much = self.blocks >= PATTERN_SHARE * self.attempts;
        match self.z() {
            Some(z) if z > CONCENTRATED => SpreadVerdict::Pool,
            Some(z) if z < EVEN && is_much && self.would_show() => SpreadVerdict::Pattern,
            _ => SpreadVerdict::Unclear,
        }
    }
}

impl Past {
    fn age(&mut self, now: Time) {
        let kept = self.at.map_or(1.0, |at| kept(now.since(at)));
        self.at = Some(now);
        self.above *= kept;
        self.expected *= kept;
        self.attempts *= kept;
    }
}
