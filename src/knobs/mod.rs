//! Every number that the fleet's collective decisions turn on, in one place: what it is, its unit, and where it is from. A part
//! that is `None` is switched off, so that its worth can be measured; the parts that stay have earned it in `docs/simulation.md`. What each may be is checked once, when a scheduler is built.

mod check;

pub(crate) use check::MOST_IN_A_ROW;

use std::time::Duration;

/// The parts, one by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Knobs {
    pub(crate) hold: Option<Hold>,
    pub(crate) lane: Option<Lane>,
    pub(crate) governor: Option<Governor>,
    pub(crate) spacing: Option<Spacing>,
    pub(crate) suspicion: Option<Suspicion>,
    pub(crate) diagnosis: Option<Diagnosis>,
    pub(crate) throttle: Option<Throttle>,
}

impl Knobs {
    /// Nothing collective: each pair and each request for itself.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self {
        hold: None,
        lane: None,
        governor: None,
        spacing: None,
        suspicion: None,
        diagnosis: None,
        throttle: None,
    };

    /// For one of so many processes that share a pool: what there is in any case there is once, and not for each of them. All
    /// else is a part of what a process does itself, and so divides itself.
    pub(crate) fn for_one_of(mut self, processes: u32) -> Self {
        let many = f64::from(processes.max(1));
        if let Some(lane) = &mut self.lane {
            (lane.floor, lane.burst) = (lane.floor / many, lane.burst / many);
        }
        let least = |least: u32| (least / processes.max(1)).max(1);
        if let Some(governor) = &mut self.governor {
            governor.least = least(governor.least);
        }
        if let Some(throttle) = &mut self.throttle {
            throttle.least = least(throttle.least);
        }
        self
    }
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            hold: Some(Hold::default()),
            lane: Some(Lane::default()),
            governor: Some(Governor::default()),
            spacing: Some(Spacing::default()),
            suspicion: Some(Suspicion::default()),
            diagnosis: Some(Diagnosis::default()),
            throttle: Some(Throttle::default()),
        }
    }
}

/// An origin that fails everybody is left alone as a whole, and then tried by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hold {
    /// As many different exits must meet the same failure, and nobody anything else between. At least as many failures in a row.
    pub(crate) exits: u8,
    /// Within this time.
    pub(crate) within: Duration,
    /// As many failures in a row as come by chance no more often than that, where single requests fail as often as lately.
    pub(crate) chance: Duration,
    /// So many answers are lately.
    pub(crate) lately: f32,
    /// Where at least this share fails, it need not be more in a row than if this share did.
    pub(crate) half: f64,
    /// The first hold; it doubles with each canary that fails.
    pub(crate) first: Duration,
    /// No longer than that, or one part in so many of the time since it was held first, if that is longer.
    pub(crate) soon: Duration,
    pub(crate) part: u32,
    pub(crate) longest: Duration,
    /// Whoever tries it has its place alone for so long. Then another may try as well.
    pub(crate) canary: Duration,
    /// A wait that fewer exits ask for is this at most.
    pub(crate) alone: Duration,
}

impl Default for Hold {
    /// Three exits in 2 s, for 5 s doubling to 13 s, and to 60 s within a quarter of an hour: 18 wasted 503s in an outage of
    /// three minutes. Once in four hours by chance, of 256 answers: three failures in a row where twelve requests a second are
    /// served without one, six where 200 are and one in twenty fails. A site takes 5 s to answer seldom, and then two try it.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            exits: 3,
            within: seconds(2),
            chance: seconds(14_400),
            lately: 256.0,
            half: 0.5,
            first: seconds(5),
            soon: seconds(13),
            part: 16,
            longest: seconds(60),
            canary: seconds(5),
            alone: seconds(60),
        }
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

/// How many leases may be out at one origin, by how many attempts fail there. There is no limit until the first cut.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Governor {
    /// How often it looks; later, if there were too few attempts.
    pub(crate) tick: Duration,
    /// A first look, once, at an origin where trouble begins: a fleet that starts all at once is not to ask for a whole tick.
    pub(crate) early: Duration,
    /// As many attempts make a tick.
    pub(crate) attempts: u32,
    /// The multiplier above which there must be fewer, surely.
    pub(crate) act: f64,
    /// The multiplier up to which there may be more.
    pub(crate) grow: f64,
    /// What is left of the concurrency after a cut.
    pub(crate) cut: f64,
    /// What is left of it at least, where most attempts fail: a cut goes down to what succeeds, as far as that is sure.
    pub(crate) deepest: f64,
    /// No limit is lower.
    pub(crate) least: u32,
    /// Times as many a healthy tick, below the last limit that was too high. Above that it is half a square root more.
    pub(crate) ramp: f64,
    /// Healthy ticks in a row that lift a limit which is twice what is used.
    pub(crate) healthy: u8,
    /// Ticks in a row, each with fewer leases out or with no more, after which the failed share must have fallen, surely.
    pub(crate) tries: u8,
    /// The share of the concurrency at first at which it must have fallen, however few ticks that took.
    pub(crate) contrast: f64,
    /// Nothing is given up as futile on fewer attempts; on `enough` it is, though it is not quite sure.
    pub(crate) proof: u32,
    pub(crate) enough: u32,
    /// Times as many a tick, where fewer have not helped.
    pub(crate) back: f64,
    /// How long such an origin is left alone after that, unless it gets worse; it doubles each time, up to `longest`.
    pub(crate) excused: Duration,
    pub(crate) longest: Duration,
    /// A limit that no tick has confirmed for so long has lapsed.
    pub(crate) lapse: Duration,
}

impl Default for Governor {
    /// 1.25, well before the alarm at 1.5, and 1.2, the end of the healthy band; 0.7 as AWS's adaptive mode cuts; half a
    /// square root is the headroom of Envoy's limiter; 60 attempts as the diagnosis of a pool. The others are guesses, tried
    /// against origins that block by rate and by chance (`fleet/tests/governor.rs`).
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            tick: seconds(5),
            early: seconds(1),
            attempts: 20,
            act: 1.25,
            grow: 1.2,
            cut: 0.7,
            deepest: 0.5,
            least: 4,
            ramp: 1.1,
            healthy: 3,
            tries: 3,
            contrast: 0.4,
            proof: 60,
            enough: 240,
            back: 2.0,
            excused: seconds(60),
            longest: seconds(960),
            lapse: seconds(600),
        }
    }
}

/// How far apart an origin wants the uses of one exit, learned from its 429s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spacing {
    /// Nothing is said by fewer attempts.
    pub(crate) attempts: u32,
    /// The share of limited attempts that is surely too much.
    pub(crate) most: f64,
    /// The share below which the gap may become shorter, once in a tick.
    pub(crate) few: f64,
    pub(crate) tick: Duration,
    /// Attempts are counted for so long before they lengthen it; of what is served, half of the count is lost in so long.
    pub(crate) watch: Duration,
    pub(crate) half_life: Duration,
    /// What the gap is multiplied by: at least and at most when it becomes longer, and when it becomes shorter.
    pub(crate) longer: f32,
    pub(crate) at_once: f32,
    pub(crate) shorter: f32,
    /// In seconds.
    pub(crate) least: f32,
    pub(crate) longest: f32,
    /// From that share of limited attempts on windows are used up, perhaps: the gap is this part of the time since the first 429 at
    /// most then, as of a window that allows some eight, and shortened half as often until as long as a proof after.
    pub(crate) dry: f64,
    pub(crate) dry_part: f32,
    /// What a gap that came of no 429 is multiplied by in each second without one.
    pub(crate) brief: f32,
    /// The gap after an origin was left alone, if it was shorter, in seconds.
    pub(crate) after_hold: f32,
    /// How much later than evenly the exits may be used, all together.
    pub(crate) ahead: Duration,
    /// A bet that a longer gap is a cure goes on until the gap is so many times what a limit's must be by what was limited before,
    /// which is this many times the gap before at least, and that at most.
    pub(crate) margin: f32,
    pub(crate) stake_least: f32,
    pub(crate) stake_most: f32,
    /// What the gap is multiplied by at least while that is open.
    pub(crate) bold: f32,
    /// The gap keeps uses apart if it is at least this part of how far apart they are: else more of it proves nothing.
    pub(crate) binds: f32,
    /// So long a bet goes on at least before it is lost: a minute is the longest window that is common.
    pub(crate) proof: Duration,
    /// As many attempts are compared with others.
    pub(crate) enough: u32,
    /// The largest share that is called chance: windows that are used up limit nearly all, whatever the gap, until they end.
    pub(crate) chance: f64,
    /// What no gap has cured is taken as usual for so many times as long as that took, so that looking again costs a twentieth
    /// at most, and for so long at most.
    pub(crate) excused_times: u32,
    pub(crate) excused_most: Duration,
}

impl Default for Spacing {
    fn default() -> Self {
        Self {
            attempts: 20,
            most: 0.03,
            few: 0.02,
            tick: Duration::from_secs(5),
            watch: Duration::from_secs(1),
            half_life: Duration::from_secs(20),
            longer: 1.05,
            at_once: 1.5,
            shorter: 0.95,
            least: 0.25,
            longest: 60.0,
            dry: 0.9,
            dry_part: 0.125,
            brief: 0.7,
            after_hold: 2.0,
            ahead: Duration::from_secs(2),
            margin: 1.25,
            stake_least: 1.5,
            stake_most: 4.0,
            bold: 1.1,
            binds: 0.8,
            proof: Duration::from_secs(60),
            enough: 100,
            chance: 0.5,
            excused_times: 20,
            excused_most: Duration::from_secs(3_600),
        }
    }
}

/// What one block means is learned from the trials that follow: where most pass, blocks are noise, and a pair that was good
/// until then is tried again soon.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Suspicion {
    /// The shortest rest.
    pub(crate) least: Duration,
    /// So many successes since the last block make a pair that was good until then.
    pub(crate) calm: u8,
    /// Trials that count: older ones go.
    pub(crate) most: f32,
}

impl Default for Suspicion {
    fn default() -> Self {
        Self { least: Duration::from_secs(1), calm: 10, most: 32.0 }
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

/// How many leases may be out behind a gateway that says it has too much to do. There is no limit until it does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Throttle {
    /// The share of attempts refused so that is surely too much.
    pub(crate) most: f64,
    /// What is left of the leases out after that.
    pub(crate) cut: f64,
    /// No limit is lower.
    pub(crate) least: u32,
    /// Times as many more with each round that is served, if that is more than one.
    pub(crate) ramp: f64,
    /// So many refused one after the other are an outage, if nothing is served of what was out before: then it rests as a whole.
    pub(crate) outage: u32,
    /// It does not rest for a single refusal where not surely less than half was served of as many lately.
    pub(crate) few: u32,
    /// When so many attempts have been counted, or as many as the limit is, they count half; as many show that a limit is no cure.
    pub(crate) window: u32,
    /// The same of all that was sent with fewer out.
    pub(crate) memory: u32,
    /// A limit that was not met for so long has lapsed. After one that was no cure there is none for so long, and twice as long
    /// after the next.
    pub(crate) lapse: Duration,
    /// No longer than this.
    pub(crate) pause: Duration,
}

impl Default for Throttle {
    /// 0.7 at a tenth, as AWS's adaptive mode cuts. Twenty in a row are one in a million where half are refused. A limit that is no
    /// cure costs half of the throughput for a second or two: once an hour that is nothing.
    fn default() -> Self {
        Self {
            most: 0.1,
            cut: 0.7,
            least: 4,
            ramp: 0.03,
            outage: 20,
            few: 8,
            window: 40,
            memory: 400,
            lapse: Duration::from_secs(30),
            pause: Duration::from_secs(3_600),
        }
    }
}
