//! How often an origin fails by itself, and how many failures in a row are more than that.

use super::trouble::Witness;
use crate::knobs;
use crate::outcome::OutcomeCounts;
use crate::share::Share;

/// Failures among the last answers, runs that held the origin for good reason apart. An origin counts its answers anyway; they
/// are taken in when a run of failures begins, so that an answer costs nothing here.
#[derive(Clone, Copy, Debug)]
pub(in crate::pool) struct Usual {
    failed: f32,
    of: f32,
    /// Answers that were taken in, of all there were.
    taken: u64,
    /// Failures since then.
    fresh: u32,
    /// Who met the last ones.
    last: [Option<Witness>; 3],
}

/// Good answers that each site is thought to have given before it is known: else one that was down when it was new would be
/// one that fails often.
const GOOD: f32 = 32.0;

/// Of so many exits as fail hardly ever so many fail at once: a site that fails this share of all does so itself.
const COMMON: f32 = 0.2;

impl Default for Usual {
    fn default() -> Self {
        Self { failed: 0.0, of: GOOD, taken: 0, fresh: 0, last: [None; 3] }
    }
}

/// How many answers an origin gave, or who is near it for it.
const fn answers(counts: &OutcomeCounts) -> u64 {
    let OutcomeCounts {
        ok, rate_limited, blocked, target_unreachable, origin_error, too_large, fatal, ..
    } = *counts;
    ok + rate_limited + blocked + target_unreachable + origin_error + too_large + fatal
}

impl Usual {
    /// A failure. `begins`: the one before it was another answer.
    pub(super) fn fail(&mut self, counts: &OutcomeCounts, begins: bool, who: Witness, rules: &knobs::Hold) {
        self.last.rotate_right(1);
        self.last[0] = Some(who);
        if begins {
            // This one is counted, and not usual yet.
            let all = answers(counts).saturating_sub(1);
            self.of += all.saturating_sub(self.taken) as f32;
            self.failed += self.fresh as f32;
            (self.taken, self.fresh) = (all, 0);
            let scale = rules.lately / self.of;
            if scale < 1.0 {
                self.of *= scale;
                self.failed *= scale;
            }
        }
        self.fresh += 1;
    }

    /// Whether failures are common there, and no matter of one exit: then they cost none anything, though others are served.
    pub(super) fn is_common(&self) -> bool {
        let differ = |[a, b, c]: [Option<Witness>; 3]| c.is_some() && a != b && b != c && a != c;
        self.failed + self.fresh as f32 >= COMMON * self.of && differ(self.last)
    }

    /// It was held, and for good reason: what it said lately was not usual.
    pub(super) fn skip(&mut self, counts: &OutcomeCounts) {
        (self.taken, self.fresh) = (answers(counts), 0);
    }

    /// As many failures in a row would come by chance once in a while, at so many answers a second.
    pub(super) fn in_a_row(&self, per_second: f64, rules: &knobs::Hold) -> u32 {
        let lately = Share { failed: self.failed.round() as u32, of: self.of.round() as u32 };
        let share = lately.most().clamp(1e-3, rules.half);
        let begins = (per_second * rules.chance.as_secs_f64()).max(1.0);
        let row = (libm::log(begins) / -libm::log(share)).ceil() as u32;
        // Half of 10,000 answers a second in an hour fail, and 27 in a row once.
        row.clamp(rules.exits.into(), knobs::MOST_IN_A_ROW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(failed: f32, of: f32) -> Usual {
        Usual { failed, of, ..Usual::default() }
    }

    #[test]
    fn a_quiet_site_or_one_that_never_fails_is_held_by_three_and_one_that_fails_by_chance_by_more() {
        let rules = knobs::Hold::default();
        for (failed, of, per_second, row) in [
            (0.0, 0.0, 0.0, 3),
            (0.0, 10.0, 0.0, 3),
            (5.0, 10.0, 0.0, 3),
            (0.0, 256.0, 12.0, 3),
            (0.0, 256.0, 200.0, 4),
            (12.8, 256.0, 200.0, 6),
            (12.8, 256.0, 0.1, 3),
            (3.0, 20.0, 0.1, 7),
            (128.0, 256.0, 200.0, 22),
            (256.0, 256.0, 1e12, 32),
        ] {
            let told = usual(failed, of).in_a_row(per_second, &rules);
            assert_eq!(told, row, "{failed} of {of} at {per_second} a second");
        }
    }
}
