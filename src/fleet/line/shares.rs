//! Whose turn it is where classes wait for one origin: by weight, and first come, first called within a class.
//!
//! Start-time fair queueing (Goyal, Vin and Cheng, 1996) at each origin: who joins is stamped with the origin's virtual time, or
//! with a turn after the last of its class, which is the shorter the heavier the class; the lowest stamp goes first, and is the
//! virtual time from then on. So a class with nobody waiting saves nothing up and owes nothing, and its share goes to the others.
//! Whoever goes away without having been called has had no turn: those of its class who came after it move up, a few such at once.
//!
//! Stamps of two origins say nothing about each other. There it is by arrival, as without classes: who goes before somebody
//! counts as having come just before him.

use super::{Group, Line, Rank, Ticket};
use crate::pool::OriginIx;
use crate::request::{Classes, Key, LeaseRequest, Time};
use std::collections::{BTreeMap, HashMap};

/// The length of a turn of weight 1.
const TURN: u64 = 1 << 20;
/// A class moves up when one in so many of it has gone away: to move all for each would take a long line the square of its length.
const GONE: usize = 64;

/// Where a waiter is stamped: at its origin, in its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fleet) struct Share {
    pub(super) origin: OriginIx,
    pub(super) class: usize,
}

/// Only where classes were declared.
pub(super) struct Shares {
    classes: Classes,
    /// How long a turn is, by class.
    turns: Vec<u64>,
    /// How many wait, by class.
    counts: Vec<usize>,
    most: usize,
    /// Origins somebody waits for.
    places: HashMap<OriginIx, Place>,
}

struct Place {
    now: u64,
    /// Who was called, and may find that another was faster.
    open: u32,
    classes: Vec<Class>,
}

#[derive(Clone, Default)]
struct Class {
    /// The stamp of who was called last.
    called: Option<u64>,
    /// Those in line, called or not, by stamp and number of arrival; and before whom each counts as having come.
    waiters: BTreeMap<(u64, u64), (u64, Ticket)>,
    /// Who went away uncalled, others behind it, since they moved up.
    gone: usize,
}

impl Shares {
    pub(super) fn new(classes: Classes, most: usize) -> Option<Box<Self>> {
        if classes.is_empty() {
            return None;
        }
        let turns = classes.weights().map(|weight| (TURN / u64::from(weight.max(1))).max(1)).collect();
        let counts = vec![0; classes.len()];
        Some(Box::new(Self { classes, turns, counts, most, places: HashMap::new() }))
    }

    pub(super) fn share(&self, ask: &LeaseRequest, origin: OriginIx) -> Option<Share> {
        let class = self.classes.find(ask.class.as_ref())?;
        Some(Share { origin, class })
    }

    pub(super) fn has(&self, ask: &LeaseRequest) -> bool {
        self.classes.find(ask.class.as_ref()).is_some()
    }

    /// Whether one more of the class may wait: half of the line is kept for all classes alike, or a flood of one would leave
    /// the others no place in it.
    pub(super) fn has_room(&self, class: usize) -> bool {
        let own = self.most / (2 * self.counts.len());
        if self.counts[class] < own {
            return true;
        }
        let common: usize = self.counts.iter().map(|count| count.saturating_sub(own)).sum();
        common < self.most - own * self.counts.len()
    }

    /// Whether somebody waits to go there.
    pub(super) fn waits_for(&self, origin: OriginIx) -> bool {
        self.places.contains_key(&origin)
    }

    /// The rank of a newcomer.
    pub(super) fn join(&mut self, share: Share, number: u64, ticket: Ticket) -> Rank {
        let Share { origin, class } = share;
        let of = self.counts.len();
        self.counts[class] += 1;
        let place = self.places.entry(origin).or_insert_with(|| Place::new(of));
        let own = &place.classes[class];
        let last = own.waiters.last_key_value().map(|((stamp, _), _)| *stamp).max(own.called);
        let stamp = last.map_or(0, |last| last.saturating_add(self.turns[class])).max(place.now);
        place.insert(class, (stamp, number), ticket)
    }

    /// Those of a class who wait, called or not, in their order.
    fn queue(&self, share: Share) -> Vec<Ticket> {
        let own = self.places.get(&share.origin).map(|place| &place.classes[share.class].waiters);
        own.into_iter().flatten().map(|(_, (_, ticket))| *ticket).collect()
    }

    /// The rank of one who moves up behind the one of that stamp.
    fn move_up(&mut self, share: Share, rank: Rank, ticket: Ticket, last: Option<u64>) -> Rank {
        let Some(place) = self.places.get_mut(&share.origin) else { return rank };
        let due = last.map_or(0, |last| last.saturating_add(self.turns[share.class])).max(place.now);
        if due >= rank.stamp {
            return rank;
        }
        place.classes[share.class].waiters.remove(&(rank.stamp, rank.number));
        place.insert(share.class, (due, rank.number), ticket)
    }

    /// A waiter is called.
    pub(super) fn call(&mut self, share: Share, rank: Rank) {
        if let Some(place) = self.places.get_mut(&share.origin) {
            place.now = place.now.max(rank.stamp);
            let called = &mut place.classes[share.class].called;
            *called = Some(rank.stamp).max(*called);
        }
    }

    /// A waiter was called for any exit and has not come yet, or is not called any more.
    pub(super) fn set_open(&mut self, origin: OriginIx, open: bool) {
        if let Some(place) = self.places.get_mut(&origin) {
            place.open = if open { place.open + 1 } else { place.open.saturating_sub(1) };
        }
    }

    pub(super) fn is_open(&self, origin: OriginIx) -> bool {
        self.places.get(&origin).is_some_and(|place| place.open > 0)
    }

    /// A waiter is gone. Whether those behind it are to move up.
    pub(super) fn leave(&mut self, share: Share, rank: Rank, uncalled: bool) -> bool {
        let Some(place) = self.places.get_mut(&share.origin) else { return false };
        let own = &mut place.classes[share.class];
        if own.waiters.remove(&(rank.stamp, rank.number)).is_some() {
            self.counts[share.class] -= 1;
        }
        let behind = own.waiters.last_key_value().is_some_and(|((last, _), _)| *last > rank.stamp);
        own.gone += usize::from(uncalled && behind);
        let moves = own.gone > own.waiters.len() / GONE;
        if moves {
            own.gone = 0;
        }
        if place.classes.iter().all(|class| class.waiters.is_empty()) {
            self.places.remove(&share.origin);
        }
        moves
    }

    #[cfg(test)]
    pub(super) fn check(&self, waiters: impl Iterator<Item = (Share, Rank)>) {
        let mut count = 0;
        for (share, rank) in waiters {
            let own = &self.places[&share.origin].classes[share.class];
            let known = own.waiters.get(&(rank.stamp, rank.number));
            assert_eq!(known.map(|(before, _)| *before), Some(rank.before));
            count += 1;
        }
        assert_eq!(count, self.counts.iter().sum::<usize>());
        let mut kept = 0;
        for place in self.places.values() {
            let all = place.classes.iter().flat_map(|class| &class.waiters);
            let all: BTreeMap<_, _> = all.map(|(at, (before, _))| (at, before)).collect();
            assert!(!all.is_empty(), "a place goes with the last who waits for it");
            assert!(all.values().is_sorted(), "the order of stamps is the order of ranks");
            kept += all.len();
        }
        assert_eq!(kept, count);
    }
}

impl Line {
    /// Whether its class was declared, if it names one.
    #[cold]
    pub(in crate::fleet) fn knows_class(&self, ask: &LeaseRequest) -> bool {
        self.shares
            .as_ref()
            .map_or_else(|| Classes::default().find(ask.class.as_ref()).is_some(), |shares| shares.has(ask))
    }

    /// Whether there are classes, and some of them wait to go there through any exit, or were called to. Who waits for its own
    /// exit keeps nobody from the others.
    pub(in crate::fleet) fn is_shared(&self, origin: OriginIx) -> bool {
        let any = |shares: &Shares| {
            shares.is_open(origin) || self.heads.ahead(origin, Rank::LAST).any(|group| group.wants_any())
        };
        self.shares.as_ref().is_some_and(|shares| shares.waits_for(origin) && any(shares))
    }

    /// The classes, their weights, and how many wait of each; nothing if none was declared.
    pub(in crate::fleet) fn classes(&self) -> impl Iterator<Item = (&Key, u32, usize)> {
        let all = self.shares.iter().flat_map(|shares| shares.classes.iter().zip(&shares.counts));
        all.map(|((name, weight), waiting)| (name, weight, *waiting))
    }

    /// Where a request has its share, if there are classes.
    pub(in crate::fleet) fn share(&self, ask: &LeaseRequest, origin: OriginIx) -> Option<Share> {
        self.shares.as_ref()?.share(ask, origin)
    }

    /// A waiter that was called has come, or does not.
    pub(super) fn settled(&mut self, ticket: Ticket) {
        let Some(waiter) = self.waiters.get_mut(ticket.0).filter(|waiter| waiter.open) else { return };
        waiter.open = false;
        if let (Some(shares), Some(share)) = (&mut self.shares, waiter.share) {
            shares.set_open(share.origin, false);
            self.heads.look_at_origin(share.origin);
        }
    }

    /// Whether classes keep a head from any exit that it wants: one who was called takes its own first, and those go in order
    /// who wait for their pace.
    pub(in crate::fleet) fn yields(&mut self, now: Time, ticket: Ticket) -> bool {
        let Some(shares) = &self.shares else { return false };
        let Some(waiter) = self.waiters.get(ticket.0) else { return false };
        let (Some(share), true) = (waiter.share, waiter.group.wants_any()) else { return false };
        if shares.is_open(share.origin) {
            return true;
        }
        let next = |group| self.queues.get(&group).and_then(|queue| queue.pace).map(|pace| pace.next);
        let before = self.heads.ahead(share.origin, waiter.rank).filter(|group| group.wants_any());
        let Some(next) = before.filter_map(next).find(|next| *next > now) else { return false };
        self.follow(now, waiter.group, next);
        true
    }

    /// Somebody has gone away: whoever waits behind it for the class's turns has them sooner.
    pub(super) fn move_up(&mut self, share: Share) {
        let Some(shares) = &self.shares else { return };
        let mut last = shares.places.get(&share.origin).and_then(|place| place.classes[share.class].called);
        for ticket in shares.queue(share) {
            let Some(shares) = &mut self.shares else { return };
            let Some(waiter) = self.waiters.get_mut(ticket.0) else { continue };
            let (group, old) = (waiter.group, waiter.rank);
            if waiter.is_queued() {
                waiter.rank = shares.move_up(share, old, ticket, last);
            }
            last = last.max(Some(waiter.rank.stamp));
            let new = waiter.rank;
            if new != old {
                self.rerank(group, old, new, ticket);
            }
        }
        // Another may drive from now on, and has to set its alarm.
        self.armed = Time::MAX;
    }

    fn rerank(&mut self, group: Group, old: Rank, new: Rank, ticket: Ticket) {
        let Some(queue) = self.queues.get_mut(&group) else { return };
        let Some((head, _)) = queue.waiters.first_key_value() else { return };
        let head = *head;
        queue.waiters.remove(&old);
        queue.waiters.insert(new, ticket);
        if new < head || old == head {
            self.heads.remove(head);
            self.heads.insert(new, group);
            self.heads.look_at(new);
        }
    }
}

impl Place {
    /// In order of stamps each counts as having come before those behind it, and after those before it.
    fn insert(&mut self, class: usize, at: (u64, u64), ticket: Ticket) -> Rank {
        let (stamp, number) = at;
        let nearest = |side: fn(&Class, (u64, u64)) -> Option<((u64, u64), u64)>| {
            self.classes.iter().filter_map(move |class| side(class, at))
        };
        let after =
            nearest(|class, at| class.waiters.range(at..).next().map(|(at, (before, _))| (*at, *before)));
        let ahead = nearest(|class, at| {
            class.waiters.range(..at).next_back().map(|(at, (before, _))| (*at, *before))
        });
        let most = after.min().map_or(u64::MAX, |(_, before)| before);
        let least = ahead.max().map_or(0, |(_, before)| before);
        let before = number.max(least).min(most);
        self.classes[class].waiters.insert(at, (before, ticket));
        Rank { before, stamp, number }
    }

    fn new(classes: usize) -> Self {
        Self { now: 0, open: 0, classes: vec![Class::default(); classes] }
    }
}
