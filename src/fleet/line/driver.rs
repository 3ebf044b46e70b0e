//! Who looks at the clock: the first in line, and after it whoever is still polled.

use super::{Line, TURN, Ticket, Waiter};
use crate::request::Time;
use std::time::Duration;

/// How long a waiter sleeps at most for each one that stands before it and looks after the time: whoever is polled no more is
/// missed then.
const CARE: Duration = Duration::from_secs(1);
/// However many these are, for no longer than this: else a driver that is gone is missed the later the more there are.
const LONGEST: Duration = Duration::from_secs(2);

impl Line {
    /// When something of the line itself is due.
    fn next_due(&self) -> Time {
        let first = |at: Option<&Time>| at.copied().unwrap_or(Time::MAX);
        let [called, asked] = [&self.called, &self.asked].map(|set| first(set.first().map(|(at, _)| at)));
        let due = called.min(asked).min(first(self.paced.first().map(|(at, _)| at)));
        if self.heads.is_looked_at() && self.rebound.is_empty() { due } else { Time::ZERO }
    }

    /// When a waiter looks again by itself; `timer` is when the pool's next is due.
    pub(in crate::fleet) fn sleeps_until(&mut self, now: Time, ticket: Ticket, timer: Time) -> Time {
        let Some(waiter) = self.waiters.get(ticket.0) else { return now };
        if !waiter.is_queued() {
            return now;
        }
        // What it holds is another thing then.
        let own = waiter.held_until.max(now).min(waiter.until);
        let behind = self.behind(waiter);
        if behind > 0 {
            self.miss_driver(now);
        }
        let due = timer.min(self.next_due());
        if behind == 0 {
            self.armed = due;
            // `due` may be past: then the driver looks again at once.
            return due.max(now).min(own);
        }
        // Those before it may be polled no more. What is due then was perhaps not known now.
        let looks_after = self.missed > 0 || self.second == Some(ticket);
        let after = if looks_after { TURN } else { TURN.saturating_mul(behind).min(LONGEST) };
        let late = if due == Time::MAX { due } else { due.max(now) + after };
        late.min(now + CARE.saturating_mul(behind).min(LONGEST)).min(own)
    }

    /// How many stand before a waiter; where they are many, at least so many.
    fn behind(&self, waiter: &Waiter) -> u32 {
        /// As many are counted, one by one.
        const MOST: usize = 64;
        let Some(queue) = self.queues.get(&waiter.group) else { return 0 };
        let before = queue.waiters.range(..waiter.rank).take(MOST).count();
        // The head of its own queue is among the heads.
        let count = self.heads.before(waiter.rank, MOST) + before.saturating_sub(1);
        let gap = match self.heads.first() {
            Some((first, _)) if count >= MOST => waiter.rank.before.saturating_sub(first.before),
            _ => 0,
        };
        u32::try_from(gap.saturating_add(count as u64)).unwrap_or(u32::MAX)
    }

    /// Wakes the driver if something is due before it looks again by itself.
    pub(in crate::fleet) fn drive(&mut self, now: Time, timer: Time) {
        let due = timer.min(self.next_due());
        if due < self.armed {
            if let Some(driver) = self.driver() {
                self.armed = due;
                self.ask(now, driver);
                self.ask_second(now, driver);
            }
        }
    }

    pub(super) fn driver(&self) -> Option<Ticket> {
        let (rank, group) = self.heads.first()?;
        self.queues.get(&group)?.waiters.get(&rank).copied()
    }
}
