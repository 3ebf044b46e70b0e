//! What happens next: events by time, and in the order in which they were planned where that is equal.

use crate::request::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) struct Queue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    planned: u64,
}

struct Entry<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> Queue<E> {
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), planned: 0 }
    }

    /// At the next whole millisecond: no timer of tokio's is finer.
    pub(super) fn plan(&mut self, at: Time, event: E) {
        const MILLI: u64 = 1_000_000;
        let at = Time::from_nanos(at.as_nanos().div_ceil(MILLI).saturating_mul(MILLI));
        self.plan_now(at, event);
    }

    /// At this very time, after all that was planned for it.
    pub(super) fn plan_now(&mut self, at: Time, event: E) {
        self.planned += 1;
        self.heap.push(Reverse(Entry { at, number: self.planned, event }));
    }

    pub(super) fn next(&mut self) -> Option<(Time, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

impl<E> Entry<E> {
    const fn key(&self) -> (Time, u64) {
        (self.at, self.number)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
