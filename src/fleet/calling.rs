//! Calling: after every verb, those at the heads of the line who may go now.

use super::Fleet;
use super::line::{self, Group, Of, Ticket};
use super::waiting::State;
use crate::error::HeldBy;
use crate::pool::NoExit;
use crate::request::Time;

/// How many heads of the line one verb looks at. Whoever comes next goes on where this one stopped.
const LOOKS: usize = 16;

impl Fleet {
    #[cold]
    pub(super) fn serve_line(&mut self, now: Time) {
        self.line.run_timers(now);
        while let Some(promise) = self.line.next_lapsed() {
            self.pool.forgo(promise);
        }
        let moved = self.pool.take_moved();
        if moved.everywhere {
            self.line.look_everywhere();
        }
        for origin in moved.at {
            self.line.look_at_origin(origin);
        }
        self.line.rebound(&moved.holders, moved.all_holders);
        // A lease may have ended, or somebody who was called has gone.
        [Group::ROOM, Group::IDLE].into_iter().for_each(|group| self.line.look_at(group));
        for _ in 0..LOOKS {
            let Some(ticket) = self.line.next_rebound() else { break };
            self.regroup(now, ticket);
            self.line.look_again(ticket);
        }
        for _ in 0..LOOKS {
            let Some((ticket, group)) = self.line.next_head(now) else { break };
            self.look_at(now, ticket, group);
        }
        self.line.drive(now, self.pool.next_timer());
    }

    /// Calls the head of a group, if it may go or would be refused for another reason.
    fn look_at(&mut self, now: Time, ticket: Ticket, group: Group) {
        let room = self.out + self.line.called() < self.most_out;
        let may = match group.of {
            Of::Running => self.is(State::Running),
            Of::Idle => self.is(State::Idle),
            Of::Room => room || self.closed,
            _ if self.closed => true,
            _ => return self.look_for_exit(now, ticket, group),
        };
        if may {
            self.line.call(now, ticket, None);
        }
    }

    fn look_for_exit(&mut self, now: Time, ticket: Ticket, group: Group) {
        if self.line.yields(now, ticket) {
            return;
        }
        let Some(waiter) = self.line.get(ticket) else { return };
        let (Some(origin), Some((ask, _))) = (group.origin(), &waiter.want) else { return };
        match self.pool.look(now, ask, origin) {
            // After a hold all who wanted to go there go back slowly, and so as one. A limit comes and goes: then nobody changes
            // places, or all would go to and fro.
            Err(NoExit::Held { by: HeldBy::Failures, .. }) if group.of != Of::Origin => {
                self.line.requeue(ticket, |_| Group::at(origin));
                self.line.holds(ticket, None, Time::MAX);
            }
            Err(NoExit::Held { .. }) => self.line.close(group),
            Err(NoExit::Unusable { .. }) if group.of != Of::Origin => self.line.close(group),
            // Who waits for the origin would have its place, and needs an exit: it stands with those who want one from now on.
            Err(NoExit::Unusable { .. }) => {
                let (stake, number) = (self.pool.stake(now, ask, origin), waiter.number);
                let group = Group::of(ask, origin, stake, number);
                let holder = self.pool.holder(ask, origin);
                self.line.requeue(ticket, |_| group);
                self.line.holds(ticket, holder, stake.map_or(Time::MAX, |stake| stake.until));
            }
            Err(_) => self.line.call(now, ticket, None),
            Ok(choice) => {
                let until = line::turn_ends(now);
                let promise = self.pool.promise(waiter.name(), &choice, origin, until);
                self.line.call(now, ticket, promise);
                let returns = self.pool.returns(now, origin);
                match promise {
                    // As many trials as exits have rested would be a rush to an origin that has just come back.
                    Some(promise) if promise.is_trial() && !returns => {}
                    // The next place that is free is given at once.
                    Some(_) if !self.pool.is_roomy(origin) => self.line.close(group),
                    _ => self.line.pace(now, group, returns),
                }
            }
        }
    }
}
