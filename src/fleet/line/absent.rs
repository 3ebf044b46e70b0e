//! Who is polled no more, though its place is kept: passed over, with all others of that kind, in a moment.
//!
//! Only who is asked shows that it is there. Who is called and does not come within a turn, or is asked to look after the time, is
//! missed; then four of those behind it are asked, then sixteen, and so on: a thousand that do not come are passed over in a second,
//! where one after the other would take minutes. It ends when all come who were asked.

use super::{Line, TURN, Ticket, Turn};
use crate::fleet::line::Group;
use crate::request::Time;

/// How many are asked at once, at most.
const MOST: usize = 256;

impl Line {
    /// A waiter is to come within a turn.
    pub(super) fn ask(&mut self, now: Time, ticket: Ticket) {
        let Some(waiter) = self.waiters.get_mut(ticket.0) else { return };
        if waiter.is_queued() && waiter.asked.is_none() {
            let until = now + TURN;
            waiter.asked = Some(until);
            self.asked.insert((until, ticket));
        }
        self.wake(ticket);
    }

    /// Besides the driver the one that came last is asked: of all that are there it is the surest to be.
    pub(super) fn ask_second(&mut self, now: Time, driver: Ticket) {
        let is_queued = |ticket: &Ticket| self.get(*ticket).is_some_and(super::Waiter::is_queued);
        self.second = self.latest.filter(|latest| *latest != driver && is_queued(latest));
        if let Some(second) = self.second {
            self.ask(now, second);
        }
    }

    /// A waiter comes.
    pub(in crate::fleet) fn comes(&mut self, ticket: Ticket) {
        self.latest = Some(ticket);
        self.excuse(ticket);
        if let Some(group) =
            self.get(ticket).filter(|waiter| waiter.turn == Turn::Missed).map(|waiter| waiter.group)
        {
            self.requeue(ticket, |_| group);
            self.look_again(ticket);
        }
        if self.asked.is_empty() {
            self.missed = 0;
        }
    }

    /// It is asked no more.
    pub(super) fn excuse(&mut self, ticket: Ticket) {
        let asked = self.waiters.get_mut(ticket.0).and_then(|waiter| waiter.asked.take());
        if let Some(until) = asked {
            self.asked.remove(&(until, ticket));
        }
    }

    /// The driver was to look by itself, and has not.
    pub(super) fn miss_driver(&mut self, now: Time) {
        if self.armed > now || now.since(self.armed) < TURN {
            return;
        }
        if let Some(driver) = self.driver() {
            self.armed = now + TURN;
            self.ask(now, driver);
            self.missed = self.missed.max(1);
        }
    }

    /// Passes over all whose time to come is over, and asks others in their stead.
    pub(super) fn pass_over(&mut self, now: Time) {
        let mut missed = Vec::new();
        while let Some((_, ticket)) = self.called.first().copied().filter(|(until, _)| *until <= now) {
            self.called.pop_first();
            if let Some(waiter) = self.waiters.get_mut(ticket.0) {
                waiter.turn = Turn::PassedOver;
                self.lapsed.extend(waiter.promise.take());
                missed.push(waiter.group);
                self.settled(ticket);
            }
        }
        while let Some((_, ticket)) = self.asked.first().copied().filter(|(until, _)| *until <= now) {
            self.unqueue(ticket);
            if let Some(waiter) = self.waiters.get_mut(ticket.0) {
                waiter.turn = Turn::Missed;
                missed.push(waiter.group);
            }
        }
        if missed.is_empty() {
            return;
        }
        missed.sort_unstable();
        missed.dedup();
        missed.iter().for_each(|group| self.look_at(*group));
        self.missed += 1;
        self.ask_behind(now, &missed);
        if self.asked.is_empty() && self.called.is_empty() {
            self.missed = 0;
        }
    }

    /// Asks the next of these groups, and the first of others.
    fn ask_behind(&mut self, now: Time, groups: &[Group]) {
        let most = MOST.min(1 << (2 * self.missed.min(4)));
        let each = most.div_ceil(groups.len());
        let mut next: Vec<Ticket> = Vec::new();
        for queue in groups.iter().take(most).filter_map(|group| self.queues.get(group)) {
            next.extend(queue.waiters.values().take(each));
        }
        let firsts = self.heads.groups().take(most).filter_map(|group| self.queues.get(&group));
        next.extend(firsts.filter_map(|queue| queue.waiters.values().next()));
        next.into_iter().for_each(|ticket| self.ask(now, ticket));
    }
}
