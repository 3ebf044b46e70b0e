//! How those go who wait for what is there: not all at once.

use super::{Group, Line};
use crate::pool::RETURN;
use crate::request::Time;
use std::time::Duration;

/// Where many wait for the same thing, and it is there, they are let go evenly over this time.
const SPREAD: Duration = Duration::from_millis(500);
/// After an origin was left alone it is let go to over so much longer; but nobody waits for more than this after the one before.
const APART: Duration = Duration::from_millis(250);
/// How far behind that they are made up for at once, in nanoseconds.
const LAG: u64 = 100_000_000;

#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// When the next one may be called.
    pub(super) next: Time,
    /// How long after it the one behind.
    gap: Duration,
    /// Since when it is so fast at least.
    since: Time,
    /// It was so when the first of them went, and stays so for the time that they have.
    returns: bool,
}

impl Line {
    /// One of the group was called, and the way is open: the next one follows in a moment.
    /// `returns`: to an origin that was left alone.
    pub(in crate::fleet) fn pace(&mut self, now: Time, group: Group, returns: bool) {
        let Some(queue) = self.queues.get_mut(&group) else { return };
        let waiting = u32::try_from(queue.waiters.len()).unwrap_or(u32::MAX).saturating_add(1);
        let returns = queue.pace.map_or(returns, |pace| pace.returns);
        let (spread, most) = if returns { (RETURN, APART) } else { (SPREAD, SPREAD) };
        let gap = (spread / waiting).min(most);
        let mut pace = queue.pace.unwrap_or(Pace { next: now, gap, since: now, returns });
        // Others have joined. Twice as fast each time it has taken too long: more than come must go, or the line never ends. Who
        // has borne the return bears that, too: callers who come back as soon as they are served are a line for good.
        pace.gap = pace.gap.min(gap);
        if pace.next.since(pace.since) >= spread {
            (pace.gap, pace.since, pace.returns) = (pace.gap / 2, pace.next, false);
        }
        // By the plan, since timers are coarser than the gaps; but no further back than a turn.
        let next = (pace.next + pace.gap).max(Time::from_nanos(now.as_nanos().saturating_sub(LAG)));
        queue.pace = Some(Pace { next, ..pace });
        if next <= now {
            self.look_at(group);
        } else {
            self.paced.insert((next, group));
        }
    }

    /// The group may go at that time.
    pub(super) fn follow(&mut self, now: Time, group: Group, next: Time) {
        let Some(queue) = self.queues.get_mut(&group) else { return };
        let pace = queue.pace.unwrap_or(Pace { next, gap: SPREAD, since: now, returns: false });
        queue.pace = Some(Pace { next, ..pace });
        self.paced.insert((next, group));
    }

    /// The group may not go now.
    pub(in crate::fleet) fn close(&mut self, group: Group) {
        if let Some(queue) = self.queues.get_mut(&group) {
            queue.pace = None;
        }
    }
}
