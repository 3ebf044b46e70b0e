//! What must hold in the line, whatever has happened. For tests that do anything in any order.

use super::{Group, Line, Of, Ticket, Turn};
use crate::fleet::Fleet;
use crate::pool::{NoExit, Promise};
use crate::request::Time;

impl Line {
    fn promises(&self) -> impl Iterator<Item = &Promise> {
        self.waiters.iter().filter_map(|waiter| waiter.promise.as_ref()).chain(&self.lapsed)
    }

    fn check(&self) {
        let mut queued = 0;
        for (group, queue) in &self.queues {
            let first = queue.waiters.first_key_value().expect("an empty queue goes");
            assert_eq!(self.heads.get(*first.0), Some(*group), "the first of a queue is its head");
            for (rank, ticket) in &queue.waiters {
                let waiter = self.get(*ticket).expect("who is queued is there");
                assert_eq!((waiter.rank, waiter.group), (*rank, *group));
                assert!(waiter.is_queued() && waiter.promise.is_none());
                queued += 1;
            }
            if let Some(pace) = queue.pace {
                assert!(
                    self.paced.contains(&(pace.next, *group)) || !self.heads.is_looked_at(),
                    "its time comes"
                );
            }
        }
        for waiter in self.waiters.iter() {
            assert!(!waiter.open || matches!(waiter.turn, Turn::Called { .. }), "it is settled");
        }
        if let Some(shares) = &self.shares {
            shares.check(self.waiters.iter().filter_map(|waiter| Some((waiter.share?, waiter.rank))));
        }
        assert_eq!(self.heads.len(), self.queues.len());
        for (until, ticket) in &self.asked {
            let waiter = self.get(*ticket).expect("who is asked is there");
            assert!(waiter.is_queued() && waiter.asked == Some(*until));
        }
        for (until, ticket) in &self.called {
            assert_eq!(self.get(*ticket).map(|waiter| waiter.turn), Some(Turn::Called { until: *until }));
        }
        let out = |turn: Turn| matches!(turn, Turn::PassedOver | Turn::Missed);
        let passed = self.waiters.iter().filter(|waiter| out(waiter.turn)).count();
        assert_eq!(self.waiters.len(), self.count);
        assert_eq!(self.count, queued + self.called.len() + passed);
    }
}

impl Fleet {
    /// Panics if somebody waits who could go.
    pub(crate) fn check_line(&self, now: Time) {
        self.line.check();
        self.pool.check_promises(self.line.promises());
        if !self.line.heads.is_looked_at() {
            return;
        }
        for (group, queue) in &self.line.queues {
            if queue.pace.is_some_and(|pace| pace.next > now) {
                continue;
            }
            for ticket in queue.waiters.values() {
                self.check_waiter(now, *group, *ticket);
            }
        }
    }

    fn check_waiter(&self, now: Time, group: Group, ticket: Ticket) {
        let waiter = self.line.get(ticket).unwrap();
        let (Some(origin), Some((ask, _))) = (group.origin(), &waiter.want) else {
            let may = match group.of {
                Of::Room => self.closed || self.out + self.line.called() < self.most_out,
                Of::Running => !self.closed && !self.pool.is_shut(),
                _ => self.out == 0,
            };
            return assert!(!may, "{group:?} waits, and could go");
        };
        if group.of == Of::Origin {
            let seen = self.pool.look(now, ask, origin);
            return assert!(
                matches!(seen, Err(NoExit::Held { .. })),
                "waits for its origin, and could go: {seen:?}"
            );
        }
        let open = self.line.shares.as_ref().is_some_and(|shares| shares.is_open(origin));
        if open && group.wants_any() {
            return; // one goes before it, and then it is looked at
        }
        let other = Group::of(ask, origin, self.pool.stake(now, ask, origin), waiter.number) != group;
        if other || waiter.held_until <= now {
            return; // what it holds has changed: it finds out when it looks
        }
        let seen = self.pool.look(now, ask, origin);
        let blocked = matches!(seen, Err(NoExit::Unusable { .. } | NoExit::Held { .. }));
        assert!(blocked, "{group:?} waits, and could go: {seen:?}, {ask:?}");
    }
}
