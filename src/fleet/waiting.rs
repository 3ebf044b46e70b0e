//! Waiting: who may not go now gets a ticket, is called when it may, and claims its lease.

use super::line::{self, Group, Of, Ticket, Waiter};
use super::{BUSY, Event, Fleet, Grant, Refusal, UNKNOWN_CLASS, busy};
use crate::error::HeldBy;
use crate::pool::{Blocked, NoExit, OriginIx, Reason, Stake};
use crate::request::{LeaseRequest, Origin, Time};

/// What somebody gets who may wait.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one")]
pub(crate) enum Turn {
    Granted(Grant),
    /// To claim when the [wait](Fleet::wait) is over.
    Wait {
        ticket: Ticket,
    },
    Refused(Refusal),
}

/// What a refused request waits for.
#[derive(Clone, Copy)]
enum Await {
    /// Fewer leases out.
    Room,
    /// A place at its origin.
    Origin(OriginIx),
    /// An exit that may serve there.
    Exit(OriginIx),
}

impl Await {
    /// Those who wait for the same; `stake` is what the request holds, and `number` its own.
    fn group(self, ask: &LeaseRequest, stake: Option<Stake>, number: u64) -> Group {
        match self {
            Self::Room => Group::ROOM,
            Self::Origin(origin) => Group::at(origin),
            Self::Exit(origin) => Group::of(ask, origin, stake, number),
        }
    }
}

/// A state of the fleet that somebody may wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Something may go, as far as logins and people are asked.
    Running,
    /// No lease is out.
    Idle,
}

/// Whether it is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reached {
    Yes,
    /// To ask again when the ticket is called, or at `until`.
    NotYet {
        ticket: Ticket,
        until: Time,
    },
    /// The line is full.
    NoRoom,
}

impl Fleet {
    /// As [`lease`](Self::lease), for who may wait, until `patience` at most. Nobody overtakes those who wait for the same.
    #[inline]
    pub(crate) fn lease_or_wait(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        name: &Origin,
        patience: Time,
    ) -> Turn {
        if !self.line.is_empty() {
            if let Some(behind) = self.behind(now, ask, name) {
                return self.join(now, ask, name, behind, patience);
            }
        }
        match self.lease(now, ask, name) {
            Ok(grant) => Turn::Granted(grant),
            Err(refusal) => self.join(now, ask, name, refusal, patience),
        }
    }

    /// As [`lease`](Self::lease), for who does not wait, and so passes nobody who does. A refusal is counted.
    #[inline]
    pub(crate) fn lease_in_turn(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        name: &Origin,
    ) -> Result<Grant, Refusal> {
        if !self.line.is_empty() {
            if let Some(behind) = self.behind(now, ask, name) {
                return Err(self.refuse(now, ask, name, behind));
            }
        }
        self.lease(now, ask, name).map_err(|refusal| self.refuse(now, ask, name, refusal))
    }

    /// Others go first: when to ask again. They are called when a timer runs, or somebody comes back.
    #[cold]
    fn others_first(&self, now: Time, at_origin: bool) -> Refusal {
        let retry_at = self.pool.next_timer().clamp(line::turn_ends(now), now + BUSY);
        Refusal::Behind { retry_at, at_origin }
    }

    /// Why the request may not go before others, if it may not: they wait for what it wants, and it holds nothing of its own.
    fn behind(&mut self, now: Time, ask: &LeaseRequest, name: &Origin) -> Option<Refusal> {
        // Nobody else may look at the clock any more: then those who wait are called by whoever asks.
        self.pool.tick(now);
        if self.closed {
            return None;
        }
        // Each of those who were called takes one.
        if self.line.has(Group::ROOM) || self.out + self.line.called() >= self.most_out {
            return Some(Refusal::Full { retry_at: now + BUSY });
        }
        let origin = self.pool.origin(now, name)?;
        if self.line.has(Group::at(origin)) {
            // Also who holds an exit: it is the origin that has no place for it.
            return Some(match self.pool.shut(now, origin) {
                Some(NoExit::Held { retry_at, by }) => Refusal::OriginHeld { retry_at, by },
                _ => self.others_first(now, true),
            });
        }
        // Who has wants of its own is behind nobody: no number is as high.
        let same = self.line.has(Group::of(ask, origin, self.pool.stake(now, ask, origin), u64::MAX));
        // Classes go by their shares, whichever exit they take.
        if !same && !self.line.is_shared(origin) {
            return None;
        }
        let passes = match self.pool.look(now, ask, origin) {
            Ok(choice) => choice.reason == Reason::Bound,
            Err(NoExit::Unusable { .. } | NoExit::Held { .. }) => !same,
            // It is to be told why itself.
            Err(_) => true,
        };
        (!passes).then(|| self.others_first(now, false))
    }

    /// Lines up who was refused, if the cure may come in time.
    #[cold]
    fn join(
        &mut self,
        now: Time,
        ask: &LeaseRequest,
        name: &Origin,
        refusal: Refusal,
        patience: Time,
    ) -> Turn {
        let refusal =
            if ask.class.is_some() && !self.line.knows_class(ask) { UNKNOWN_CLASS } else { refusal };
        let Some(at) = self.may_wait(now, name, &refusal, patience) else {
            return Turn::Refused(self.refuse(now, ask, name, refusal));
        };
        let share = self.pool.known(name).and_then(|origin| self.line.share(ask, origin));
        let want = Some((ask.clone(), name.clone()));
        let stake = self.stake(now, ask, at);
        let group = |number| at.group(ask, stake, number);
        let Some(ticket) = self.line.join(group, want, share, patience) else {
            let bound = "as many requests wait for an exit as Bounds::waiters allows";
            return Turn::Refused(self.refuse(now, ask, name, busy(now, bound)));
        };
        let waits = || Event::Wait { key: ask.key.clone(), origin: name.to_kept() };
        self.pool.events.tell(now, waits);
        self.settle(ticket, stake);
        self.claim(now, ticket)
    }

    /// What a refused request would wait for; `None` if that cannot help in time.
    fn may_wait(&mut self, now: Time, name: &Origin, refusal: &Refusal, patience: Time) -> Option<Await> {
        match *refusal {
            _ if patience <= now => None,
            Refusal::Full { .. } => Some(Await::Room),
            Refusal::Behind { at_origin: true, .. } => Some(Await::Origin(self.pool.origin(now, name)?)),
            Refusal::Behind { at_origin: false, .. } => Some(Await::Exit(self.pool.origin(now, name)?)),
            Refusal::NoUsableExit { retry_at, by, .. } if by != Blocked::ForGood && retry_at <= patience => {
                Some(Await::Exit(self.pool.origin(now, name)?))
            }
            // How soon one of those who are there is done nobody knows.
            Refusal::OriginHeld { retry_at, by } if by == HeldBy::Limit || retry_at <= patience => {
                Some(Await::Origin(self.pool.origin(now, name)?))
            }
            _ => None,
        }
    }

    /// What the request holds, if it waits for an exit.
    fn stake(&self, now: Time, ask: &LeaseRequest, at: Await) -> Option<Stake> {
        if let Await::Exit(origin) = at { self.pool.stake(now, ask, origin) } else { None }
    }

    /// What is kept for a waiter besides its place: its origin is not forgotten, and it is known by what it holds.
    fn settle(&mut self, ticket: Ticket, stake: Option<Stake>) {
        let Some(waiter) = self.line.get(ticket) else { return };
        let Some(origin) = waiter.group.origin() else { return };
        let exit = (waiter.group.of != Of::Origin).then_some(&waiter.want);
        let holder = exit.and_then(Option::as_ref).and_then(|(ask, _)| self.pool.holder(ask, origin));
        self.line.holds(ticket, holder, stake.map_or(Time::MAX, |stake| stake.until));
        self.pool.await_origin(origin);
    }

    /// Puts a waiter where it belongs now: what it holds may have changed.
    pub(super) fn regroup(&mut self, now: Time, ticket: Ticket) {
        let Some(waiter) = self.line.get(ticket).filter(|waiter| waiter.is_queued()) else { return };
        let (Some(origin), Some((ask, _))) = (waiter.group.origin(), &waiter.want) else { return };
        if waiter.group.of == Of::Origin {
            return;
        }
        let stake = self.pool.stake(now, ask, origin);
        let group = Group::of(ask, origin, stake, waiter.number);
        let (over, other) = (waiter.held_until <= now, waiter.group != group);
        if other {
            self.line.requeue(ticket, |_| group);
        }
        if over || other {
            self.line.look_at(group);
        }
        self.line.holds_until(ticket, stake.map_or(Time::MAX, |stake| stake.until));
    }

    /// When a waiter looks again by itself. `None` if it is its turn, or its patience is over: then it should
    /// [`claim`](Self::claim).
    pub(crate) fn wait(&mut self, now: Time, ticket: Ticket) -> Option<Time> {
        self.line.comes(ticket);
        self.pool.tick(now);
        self.regroup(now, ticket);
        self.serve(now);
        if self.is_due(now, ticket) {
            return None;
        }
        Some(self.line.sleeps_until(now, ticket, self.pool.next_timer()))
    }

    fn is_due(&self, now: Time, ticket: Ticket) -> bool {
        self.line.get(ticket).is_none_or(|waiter| !waiter.is_queued() || waiter.until <= now)
    }

    /// A lease for who was called, or whose patience is over; else it waits on, at its old place.
    pub(crate) fn claim(&mut self, now: Time, ticket: Ticket) -> Turn {
        if self.wait(now, ticket).is_some() {
            return Turn::Wait { ticket };
        }
        if let Some(promise) = self.line.take_promise(ticket) {
            self.pool.forgo(promise);
        }
        let wants = self.line.get(ticket).and_then(|waiter| Some((waiter.want.clone()?, waiter.until)));
        let Some(((ask, name), patience)) = wants else {
            return Turn::Refused(Refusal::Misuse("a place in the line was left and then claimed"));
        };
        let turn = match self.lease(now, &ask, &name) {
            Ok(grant) => {
                self.step_out(ticket);
                Turn::Granted(grant)
            }
            Err(refusal) => match self.may_wait(now, &name, &refusal, patience) {
                None => {
                    self.step_out(ticket);
                    Turn::Refused(self.refuse(now, &ask, &name, refusal))
                }
                Some(at) => {
                    self.unpin(ticket);
                    let stake = self.stake(now, &ask, at);
                    self.line.requeue(ticket, |number| at.group(&ask, stake, number));
                    self.settle(ticket, stake);
                    Turn::Wait { ticket }
                }
            },
        };
        self.serve(now);
        turn
    }

    /// Gives a place in the line up.
    pub(crate) fn leave(&mut self, now: Time, ticket: Ticket) {
        if let Some(promise) = self.line.take_promise(ticket) {
            self.pool.forgo(promise);
        }
        self.step_out(ticket);
        self.serve(now);
    }

    /// Waits for a state of the fleet; `ticket` is what an earlier call gave. What does not wait for it any more
    /// [leaves](Self::leave).
    pub(crate) fn reach(&mut self, now: Time, state: State, ticket: Option<Ticket>) -> Reached {
        self.pool.tick(now);
        if self.is(state) {
            if let Some(ticket) = ticket {
                self.step_out(ticket);
            }
            return Reached::Yes;
        }
        let group = match state {
            State::Running => Group::RUNNING,
            State::Idle => Group::IDLE,
        };
        let ticket = match ticket {
            Some(ticket) => {
                self.line.comes(ticket);
                // Who stands there already stays: to line up again would wake it as a new driver, and so on for ever.
                if !self.line.get(ticket).is_some_and(Waiter::is_queued) {
                    self.line.requeue(ticket, |_| group);
                }
                ticket
            }
            None => match self.line.join(|_| group, None, None, Time::MAX) {
                Some(ticket) => ticket,
                None => return Reached::NoRoom,
            },
        };
        self.serve(now);
        let until = self.line.sleeps_until(now, ticket, self.pool.next_timer());
        Reached::NotYet { ticket, until }
    }

    pub(super) fn is(&self, state: State) -> bool {
        match state {
            State::Running => !self.closed && !self.pool.is_shut(),
            State::Idle => self.out == 0,
        }
    }

    /// Gives no lease any more.
    pub(crate) fn close(&mut self) {
        if !self.closed {
            (self.closed, self.shut_out) = (true, std::mem::take(&mut self.most_out));
            self.line.look_everywhere();
        }
    }

    pub(super) fn open(&mut self) {
        if self.closed {
            (self.closed, self.most_out) = (false, self.shut_out);
            self.line.look_everywhere();
        }
    }

    /// Whether somebody waits, so that [`serve`](Self::serve) has something to do.
    #[inline]
    pub(crate) fn has_line(&self) -> bool {
        !self.line.is_empty()
    }

    /// Whether nobody waits, nothing is to be told and nothing is given up.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.line.is_empty() && self.pool.events.is_empty() && !self.pool.has_given_up()
    }

    /// Calls those who may go now. To be run after every verb.
    #[inline]
    pub(crate) fn serve(&mut self, now: Time) {
        if self.has_line() {
            self.serve_line(now);
        }
    }

    /// A ticket that was called, or has to look again.
    pub(crate) fn poll_wake(&mut self) -> Option<Ticket> {
        self.line.poll_wake()
    }

    fn step_out(&mut self, ticket: Ticket) {
        self.unpin(ticket);
        self.line.remove(ticket);
    }

    fn unpin(&mut self, ticket: Ticket) {
        if let Some(origin) = self.line.get(ticket).and_then(|waiter| waiter.group.origin()) {
            self.pool.await_origin_no_more(origin);
        }
    }
}
