//! Heat: the recent block rate as decayed counts. A burst gives an average weighted by time almost no weight and can hide an
//! outage; counts that decay keep every event.

use crate::request::Time;
use std::time::Duration;

/// After this many seconds without use an event weighs half. The mean age in a 120 s window is 60 s; an exponential of that
/// mean life halves in 60 ln 2 s.
const HALF_LIFE: f32 = 42.0;
/// Most events that count: the mean age in a ring of 64 is 32 events.
const MOST: f32 = 32.0;
/// Events that the prior is worth: one block on a fresh exit reads as (1 + 4 · 0.05) / 5 = 0.24.
const PRIOR: f32 = 4.0;

/// Below this age nothing decays: a busy pair need not compute a power for every event. Costs less than 1e-4 of a count.
const STEP: Duration = Duration::from_millis(4);

/// Decayed counts of good and bad events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heat {
    good: f32,
    bad: f32,
    at: Time,
}

impl Heat {
    pub(crate) const COLD: Self = Self { good: 0.0, bad: 0.0, at: Time::ZERO };

    /// When the last event was.
    pub(crate) const fn at(&self) -> Time {
        self.at
    }

    /// An event that is bad by `share`, 0 to 1.
    #[inline]
    pub(crate) fn add(&mut self, now: Time, share: f32) {
        self.age(now);
        self.good += 1.0 - share;
        self.bad += share;
        let scale = MOST / (self.good + self.bad);
        if scale < 1.0 {
            self.good *= scale;
            self.bad *= scale;
        }
    }

    /// Takes an event back that was added at `then` and has turned out otherwise.
    pub(crate) fn take_back(&mut self, now: Time, then: Time, share: f32) {
        self.age(now);
        let kept = decay(now.since(then).as_secs_f32());
        self.good = (self.good - (1.0 - share) * kept).max(0.0);
        self.bad = (self.bad - share * kept).max(0.0);
    }

    /// The heat of a pair, 0 to 1, on a prior.
    pub(crate) fn rate(&self, now: Time, prior: f32) -> f32 {
        let (good, bad) = self.counts(now);
        (bad + PRIOR * prior) / (good + bad + PRIOR)
    }

    /// The block rate over all exits of an origin, on half a block in ten: 5 % while nothing is known.
    pub(crate) fn prior(&self, now: Time) -> f32 {
        let (good, bad) = self.counts(now);
        (bad + 0.5) / (good + bad + 10.0)
    }

    fn age(&mut self, now: Time) {
        if now.since(self.at) >= STEP {
            (self.good, self.bad) = self.counts(now);
            self.at = now;
        }
    }

    /// Good events and bad ones, as far as they still count.
    pub(super) fn counts(&self, now: Time) -> (f32, f32) {
        if now.since(self.at) < STEP {
            return (self.good, self.bad);
        }
        let kept = decay(now.since(self.at).as_secs_f32());
        (self.good * kept, self.bad * kept)
    }
}

fn decay(seconds: f32) -> f32 {
    libm::exp2f(-seconds / HALF_LIFE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// The ring that decayed counts stand for: the last 64 events, of the last 120 s.
    struct Ring(std::collections::VecDeque<(Time, bool)>);

    impl Ring {
        fn add(&mut self, now: Time, bad: bool) {
            self.0.push_back((now, bad));
            if self.0.len() > 64 {
                self.0.pop_front();
            }
        }

        fn rate(&self, now: Time) -> Option<f64> {
            let fresh: Vec<bool> = self
                .0
                .iter()
                .filter(|(at, _)| now.since(*at) <= Duration::from_secs(120))
                .map(|event| event.1)
                .collect();
            let bad = fresh.iter().filter(|bad| **bad).count();
            (!fresh.is_empty()).then(|| {
                f64::from(u32::try_from(bad).unwrap()) / f64::from(u32::try_from(fresh.len()).unwrap())
            })
        }
    }

    fn spread(samples: &[f64]) -> (f64, f64) {
        let count = f64::from(u32::try_from(samples.len()).unwrap());
        let mean = samples.iter().sum::<f64>() / count;
        (mean, (samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt())
    }

    #[test]
    fn b09_decayed_counts_have_the_mean_and_the_spread_of_the_ring() {
        use crate::draw::{mix, unit};
        for per_second in [0.05, 0.1, 0.5, 1.0, 2.0, 10.0] {
            let (mut counts, mut ring) = (Vec::new(), Vec::new());
            for seed in 0..60_u64 {
                let (mut heat, mut exact) = (Heat::COLD, Ring(Default::default()));
                let mut now = Time::ZERO;
                for event in 0.. {
                    // Arrivals by chance, as requests come.
                    let gap = -(1.0 - unit(mix(mix(seed) ^ event))).ln() / per_second;
                    now = now + Duration::from_secs_f64(gap);
                    if now > at(1_000) {
                        break;
                    }
                    let bad = unit(mix(mix(seed + 1_000) ^ event)) < 0.2;
                    heat.add(now, f32::from(u8::from(bad)));
                    exact.add(now, bad);
                    if let (true, Some(rate)) = (now > at(120), exact.rate(now)) {
                        let (good, bad) = heat.counts(now);
                        counts.push(f64::from(bad / (good + bad)));
                        ring.push(rate);
                    }
                }
            }
            let ((mean, sd), (_, ring_sd)) = (spread(&counts), spread(&ring));
            assert!((mean - 0.2).abs() < 0.02, "{per_second}/s: mean {mean}");
            assert!((sd / ring_sd - 1.0).abs() < 0.10, "{per_second}/s: {sd} against the ring's {ring_sd}");
        }
    }

    #[test]
    fn b18_c25_one_block_on_a_fresh_exit_is_a_quarter_and_three_are_not_yet_half() {
        let mut heat = Heat::COLD;
        heat.add(at(1), 1.0);
        assert!((heat.rate(at(1), 0.05) - 0.24).abs() < 1e-6);
        heat.add(at(1), 1.0);
        heat.add(at(1), 1.0);
        assert!((heat.rate(at(1), 0.05) - 3.2 / 7.0).abs() < 1e-6);
    }

    #[test]
    fn an_event_weighs_half_after_a_half_life() {
        let mut heat = Heat::COLD;
        heat.add(at(0), 1.0);
        let (good, bad) = heat.counts(at(42));
        assert!(good == 0.0 && (bad - 0.5).abs() < 1e-6);
    }

    #[test]
    fn b08_at_most_32_events_count() {
        let mut heat = Heat::COLD;
        for _ in 0..1_000 {
            heat.add(at(5), 1.0);
        }
        assert!((heat.bad - 32.0).abs() < 1e-3);
        for _ in 0..10_000 {
            heat.add(at(5), 0.0);
        }
        assert!(heat.rate(at(5), 0.05) < 0.01, "old blocks are outweighed");
    }

    #[test]
    fn what_is_taken_back_leaves_no_trace() {
        let mut heat = Heat::COLD;
        heat.add(at(0), 1.0);
        heat.add(at(10), 0.0);
        heat.take_back(at(30), at(10), 0.0);
        let (good, bad) = heat.counts(at(30));
        assert!(good.abs() < 1e-6 && (bad - decay(30.0)).abs() < 1e-6);
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_changes_nothing() {
        let mut heat = Heat::COLD;
        heat.add(at(10), 1.0);
        heat.add(at(5), 1.0);
        assert!((heat.bad - 2.0).abs() < 1e-6 && heat.at() == at(10));
    }
}
