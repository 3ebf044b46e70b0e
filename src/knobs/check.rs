//! What the knobs' numbers must be for all that is reckoned with them to be a number: the least that lets nothing overflow, divide by
//! zero or clamp between bounds that are crossed. Whether they are wise is another matter.

use super::{Diagnosis, Governor, Hold, Knobs, Lane, Spacing, Suspicion, Throttle};
use std::time::Duration;

/// Longer than any run; times a few it is still a time.
const LONG: Duration = Duration::from_secs(365 * 24 * 3_600);
/// Failures in a row that are remembered.
pub(crate) const MOST_IN_A_ROW: u32 = 32;

impl Knobs {
    /// Each part that is on, in one place, before anything is reckoned with it.
    ///
    /// # Errors
    /// The first number that cannot be meant, and what it must be.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        self.hold.map_or(Ok(()), |hold| hold.check())?;
        self.lane.map_or(Ok(()), |lane| lane.check())?;
        self.governor.map_or(Ok(()), |governor| governor.check())?;
        self.spacing.map_or(Ok(()), |spacing| spacing.check())?;
        self.suspicion.map_or(Ok(()), |suspicion| suspicion.check())?;
        self.diagnosis.map_or(Ok(()), |diagnosis| diagnosis.check())?;
        self.throttle.map_or(Ok(()), |throttle| throttle.check())
    }
}

fn all(rules: &[(bool, &'static str)]) -> Result<(), &'static str> {
    rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(rule))
}

fn is_time(time: Duration) -> bool {
    time <= LONG
}

fn is_some_time(time: Duration) -> bool {
    !time.is_zero() && is_time(time)
}

/// A number above zero that is no infinity: neither is a bound of anything.
fn is_some(number: f64) -> bool {
    number > 0.0 && number.is_finite()
}

fn is_share(share: f64) -> bool {
    (0.0..=1.0).contains(&share)
}

impl Hold {
    fn check(&self) -> Result<(), &'static str> {
        all(&[
            ((1..=MOST_IN_A_ROW).contains(&self.exits.into()), "hold.exits is from 1 to 32"),
            ((1e-3..1.0).contains(&self.half), "hold.half is a share from 0.001, below 1"),
            (is_some(self.lately.into()), "hold.lately is above 0"),
            (is_time(self.within), "hold.within is a year at most"),
            (is_time(self.chance), "hold.chance is a year at most"),
            (is_some_time(self.first), "hold.first is above 0, a year at most"),
            (self.first <= self.longest, "hold.first is no longer than hold.longest"),
            (is_time(self.soon), "hold.soon is a year at most"),
            (is_time(self.longest), "hold.longest is a year at most"),
            (is_time(self.canary) && is_time(self.alone), "hold.canary and hold.alone are a year at most"),
        ])
    }
}

impl Lane {
    fn check(&self) -> Result<(), &'static str> {
        all(&[
            (is_some(self.floor), "lane.floor is above 0: else retries stop for good"),
            (self.part >= 0.0 && self.part.is_finite(), "lane.part is a number from 0"),
            (self.burst >= 0.0 && self.burst.is_finite(), "lane.burst is a number from 0"),
            (is_time(self.longest), "lane.longest is a year at most"),
            (is_some_time(self.half_life), "lane.half_life is above 0, a year at most"),
        ])
    }
}

impl Governor {
    fn check(&self) -> Result<(), &'static str> {
        all(&[
            (is_some_time(self.tick) && is_time(self.early), "governor.tick is above 0, a year at most"),
            (self.act > 1.0 && self.act.is_finite(), "governor.act is a multiplier above 1"),
            (self.grow >= 1.0 && self.grow <= self.act, "governor.grow is from 1 to governor.act"),
            (self.cut > 0.0 && self.cut < 1.0, "governor.cut is a share above 0, below 1"),
            (
                self.deepest > 0.0 && self.deepest <= self.cut,
                "governor.deepest is above 0, governor.cut at most",
            ),
            (self.least > 0, "governor.least is above 0"),
            (self.ramp >= 1.0 && self.ramp.is_finite(), "governor.ramp is from 1"),
            (self.back >= 1.0 && self.back.is_finite(), "governor.back is from 1"),
            (is_share(self.contrast), "governor.contrast is a share"),
            (
                is_some_time(self.excused) && is_time(self.longest),
                "governor.excused is above 0, a year at most",
            ),
            (is_time(self.lapse), "governor.lapse is a year at most"),
        ])
    }
}

impl Spacing {
    fn check(&self) -> Result<(), &'static str> {
        let (least, longest) = (self.least, self.longest);
        all(&[
            (is_share(self.most) && is_share(self.few), "spacing.most and spacing.few are shares"),
            (
                is_some_time(self.tick) && is_some_time(self.watch),
                "spacing.tick and spacing.watch are above 0",
            ),
            (is_some_time(self.half_life), "spacing.half_life is above 0, a year at most"),
            (least > 0.0 && least <= longest, "spacing.least is above 0, spacing.longest at most"),
            (longest <= LONG.as_secs_f32(), "spacing.longest is a year at most"),
            (self.longer >= 1.0 && self.longer.is_finite(), "spacing.longer is from 1"),
            (
                self.at_once >= self.longer && self.at_once.is_finite(),
                "spacing.at_once is from spacing.longer",
            ),
            ((0.0..=1.0).contains(&self.shorter), "spacing.shorter is a share"),
            ((0.0..=1.0).contains(&self.brief), "spacing.brief is a share"),
            (
                is_share(self.dry) && (0.0..=1.0).contains(&self.dry_part),
                "spacing.dry and dry_part are shares",
            ),
            ((0.0..=longest).contains(&self.after_hold), "spacing.after_hold is from 0 to spacing.longest"),
            (
                is_time(self.ahead) && is_time(self.proof),
                "spacing.ahead and spacing.proof are a year at most",
            ),
            (is_some(self.margin.into()), "spacing.margin is above 0"),
            (
                self.stake_least >= 1.0 && self.stake_least <= self.stake_most,
                "spacing.stake_least is from 1 to stake_most",
            ),
            (self.stake_most.is_finite(), "spacing.stake_most is a number"),
            (self.bold >= 1.0 && self.bold.is_finite(), "spacing.bold is from 1"),
            (is_some(self.binds.into()), "spacing.binds is above 0"),
            (is_share(self.chance), "spacing.chance is a share"),
            (is_time(self.excused_most), "spacing.excused_most is a year at most"),
        ])
    }
}

impl Suspicion {
    fn check(&self) -> Result<(), &'static str> {
        all(&[
            (is_time(self.least), "suspicion.least is a year at most"),
            (is_some(self.most.into()), "suspicion.most is above 0"),
        ])
    }
}

impl Diagnosis {
    fn check(&self) -> Result<(), &'static str> {
        let (least, most) = self.spared;
        all(&[
            (is_some_time(self.tick), "diagnosis.tick is above 0, a year at most"),
            (is_some_time(self.half_life), "diagnosis.half_life is above 0, a year at most"),
            (is_some(self.z) && is_some(self.odds), "diagnosis.z and diagnosis.odds are above 0"),
            (self.blocked_again >= 0.0, "diagnosis.blocked_again is from 0"),
            (
                least <= most && is_time(most),
                "diagnosis.spared is from the shorter to the longer, a year at most",
            ),
        ])
    }
}

impl Throttle {
    fn check(&self) -> Result<(), &'static str> {
        all(&[
            (is_share(self.most), "throttle.most is a share"),
            (self.cut > 0.0 && self.cut < 1.0, "throttle.cut is a share above 0, below 1"),
            (self.least > 0, "throttle.least is above 0"),
            (self.ramp >= 0.0 && self.ramp.is_finite(), "throttle.ramp is a number from 0"),
            (
                self.window > 0 && self.memory >= self.window,
                "throttle.window is above 0, throttle.memory at most",
            ),
            (is_some_time(self.lapse) && is_time(self.pause), "throttle.lapse is above 0, a year at most"),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_with_is_right_however_many_processes_share_it() {
        for processes in [0, 1, 2, 7, 1_000, u32::MAX] {
            assert_eq!(Knobs::default().for_one_of(processes).check(), Ok(()), "{processes}");
        }
        assert_eq!(Knobs::NONE.check(), Ok(()));
    }

    #[test]
    fn a_number_that_would_make_a_decision_panic_is_told_before_any_is_made() {
        fn wrong<T: Default>(part: impl FnOnce(&mut Knobs, T), change: impl FnOnce(&mut T)) -> &'static str {
            let (mut knobs, mut changed) = (Knobs::default(), T::default());
            change(&mut changed);
            part(&mut knobs, changed);
            knobs.check().expect_err("it cannot be meant")
        }
        let hold = |change: fn(&mut Hold)| wrong(|knobs, hold| knobs.hold = Some(hold), change);
        let lane = |change: fn(&mut Lane)| wrong(|knobs, lane| knobs.lane = Some(lane), change);
        let spacing =
            |change: fn(&mut Spacing)| wrong(|knobs, spacing| knobs.spacing = Some(spacing), change);
        let governor = |change: fn(&mut Governor)| wrong(|knobs, it| knobs.governor = Some(it), change);
        for (told, name) in [
            // A row of failures is clamped between this and 32.
            (hold(|hold| hold.exits = 33), "hold.exits"),
            (hold(|hold| hold.exits = 0), "hold.exits"),
            (hold(|hold| hold.half = 1e-4), "hold.half"),
            (hold(|hold| hold.half = f64::NAN), "hold.half"),
            // Times a quarter more it is no time any more.
            (hold(|hold| hold.longest = Duration::MAX), "hold.longest"),
            (hold(|hold| hold.alone = Duration::MAX), "hold.canary and hold.alone"),
            (lane(|lane| lane.burst = -1.0), "lane.burst"),
            (lane(|lane| lane.burst = f64::NAN), "lane.burst"),
            (spacing(|spacing| spacing.longest = 0.1), "spacing.least"),
            (spacing(|spacing| spacing.longest = f32::INFINITY), "spacing.longest"),
            (spacing(|spacing| spacing.stake_least = 5.0), "spacing.stake_least"),
            (spacing(|spacing| spacing.after_hold = -1.0), "spacing.after_hold"),
            (governor(|governor| governor.deepest = 0.9), "governor.deepest"),
            (governor(|governor| governor.tick = Duration::MAX), "governor.tick"),
        ] {
            assert!(told.starts_with(name), "{name}: {told}");
        }
    }
}
