//! Idle connections, each under the exit and origin it belongs to; and those that several requests share, idle or not.
//!
//! Bounded in number and age over all keys. One task closes what has idled too long; it exists only while something idles.

use super::Key;
use super::aged::{Aged, Slot};
use super::closers::Closers;
use crate::client::connection::Connection;
use crate::exit::{ExitId, KeptWay, Route};
use hashbrown::HashMap;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

/// A connection that ends sooner than this after its answer was not closed for idling.
const EARLY: Duration = Duration::from_secs(2);
/// How many keys without a connection are kept beyond the bound of connections, so that who comes and goes costs nothing.
const SPARE_KEYS: usize = 64;

/// The idle connections of a client.
pub(in crate::client) struct Idle {
    timeout: Duration,
    max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: Aged<Entry>,
    /// A key's entries, oldest first.
    by_key: HashMap<Key, SmallVec<[Slot; 2]>>,
    closers: Closers,
    reaper: Option<AbortHandle>,
}

struct Entry {
    key: Key,
    way: KeptWay,
    connection: Connection,
    since: Instant,
}

/// A connection that was kept, and since when.
pub(in crate::client) struct Kept {
    pub(in crate::client) connection: Connection,
    pub(in crate::client) since: Instant,
}

impl Idle {
    pub(in crate::client) fn new(timeout: Duration, max: usize) -> Self {
        Self { timeout, max, state: Mutex::default() }
    }

    /// Whether anything is kept at all.
    pub(in crate::client) const fn keeps(&self) -> bool {
        self.max > 0 && !self.timeout.is_zero()
    }

    /// The newest connection that was opened by this very route, login included: with another password the exit may be
    /// another session, or no longer ours. It is alive as far as this machine knows.
    pub(in crate::client) async fn checkout(&self, key: &Key, route: &Route) -> Option<Kept> {
        // Each turn takes one out, or finds that a shared one has closed, which is taken out at the next.
        loop {
            let Kept { connection, since } = self.take(key, route)?;
            if let Some(connection) = connection.alive().await {
                return Some(Kept { connection, since });
            }
            self.died(key, since);
        }
    }

    /// A share of a connection that can be shared, at once.
    pub(in crate::client) fn share(&self, key: &Key, route: &Route) -> Option<Connection> {
        let now = now();
        let mut state = self.state.lock();
        let State { entries, by_key, .. } = &mut *state;
        let open = |slot: &Slot| {
            let entry = entries.get(*slot).filter(|entry| entry.way.is(route))?;
            let share = entry.connection.share().filter(|share| !share.is_closed())?;
            Some((*slot, share))
        };
        let (slot, share) = by_key.get(key)?.iter().rev().find_map(open)?;
        entries.touch(slot);
        if let Some(entry) = entries.get_mut(slot) {
            entry.since = now;
        }
        Some(share)
    }

    fn take(&self, key: &Key, route: &Route) -> Option<Kept> {
        // Dropped after the lock.
        let mut gone = Vec::new();
        let now = now();
        let mut state = self.state.lock();
        state.expire(now, self.timeout, &mut gone);
        let found = state.take(key, route, now, &mut gone);
        for entry in gone.iter().filter(|entry| entry.connection.is_closed()) {
            state.died(&entry.key, entry.since, now);
        }
        drop(state);
        found
    }

    /// A kept connection turned out to be dead. One that a proxy closed right after an answer tells of the next.
    pub(in crate::client) fn died(&self, key: &Key, since: Instant) {
        self.state.lock().died(key, since, now());
    }

    /// Keeps a connection, unless its exit is known to close them, or was given up since it was begun. One over HTTP/1.1
    /// must have no answer left to read.
    pub(in crate::client) fn check_in(self: &Arc<Self>, key: Key, way: KeptWay, connection: Connection) {
        if connection.is_closed() || !self.keeps() {
            return;
        }
        let mut gone = Vec::new();
        let now = now();
        let mut state = self.state.lock();
        // Under the lock: an eviction raises its count before it takes it.
        if connection.evictions() != way.evictions() || key.forwarded && state.closers.contains(key.exit, now)
        {
            drop(state);
            return;
        }
        state.expire(now, self.timeout, &mut gone);
        while state.entries.len() >= self.max {
            let Some((oldest, _)) = state.entries.oldest() else { break };
            gone.extend(state.remove(oldest));
        }
        state.insert(Entry { key, way, connection, since: now });
        let spare = state.by_key.len() > self.max.saturating_add(SPARE_KEYS);
        if spare {
            state.by_key.retain(|_, slots| !slots.is_empty());
        }
        if state.reaper.as_ref().is_none_or(AbortHandle::is_finished) {
            // Outside a runtime there is nobody to wait: the next checkout sweeps.
            let reap = |runtime: Handle| runtime.spawn(reap(Arc::downgrade(self))).abort_handle();
            state.reaper = Handle::try_current().ok().map(reap);
        }
        drop(state);
    }

    /// Closes those of an exit.
    pub(in crate::client) fn evict(&self, exit: ExitId) {
        let mut state = self.state.lock();
        let of_exit = |(slot, entry): (Slot, &Entry)| (entry.key.exit == exit).then_some(slot);
        let slots: Vec<_> = state.entries.slots().filter_map(of_exit).collect();
        let gone: Vec<_> = slots.into_iter().filter_map(|slot| state.remove(slot)).collect();
        drop(state);
        drop(gone);
    }

    /// Closes what has expired; how long until the next may, or `None` if nothing is left and the reaper is to end.
    fn sweep(&self) -> Option<Duration> {
        let mut gone = Vec::new();
        let now = now();
        let mut state = self.state.lock();
        state.expire(now, self.timeout, &mut gone);
        let oldest = state.entries.oldest().map(|(_, entry)| now.duration_since(entry.since));
        if oldest.is_none() {
            state.reaper = None;
        }
        drop(state);
        oldest.map(|age| self.timeout.saturating_sub(age))
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        if let Some(reaper) = self.state.get_mut().reaper.take() {
            reaper.abort();
        }
    }
}

impl State {
    fn insert(&mut self, entry: Entry) {
        let key = entry.key.clone();
        let slot = self.entries.insert(entry);
        self.by_key.entry(key).or_default().push(slot);
    }

    fn remove(&mut self, slot: Slot) -> Option<Entry> {
        let entry = self.entries.remove(slot)?;
        if let Some(slots) = self.by_key.get_mut(&entry.key) {
            slots.retain(|other| *other != slot);
        }
        Some(entry)
    }

    /// Takes the newest entry of the key that is ready, else the newest that will be; of one that can be shared, a share.
    /// Drops what is of no use on the way.
    fn take(&mut self, key: &Key, route: &Route, now: Instant, gone: &mut Vec<Entry>) -> Option<Kept> {
        let Self { entries, by_key, .. } = self;
        let slots = by_key.get_mut(key)?;
        let mut found = None;
        for at in (0..slots.len()).rev() {
            let Some(entry) = entries.get(slots[at]) else { continue };
            if entry.connection.is_closed() || !entry.way.is(route) {
                gone.extend(entries.remove(slots.remove(at)));
                // What was found lies further back in the queue.
                found = found.map(|at: usize| at - 1);
            } else if entry.connection.is_ready() {
                found = Some(at);
                break;
            } else if found.is_none() {
                found = Some(at);
            }
        }
        let at = found?;
        let shared = entries.get_mut(slots[at]).and_then(|entry| {
            let connection = entry.connection.share()?;
            let since = std::mem::replace(&mut entry.since, now);
            Some(Kept { connection, since })
        });
        if shared.is_some() {
            entries.touch(slots[at]);
            return shared;
        }
        let Entry { connection, since, .. } = entries.remove(slots.remove(at))?;
        Some(Kept { connection, since })
    }

    /// Tunnels end at the origin, and say nothing about how the exit treats a client of its own.
    fn died(&mut self, key: &Key, since: Instant, now: Instant) {
        if key.forwarded && now.duration_since(since) < EARLY {
            self.closers.mark(key.exit, now);
        }
    }

    /// Takes out what has idled too long. What is shared and in use has not idled.
    fn expire(&mut self, now: Instant, timeout: Duration, gone: &mut Vec<Entry>) {
        while let Some((oldest, entry)) = self.entries.oldest() {
            if now.duration_since(entry.since) < timeout {
                return;
            }
            if entry.connection.is_in_use() && !entry.connection.is_closed() {
                self.entries.touch(oldest);
                if let Some(entry) = self.entries.get_mut(oldest) {
                    entry.since = now;
                }
            } else {
                gone.extend(self.remove(oldest));
            }
        }
    }
}

/// Closes connections as they expire. Ends when nothing idles, and with the client.
async fn reap(idle: Weak<Idle>) {
    while let Some(wait) = idle.upgrade().and_then(|idle| idle.sweep()) {
        sleep(wait).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "idle ages are no decision; nothing else here reads a clock")]
fn now() -> Instant {
    Instant::now()
}
