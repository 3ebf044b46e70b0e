//! The line of those who wait: first come, first called, within each group that waits for the same thing. Groups do not wait
//! for each other.
//!
//! ```text
//!        join          one of its group may go           it claims
//!   ──────▶ Queued ─────────────────────────▶ Called ───────────────▶ out of the line
//!              ▲                                │ │
//!              ├── another was faster ──────────┘ │ 100 ms
//!              │                                  ▼
//!              └──────────── it comes ────────── Passed over
//! ```
//!
//! Nobody runs in the background. The first of the line is the driver: it sleeps until the next timer is due, and what it
//! finds then wakes the others. Each of them sleeps a little longer than the one before it, and never for long, so that a
//! driver that nobody polls any more is replaced ([`absent`]).

mod absent;
#[cfg(test)]
mod check;
mod driver;
mod group;
mod holders;
mod pace;
mod shares;
mod sweep;
mod waiter;

pub(super) use group::{Group, Of};
pub(super) use waiter::Waiter;

use pace::Pace;
use shares::{Share, Shares};
use sweep::Heads;
use waiter::{Rank, Turn};

use crate::pool::{OriginIx, Promise, Slab, Slot};
use crate::request::{Classes, LeaseRequest, Origin, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Who was called and does not come within this time passes its turn on.
const TURN: Duration = Duration::from_millis(100);
/// How many heads one look passes over.
const SKIPS: usize = 256;

/// A place in the line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Ticket(Slot);

impl Ticket {
    const FIRST: Self = Self(Slot::FIRST);

    /// Where things may be kept for it: below the bound of the line.
    pub(crate) const fn index(self) -> usize {
        self.0.index()
    }
}

/// What is known of one group.
#[derive(Default)]
struct Queue {
    waiters: BTreeMap<Rank, Ticket>,
    /// Only while the way is open.
    pace: Option<Pace>,
}

/// When the turn of who is called at `now` is over.
pub(super) fn turn_ends(now: Time) -> Time {
    now + TURN
}

pub(super) struct Line {
    waiters: Slab<Waiter>,
    /// How many there are: asked by every verb.
    count: usize,
    /// Those that can be called.
    queues: BTreeMap<Group, Queue>,
    /// The first of each queue, and which of them may have become able to go.
    heads: Heads,
    called: BTreeSet<(Time, Ticket)>,
    /// Who was asked to come, and until when; how often in a row some did not; who came last, and who looks after the driver.
    asked: BTreeSet<(Time, Ticket)>,
    missed: u32,
    latest: Option<Ticket>,
    second: Option<Ticket>,
    paced: BTreeSet<(Time, Group)>,
    /// Those who hold something, by holder; and holders who hold another exit since, with the last one who was told.
    holders: BTreeSet<(u64, Ticket)>,
    rebound: BTreeMap<u64, Option<Ticket>>,
    /// What was kept for those who did not come.
    lapsed: Vec<Promise>,
    wakes: VecDeque<Ticket>,
    arrivals: u64,
    /// What is due to whom, if there are classes.
    shares: Option<Box<Shares>>,
    /// When the driver looks again by itself.
    armed: Time,
}

impl Line {
    pub(super) fn new(cap: usize, classes: Classes) -> Self {
        Self {
            waiters: Slab::new(cap),
            count: 0,
            queues: BTreeMap::new(),
            heads: Heads::default(),
            called: BTreeSet::new(),
            asked: BTreeSet::new(),
            missed: 0,
            latest: None,
            second: None,
            paced: BTreeSet::new(),
            holders: BTreeSet::new(),
            rebound: BTreeMap::new(),
            lapsed: Vec::new(),
            wakes: VecDeque::new(),
            arrivals: 0,
            shares: Shares::new(classes, cap),
            armed: Time::MAX,
        }
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    pub(super) fn called(&self) -> usize {
        self.called.len()
    }

    /// Whether somebody waits for the same already.
    pub(super) fn has(&self, group: Group) -> bool {
        self.queues.contains_key(&group)
    }

    pub(super) fn get(&self, ticket: Ticket) -> Option<&Waiter> {
        self.waiters.get(ticket.0)
    }

    /// `None` if the line is full.
    pub(super) fn join(
        &mut self,
        group: impl FnOnce(u64) -> Group,
        want: Option<(LeaseRequest, Origin)>,
        share: Option<Share>,
        until: Time,
    ) -> Option<Ticket> {
        let number = self.arrivals;
        let group = group(number);
        if let (Some(shares), Some(share)) = (&self.shares, share) {
            if !shares.has_room(share.class) {
                return None;
            }
        }
        let waiter = Waiter {
            want,
            group,
            number,
            rank: Rank::of(number),
            share,
            open: false,
            until,
            turn: Turn::Queued,
            promise: None,
            holder: None,
            held_until: Time::MAX,
            asked: None,
            woken: false,
        };
        let ticket = Ticket(self.waiters.insert(waiter)?);
        self.arrivals += 1;
        self.count += 1;
        let mut rank = Rank::of(number);
        if let (Some(shares), Some(share)) = (&mut self.shares, share) {
            rank = shares.join(share, number, ticket);
            if let Some(waiter) = self.waiters.get_mut(ticket.0) {
                waiter.rank = rank;
            }
        }
        self.enqueue(group, rank, ticket);
        Some(ticket)
    }

    /// Takes a waiter out.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Waiter> {
        self.unqueue(ticket);
        let waiter = self.waiters.remove(ticket.0)?;
        self.count -= 1;
        if let (Some(shares), Some(share)) = (&mut self.shares, waiter.share) {
            if shares.leave(share, waiter.rank, waiter.is_queued()) {
                self.move_up(share);
            }
        }
        if let Some(holder) = waiter.holder {
            self.holders.remove(&(holder, ticket));
        }
        if waiter.woken {
            self.wakes.retain(|woken| *woken != ticket);
        }
        Some(waiter)
    }

    /// Back to its place, perhaps behind something else.
    pub(super) fn requeue(&mut self, ticket: Ticket, group: impl FnOnce(u64) -> Group) {
        self.unqueue(ticket);
        let Some(waiter) = self.waiters.get_mut(ticket.0) else { return };
        waiter.group = group(waiter.number);
        (waiter.turn, waiter.promise) = (Turn::Queued, None);
        let (group, rank) = (waiter.group, waiter.rank);
        self.enqueue(group, rank, ticket);
    }

    /// Calls a waiter. `promise` is what is kept for it.
    pub(super) fn call(&mut self, now: Time, ticket: Ticket, promise: Option<Promise>) {
        self.unqueue(ticket);
        let until = turn_ends(now);
        let Some(waiter) = self.waiters.get_mut(ticket.0) else { return };
        (waiter.turn, waiter.promise) = (Turn::Called { until }, promise);
        if let (Some(shares), Some(share)) = (&mut self.shares, waiter.share) {
            shares.call(share, waiter.rank);
            waiter.open = waiter.promise.is_none() && waiter.group.wants_any();
            if waiter.open {
                shares.set_open(share.origin, true);
            }
        }
        self.called.insert((until, ticket));
        self.wake(ticket);
    }

    /// Takes what is kept for a waiter.
    pub(super) fn take_promise(&mut self, ticket: Ticket) -> Option<Promise> {
        self.waiters.get_mut(ticket.0)?.promise.take()
    }

    /// Turns that are over, and groups whose next one may be called now.
    pub(super) fn run_timers(&mut self, now: Time) {
        self.pass_over(now);
        while let Some((_, group)) = self.paced.first().copied().filter(|(at, _)| *at <= now) {
            self.paced.pop_first();
            self.look_at(group);
        }
    }

    /// What was kept for somebody who did not come: to be forgone.
    pub(super) fn next_lapsed(&mut self) -> Option<Promise> {
        self.lapsed.pop()
    }

    pub(super) fn look_everywhere(&mut self) {
        self.heads.look_everywhere();
    }

    pub(super) fn look_at_origin(&mut self, origin: OriginIx) {
        self.heads.look_at_origin(origin);
    }

    pub(super) fn look_at(&mut self, group: Group) {
        if let Some((rank, _)) = self.queues.get(&group).and_then(|queue| queue.waiters.first_key_value()) {
            self.heads.look_at(*rank);
        }
    }

    /// A waiter may have become able to go, if it is the first of its group.
    pub(super) fn look_again(&mut self, ticket: Ticket) {
        if let Some(waiter) = self.waiters.get(ticket.0) {
            self.heads.look_at(waiter.rank);
        }
    }

    /// The next head to look at, unless it is not its time yet.
    pub(super) fn next_head(&mut self, now: Time) -> Option<(Ticket, Group)> {
        for _ in 0..SKIPS {
            let rank = self.heads.pop_look()?;
            let Some(group) = self.heads.get(rank) else { continue };
            let Some(queue) = self.queues.get(&group) else { continue };
            if queue.pace.is_some_and(|pace| pace.next > now) {
                continue; // among those that are paced
            }
            if let Some(ticket) = queue.waiters.get(&rank) {
                return Some((*ticket, group));
            }
        }
        None
    }

    pub(super) fn poll_wake(&mut self) -> Option<Ticket> {
        let ticket = self.wakes.pop_front()?;
        if let Some(waiter) = self.waiters.get_mut(ticket.0) {
            waiter.woken = false;
        }
        Some(ticket)
    }

    fn wake(&mut self, ticket: Ticket) {
        if let Some(waiter) = self.waiters.get_mut(ticket.0) {
            if !std::mem::replace(&mut waiter.woken, true) {
                self.wakes.push_back(ticket);
            }
        }
    }

    fn enqueue(&mut self, group: Group, rank: Rank, ticket: Ticket) {
        let queue = self.queues.entry(group).or_default();
        let before = queue.waiters.first_key_value().map(|(rank, _)| *rank);
        queue.waiters.insert(rank, ticket);
        if before.is_none_or(|before| rank < before) {
            if let Some(before) = before {
                self.heads.remove(before);
            }
            self.heads.insert(rank, group);
            // Who goes before others may go when they may not; and they were perhaps to be looked at.
            if self.shares.is_some() {
                self.heads.look_at(rank);
            }
        }
    }

    /// Takes a waiter out of what can be called, or out of those that were.
    fn unqueue(&mut self, ticket: Ticket) {
        self.excuse(ticket);
        let Some(waiter) = self.waiters.get(ticket.0) else { return };
        let (group, rank) = (waiter.group, waiter.rank);
        if let Turn::Called { until } = waiter.turn {
            self.called.remove(&(until, ticket));
            self.settled(ticket);
        }
        let drives = self.heads.first().is_some_and(|(first, _)| first == rank);
        let Some(queue) = self.queues.get_mut(&group) else { return };
        if queue.waiters.remove(&rank).is_none() {
            return;
        }
        self.heads.remove(rank);
        match queue.waiters.first_key_value() {
            None => {
                if let Some(pace) = queue.pace {
                    self.paced.remove(&(pace.next, group));
                }
                self.queues.remove(&group);
            }
            Some((next, _)) => {
                let next = *next;
                if self.heads.get(next).is_none() {
                    self.heads.insert(next, group);
                    self.heads.look_at(next);
                }
            }
        }
        if drives {
            // Another drives from now on, and has to set its alarm.
            self.armed = Time::MAX;
        }
    }
}
